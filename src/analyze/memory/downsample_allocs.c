// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Two passes over the memory events for each try: one finds the kept positions, one the
 * allocations alive at any of them. */
#include "analyze/memory/downsample_allocs.h"

#include <stdlib.h>

#include "analyze/live/usage.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/wide.h"

struct top {
	uint64_t live, high;
	uint64_t position; /* memory events up to the highest moment of the current interval */
	uint64_t ever;	   /* highest live bytes of all, and their position */
	uint64_t ever_position;
	bool seen; /* the interval has a moment */
};

struct sweep {
	const tide_model *m;
	int64_t from, to;
	uint32_t px;
	const tide_phases
		*phases;  /* intervals are the first px of these; NULL = parts of the window */
	uint64_t at;	  /* one more position to keep */
	struct top *tops; /* owned; per device and all together, or per scope */
	size_t n_tops;
	uint32_t *gap; /* owned; per alloc: kept positions before it was made */
	tide_downsampled_allocs *out;
	size_t cap;
};

/* Returns 0 before the window, 1 .. px for its intervals, px + 1 after it. `last`: the result for
 * the previous event. */
static uint32_t stretch_of(const struct sweep *x, size_t i, uint32_t last)
{
	if (x->phases) {
		while (last < x->px && i >= x->phases->phases[last].event1)
			last++;
		return last;
	}
	int64_t t = tide__memory_event_time(x->m, i);
	if (t < x->from)
		return 0;
	if (t >= x->to)
		return x->px + 1;
	return 1 +
	       (uint32_t)((tide_u128)(uint64_t)(t - x->from) * x->px / (uint64_t)(x->to - x->from));
}

static bool add_position(struct sweep *x, uint64_t position)
{
	tide_downsampled_allocs *o = x->out;
	if (!TIDE_ROOM(o->positions, x->cap, o->n_positions + 1))
		return false;
	o->positions[o->n_positions++] = position;
	return true;
}

/* Ends the interval: keeps its highest positions. The level at its end holds at the start of the
 * next. */
static bool close_stretch(struct sweep *x, uint64_t position)
{
	for (size_t d = 0; d < x->n_tops; d++) {
		struct top *t = &x->tops[d];
		if (t->seen && !add_position(x, t->position))
			return false;
		t->seen = false;
		t->high = t->live;
		t->position = position;
	}
	return true;
}

static void change(struct top *t, int64_t bytes, uint64_t position)
{
	t->live += (uint64_t)bytes;
	t->seen = true;
	if (t->live > t->high) {
		t->high = t->live;
		t->position = position;
	}
	if (t->live > t->ever) {
		t->ever = t->live;
		t->ever_position = position;
	}
}

static void apply(struct sweep *x, uint32_t pool, int64_t bytes, uint64_t position)
{
	if (!x->phases) {
		change(&x->tops[x->n_tops - 1], bytes, position);
		if (tide__pool_in_device(x->m, pool))
			change(&x->tops[x->m->pools.device[pool].i], bytes, position);
		return;
	}
	for (int k = 0; k < TIDE_SCOPES_A_POOL; k++)
		if (x->phases->of[pool][k])
			change(&x->tops[x->phases->of[pool][k] - 1], bytes, position);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static bool find_positions(struct sweep *x)
{
	const tide_model *m = x->m;
	uint32_t at = 0;
	bool made, ok = true;
	for (size_t d = 0; d < x->n_tops; d++)
		x->tops[d] = (struct top){ 0 };
	x->out->n_positions = 0;
	for (size_t i = 0; ok && i < m->memory_events.n; i++) {
		uint32_t row = tide__memory_event_life(m, i, &made);
		if (!row)
			continue;
		uint32_t now = stretch_of(x, i, at);
		if (now != at)
			ok = close_stretch(x, i) &&
			     (now == at + 1 || add_position(x, i)); /* held between */
		at = now;
		int64_t bytes = (int64_t)m->allocs.size[row];
		apply(x, m->allocs.pool[row].i, made ? bytes : -bytes, i + 1);
	}
	ok = ok && close_stretch(x, m->memory_events.n) && add_position(x, m->memory_events.n) &&
	     add_position(x, x->at);
	for (size_t d = 0; ok && d < x->n_tops; d++)
		ok = add_position(x, x->tops[d].ever_position);
	if (!ok)
		return false;
	qsort(x->out->positions, x->out->n_positions, sizeof *x->out->positions, by_number);
	size_t n = 0;
	for (size_t i = 0; i < x->out->n_positions; i++)
		if (!n || x->out->positions[n - 1] != x->out->positions[i])
			x->out->positions[n++] = x->out->positions[i];
	x->out->n_positions = n;
	return true;
}

/* Drops allocations that are made, freed and released by streams between the same two kept
 * positions. */
static void find_kept(struct sweep *x)
{
	const tide_model *m = x->m;
	tide_downsampled_allocs *o = x->out;
	uint32_t gap = 0;
	bool made;
	o->kept = 0;
	for (size_t i = 0; i < m->memory_events.n; i++) {
		while (gap < o->n_positions && o->positions[gap] <= i)
			gap++;
		uint32_t row = tide__memory_event_life(m, i, &made);
		if (!row && m->memory_events.kind[i] == TIDE_MEMORY_FREE &&
		    o->drop[m->memory_events.row[i]] &&
		    x->gap[m->memory_events.row[i]] !=
			    gap) { /* a stream held it across a kept position */
			o->drop[m->memory_events.row[i]] = 0;
			o->kept++;
		}
		if (!row)
			continue;
		if (made) {
			x->gap[row] = gap;
			o->drop[row] = 0;
			o->kept++;
		} else if (x->gap[row] == gap && m->allocs.died[row] != TIDE_T_NEVER) {
			o->drop[row] = 1;
			o->kept--;
		}
	}
}

static tide_code downsample(struct sweep *x, uint64_t most, tide_error *err)
{
	const tide_model *m = x->m;
	tide_downsampled_allocs *out = x->out;
	*out = (tide_downsampled_allocs){ 0 };
	x->tops = tide__calloc(x->n_tops, sizeof *x->tops);
	x->gap = tide__alloc(m->allocs.n, sizeof *x->gap);
	out->drop = tide__calloc(m->allocs.n, 1);
	bool ok = x->tops && x->gap && out->drop;
	while (ok && (ok = find_positions(x))) {
		find_kept(x);
		out->px = x->px;
		if (out->kept <= most || x->px <= 1)
			break;
		x->px /= 2;
	}
	tide__free(x->tops);
	tide__free(x->gap);
	if (ok)
		return TIDE_OK;
	tide__downsampled_allocs_free(out);
	return tide__nomem(err);
}

tide_code tide__downsample_allocs(const tide_model *m, int64_t from, int64_t to, uint32_t px,
				  int64_t at, uint64_t most, tide_downsampled_allocs *out,
				  tide_error *err)
{
	struct sweep x = { .m = m,
			   .from = from,
			   .to = to,
			   .px = px,
			   .at = at < 0 ? 0 : tide__position_at(m, at),
			   .n_tops = m->devices.n + 1,
			   .out = out };
	return downsample(&x, most, err);
}

tide_code tide__downsample_phases(const tide_model *m, const tide_phases *p, uint64_t most,
				  tide_downsampled_allocs *out, tide_error *err)
{
	struct sweep x = { .m = m,
			   .phases = p,
			   .px = p->n < UINT32_MAX ? (uint32_t)p->n : UINT32_MAX,
			   .n_tops = p->n_scopes,
			   .out = out };
	return downsample(&x, most, err);
}

void tide__downsampled_allocs_free(tide_downsampled_allocs *t)
{
	tide__free(t->drop);
	tide__free(t->positions);
	*t = (tide_downsampled_allocs){ 0 };
}
