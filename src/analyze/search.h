// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Spans whose name holds a text, in order of time. Small and capital letters of ASCII are the same.
 */
#ifndef TIDE_ANALYZE_SEARCH_H
#define TIDE_ANALYZE_SEARCH_H

#include "analyze/rows.h"

typedef struct tide_found {
	uint64_t total;	 /* spans that match */
	uint64_t before; /* of them: begin before `from` */
	uint32_t *place; /* owned; in rows.order, of the first that begin at or after `from` */
	size_t n;
} tide_found;

/* At most `most` places. O(spans + length of all names). TIDE_OK or TIDE_ENOMEM. */
tide_code tide__search(const tide_model *m, const tide_rows *rows, const char *text, int64_t from,
		       size_t most, tide_found *out, tide_error *err);
void tide__found_free(tide_found *f);

#endif
