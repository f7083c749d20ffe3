// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "sql/order.h"

#include "base/mem.h"
#include "base/search.h"
#include "model/mergesort.h"

enum { FANOUT = 16 };

/* ---- order ---- */

static bool is_less(const void *ctx, uint32_t a, uint32_t b)
{
	const int64_t *v = ctx;
	return v[a] < v[b];
}

/* Sorts the places 0..n by their values. */
static uint32_t *sort_rows(const int64_t *v, size_t first, size_t n)
{
	uint32_t *rows = tide__alloc(n, sizeof *rows), *tmp = tide__alloc(n, sizeof *tmp);
	for (size_t i = 0; rows && i < n; i++)
		rows[i] = (uint32_t)i;
	if (rows && tmp)
		tide__mergesort(rows, tmp, n, is_less, v);
	for (size_t i = 0; rows && i < n; i++)
		rows[i] += (uint32_t)first;
	if (!tmp) {
		tide__free(rows);
		rows = NULL;
	}
	tide__free(tmp);
	return rows;
}

tide_order *tide__order_new(tide_order_value *value, const void *of, size_t first, size_t n)
{
	tide_order *o = tide__calloc(1, sizeof *o);
	int64_t *v = tide__alloc(n + 1, sizeof *v);
	bool sorted = true;
	if (!o || !v)
		goto fail;
	*o = (tide_order){ .value = value, .of = of, .first = first, .n = n };
	for (size_t i = 0; i < n; i++) {
		v[i] = value(of, first + i);
		sorted &= !i || v[i - 1] <= v[i];
	}
	if (!sorted && !(o->rows = sort_rows(v, first, n)))
		goto fail;
	tide__free(v);
	return o;
fail:
	tide__free(v);
	tide__free(o);
	return NULL;
}

void tide__order_free(tide_order *o)
{
	if (o)
		tide__free(o->rows);
	tide__free(o);
}

size_t tide__order_find(const tide_order *o, int64_t v, bool equal)
{
	size_t low = 0;
	if (equal)
		TIDE_SEARCH(low, o->n, mid, o->value(o->of, tide__order_row(o, mid)) <= v)
	else
		TIDE_SEARCH(low, o->n, mid, o->value(o->of, tide__order_row(o, mid)) < v)
	return low;
}

/* ---- intervals ---- */

static int64_t latest_of(const tide_intervals *t, size_t level, size_t i, size_t n)
{
	int64_t most = INT64_MIN;
	for (size_t k = i * FANOUT; k < (i + 1) * FANOUT && k < n; k++) {
		int64_t v = level ? t->latest[level - 1][k]
				  : t->end(t->of, tide__order_row(t->starts, k));
		most = v > most ? v : most;
	}
	return most;
}

tide_intervals *tide__intervals_new(const tide_order *starts, tide_order_value *end, const void *of)
{
	tide_intervals *t = tide__calloc(1, sizeof *t);
	if (!t)
		return NULL;
	*t = (tide_intervals){ .starts = starts, .end = end, .of = of };
	for (size_t n = starts->n; n > 1;) {
		size_t blocks = (n + FANOUT - 1) / FANOUT;
		int64_t *v = t->latest[t->levels] = tide__alloc(blocks, sizeof *v);
		if (!v) {
			tide__intervals_free(t);
			return NULL;
		}
		for (size_t i = 0; i < blocks; i++)
			v[i] = latest_of(t, t->levels, i, n);
		t->levels++;
		n = blocks;
	}
	return t;
}

void tide__intervals_free(tide_intervals *t)
{
	for (size_t i = 0; t && i < t->levels; i++)
		tide__free(t->latest[i]);
	tide__free(t);
}

size_t tide__intervals_next(const tide_intervals *t, size_t at, size_t most, int64_t after)
{
	size_t level = 0; /* of the block that begins at `at`; 0 = a row */
	while (at < most) {
		size_t width = (size_t)1 << 4 * level;
		while (level < t->levels && !(at & (width * FANOUT - 1))) { /* climb */
			level++;
			width *= FANOUT;
		}
		while (level && t->latest[level - 1][at >> 4 * level] > after) { /* descend */
			level--;
			width /= FANOUT;
		}
		if (!level && t->end(t->of, tide__order_row(t->starts, at)) > after)
			return at;
		at += width;
		level = 0;
	}
	return most;
}
