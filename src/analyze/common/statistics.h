// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Count, sum, sum of squares, minimum and maximum of integers, rounded only at the end.
 *
 * The sum has 128 bits and the squares 192, so no realistic input overflows them; merging two
 * halves of a job gives the same result as one pass over both. Mean and population standard
 * deviation are rounded once, half to even, by integer arithmetic. Plain old data: copied and sent
 * as bytes. */
#ifndef TIDE_ANALYZE_COMMON_STATISTICS_H
#define TIDE_ANALYZE_COMMON_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/wide.h"

typedef struct tide_stat {
	uint64_t n;
	uint64_t sum[2];  /* low limb first */
	uint64_t sq[3];	  /* sum of squares */
	int64_t min, max; /* undefined while n = 0 */
} tide_stat;

/* Adds one value; a negative one counts as 0 (durations are never negative). */
static inline void tide__stat_add(tide_stat *s, int64_t value)
{
	uint64_t x = value > 0 ? (uint64_t)value : 0;
	tide_u128 q = (tide_u128)x * x, t;
	if (!s->n || (int64_t)x < s->min)
		s->min = (int64_t)x;
	if (!s->n || (int64_t)x > s->max)
		s->max = (int64_t)x;
	s->n++;
	t = (tide_u128)s->sum[0] + x;
	s->sum[0] = (uint64_t)t;
	s->sum[1] += (uint64_t)(t >> 64);
	t = (tide_u128)s->sq[0] + (uint64_t)q;
	s->sq[0] = (uint64_t)t;
	t = (t >> 64) + s->sq[1] + (uint64_t)(q >> 64);
	s->sq[1] = (uint64_t)t;
	s->sq[2] += (uint64_t)(t >> 64);
}

/* Merges b into a. */
void tide__stat_merge(tide_stat *a, const tide_stat *b);

/* Returns the sum, at most INT64_MAX. */
int64_t tide__stat_sum(const tide_stat *s);
/* Return mean and population standard deviation to the nearest integer, half to even; 0 for n =
 * 0. */
int64_t tide__stat_mean(const tide_stat *s);
int64_t tide__stat_std(const tide_stat *s);

/* Returns a + b for values >= 0, INT64_MAX on overflow. */
static inline int64_t tide__add_sat(int64_t a, int64_t b)
{
	int64_t r;
	return __builtin_add_overflow(a, b, &r) ? INT64_MAX : r;
}

/* Returns 100 a / b; NaN for b <= 0 (shown as unknown). */
double tide__share_pct(int64_t a, int64_t b);

/* Sorts v and returns its k-th value, from 0: a median is that of (n - 1) / 2, or of n / 2. */
int64_t tide__sorted_nth(int64_t *v, size_t n, size_t k);

/* Returns the position of a nearest-rank percentile in a sorted list: ceil(p n / 100), from 1. */
static inline size_t tide__nearest_rank(size_t n, unsigned p)
{
	size_t k = (size_t)(((tide_u128)n * p + 99) / 100);
	return k ? k - 1 : 0;
}

#endif
