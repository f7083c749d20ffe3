// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The variance of n values is (n Q - S^2) / n^2. All of it is kept in 256 bits, and the rounded
 * root is found by bisection on exact comparisons: no floating point, the same result on every
 * machine. */
#include "analyze/common/statistics.h"

#include <math.h>
#include <stdlib.h>

enum { LIMBS = 5 }; /* 320 bits: (2k+1)^2 n^2 with k and n below 2^64, and 4 n Q */

typedef struct wide {
	uint64_t v[LIMBS];
} wide;

/* Returns a * b, truncated to LIMBS limbs. */
static wide times(const wide *a, uint64_t b)
{
	wide r = { { 0 } };
	uint64_t carry = 0;
	for (int i = 0; i < LIMBS; i++) {
		tide_u128 t = (tide_u128)a->v[i] * b + carry;
		r.v[i] = (uint64_t)t;
		carry = (uint64_t)(t >> 64);
	}
	return r;
}

static wide plus(const wide *a, const wide *b, int shift)
{
	wide r = *a;
	uint64_t carry = 0;
	for (int i = shift; i < LIMBS; i++) {
		tide_u128 t = (tide_u128)a->v[i] + b->v[i - shift] + carry;
		r.v[i] = (uint64_t)t;
		carry = (uint64_t)(t >> 64);
	}
	return r;
}

static wide minus(const wide *a, const wide *b)
{
	wide r;
	uint64_t borrow = 0;
	for (int i = 0; i < LIMBS; i++) {
		tide_u128 t = (tide_u128)a->v[i] - b->v[i] - borrow;
		r.v[i] = (uint64_t)t;
		borrow = (uint64_t)(t >> 64) & 1;
	}
	return r;
}

static int compare(const wide *a, const wide *b)
{
	for (int i = LIMBS; i--;)
		if (a->v[i] != b->v[i])
			return a->v[i] < b->v[i] ? -1 : 1;
	return 0;
}

/* Returns (k n)^2 for any 64-bit k and n. */
static wide square_of_product(uint64_t k, uint64_t n)
{
	tide_u128 p = (tide_u128)k * n;
	wide w = { { (uint64_t)p, (uint64_t)(p >> 64) } };
	wide low = times(&w, (uint64_t)p), high = times(&w, (uint64_t)(p >> 64));
	return plus(&low, &high, 1);
}

void tide__stat_merge(tide_stat *a, const tide_stat *b)
{
	if (!b->n)
		return;
	if (!a->n || b->min < a->min)
		a->min = b->min;
	if (!a->n || b->max > a->max)
		a->max = b->max;
	a->n += b->n;
	tide_u128 t = (tide_u128)a->sum[0] + b->sum[0];
	a->sum[0] = (uint64_t)t;
	a->sum[1] += b->sum[1] + (uint64_t)(t >> 64);
	uint64_t carry = 0;
	for (int i = 0; i < 3; i++) {
		t = (tide_u128)a->sq[i] + b->sq[i] + carry;
		a->sq[i] = (uint64_t)t;
		carry = (uint64_t)(t >> 64);
	}
}

int64_t tide__stat_sum(const tide_stat *s)
{
	return s->sum[1] || s->sum[0] > INT64_MAX ? INT64_MAX : (int64_t)s->sum[0];
}

int64_t tide__stat_mean(const tide_stat *s)
{
	if (!s->n)
		return 0;
	tide_u128 sum = (tide_u128)s->sum[1] << 64 | s->sum[0];
	tide_u128 q = sum / s->n;
	uint64_t twice = (uint64_t)(sum % s->n);
	uint64_t rest = s->n - twice; /* compare 2 r with n as r with n - r */
	if (twice > rest || (twice == rest && (q & 1)))
		q++;
	return (int64_t)q;
}

/* Returns 4 (n Q - S^2): the square of twice the deviation, times n^2. */
static wide four_variance(const tide_stat *s)
{
	wide q = { { s->sq[0], s->sq[1], s->sq[2] } }, sum = { { s->sum[0], s->sum[1] } };
	wide nq = times(&q, s->n);
	wide low = times(&sum, s->sum[0]), high = times(&sum, s->sum[1]);
	wide square = plus(&low, &high, 1);
	wide v = minus(&nq, &square);
	return times(&v, 4);
}

int64_t tide__stat_std(const tide_stat *s)
{
	if (s->n < 2)
		return 0;
	wide v = four_variance(s);
	uint64_t low = 0, high = (uint64_t)s->max; /* the deviation is at most max - min */
	while (low < high) { /* the greatest k with (2k - 1)^2 n^2 < 4V, or equal and k even */
		uint64_t k = low + (high - low + 1) / 2;
		wide edge = square_of_product(2 * k - 1, s->n);
		int c = compare(&edge, &v);
		if (c < 0 || (c == 0 && !(k & 1)))
			low = k;
		else
			high = k - 1;
	}
	return (int64_t)low;
}

double tide__share_pct(int64_t a, int64_t b)
{
	return b > 0 ? 100.0 * (double)a / (double)b : NAN;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

int64_t tide__sorted_nth(int64_t *v, size_t n, size_t k)
{
	qsort(v, n, sizeof *v, by_value);
	return v[k];
}
