// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/intervals.h"

#include "base/mem.h"

static bool grow(tide_intervals *u)
{
	size_t cap = u->cap ? u->cap * 2 : 64;
	tide_interval *v = tide__realloc(u->v, cap, sizeof *v);
	if (!v)
		return false;
	u->v = v;
	u->cap = cap;
	return true;
}

bool tide__intervals_add(tide_intervals *u, int64_t a, int64_t b)
{
	tide_interval *last = u->n ? &u->v[u->n - 1] : NULL;
	if (last && a <= last->b) {
		if (b > last->b) {
			u->length += b - last->b;
			last->b = b;
		}
		return true;
	}
	if (u->n == u->cap && !grow(u))
		return false;
	u->v[u->n++] = (tide_interval){ a, b };
	u->length += b - a;
	return true;
}

void tide__intervals_free(tide_intervals *u)
{
	tide__free(u->v);
	*u = (tide_intervals){ 0 };
}

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t tide__intervals_overlap(const tide_intervals *x, const tide_intervals *y)
{
	int64_t sum = 0;
	size_t i = 0, k = 0;
	while (i < x->n && k < y->n) {
		int64_t a = max64(x->v[i].a, y->v[k].a), b = min64(x->v[i].b, y->v[k].b);
		if (b > a)
			sum += b - a;
		if (x->v[i].b < y->v[k].b)
			i++;
		else
			k++;
	}
	return sum;
}

int64_t tide__intervals_within(const tide_intervals *u, size_t *at, int64_t a, int64_t b)
{
	int64_t sum = 0;
	while (*at < u->n && u->v[*at].b <= a)
		++*at;
	for (size_t i = *at; i < u->n && u->v[i].a < b; i++)
		sum += min64(u->v[i].b, b) - max64(u->v[i].a, a);
	return sum;
}
