// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Idle causes: the activity of the launching thread while a stream waited for it.
 *
 * Each host_wait gap (idle.c) is split at the launch call's start: time after it is `launch`; time
 * before it is assigned, moment by moment, to the innermost span of the launching thread; the
 * profiler's overhead is left out, as in ops.
 * All time inside data loading or compilation counts as that. The causes add up to the host_wait
 * of all streams. One pass over the spans in order of start: per lane, the gaps are +1/-1 points,
 * and `weight` says how many of them cover the moment, so overlapping gaps of many streams cost no
 * more. */
#include <stdlib.h>
#include <string.h>

#include "analyze/device/hta_parts.h"
#include "base/mem.h"
#include "model/strings.h"

const char *const tide__cause_text[TIDE_CAUSES] = {
	"sync", "allocation", "data_loading", "compile",    "runtime",
	"op",	"python",     "annotation",   "unrecorded", "launch",
};

enum { /* classification of a name, computed once */
       SEEN = 1,
       CALL_SYNC = 2,
       CALL_ALLOC = 4,
       CALL_COMPILE = 8,
       DATA = 16,
       COMPILE = 32,
};

static const struct {
	const char *part;
	uint8_t says;
} parts[] = {
	{ "Synchronize", CALL_SYNC },	 { "Malloc", CALL_ALLOC },
	{ "HostAlloc", CALL_ALLOC },	 { "Free", CALL_ALLOC },
	{ "MemCreate", CALL_ALLOC },	 { "MemMap", CALL_ALLOC },
	{ "MemUnmap", CALL_ALLOC },	 { "MemRelease", CALL_ALLOC },
	{ "HostRegister", CALL_ALLOC },	 { "ModuleLoad", CALL_COMPILE },
	{ "LibraryLoad", CALL_COMPILE }, { "LinkCreate", CALL_COMPILE },
	{ "DataLoader", DATA },		 { "dataloader", DATA },
	{ "torch/utils/data/", DATA },	 { "torch/_dynamo/", COMPILE },
	{ "torch/_inductor/", COMPILE }, { "triton/compiler/", COMPILE },
	{ "compile_fx", COMPILE },
};

bool tide__names_data_loading(const char *name)
{
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (parts[i].says == DATA && strstr(name, parts[i].part))
			return true;
	return false;
}

static uint8_t says(const tide_model *m, uint8_t *cache, tide_str name)
{
	if (cache[name.i])
		return cache[name.i];
	const char *s = tide__text(m, name, NULL);
	uint8_t v = SEEN;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strstr(s, parts[i].part))
			v |= parts[i].says;
	if (!strcmp(s, "cudaMemcpy") || !strcmp(s, "hipMemcpy")) /* the blocking copies */
		v |= CALL_SYNC;
	return cache[name.i] = v;
}

/* Data loading and compilation include all spans inside them, at any depth. */
static bool includes_inner(int cause)
{
	return cause == TIDE_CAUSE_DATA || cause == TIDE_CAUSE_COMPILE;
}

/* `around` is the cause of the nearest outer span that includes its inner ones, else any other. */
static int cause_of(const tide_model *m, uint8_t *cache, uint32_t span, int around)
{
	uint8_t v = says(m, cache, m->spans.name[span]);
	switch (m->spans.cat[span]) {
	case TIDE_CAT_RUNTIME:
	case TIDE_CAT_DRIVER:
		if (v & CALL_SYNC)
			return TIDE_CAUSE_SYNC;
		if (v & CALL_ALLOC)
			return TIDE_CAUSE_ALLOC;
		if (v & CALL_COMPILE)
			return TIDE_CAUSE_COMPILE;
		return includes_inner(around) ? around : TIDE_CAUSE_RUNTIME;
	default:
		break;
	}
	if (v & DATA)
		return TIDE_CAUSE_DATA;
	if (v & COMPILE)
		return TIDE_CAUSE_COMPILE;
	if (includes_inner(around))
		return around;
	if (m->spans.cat[span] == TIDE_CAT_PYTHON)
		return TIDE_CAUSE_PYTHON;
	return m->spans.cat[span] == TIDE_CAT_USER ? TIDE_CAUSE_USER : TIDE_CAUSE_OP;
}

typedef struct point {
	uint32_t lane;
	int32_t step; /* +1 a gap begins, -1 its launch call begins */
	int64_t t;
} point;

typedef struct lane_state {
	size_t next, end; /* its points */
	int64_t now;
	int64_t weight;
	uint32_t top; /* innermost open span, 0 = none */
} lane_state;

typedef struct span_cause {
	uint8_t own;	/* TIDE_CAUSE_* of its own time */
	uint8_t around; /* of spans inside it, see cause_of */
} span_cause;

typedef struct sweep {
	const tide_hta_input *in;
	point *points;
	size_t n;
	lane_state *lanes;
	uint8_t *names;	    /* per string */
	span_cause *causes; /* per span of a lane with points */
	int64_t *out;
	int64_t *waits; /* per string and cause */
} sweep;

static int by_lane(const void *a, const void *b)
{
	const point *x = a, *y = b;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return x->t < y->t ? -1 : x->t > y->t;
}

static void collect(sweep *s)
{
	const tide_hta_input *in = s->in;
	tide_union_length *u = tide__calloc(in->rows->n_streams, sizeof *u);
	if (!u) {
		s->points = NULL;
		return;
	}
	for (size_t i = 0; i < in->rows->n; i++) {
		tide_union_length *r = &u[in->rows->stream[i]];
		uint32_t launch = tide__row_launch(in, i);
		int64_t a = tide__row_t0(in, i), called = in->m->spans.t0[launch];
		if (r->any && a > r->end && launch && called > r->end) {
			uint32_t lane = in->m->spans.lane[launch].i;
			if (called > a) /* the call begins after the start (clocks differ): all of
					 * it is before */
				called = a;
			s->points[s->n++] = (point){ lane, 1, r->end };
			s->points[s->n++] = (point){ lane, -1, called };
			s->out[TIDE_CAUSE_LAUNCH] =
				tide__add_sat(s->out[TIDE_CAUSE_LAUNCH], a - called);
		}
		tide__union_length_add(r, a, tide__row_t1(in, i));
	}
	tide__free(u);
}

static int64_t weigh(int64_t sum, int64_t weight, int64_t dt)
{
	tide_u128 v = (tide_u128)(uint64_t)weight * (uint64_t)dt;
	return v > INT64_MAX ? INT64_MAX : tide__add_sat(sum, (int64_t)v);
}

static void take_points(sweep *s, lane_state *l)
{
	while (l->next < l->end && s->points[l->next].t <= l->now)
		l->weight += s->points[l->next++].step;
}

/* Advances a lane from `now` to `to`, closing spans and applying points. */
static void advance(sweep *s, lane_state *l, int64_t to)
{
	while (l->now < to) {
		int64_t next = to;
		while (l->top && (tide__span_end(s->in->m, l->top) <= l->now ||
				  s->in->m->spans.cat[l->top] == TIDE_CAT_OVERHEAD))
			l->top = s->in->m->spans.parent[l->top].i;
		if (l->top && tide__span_end(s->in->m, l->top) < next)
			next = tide__span_end(s->in->m, l->top);
		if (l->next < l->end && s->points[l->next].t < next)
			next = s->points[l->next].t;
		int c = l->top ? s->causes[l->top].own : TIDE_CAUSE_UNRECORDED;
		if (l->weight) {
			uint32_t name = l->top ? s->in->m->spans.name[l->top].i : 0;
			int64_t *in = &s->waits[(size_t)name * TIDE_CAUSES + (size_t)c];
			s->out[c] = weigh(s->out[c], l->weight, next - l->now);
			*in = weigh(*in, l->weight, next - l->now);
		}
		l->now = next;
		take_points(s, l);
	}
}

static void visit(sweep *s, uint32_t span)
{
	const tide_spans *sp = &s->in->m->spans;
	lane_state *l = &s->lanes[sp->lane[span].i];
	if (l->next == l->end && !l->weight)
		return;
	uint32_t parent = sp->parent[span].i;
	span_cause outer = parent ? s->causes[parent]
				  : (span_cause){ TIDE_CAUSE_UNRECORDED, TIDE_CAUSE_UNRECORDED };
	bool counts = sp->cat[span] != TIDE_CAT_OVERHEAD; /* the profiler's own work */
	int own = counts ? cause_of(s->in->m, s->names, span, outer.around) : outer.own;
	int around = includes_inner(own) ? own : outer.around;
	s->causes[span] = (span_cause){ (uint8_t)own, (uint8_t)around };
	advance(s, l, sp->t0[span]);
	/* A span that takes no time contains nothing; its parent may be outside the top one. */
	if (counts && tide__span_end(s->in->m, span) > sp->t0[span])
		l->top = span;
}

static void run(sweep *s)
{
	const tide_model *m = s->in->m;
	if (s->n)
		qsort(s->points, s->n, sizeof *s->points, by_lane);
	for (size_t i = 0; i < s->n; i++) {
		lane_state *l = &s->lanes[s->points[i].lane];
		if (!l->end)
			l->next = i;
		l->end = i + 1;
		l->now = INT64_MIN;
	}
	for (size_t i = 1; s->n && i < m->spans.n; i++)
		if (!tide__cat_is_gpu(m->spans.cat[i]))
			visit(s, (uint32_t)i);
	for (size_t i = 0; i < s->n; i++) {
		lane_state *l = &s->lanes[s->points[i].lane];
		if (l->next < l->end)
			advance(s, l, s->points[l->end - 1].t);
	}
}

/* Finds the span name with most of the largest cause's time; the first of equals. It stays a text
 * of the model here: another thread may be copying texts into the result. */
static void name_longest(const sweep *s, size_t strings, tide_hta *h)
{
	uint32_t most = 0, best = 0;
	for (uint32_t c = 1; c < TIDE_CAUSES; c++)
		if (s->out[c] > s->out[most])
			most = c;
	for (uint32_t i = 1; i <= strings; i++)
		if (s->waits[(size_t)i * TIDE_CAUSES + most] > h->h.waited) {
			h->h.waited = s->waits[(size_t)i * TIDE_CAUSES + most];
			best = i;
		}
	h->h.waited_cause = most;
	h->h.waited_in = (tide_str){ best };
}

bool tide__hta_find_idle_cause(const tide_hta_input *in, tide_hta *h)
{
	sweep s = { .in = in, .out = h->h.cause };
	s.points = tide__alloc(2 * in->rows->n, sizeof *s.points);
	s.lanes = tide__calloc(in->m->lanes.n + 1, sizeof *s.lanes);
	size_t strings = tide__strings_count(in->m->strings);
	s.names = tide__calloc(strings + 1, 1);
	s.waits = tide__calloc(strings + 1, TIDE_CAUSES * sizeof *s.waits);
	s.causes = tide__calloc(in->m->spans.n + 1, sizeof *s.causes);
	bool ok = s.points && s.lanes && s.names && s.waits && s.causes;
	if (ok) {
		point *points = s.points;
		collect(&s);
		ok = s.points != NULL;
		if (ok)
			run(&s);
		if (ok)
			name_longest(&s, strings, h);
		s.points = points;
	}
	tide__free(s.points);
	tide__free(s.lanes);
	tide__free(s.names);
	tide__free(s.waits);
	tide__free(s.causes);
	return ok;
}
