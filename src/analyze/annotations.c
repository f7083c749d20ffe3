// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* User annotations by name, on the host and as seen on the device.
 *
 * Host side also counts the device rows launched inside an annotation, on its own thread:
 * inclusive, and once per name where an annotation lies inside another of the same name. One pass
 * over the spans in order of start, with a stack of open annotations per lane; a row counted for an
 * annotation is handed to the one around it when it ends. */
#include "analyze/hta_parts.h"
#include "base/mem.h"

typedef struct open_range {
	uint32_t span, name; /* name: index of the annotation row */
	uint64_t rows;
	int64_t ns;
	bool outer;	/* no other of its name is open on the lane below it */
	uint32_t below; /* place in `pool` of the one around it + 1 */
} open_range;

typedef struct state {
	const tide_hta_input *in;
	tide_hta *h;
	open_range *pool; /* all open ranges; free places are chained through `below` */
	size_t n, cap;
	uint32_t free;	/* first free place + 1 */
	uint32_t *top;	/* per lane: innermost open range + 1 */
	tide_map names; /* (name, side) -> annotation row + 1 */
	tide_map open;	/* (lane, annotation row) -> number open */
} state;

static uint32_t place(state *s)
{
	if (s->free) {
		uint32_t at = s->free;
		s->free = s->pool[at - 1].below;
		return at;
	}
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 64;
		open_range *p = cap < UINT32_MAX ? tide__realloc(s->pool, cap, sizeof *p) : NULL;
		if (!p)
			return 0;
		s->pool = p;
		s->cap = cap;
	}
	return (uint32_t)++s->n;
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

static void close_top(state *s, uint32_t lane)
{
	uint32_t at = s->top[lane];
	open_range *r = &s->pool[at - 1];
	tide_hta_annotation *a = &s->h->annotations.v[r->name - 1];
	uint64_t key = (uint64_t)lane << 32 | r->name;
	uint32_t open = tide__map_get(&s->open, key);
	if (open > 1)
		tide__map_put(&s->open, key, open - 1); /* replaces: cannot fail */
	else
		tide__map_del(&s->open, key);
	if (r->outer) {
		a->rows += r->rows;
		a->rows_ns = tide__add_sat(a->rows_ns, r->ns);
	}
	if (r->below) {
		open_range *b = &s->pool[r->below - 1];
		b->rows += r->rows;
		b->ns = tide__add_sat(b->ns, r->ns);
	}
	s->top[lane] = r->below;
	r->below = s->free;
	s->free = at;
}

static void close_until(state *s, uint32_t lane, int64_t t)
{
	while (s->top[lane] && tide__end_of(s->in->m, s->pool[s->top[lane] - 1].span) <= t)
		close_top(s, lane);
}

static bool open_one(state *s, uint32_t lane, uint32_t span)
{
	uint32_t name = row_of(s, s->in->m->spans.name[span], 0);
	uint32_t at = name ? place(s) : 0;
	if (!at)
		return false;
	uint64_t key = (uint64_t)lane << 32 | name;
	uint32_t open = tide__map_get(&s->open, key);
	if (!tide__map_put(&s->open, key, open + 1))
		return false;
	s->pool[at - 1] =
		(open_range){ .span = span, .name = name, .outer = !open, .below = s->top[lane] };
	s->top[lane] = at;
	tide__stat_add(&s->h->annotations.v[name - 1].dur,
		       tide__end_of(s->in->m, span) - s->in->m->spans.t0[span]);
	return true;
}

/* Does a window let an annotation in? By start: host side in the steps' window, device side between
 * the first start and the last end of the device rows. */
static bool lets_in(const state *s, uint32_t span)
{
	const tide_span_window *w = s->in->window;
	int64_t t = s->in->m->spans.t0[span];
	if (w->all)
		return true;
	if (s->in->m->spans.cat[span] == TIDE_CAT_USER)
		return t >= w->from && t < w->to;
	size_t n = s->in->rows->n;
	if (!n || t < tide__row_t0(s->in, 0))
		return false;
	return t <= tide__row_t0(s->in, n - 1);
}

static bool visit(state *s, uint32_t span, const tide_launch *launch)
{
	const tide_spans *sp = &s->in->m->spans;
	uint32_t lane = sp->lane[span].i;
	unsigned cat = sp->cat[span];
	if (cat == TIDE_CAT_GPU_USER && lets_in(s, span)) {
		uint32_t k = row_of(s, sp->name[span], 1);
		if (!k)
			return false;
		tide__stat_add(&s->h->annotations.v[k - 1].dur,
			       tide__end_of(s->in->m, span) - sp->t0[span]);
	}
	if (cat != TIDE_CAT_USER && !launch)
		return true;
	close_until(s, lane, sp->t0[span]);
	if (launch && s->top[lane]) {
		open_range *r = &s->pool[s->top[lane] - 1];
		r->rows += launch->rows;
		r->ns = tide__add_sat(r->ns, launch->gpu);
	}
	return cat != TIDE_CAT_USER || !lets_in(s, span) || open_one(s, lane, span);
}

bool tide__part_annotations(const tide_hta_input *in, tide_hta *h)
{
	state s = { .in = in, .h = h };
	size_t next = 0;
	s.top = tide__calloc(in->m->lanes.n + 1, sizeof *s.top);
	bool ok = s.top != NULL;
	for (size_t i = 1; ok && i < in->m->spans.n; i++) {
		const tide_launch *l = NULL;
		if (next < in->n_launches && in->launches[next].span == i)
			l = &in->launches[next++];
		unsigned cat = in->m->spans.cat[i];
		if (l || cat == TIDE_CAT_USER || cat == TIDE_CAT_GPU_USER)
			ok = visit(&s, (uint32_t)i, l);
	}
	for (uint32_t lane = 0; ok && lane < in->m->lanes.n; lane++)
		while (s.top[lane])
			close_top(&s, lane);
	tide__free(s.pool);
	tide__free(s.top);
	tide__map_free(&s.names);
	tide__map_free(&s.open);
	return ok;
}
