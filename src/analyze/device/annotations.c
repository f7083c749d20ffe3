// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* User annotations by name, on the host and on the device.
 *
 * The host side also counts the device rows launched inside an annotation, on its own thread:
 * inclusive, and once per name. Touching or overlapping ranges of one name are one interval, and
 * the rows launched in an interval are a difference of two prefix sums over its lane's launches; so
 * the result is the same whether ranges nest or cross. */
#include "analyze/device/hta_parts.h"
#include "base/mem.h"
#include "base/search.h"

typedef struct stretch {    /* ranges of one name on one lane, so far without a gap */
	uint32_t lane, row; /* row: index of the annotation */
	int64_t t0, t1;
} stretch;

typedef struct state {
	const tide_hta_input *in;
	tide_hta *h;
	uint32_t *first; /* lane -> its first launch in `at`; one more at the end */
	uint32_t *at;	 /* places in in->launches, lane by lane, each in order of start */
	uint64_t *rows;	 /* rows[i]: of the launches at places [0, i) */
	tide_u128 *ns;	 /* the same of their durations */
	stretch *open;	 /* the last interval of every name and lane */
	size_t n, cap;
	tide_map names;	    /* (name, side) -> annotation row + 1 */
	tide_map stretches; /* (lane, annotation row) -> its place in `open` + 1 */
} state;

static uint32_t lane_of(const state *s, size_t launch)
{
	return s->in->m->spans.lane[s->in->launches[launch].span].i;
}

/* Launches are sorted by span, and so by start: a counting sort by lane keeps that order. */
static bool index_launches(state *s)
{
	size_t lanes = s->in->m->lanes.n, n = s->in->n_launches;
	s->first = tide__calloc(lanes + 2, sizeof *s->first);
	s->at = tide__alloc(n, sizeof *s->at);
	s->rows = tide__calloc(n + 1, sizeof *s->rows);
	s->ns = tide__calloc(n + 1, sizeof *s->ns);
	if (!s->first || !s->at || !s->rows || !s->ns)
		return false;
	for (size_t i = 0; i < n; i++)
		s->first[lane_of(s, i) + 2]++;
	for (size_t l = 1; l <= lanes; l++)
		s->first[l + 1] += s->first[l];
	for (size_t i = 0; i < n; i++)
		s->at[s->first[lane_of(s, i) + 1]++] = (uint32_t)i;
	for (size_t i = 0; i < n; i++) {
		const tide_launch *l = &s->in->launches[s->at[i]];
		s->rows[i + 1] = s->rows[i] + l->rows;
		s->ns[i + 1] = s->ns[i] + (uint64_t)l->gpu;
	}
	return true;
}

/* Returns the first position of the lane whose launch starts at t or later. */
static uint32_t place_from(const state *s, uint32_t lane, int64_t t)
{
	uint32_t lo = s->first[lane];
	TIDE_SEARCH(lo, s->first[lane + 1], mid,
		    s->in->m->spans.t0[s->in->launches[s->at[mid]].span] < t);
	return lo;
}

static void count(state *s, const stretch *r)
{
	tide_hta_annotation *a = &s->h->annotations.v[r->row];
	uint32_t from = place_from(s, r->lane, r->t0), to = place_from(s, r->lane, r->t1);
	tide_u128 ns = s->ns[to] - s->ns[from];
	a->rows += s->rows[to] - s->rows[from];
	a->rows_ns = tide__add_sat(a->rows_ns, ns > INT64_MAX ? INT64_MAX : (int64_t)ns);
}

static uint32_t row_of(state *s, tide_str name, uint32_t gpu)
{
	uint64_t key = (uint64_t)name.i << 1 | gpu;
	uint32_t k = tide__map_get(&s->names, key);
	if (k)
		return k;
	tide_hta_annotation *a = TIDE_HTA_PUSH(s->h, annotations);
	if (!a || !tide__map_put(&s->names, key, (uint32_t)s->h->annotations.n))
		return 0;
	a->name = tide__hta_take(s->h, s->in->m, name);
	a->gpu = gpu;
	return (uint32_t)s->h->annotations.n;
}

/* Returns the current or last interval of the lane; a new, empty one if there is none. */
static stretch *stretch_of(state *s, uint32_t lane, uint32_t row, int64_t t)
{
	uint64_t key = (uint64_t)lane << 32 | row;
	uint32_t k = tide__map_get(&s->stretches, key);
	if (k)
		return &s->open[k - 1];
	if (s->n >= UINT32_MAX - 1 || !TIDE_ROOM(s->open, s->cap, s->n + 1))
		return NULL;
	if (!tide__map_put(&s->stretches, key, (uint32_t)s->n + 1))
		return NULL;
	s->open[s->n] = (stretch){ lane, row, t, t };
	return &s->open[s->n++];
}

static bool host_side(state *s, uint32_t span)
{
	const tide_spans *sp = &s->in->m->spans;
	int64_t t0 = sp->t0[span], t1 = tide__span_end(s->in->m, span);
	uint32_t k = row_of(s, sp->name[span], 0);
	stretch *r = k ? stretch_of(s, sp->lane[span].i, k - 1, t0) : NULL;
	if (!r)
		return false;
	if (t0 > r->t1) {
		count(s, r);
		r->t0 = t0;
	}
	r->t1 = t1 > r->t1 ? t1 : r->t1;
	tide__stat_add(&s->h->annotations.v[k - 1].dur, t1 - t0);
	return true;
}

static bool device_side(state *s, uint32_t span)
{
	const tide_spans *sp = &s->in->m->spans;
	uint32_t k = row_of(s, sp->name[span], 1);
	if (k)
		tide__stat_add(&s->h->annotations.v[k - 1].dur,
			       tide__span_end(s->in->m, span) - sp->t0[span]);
	return k != 0;
}

/* Returns true if an annotation is inside the window, by its start: on the host in the steps'
 * window, on the device between the first and the last start of device rows. */
static bool lets_in(const state *s, uint32_t span)
{
	const tide_span_window *w = s->in->window;
	int64_t t = s->in->m->spans.t0[span];
	if (w->all)
		return true;
	if (s->in->m->spans.cat[span] == TIDE_CAT_USER)
		return t >= w->from && t < w->to;
	size_t n = s->in->rows->n;
	return n && t >= tide__row_t0(s->in, 0) && t <= tide__row_t0(s->in, n - 1);
}

bool tide__hta_find_annotations(const tide_hta_input *in, tide_hta *h)
{
	state s = { .in = in, .h = h };
	bool ok = index_launches(&s);
	for (uint32_t i = 1; ok && i < in->m->spans.n; i++) {
		unsigned cat = in->m->spans.cat[i];
		if ((cat != TIDE_CAT_USER && cat != TIDE_CAT_GPU_USER) || !lets_in(&s, i))
			continue;
		ok = cat == TIDE_CAT_USER ? host_side(&s, i) : device_side(&s, i);
	}
	for (size_t i = 0; ok && i < s.n; i++)
		count(&s, &s.open[i]);
	tide__free(s.first);
	tide__free(s.at);
	tide__free(s.rows);
	tide__free(s.ns);
	tide__free(s.open);
	tide__map_free(&s.names);
	tide__map_free(&s.stretches);
	return ok;
}
