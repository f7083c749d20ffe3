// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Two arrays of bounds; every query is one pass or one binary search over them. */
#include "analyze/common/interval_set.h"

#include "base/mem.h"
#include "base/search.h"

const uint8_t tide__sides[TIDE_CAT_OTHER + 1] = {
	[TIDE_CAT_UNKNOWN] = TIDE_SIDE_CPU,   [TIDE_CAT_OP] = TIDE_SIDE_CPU,
	[TIDE_CAT_USER] = TIDE_SIDE_NONE,     [TIDE_CAT_PYTHON] = TIDE_SIDE_CPU,
	[TIDE_CAT_RUNTIME] = TIDE_SIDE_CPU,   [TIDE_CAT_DRIVER] = TIDE_SIDE_CPU,
	[TIDE_CAT_KERNEL] = TIDE_SIDE_GPU,    [TIDE_CAT_MEMCPY] = TIDE_SIDE_GPU,
	[TIDE_CAT_MEMSET] = TIDE_SIDE_GPU,    [TIDE_CAT_MTIA] = TIDE_SIDE_GPU,
	[TIDE_CAT_GPU_USER] = TIDE_SIDE_NONE, [TIDE_CAT_SYNC] = TIDE_SIDE_NONE,
	[TIDE_CAT_OVERHEAD] = TIDE_SIDE_NONE, [TIDE_CAT_COUNTERS] = TIDE_SIDE_NONE,
	[TIDE_CAT_OTHER] = TIDE_SIDE_CPU,
};

static bool grow(tide_interval_set *c)
{
	size_t cap = c->cap; /* of both */
	return TIDE_ROOM(c->t0, cap, c->n + 1) && TIDE_ROOM(c->t1, c->cap, c->n + 1);
}

bool tide__interval_set_push(tide_interval_set *c, int64_t t0, int64_t t1)
{
	if (c->n == c->cap && !grow(c))
		return false;
	c->t0[c->n] = t0;
	c->t1[c->n++] = t1;
	return true;
}

void tide__interval_set_free(tide_interval_set *c)
{
	tide__free(c->t0);
	tide__free(c->t1);
	*c = (tide_interval_set){ 0 };
}

int64_t tide__interval_set_ns(const tide_interval_set *c)
{
	int64_t sum = 0;
	for (size_t i = 0; i < c->n; i++)
		sum += c->t1[i] - c->t0[i];
	return sum;
}

static int64_t common(int64_t a0, int64_t a1, int64_t b0, int64_t b1)
{
	int64_t t0 = a0 > b0 ? a0 : b0, t1 = a1 < b1 ? a1 : b1;
	return t1 > t0 ? t1 - t0 : 0;
}

int64_t tide__interval_set_both_ns(const tide_interval_set *a, const tide_interval_set *b)
{
	int64_t sum = 0;
	for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
		sum += common(a->t0[i], a->t1[i], b->t0[k], b->t1[k]);
		if (a->t1[i] < b->t1[k])
			i++;
		else
			k++;
	}
	return sum;
}

/* Returns the first piece that ends after t. */
static size_t ends_after(const tide_interval_set *c, int64_t t)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, c->n, mid, c->t1[mid] <= t);
	return lo;
}

int64_t tide__interval_set_inside_ns(const tide_interval_set *c, int64_t t0, int64_t t1)
{
	int64_t sum = 0;
	for (size_t i = ends_after(c, t0); i < c->n && c->t0[i] < t1; i++)
		sum += common(c->t0[i], c->t1[i], t0, t1);
	return sum;
}

int64_t *tide__interval_set_sums(const tide_interval_set *c)
{
	int64_t *sums = tide__calloc(c->n + 1, sizeof *sums);
	for (size_t i = 0; sums && i < c->n; i++)
		sums[i + 1] = sums[i] + c->t1[i] - c->t0[i];
	return sums;
}

int64_t tide__interval_set_before_ns(const tide_interval_set *c, const int64_t *sums, int64_t t)
{
	size_t i = ends_after(c, t);
	return sums[i] + (i < c->n && c->t0[i] < t ? t - c->t0[i] : 0);
}

int64_t tide__interval_set_with_ns(const tide_interval_set *a, const tide_interval_set *b,
				   const int64_t *sums)
{
	int64_t sum = 0;
	if (a->n >= b->n / 16)
		return tide__interval_set_both_ns(a, b);
	for (size_t i = 0; i < a->n; i++)
		sum += tide__interval_set_before_ns(b, sums, a->t1[i]) -
		       tide__interval_set_before_ns(b, sums, a->t0[i]);
	return sum;
}

void tide__interval_set_shares(const tide_interval_set *c, int64_t t_end, size_t n, int64_t *out)
{
	double width = (double)t_end / (double)n;
	size_t at = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t t0 = (int64_t)(width * (double)i), t1 = (int64_t)(width * (double)(i + 1));
		int64_t sum = 0;
		while (at < c->n && c->t1[at] <= t0)
			at++;
		for (size_t k = at; k < c->n && c->t0[k] < t1; k++) {
			int64_t from = c->t0[k] > t0 ? c->t0[k] : t0;
			int64_t to = c->t1[k] < t1 ? c->t1[k] : t1;
			sum += to - from;
		}
		out[i] = t1 > t0 ? (int64_t)((double)sum / (double)(t1 - t0) * 1e6) : 0;
	}
}
