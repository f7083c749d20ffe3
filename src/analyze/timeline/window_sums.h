// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What a window of time on some tracks holds, by name and category (docs/analyses/timeline.md, "In
 * the page"). Only the part of a span inside the window counts; the selfs of all rows add up to the
 * time that the tracks' outermost spans cover. The page computes the same of the spans it holds;
 * this is for recordings that are too large to be sent. */
#ifndef TIDE_ANALYZE_TIMELINE_WINDOW_SUMS_H
#define TIDE_ANALYZE_TIMELINE_WINDOW_SUMS_H

#include "analyze/timeline/level_of_detail.h"

typedef struct tide_sum {
	tide_str name;
	uint8_t cat;
	uint64_t n;
	int64_t total;	 /* ns inside the window; a name nested in itself counts again */
	int64_t self;	 /* ns, less what is directly inside, where that is on the tracks too */
	int64_t longest; /* ns */
	uint32_t place;	 /* of the longest, the first of equals */
	uint32_t next;	 /* for building */
} tide_sum;

typedef struct tide_window_sums {
	tide_sum *v; /* owned; most self first */
	size_t n, cap;
	uint64_t spans;
	int64_t self; /* of all */
} tide_window_sums;

/* on[t]: is track t of l->rows in the area? from < to. O(spans in the window + names).
 * TIDE_OK or TIDE_ENOMEM. */
tide_code tide__find_window_sums(const tide_lod *l, int64_t from, int64_t to, const bool *on,
				 tide_window_sums *out, tide_error *err);
void tide__window_sums_free(tide_window_sums *s); /* a zeroed one is fine */

#endif
