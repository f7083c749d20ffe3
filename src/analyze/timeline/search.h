// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds spans whose name contains a text, in time order, ignoring ASCII case. */
#ifndef TIDE_ANALYZE_TIMELINE_SEARCH_H
#define TIDE_ANALYZE_TIMELINE_SEARCH_H

#include "analyze/timeline/timeline_rows.h"

typedef struct tide_found {
	uint64_t total;	 /* spans that match */
	uint64_t before; /* matches before the first one returned */
	uint32_t *place; /* owned; in rows.order */
	size_t n;
} tide_found;

/* Returns at most `most` places of matches that begin at or after `from`, skipping the first
 * `skip`. O(spans + length of all names). Returns TIDE_OK or TIDE_ENOMEM. */
tide_code tide__search(const tide_model *m, const tide_timeline_rows *rows, const char *text,
		       int64_t from, uint64_t skip, size_t most, tide_found *out, tide_error *err);

/* Returns the place of the span with exactly that name around [t0, t1], the shortest, then the
 * first, if there are several; UINT32_MAX for none. O(spans that begin before t0). */
uint32_t tide__search_around(const tide_model *m, const tide_timeline_rows *rows, const char *name,
			     int64_t t0, int64_t t1);
void tide__found_free(tide_found *f);

#endif
