// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A JSON document in memory: the nodes that tide_report_root returns.
 *
 * It is built from the items that a report writes (render/text/json.h), so it always equals the
 * report's JSON. */
#ifndef TIDE_REPORT_NODE_H
#define TIDE_REPORT_NODE_H

#include <tidemark/analyze.h>

#include "render/text/json.h"

struct tide_node {
	tide_node_kind kind;
	char *key; /* owned; of a member, else NULL */
	union {
		int64_t i;
		uint64_t u; /* BOOL, too */
		double d;
		struct {
			char *text; /* owned */
			size_t n_text;
		};
		struct {
			tide_node *v; /* owned */
			size_t n, cap;
		};
	};
};

typedef struct tide_node_builder {
	tide_node root;
	tide_node **open; /* owned; open containers, outermost first */
	size_t n, cap;
	char *key; /* owned; key of the next value */
	bool has_root;
} tide_node_builder;

/* A tide_json_sink. */
bool tide__node_put(void *builder, const tide_json_item *item);
/* Returns the document, owned by the caller; NULL if !ok or memory ran out. Empties the builder. */
tide_node *tide__node_finish(tide_node_builder *b, bool ok);
void tide__node_free(tide_node *v); /* NULL is allowed */

#endif
