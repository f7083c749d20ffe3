// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The union of intervals as four numbers, for when only first, last and length are asked (the list
 * itself is a tide_interval_set). Zero-initialise, add in order of start: two neighbours merge when the
 * next start is not after the running end. An interval of no length moves first and end, never
 * length. */
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
