// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/timeline/timeline_rows.h"

#include <string.h>

#include "analyze/common/interval_set.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"

struct lay {
	const tide_model *m;
	tide_tracks all;
	tide_timeline_rows *out;
	uint32_t *count; /* spans per level of the current track */
	size_t cap_rows;
};

static bool room(struct lay *x, uint32_t rows)
{
	return TIDE_ROOM(x->out->first, x->cap_rows, (size_t)x->out->n_rows + rows + 1);
}

/* Orders the spans of a track level by level; each level keeps time order. */
static void spread(struct lay *x, const tide_track *t, uint32_t levels)
{
	tide_timeline_rows *out = x->out;
	const uint32_t *in = x->all.order + t->first, *level = x->all.level;
	for (uint32_t k = 0; k < levels; k++) {
		out->first[out->n_rows++] = out->n + x->count[k];
		x->count[k + 1] += x->count[k];
	}
	for (uint32_t i = 0; i < t->n; i++)
		out->order[out->n + x->count[level[in[i]]]++] = in[i];
	out->n += t->n;
	out->first[out->n_rows] = out->n;
}

/* count[k + 1] is the number of spans of level k. Returns the number of levels. */
static uint32_t count_levels(struct lay *x, const tide_track *t)
{
	const uint32_t *in = x->all.order + t->first, *level = x->all.level;
	uint32_t levels = 0;
	x->count[0] = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t k = level[in[i]];
		for (; levels <= k; levels++) /* a level begins with a span inside the previous
		                               * one */
			x->count[levels + 1] = 0;
		x->count[k + 1]++;
	}
	return levels;
}

static bool lay_track(struct lay *x, uint32_t k)
{
	const tide_track *t = &x->all.tracks[k];
	uint32_t levels = count_levels(x, t);
	if (!room(x, levels))
		return false;
	x->out->tracks[x->out->n_tracks++] = (tide_row_track){
		.lane = t->lane,
		.number = t->number,
		.row = x->out->n_rows,
		.n_rows = levels,
	};
	spread(x, t, levels);
	return true;
}

static bool lay_all(struct lay *x)
{
	bool ok = true;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t k = 1; ok && k < x->all.n_tracks; k++) {
			const tide_track *t = &x->all.tracks[k];
			bool host = x->m->lanes.kind[t->lane.i] == TIDE_LANE_THREAD;
			if (t->number || !t->n || host == (pass == 1))
				continue;
			for (uint32_t at = k; ok && at; at = x->all.tracks[at].next)
				ok = lay_track(x, at);
		}
	return ok;
}

static bool setup(struct lay *x)
{
	size_t n = x->m->spans.n;
	x->count = tide__alloc(n + 1, sizeof *x->count);
	x->out->order = tide__alloc(n, sizeof *x->out->order);
	x->out->tracks = tide__calloc(x->all.n_tracks, sizeof *x->out->tracks);
	if (!x->count || !x->out->order || !x->out->tracks || !room(x, 15))
		return false;
	x->out->first[0] = 0;
	return true;
}

tide_code tide__find_timeline_rows(const tide_model *m, tide_timeline_rows *out, tide_error *err)
{
	struct lay x = { .m = m, .out = out };
	*out = (tide_timeline_rows){ 0 };
	tide_code rc = tide__find_tracks(m, &x.all, err);
	if (rc != TIDE_OK)
		return rc;
	bool ok = setup(&x) && lay_all(&x);
	tide__free(x.count);
	tide__free(x.all.track); /* only the shortened ends are kept */
	tide__free(x.all.level);
	tide__free(x.all.order);
	x.all.track = x.all.level = x.all.order = NULL;
	out->cuts = x.all;
	if (ok)
		return TIDE_OK;
	tide__timeline_rows_free(out);
	return tide__nomem(err);
}

void tide__timeline_rows_free(tide_timeline_rows *r)
{
	tide__free(r->order);
	tide__free(r->first);
	tide__free(r->tracks);
	tide__tracks_free(&r->cuts);
	*r = (tide_timeline_rows){ 0 };
}

/* Returns the last i of [0, n) with key(i) <= v; keys ascend and key(0) <= v. */
static uint32_t last_at_most(uint32_t n, uint32_t v,
			     uint32_t (*key)(const tide_timeline_rows *, uint32_t),
			     const tide_timeline_rows *r)
{
	uint32_t lo = 0;
	TIDE_SEARCH(lo, n, mid, key(r, mid) <= v);
	return lo ? lo - 1 : 0;
}

static uint32_t row_key(const tide_timeline_rows *r, uint32_t i)
{
	return r->first[i];
}

static uint32_t track_key(const tide_timeline_rows *r, uint32_t i)
{
	return r->tracks[i].row;
}

uint32_t tide__timeline_rows_track(const tide_timeline_rows *r, uint32_t place, uint32_t *row)
{
	uint32_t all = last_at_most(r->n_rows, place, row_key, r); /* no row is empty */
	uint32_t track = last_at_most(r->n_tracks, all, track_key, r);
	*row = all - r->tracks[track].row;
	return track;
}

/* Returns the span's position in one row, UINT32_MAX if it is not in it. */
static uint32_t in_row(const tide_timeline_rows *r, const tide_model *m, uint32_t row,
		       uint32_t span)
{
	uint32_t lo = r->first[row], end = r->first[row + 1];
	TIDE_SEARCH(lo, end, mid, m->spans.t0[r->order[mid]] < m->spans.t0[span]);
	for (; lo < end && m->spans.t0[r->order[lo]] == m->spans.t0[span]; lo++)
		if (r->order[lo] == span)
			return lo;
	return UINT32_MAX;
}

uint32_t tide__timeline_rows_place(const tide_timeline_rows *r, const tide_model *m, uint32_t span)
{
	uint32_t place = UINT32_MAX;
	for (uint32_t t = 0; t < r->n_tracks && place == UINT32_MAX; t++) {
		const tide_row_track *k = &r->tracks[t];
		if (k->lane.i != m->spans.lane[span].i)
			continue;
		for (uint32_t i = 0; i < k->n_rows && place == UINT32_MAX; i++)
			place = in_row(r, m, k->row + i, span);
	}
	return place;
}
