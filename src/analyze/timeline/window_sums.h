// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sums of a time window on some tracks, by name and category (docs/analyses/timeline.md, "In the
 * page"). Only the part of a span inside the window counts; the self times of all rows add up to
 * the time that the tracks' outermost spans cover. The page computes the same from the spans it
 * holds; this is for recordings that are too large to be sent. */
#ifndef TIDE_ANALYZE_TIMELINE_WINDOW_SUMS_H
#define TIDE_ANALYZE_TIMELINE_WINDOW_SUMS_H

#include "analyze/timeline/level_of_detail.h"

typedef struct tide_sum {
	tide_str name;
	uint8_t cat;
	uint64_t n;
	int64_t total;	 /* ns inside the window; a name nested in itself counts again */
	int64_t self;	 /* ns, without spans directly inside that are on the tracks too */
	int64_t longest; /* ns */
	uint32_t place;	 /* place of the longest, the first of equals */
	uint32_t next;	 /* used while building */
} tide_sum;

typedef struct tide_window_sums {
	tide_sum *v; /* owned; highest self time first */
	size_t n, cap;
	uint64_t spans;
	int64_t self; /* sum of all */
} tide_window_sums;

/* Sums the window. on[t] is true if track t of l->rows is in the area. from < to. O(spans in the
 * window + names). Returns TIDE_OK or TIDE_ENOMEM. */
tide_code tide__find_window_sums(const tide_lod *l, int64_t from, int64_t to, const bool *on,
				 tide_window_sums *out, tide_error *err);
void tide__window_sums_free(tide_window_sums *s); /* accepts a zeroed one */

#endif
