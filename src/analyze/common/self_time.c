// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One stack of open spans per lane, linked through `below`: a span is pushed once and popped
 * once. */
#include "analyze/common/self_time.h"

#include "analyze/common/interval_set.h"
#include "base/mem.h"

bool tide__self_init(tide_self_times *t, const tide_model *m, tide_self_fn *add, void *user)
{
	*t = (tide_self_times){ m,
				add,
				user,
				tide__calloc(m->lanes.n, sizeof *t->top),
				tide__calloc(m->spans.n, sizeof *t->below),
				tide__alloc(m->lanes.n, sizeof *t->now) };
	bool ok = t->top && t->below && t->now;
	for (size_t i = 0; ok && i < m->lanes.n; i++)
		t->now[i] = INT64_MIN;
	return ok;
}

/* Assigns the time of `lane` up to `to` to the spans open in it. */
static void advance(tide_self_times *t, uint32_t lane, int64_t to)
{
	while (t->top[lane] && t->now[lane] < to) {
		uint32_t span = t->top[lane];
		int64_t end = tide__span_end(t->m, span), stop = end < to ? end : to;
		if (stop > t->now[lane]) {
			t->add(t->user, span, stop - t->now[lane]);
			t->now[lane] = stop;
		}
		if (end <= t->now[lane])
			t->top[lane] = t->below[span];
	}
	if (t->now[lane] < to)
		t->now[lane] = to;
}

void tide__self_begin(tide_self_times *t, uint32_t span)
{
	uint32_t lane = t->m->spans.lane[span].i;
	advance(t, lane, t->m->spans.t0[span]);
	t->below[span] = t->top[lane];
	t->top[lane] = span;
}

void tide__self_end(tide_self_times *t)
{
	for (uint32_t lane = 0; lane < t->m->lanes.n; lane++)
		advance(t, lane, INT64_MAX);
}

void tide__self_free(tide_self_times *t)
{
	tide__free(t->top);
	tide__free(t->below);
	tide__free(t->now);
	*t = (tide_self_times){ 0 };
}
