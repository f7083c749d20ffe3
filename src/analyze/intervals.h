// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Unions of time intervals: a sorted list of disjoint, non-touching [a, b].
 *
 * Rows of a model come sorted by start, so a union is built by one pass of additions in that order;
 * two neighbours merge when the next start is not after the running end. An interval of no length
 * is kept where nothing touches it: it moves first and last, never a length. */
#ifndef TIDE_ANALYZE_INTERVALS_H
#define TIDE_ANALYZE_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tide_interval {
	int64_t a, b;
} tide_interval;

typedef struct tide_intervals { /* zero-initialise */
	tide_interval *v;	/* owned */
	size_t n, cap;
	int64_t length; /* sum of b - a */
} tide_intervals;

/* Add [a, b], a <= b, a not before the start of the interval added last. False on exhaustion. */
bool tide__intervals_add(tide_intervals *u, int64_t a, int64_t b);
void tide__intervals_free(tide_intervals *u);

/* Length of the intersection of two unions. O(n + m). */
int64_t tide__intervals_overlap(const tide_intervals *x, const tide_intervals *y);

/* Length of the part of [a, b] that lies in u. `at` is a cursor for queries with rising a: start
 * with 0. Amortised O(1) per query plus the intervals inside it. */
int64_t tide__intervals_within(const tide_intervals *u, size_t *at, int64_t a, int64_t b);

/* A union as three numbers, for when only its length is asked: zero-initialise, add in order. */
typedef struct tide_running {
	bool any;
	int64_t first, end, length;
} tide_running;

static inline void tide__running_add(tide_running *r, int64_t a, int64_t b)
{
	if (!r->any) {
		*r = (tide_running){ true, a, b, b - a };
	} else if (a > r->end) {
		r->length += b - a;
		r->end = b;
	} else if (b > r->end) {
		r->length += b - r->end;
		r->end = b;
	}
}

#endif
