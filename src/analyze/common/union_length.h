// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The union of intervals reduced to four numbers, if only first, last and length are needed
 * (tide_interval_set keeps the list itself). Zero-initialise, add in order of start: neighbours
 * merge if the next start is not after the current end. A zero-length interval moves first and
 * end, never length. */
#ifndef TIDE_ANALYZE_COMMON_UNION_LENGTH_H
#define TIDE_ANALYZE_COMMON_UNION_LENGTH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tide_union_length {
	bool any;
	int64_t first, end, length;
} tide_union_length;

static inline void tide__union_length_add(tide_union_length *r, int64_t a, int64_t b)
{
	if (!r->any) {
		*r = (tide_union_length){ true, a, b, b - a };
	} else if (a > r->end) {
		r->length += b - a;
		r->end = b;
	} else if (b > r->end) {
		r->length += b - r->end;
		r->end = b;
	}
}

#endif
