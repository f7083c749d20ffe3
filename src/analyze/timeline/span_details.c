// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/timeline/span_details.h"

#include "analyze/common/interval_set.h"
#include "base/error.h"
#include "base/mem.h"

/* Returns the drawn length: a span that crosses others in every track is shortened. */
static int64_t length(const tide_model *m, const tide_timeline_rows *r, uint32_t span)
{
	int64_t cut = tide__track_end(&r->cuts, m, span), end = tide__span_end(m, span);
	return (cut < end ? cut : end) - m->spans.t0[span];
}

/* Returns the self time: the length minus the children, which come after their parent and begin
 * before it ends (S1). Overlapping ones count once. */
static int64_t self_of(const tide_model *m, const tide_timeline_rows *r, uint32_t span)
{
	int64_t end = tide__span_end(m, span), self = length(m, r, span), covered = INT64_MIN;
	for (uint32_t i = span + 1; i < m->spans.n && m->spans.t0[i] <= end; i++)
		if (m->spans.parent[i].i == span) {
			int64_t t0 = m->spans.t0[i], t1 = t0 + length(m, r, i);
			self -= t1 > covered ? t1 - (t0 > covered ? t0 : covered) : 0;
			covered = t1 > covered ? t1 : covered;
		}
	return self > 0 ? self : 0; /* a shortened span may be shorter than its children */
}

struct inside {	     /* the spans [first, first + n) */
	uint8_t *in; /* owned; 1 for the first one and those nested in it */
	uint32_t first, n;
};

/* Parents have smaller numbers, and children begin before their parent ends. */
static bool find_inside(const tide_model *m, uint32_t span, struct inside *x)
{
	const tide_spans *s = &m->spans;
	int64_t end = tide__span_end(m, span);
	*x = (struct inside){ .first = span, .n = 1 };
	while (span + x->n < s->n && s->t0[span + x->n] <= end)
		x->n++;
	x->in = tide__alloc(x->n, 1);
	for (uint32_t i = 0; x->in && i < x->n; i++) {
		uint32_t up = s->parent[span + i].i;
		x->in[i] = !i || (up >= span && x->in[up - span]);
	}
	return x->in;
}

static bool inside(const struct inside *x, uint32_t s)
{
	return s >= x->first && s - x->first < x->n && x->in[s - x->first];
}

/* Sums allocations and frees of a span. An allocation's span is the innermost one at that moment,
 * so only memory events in the span's time are examined. Returns false if memory ran out. */
static bool memory_of(const tide_model *m, uint32_t span, tide_span_details *out)
{
	const tide_allocs *a = &m->allocs;
	int64_t end = tide__span_end(m, span);
	struct inside x;
	out->memory = a->n > 1 && m->lanes.kind[m->spans.lane[span].i] == TIDE_LANE_THREAD;
	if (!out->memory)
		return true;
	if (!find_inside(m, span, &x))
		return false;
	for (size_t i = tide__memory_event_from(m, m->spans.t0[span]);
	     i < m->memory_events.n && tide__memory_event_time(m, i) <= end; i++) {
		bool made;
		uint32_t row = tide__memory_event_life(m, i, &made);
		if (row && inside(&x, made ? a->span[row].i : a->free_span[row].i))
			*(made ? &out->allocated : &out->freed) += a->size[row];
	}
	tide__free(x.in);
	return true;
}

static void add(tide_span_details *out, size_t most, tide_span_link l)
{
	if (out->all_links++ < most)
		out->links[out->n_links++] = l;
}

static void links_of(const tide_model *m, uint32_t span, size_t most, tide_span_details *out)
{
	const tide_flows *f = &m->flows;
	uint32_t cause = m->spans.cause[span].i;
	if (cause)
		add(out, most, (tide_span_link){ cause, span, TIDE_FLOW_LAUNCH });
	for (uint32_t i = 1; i < m->spans.n; i++)
		if (m->spans.cause[i].i == span)
			add(out, most, (tide_span_link){ span, i, TIDE_FLOW_LAUNCH });
	for (size_t i = 0; i < f->n; i++) {
		uint32_t from = f->from[i].i, to = f->to[i].i;
		bool launch = m->spans.cause[to].i == from; /* already listed */
		if (from && to && !launch && (from == span || to == span))
			add(out, most, (tide_span_link){ from, to, f->kind[i] });
	}
}

tide_code tide__span_details_find(const tide_model *m, const tide_timeline_rows *rows,
				  uint32_t span, size_t most, tide_span_details *out,
				  tide_error *err)
{
	*out = (tide_span_details){ 0 };
	out->links = tide__alloc(most, sizeof *out->links);
	if (!out->links)
		return tide__nomem(err);
	out->self = self_of(m, rows, span);
	if (!memory_of(m, span, out)) {
		tide__span_details_free(out);
		return tide__nomem(err);
	}
	links_of(m, span, most, out);
	return TIDE_OK;
}

void tide__span_details_free(tide_span_details *n)
{
	tide__free(n->links);
	*n = (tide_span_details){ 0 };
}
