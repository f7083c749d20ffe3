// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory-copy bandwidth per kind of copy, weighted by time.
 *
 * A copy moves its bytes evenly over its duration; copies of one kind that run at the same time add
 * up. mean = bytes / time during which at least one runs; percentile p = the lowest rate that is
 * not exceeded for p % of that time; peak = the highest rate with a positive duration. Bytes come
 * from the row's arguments, else from its launch call's (ROCm). A row without bytes or without a
 * duration is counted but excluded from rates. Rates are whole bytes per second, so that adding and
 * subtracting them is exact. */
#include <stdlib.h>
#include <string.h>

#include "analyze/common/span_args.h"
#include "analyze/device/hta_parts.h"
#include "base/mem.h"

enum { MAX_KINDS = 64 }; /* real traces have 5 or 6 kinds; any beyond the limit are "others" */

typedef struct copy {
	uint32_t kind; /* index of the copy row */
	int64_t a, b;
	int64_t rate; /* bytes per second */
} copy;

typedef struct edge {
	int64_t t, rate;
	int dir; /* +1 begins, -1 ends; ends come first at the same time */
} edge;

typedef struct stretch {
	int64_t rate, ns;
} stretch;

/* Returns the kind of a copy: "Memcpy HtoD (Pinned -> Device)" is HtoD; any other name is a
 * separate kind. */
static tide_str kind_text(tide_hta *h, const tide_model *m, uint32_t span)
{
	size_t n;
	const char *s = tide__text(m, m->spans.name[span], &n);
	if (m->spans.cat[span] == TIDE_CAT_MEMSET)
		return tide__hta_intern(h, "Memset", 6);
	if (n > 7 && !memcmp(s, "Memcpy ", 7)) {
		const char *end = memchr(s + 7, ' ', n - 7);
		return tide__hta_intern(h, s + 7, end ? (size_t)(end - s - 7) : n - 7);
	}
	return tide__hta_intern(h, s, n);
}

static uint32_t kind_of(const tide_hta_input *in, tide_hta *h, tide_map *names, uint32_t span)
{
	uint64_t key = (uint64_t)in->m->spans.name[span].i << 1 |
		       (in->m->spans.cat[span] == TIDE_CAT_MEMSET);
	uint32_t k = tide__map_get(names, key);
	if (k)
		return k;
	tide_str kind = h->copies.n < MAX_KINDS - 1 ? kind_text(h, in->m, span)
						    : tide__hta_intern(h, "others", 6);
	uint32_t set = key & 1;
	for (k = 1; k <= h->copies.n; k++)
		if (h->copies.v[k - 1].kind.i == kind.i && h->copies.v[k - 1].set == set)
			return tide__map_put(names, key, k) ? k : 0;
	tide_hta_copy *c = TIDE_HTA_PUSH(h, copies);
	if (!c || !tide__map_put(names, key, (uint32_t)h->copies.n))
		return 0;
	c->kind = kind;
	c->set = set;
	return (uint32_t)h->copies.n;
}

typedef struct keys {
	tide_str bytes, size;
} keys;

static int64_t bytes_of(const tide_hta_input *in, const keys *k, size_t row)
{
	uint32_t span = in->rows->span[row], launch = tide__row_launch(in, row);
	int64_t v = tide__attr_number(in->m, span, k->bytes);
	if (v < 0)
		v = tide__attr_number(in->m, launch, k->bytes);
	if (v < 0)
		v = tide__attr_number(in->m, launch, k->size);
	return v < TIDE_ABSURD_BYTES ? v : -1;
}

static int64_t rate_of(int64_t bytes, int64_t ns)
{
	tide_u128 v = (tide_u128)(uint64_t)bytes * 1000000000u / (uint64_t)ns;
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static bool take(const tide_hta_input *in, tide_hta *h, const keys *k, tide_map *names, size_t row,
		 copy *list, size_t *n)
{
	uint32_t kind = kind_of(in, h, names, in->rows->span[row]);
	if (!kind)
		return false;
	tide_hta_copy *c = &h->copies.v[kind - 1];
	int64_t a = tide__row_t0(in, row), b = tide__row_t1(in, row), bytes = bytes_of(in, k, row);
	tide__stat_add(&c->dur, b - a);
	if (bytes < 0 || c->bytes >= INT64_MAX - TIDE_ABSURD_BYTES)
		return true;
	c->sized++;
	c->bytes += (uint64_t)bytes;
	if (b == a) {
		c->timeless++;
		return true;
	}
	list[(*n)++] = (copy){ kind - 1, a, b, rate_of(bytes, b - a) };
	return true;
}

static int by_time(const void *a, const void *b)
{
	const edge *x = a, *y = b;
	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return x->dir - y->dir;
}

static int by_rate(const void *a, const void *b)
{
	const stretch *x = a, *y = b;
	return x->rate < y->rate ? -1 : x->rate > y->rate;
}

/* Splits time into intervals of constant rate while something runs; returns their number. */
static size_t cut(const edge *e, size_t n, stretch *out)
{
	size_t k = 0;
	size_t running = 0;
	tide_u128 sum = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t rate = sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
		if (running && e[i].t > e[i - 1].t)
			out[k++] = (stretch){ rate, e[i].t - e[i - 1].t };
		if (e[i].dir > 0) {
			running++;
			sum += (uint64_t)e[i].rate;
		} else {
			running--;
			sum -= (uint64_t)e[i].rate;
		}
	}
	return k;
}

static void summarise(tide_hta_copy *c, stretch *s, size_t n)
{
	int64_t total = 0, seen = 0;
	size_t at = 0;
	for (size_t i = 0; i < n; i++)
		total += s[i].ns;
	c->sized_busy = total;
	if (!n)
		return;
	qsort(s, n, sizeof *s, by_rate);
	c->peak = (double)s[n - 1].rate;
	for (int p = 0; p < TIDE_PCTS; p++) {
		int64_t want = (int64_t)(((tide_u128)total * tide__pcts[p] + 99) / 100);
		while (at + 1 < n && seen + s[at].ns < want)
			seen += s[at++].ns;
		c->pct[p] = (double)s[at].rate;
	}
}

/* `list` is in order of start; picks those of one kind. */
static void one_kind(tide_hta *h, uint32_t kind, const copy *list, size_t n, edge *e, stretch *s)
{
	size_t k = 0;
	for (size_t i = 0; i < n; i++) {
		if (list[i].kind != kind)
			continue;
		e[k++] = (edge){ list[i].a, list[i].rate, 1 };
		e[k++] = (edge){ list[i].b, list[i].rate, -1 };
	}
	if (k)
		qsort(e, k, sizeof *e, by_time);
	summarise(&h->copies.v[kind], s, cut(e, k, s));
}

static bool unions(const tide_hta_input *in, tide_hta *h, tide_map *names)
{
	tide_union_length *u = tide__calloc(h->copies.n, sizeof *u);
	if (!u)
		return false;
	for (size_t i = 0; i < in->rows->n; i++) {
		if (in->rows->type[i] != TIDE_GPU_MEMORY)
			continue;
		uint32_t k = kind_of(in, h, names, in->rows->span[i]);
		tide__union_length_add(&u[k - 1], tide__row_t0(in, i), tide__row_t1(in, i));
	}
	for (size_t k = 0; k < h->copies.n; k++)
		h->copies.v[k].busy = u[k].length;
	tide__free(u);
	return true;
}

bool tide__hta_find_bandwidth(const tide_hta_input *in, tide_hta *h)
{
	keys k = { tide__attr_key(in->m, "bytes"), tide__attr_key(in->m, "size") };
	size_t most = 0, n = 0;
	for (size_t i = 0; i < in->rows->n; i++)
		most += in->rows->type[i] == TIDE_GPU_MEMORY;
	copy *list = tide__alloc(most, sizeof *list);
	edge *e = tide__alloc(most * 2, sizeof *e);
	stretch *s = tide__alloc(most * 2, sizeof *s);
	tide_map names = { 0 };
	bool ok = list && e && s;
	for (size_t i = 0; ok && i < in->rows->n; i++)
		if (in->rows->type[i] == TIDE_GPU_MEMORY)
			ok = take(in, h, &k, &names, i, list, &n);
	ok = ok && unions(in, h, &names);
	for (uint32_t kind = 0; ok && kind < h->copies.n; kind++)
		one_kind(h, kind, list, n, e, s);
	tide__map_free(&names);
	tide__free(list);
	tide__free(e);
	tide__free(s);
	return ok;
}

/* ---- as a curve ---- */

static bool put_kind(const edge *e, size_t n, uint32_t kind, tide_hta_put *put, void *user)
{
	tide_u128 sum = 0;
	bool ok = true;
	for (size_t i = 0; ok && i < n; i++) {
		sum = e[i].dir > 0 ? sum + (uint64_t)e[i].rate : sum - (uint64_t)e[i].rate;
		if (i + 1 == n || e[i + 1].t != e[i].t)
			ok = put(user, kind, e[i].t, (double)sum);
	}
	return ok;
}

bool tide__hta_put_bandwidth(const tide_hta_input *in, tide_hta *h, tide_hta_put *put, void *user)
{
	keys k = { tide__attr_key(in->m, "bytes"), tide__attr_key(in->m, "size") };
	size_t n = 0, rows = in->rows->n;
	copy *list = tide__alloc(rows, sizeof *list);
	edge *e = tide__alloc(2 * rows, sizeof *e);
	tide_map names = { 0 };
	bool ok = list && e;
	for (size_t i = 0; ok && i < rows; i++)
		if (in->rows->type[i] == TIDE_GPU_MEMORY)
			ok = take(in, h, &k, &names, i, list, &n);
	for (uint32_t kind = 0; ok && kind < h->copies.n; kind++) {
		size_t edges = 0;
		for (size_t i = 0; i < n; i++)
			if (list[i].kind == kind) {
				e[edges++] = (edge){ list[i].a, list[i].rate, 1 };
				e[edges++] = (edge){ list[i].b, list[i].rate, -1 };
			}
		if (edges)
			qsort(e, edges, sizeof *e, by_time);
		ok = put_kind(e, edges, kind, put, user);
	}
	tide__map_free(&names);
	tide__free(list);
	tide__free(e);
	return ok;
}
