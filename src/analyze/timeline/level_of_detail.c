// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Pieces are found by search: the pixel of a span gives the time where the next pixel begins,
 * and a search for that time gives the spans of the pixel. Their number is a difference of
 * positions, the sum of their lengths one of prefix sums; only the longest needs a scan, block
 * by block. */
#include "analyze/timeline/level_of_detail.h"

#include "analyze/common/interval_set.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/wide.h"

enum { BLOCK = 64 };

/* ---- the index ---- */

static int64_t start_of(const tide_lod *l, uint32_t place)
{
	return l->m->spans.t0[l->rows.order[place]];
}

static int64_t end_of(const tide_lod *l, uint32_t place)
{
	return start_of(l, place) + (int64_t)tide__lod_length(l, place);
}

tide_code tide__lod_build(const tide_model *m, tide_lod *out, tide_error *err)
{
	*out = (tide_lod){ .m = m };
	tide_code rc = tide__find_timeline_rows(m, &out->rows, err);
	if (rc != TIDE_OK)
		return rc;
	uint32_t n = out->rows.n;
	out->busy = tide__alloc((size_t)n + 1, sizeof *out->busy);
	out->longest = tide__calloc((size_t)n / BLOCK + 1, sizeof *out->longest);
	if (!out->busy || !out->longest) {
		tide__lod_free(out);
		return tide__nomem(err);
	}
	out->busy[0] = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t len =
			(uint64_t)(tide__timeline_rows_end(&out->rows, m, i) - start_of(out, i));
		uint32_t *best = &out->longest[i / BLOCK];
		out->busy[i + 1] = out->busy[i] + len;
		if (i % BLOCK == 0 || len > tide__lod_length(out, *best))
			*best = i;
	}
	return TIDE_OK;
}

void tide__lod_free(tide_lod *l)
{
	tide__timeline_rows_free(&l->rows);
	tide__free(l->busy);
	tide__free(l->longest);
	*l = (tide_lod){ 0 };
}

/* Returns the longest of places [i, j), the first of equals. */
static uint32_t longest_in(const tide_lod *l, uint32_t i, uint32_t j)
{
	uint32_t best = i;
	for (uint32_t at = i; at < j;) {
		bool whole = at % BLOCK == 0 && j - at >= BLOCK;
		uint32_t one = whole ? l->longest[at / BLOCK] : at;
		if (tide__lod_length(l, one) > tide__lod_length(l, best))
			best = one;
		at += whole ? BLOCK : 1;
	}
	return best;
}

/* ---- a window ---- */

struct window {
	const tide_lod *l;
	int64_t from;
	uint64_t width; /* ns */
	uint32_t px;
	tide_timeline_pieces *out;
};

/* Returns the first place of [lo, hi) that begins at or after t: 1, 2, 4 ... ahead, then by
 * halves. */
static uint32_t begin_from(const tide_lod *l, uint32_t lo, uint32_t hi, int64_t t)
{
	uint32_t step = 1;
	while (lo < hi && hi - lo > step && start_of(l, lo + step) < t) {
		lo += step;
		step *= 2;
	}
	if (hi - lo > step)
		hi = lo + step;
	TIDE_SEARCH(lo, hi, mid, start_of(l, mid) < t);
	return lo;
}

static bool put(tide_timeline_pieces *p, tide_timeline_piece piece)
{
	if (!TIDE_ROOM(p->v, p->cap, p->n + 1))
		return false;
	p->v[p->n++] = piece;
	return true;
}

/* Makes one piece of places [i, j). */
static bool put_range(const struct window *w, uint32_t i, uint32_t j)
{
	const tide_lod *l = w->l;
	return i == j || put(w->out, (tide_timeline_piece){ .t0 = start_of(l, i),
							    .t1 = end_of(l, j - 1),
							    .busy = l->busy[j] - l->busy[i],
							    .count = j - i,
							    .place = longest_in(l, i, j) });
}

static bool is_long(const struct window *w, uint32_t place)
{
	return (tide_u128)tide__lod_length(w->l, place) * w->px >= w->width;
}

/* Returns the time at which the pixel after that of time t begins; `end` for the last one. */
static int64_t next_pixel(const struct window *w, int64_t t, int64_t end)
{
	tide_u128 pixel = (tide_u128)(uint64_t)(t - w->from) * w->px / w->width;
	tide_u128 at = ((pixel + 1) * w->width + w->px - 1) / w->px;
	return at < (tide_u128)w->width ? w->from + (int64_t)at : end;
}

static bool row(const struct window *w, uint32_t i, uint32_t end)
{
	const tide_lod *l = w->l;
	int64_t to = w->from + (int64_t)w->width;
	uint32_t at = begin_from(l, i, end, w->from);
	if (at > i && end_of(l, at - 1) > w->from && !put_range(w, at - 1, at))
		return false;
	while (at < end && start_of(l, at) < to) {
		uint32_t next = begin_from(l, at, end, next_pixel(w, start_of(l, at), to));
		bool apart = is_long(w, next - 1); /* nothing begins in its pixel after it */
		if (!put_range(w, at, next - apart) || (apart && !put_range(w, next - 1, next)))
			return false;
		at = next;
	}
	return true;
}

tide_code tide__lod_find_visible(const tide_lod *l, int64_t from, int64_t to, uint32_t px,
				 tide_timeline_pieces *out, tide_error *err)
{
	*out = (tide_timeline_pieces){ 0 };
	struct window w = { l, from, (uint64_t)to - (uint64_t)from, px, out };
	out->first = tide__alloc((size_t)l->rows.n_rows + 1, sizeof *out->first);
	bool ok = out->first != NULL;
	for (uint32_t r = 0; ok && r < l->rows.n_rows; r++) {
		out->first[r] = out->n;
		ok = row(&w, l->rows.first[r], l->rows.first[r + 1]);
	}
	if (!ok) {
		tide__timeline_pieces_free(out);
		return tide__nomem(err);
	}
	out->first[l->rows.n_rows] = out->n;
	return TIDE_OK;
}

void tide__timeline_pieces_free(tide_timeline_pieces *p)
{
	tide__free(p->v);
	tide__free(p->first);
	*p = (tide_timeline_pieces){ 0 };
}
