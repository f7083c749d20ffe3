// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One pass over the rows of the tracks: rows are in time order, so the window is a contiguous
 * part of each. */
#include "analyze/timeline/window_sums.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "model/strings.h"

struct sweep {
	const tide_lod *l;
	const bool *on;
	int64_t from, to;
	uint32_t *first; /* by name: its first row of `out` + 1; those of other categories follow */
	uint32_t *track; /* per span: its track; built if only a part of a lane is in the area */
	tide_window_sums *out;
};

static int64_t start_of(const tide_lod *l, uint32_t place)
{
	return l->m->spans.t0[l->rows.order[place]];
}

static int64_t end_of(const tide_lod *l, uint32_t place)
{
	return start_of(l, place) + (int64_t)(l->busy[place + 1] - l->busy[place]);
}

/* Returns the row of a span's name and category; NULL if memory ran out. */
static tide_sum *row_of(struct sweep *x, uint32_t span)
{
	tide_window_sums *o = x->out;
	tide_str name = x->l->m->spans.name[span];
	uint8_t cat = x->l->m->spans.cat[span];
	for (uint32_t i = x->first[name.i]; i; i = o->v[i - 1].next)
		if (o->v[i - 1].cat == cat)
			return &o->v[i - 1];
	if (!TIDE_ROOM(o->v, o->cap, o->n + 1))
		return NULL;
	o->v[o->n++] =
		(tide_sum){ .name = name, .cat = cat, .longest = -1, .next = x->first[name.i] };
	x->first[name.i] = (uint32_t)o->n;
	return &o->v[o->n - 1];
}

/* Returns true if the parent span is on a track of the area. Usually it is on the same one. */
static bool parent_on(const struct sweep *x, uint32_t parent, bool whole_lane)
{
	return whole_lane || x->on[x->track[parent]];
}

static bool find_tracks(struct sweep *x)
{
	const tide_timeline_rows *r = &x->l->rows;
	x->track = tide__calloc(x->l->m->spans.n, sizeof *x->track);
	for (uint32_t t = 0; x->track && t < r->n_tracks; t++) {
		uint32_t end = r->first[r->tracks[t].row + r->tracks[t].n_rows];
		for (uint32_t i = r->first[r->tracks[t].row]; i < end; i++)
			x->track[r->order[i]] = t;
	}
	return x->track;
}

static bool add(struct sweep *x, uint32_t place, bool whole_lane)
{
	uint32_t s = x->l->rows.order[place], parent = x->l->m->spans.parent[s].i;
	int64_t t0 = start_of(x->l, place), t1 = end_of(x->l, place);
	int64_t d = (t1 < x->to ? t1 : x->to) - (t0 > x->from ? t0 : x->from);
	tide_sum *r = row_of(x, s);
	if (!r)
		return false;
	r->n++;
	r->total += d;
	r->self += d;
	if (d > r->longest) {
		r->longest = d;
		r->place = place;
	}
	if (!parent || !parent_on(x, parent, whole_lane))
		return true;
	r = row_of(x, parent);
	if (r)
		r->self -= d;
	return r;
}

/* Returns the first place of [lo, hi) that ends after t. */
static uint32_t ends_after(const tide_lod *l, uint32_t lo, uint32_t hi, int64_t t)
{
	TIDE_SEARCH(lo, hi, mid, end_of(l, mid) <= t);
	return lo;
}

/* Returns true if all tracks of its lane are in the area. Tracks of a lane are consecutive. */
static bool whole_lane(const struct sweep *x, uint32_t track)
{
	const tide_timeline_rows *r = &x->l->rows;
	uint32_t lane = r->tracks[track].lane.i;
	for (uint32_t t = track; t < r->n_tracks && r->tracks[t].lane.i == lane; t++)
		if (!x->on[t])
			return false;
	for (uint32_t t = track; t-- > 0 && r->tracks[t].lane.i == lane;)
		if (!x->on[t])
			return false;
	return true;
}

static bool sweep_track(struct sweep *x, uint32_t track)
{
	const tide_timeline_rows *r = &x->l->rows;
	bool whole = whole_lane(x, track);
	if (!whole && !x->track && !find_tracks(x))
		return false;
	uint32_t last = r->tracks[track].row + r->tracks[track].n_rows;
	for (uint32_t k = r->tracks[track].row; k < last; k++) {
		uint32_t end = r->first[k + 1];
		for (uint32_t i = ends_after(x->l, r->first[k], end, x->from);
		     i < end && start_of(x->l, i) < x->to; i++)
			if (!add(x, i, whole))
				return false;
	}
	return true;
}

static int most_self_first(const void *a, const void *b)
{
	const tide_sum *x = a, *y = b;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Drops rows without spans in the window: they are only parents of others. */
static void finish(tide_window_sums *o)
{
	size_t n = 0;
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i].n) {
			o->spans += o->v[i].n;
			if (o->v[i].self < 0) /* spans inside it overlap each other */
				o->v[i].self = 0;
			o->self += o->v[i].self;
			o->v[n++] = o->v[i];
		}
	o->n = n;
	if (n)
		qsort(o->v, n, sizeof *o->v, most_self_first);
}

tide_code tide__find_window_sums(const tide_lod *l, int64_t from, int64_t to, const bool *on,
				 tide_window_sums *out, tide_error *err)
{
	*out = (tide_window_sums){ 0 };
	struct sweep x = { .l = l, .on = on, .from = from, .to = to, .out = out };
	x.first = tide__calloc((size_t)tide__strings_count(l->m->strings) + 1, sizeof *x.first);
	bool ok = x.first;
	for (uint32_t t = 0; ok && t < l->rows.n_tracks; t++)
		ok = !on[t] || sweep_track(&x, t);
	tide__free(x.first);
	tide__free(x.track);
	if (ok) {
		finish(out);
		return TIDE_OK;
	}
	tide__window_sums_free(out);
	return tide__nomem(err);
}

void tide__window_sums_free(tide_window_sums *s)
{
	tide__free(s->v);
	*s = (tide_window_sums){ 0 };
}
