// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Spans whose name holds a text, in order of time. Small and capital letters of ASCII are the same.
 */
#ifndef TIDE_ANALYZE_TIMELINE_SEARCH_H
#define TIDE_ANALYZE_TIMELINE_SEARCH_H

#include "analyze/timeline/timeline_rows.h"

typedef struct tide_found {
	uint64_t total;	 /* spans that match */
	uint64_t before; /* of them: come before the first that is given */
	uint32_t *place; /* owned; in rows.order */
	size_t n;
} tide_found;

/* Of the matches that begin at or after `from` all but the first `skip`, at most `most` places.
 * O(spans + length of all names). TIDE_OK or TIDE_ENOMEM. */
tide_code tide__search(const tide_model *m, const tide_timeline_rows *rows, const char *text,
		       int64_t from, uint64_t skip, size_t most, tide_found *out, tide_error *err);

/* Place of the span of that very name around [t0, t1], the shortest and then the first if there are
 * several; UINT32_MAX for none. O(spans that begin before t0). */
uint32_t tide__search_around(const tide_model *m, const tide_timeline_rows *rows, const char *name,
			     int64_t t0, int64_t t1);
void tide__found_free(tide_found *f);

#endif
