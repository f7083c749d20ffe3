// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads JSON documents by the names in them: a log line, a payload, a file that is held whole.
 *
 * The reader keeps a copy of the text, so the text needs no padding. A node borrows that copy until
 * the reader opens another text; two documents that are read together need two readers.
 *
 *     jsonr r = { 0 };
 *     jsonr_node v, x;
 *     if (tide__jsonr_open(&r, text, n, &v) && tide__jsonr_get(v, "rank", &x))
 *         tide__jsonr_parse_number(x, 1, &rank);
 *     tide__jsonr_fini(&r); */
#ifndef TIDE_IMPORT_JSON_NODE_H
#define TIDE_IMPORT_JSON_NODE_H

#include "import/json/reader.h"

typedef struct jsonr_node {
	jsonr *in;	/* borrowed */
	const char *at; /* for a string the bytes between the quotes, with escapes */
	size_t n;
	char type; /* '"' '{' '[' '0' (a number) 't' 'f' 'n'; 0 = no value */
} jsonr_node;

/* Opens a text that is one value and white space, of less than 4 GiB. Returns false for any other
 * text (c->why is JSONR_BAD or JSONR_MORE), and if memory runs out (JSONR_NOMEM). */
bool tide__jsonr_open(jsonr *c, const char *text, size_t n, jsonr_node *v);
/* Returns the offset in the opened text of a byte of its copy. */
size_t tide__jsonr_offset(const jsonr *c, const char *at);

typedef struct jsonr_nodes {
	jsonr *in;
	jsonr_walk w;
	const char *at; /* of the invalid text, if bad */
	bool bad;	/* the walk ended at invalid text */
} jsonr_nodes;

/* Walks the members of an object (key set) or the elements of an array; other values have none. */
jsonr_nodes tide__jsonr_walk(jsonr_node container);
bool tide__jsonr_next_node(jsonr_nodes *w, jsonr_node *key, jsonr_node *value);

/* Finds the first member named `key`; *v has type 0 if there is none. */
bool tide__jsonr_get(jsonr_node object, const char *key, jsonr_node *v);
bool tide__jsonr_is(jsonr_node s, const char *text);
/* Returns a number times `scale`, rounded half away from zero; false if it is not a number or
 * too large. */
bool tide__jsonr_parse_number(jsonr_node v, int64_t scale, int64_t *out);

#endif
