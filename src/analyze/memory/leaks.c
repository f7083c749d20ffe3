// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Growth over steps. Groups change rarely against the number of steps, so each keeps its sums and
 * catches up on the steps that passed when it next changes: O(1) per memory event, for any n. */
#include "analyze/memory/leaks.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

struct line {		     /* one group's sums so far */
	uint64_t now, count; /* live bytes, allocations */
	uint64_t least;	     /* the fewest bytes in interval `in`, for intervals */
	uint32_t in;	     /* 0 = before the first */
	uint64_t seen;	     /* y at the last step's end that was accounted */
	uint32_t step;	     /* ... which was this one: ends 1 .. step are in the sums */
	uint32_t up, down, alloc;
	uint64_t first, middle, first_count;
	tide_i128 sum_y, sum_sy;
	uint64_t key;
};

struct lines {
	struct line *v;
	size_t n, cap;
	tide_map index; /* key + 1 -> line + 1 */
};

static struct line *line_of(struct lines *l, uint64_t key)
{
	uint32_t at = tide__map_get(&l->index, key);

	if (at)
		return &l->v[at - 1];
	if (!TIDE_ROOM(l->v, l->cap, l->n + 1))
		return NULL;
	if (!tide__map_put(&l->index, key, (uint32_t)l->n + 1))
		return NULL;
	l->v[l->n] = (struct line){ .key = key };
	return &l->v[l->n++];
}

/* Adds steps step + 1 .. to, which have y. */
static void account(struct line *l, uint32_t to, uint32_t half, uint64_t y)
{
	if (l->step >= to)
		return;
	if (l->step < half && half <= to)
		l->middle = y;
	tide_i128 k = to - l->step, from = l->step + 1;

	if (l->step == 0) {
		l->first = y;
		l->first_count = l->count;
	} else {
		l->up += y > l->seen;
		l->down += y < l->seen;
	}
	l->sum_y += k * y;
	l->sum_sy += (from + to) * k / 2 * y;
	l->seen = y;
	l->step = to;
}

/* Adds steps step + 1 .. to, which have ended. For an interval in which the group changed, the
 * minimum counts. */
static void catch_up(struct line *l, uint32_t to, uint32_t half)
{
	if (l->in && l->in == l->step + 1 && l->in <= to)
		account(l, l->in, half, l->least);
	account(l, to, half, l->now);
}

struct at { /* the position of a memory event in the run */
	uint32_t ended, half;
	uint32_t in; /* for intervals: the current one, 0 = before the first; for steps: 0 */
	int64_t end;
};

static void change(struct line *l, const struct at *at, const tide_allocs *t, uint32_t a, bool born)
{
	catch_up(l, at->ended, at->half);
	if (l->in != at->in) {
		l->in = at->in;
		l->least = l->now;
	}
	l->now = born ? l->now + t->size[a] : l->now - t->size[a];
	l->count = born ? l->count + 1 : l->count - 1;
	if (l->now < l->least)
		l->least = l->now;
	if (born && t->died[a] >= at->end)
		l->alloc = a;
}

static bool here(const tide_model *m, uint32_t device, uint32_t a)
{
	uint32_t pool = m->allocs.pool[a].i;
	return device == TIDE_ANY ||
	       (m->pools.device[pool].i == device && tide__pool_in_device(m, pool));
}

static bool sweep(const tide_model *m, uint32_t device, tide_leaks *out, struct lines *l,
		  struct line *all)
{
	uint32_t n = (uint32_t)out->steps.n;
	struct at at = { .half = (n + 1) / 2, .end = out->steps.t[n] };
	bool least = out->steps.source == TIDE_STEPS_EVERY;

	for (size_t i = 0; i < m->memory_events.n; i++) {
		bool born;
		uint32_t a = tide__memory_event_life(m, i, &born);

		if (!a || !here(m, device, a))
			continue;
		int64_t t = tide__memory_event_time(m, i);

		while (at.ended < n && t >= out->steps.t[at.ended + 1])
			at.ended++;
		if (at.ended == n)
			break;
		at.in = least && t >= out->steps.t[0] ? at.ended + 1 : 0;
		uint64_t key = tide__groups_key(&out->groups, m, a);
		struct line *g = key == UINT64_MAX ? NULL : line_of(l, key);

		if (!g)
			return false;
		change(g, &at, &m->allocs, a, born);
		change(all, &at, &m->allocs, a, born);
	}
	for (size_t i = 0; i < l->n; i++)
		catch_up(&l->v[i], n, at.half);
	catch_up(all, n, at.half);
	return true;
}

static tide_leak finish(const struct line *l, const tide_leaks *out)
{
	tide_i128 n = (tide_i128)out->steps.n, sum_s = n * (n + 1) / 2;
	tide_leak k = { .key = l->key,
			.first = l->first,
			.middle = l->middle,
			.last = l->seen,
			.first_count = l->first_count,
			.last_count = l->count,
			.up = l->up,
			.down = l->down,
			.alloc = l->alloc };

	k.slope_num = n * l->sum_sy - sum_s * l->sum_y;
	k.slope = (double)k.slope_num / (double)out->slope_den;
	k.growing = k.slope_num > 0 && k.first < k.middle && k.middle < k.last && k.up > k.down;
	k.steady = k.growing && !k.down;
	return k;
}

static int by_slope(const void *a, const void *b)
{
	const tide_leak *x = a, *y = b;

	if (x->slope_num != y->slope_num)
		return x->slope_num > y->slope_num ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static tide_code collect(const struct lines *l, const struct line *all, tide_leaks *out,
			 tide_error *err)
{
	tide_i128 n = (tide_i128)out->steps.n;

	out->slope_den =
		n * (n * (n + 1) * (2 * n + 1) / 6) - (n * (n + 1) / 2) * (n * (n + 1) / 2);
	out->total = finish(all, out);
	out->v = tide__alloc(l->n, sizeof *out->v);
	if (!out->v)
		return tide__nomem(err);
	for (size_t i = 0; i < l->n; i++) {
		tide_leak k = finish(&l->v[i], out);

		if (k.growing)
			out->v[out->n++] = k;
	}
	if (out->n)
		qsort(out->v, out->n, sizeof *out->v, by_slope);
	return TIDE_OK;
}

tide_code tide__find_leaks(const tide_model *m, uint32_t device, tide_group_by by, int64_t every_ns,
			   tide_leaks *out, tide_error *err)
{
	static const tide_live_set none = { 0 };
	struct lines l = { 0 };
	struct line all = { 0 };
	tide_code rc;

	memset(out, 0, sizeof *out);
	rc = tide__find_step_boundaries(m, device, every_ns, &out->steps);
	if (rc != TIDE_OK)
		return tide__nomem(err);
	rc = tide__find_groups(m, &none, by, &out->groups, err);
	out->groups.paths.no_steps = true; /* one op over all steps */
	out->known = device && out->steps.n >= 3;
	if (rc != TIDE_OK || !out->known)
		return rc;
	rc = sweep(m, device, out, &l, &all) ? collect(&l, &all, out, err) : tide__nomem(err);
	tide__free(l.v);
	tide__map_free(&l.index);
	return rc;
}

void tide__leaks_free(tide_leaks *l)
{
	tide__step_boundaries_free(&l->steps);
	tide__groups_free(&l->groups);
	tide__free(l->v);
	memset(l, 0, sizeof *l);
}

tide_code tide__leaks_find_series(const tide_model *m, uint32_t device, tide_leaks *l, uint64_t key,
				  uint64_t *out, tide_error *err)
{
	uint64_t now = 0, least = 0;
	size_t ended = 0;
	bool every = l->steps.source == TIDE_STEPS_EVERY;

	for (size_t i = 0; i < m->memory_events.n; i++) {
		bool born;
		uint32_t a = tide__memory_event_life(m, i, &born);

		if (!a || !here(m, device, a))
			continue;
		int64_t t = tide__memory_event_time(m, i);
		uint64_t k = tide__groups_key(&l->groups, m, a);

		if (k == UINT64_MAX)
			return tide__nomem(err);
		for (; ended < l->steps.n && t >= l->steps.t[ended + 1]; ended++, least = now)
			out[ended] = every ? least : now;
		if (t >= l->steps.t[l->steps.n])
			break;
		if (k == key)
			now = born ? now + m->allocs.size[a] : now - m->allocs.size[a];
		least = now < least || t < l->steps.t[0] ? now : least;
	}
	for (; ended < l->steps.n; ended++, least = now)
		out[ended] = every ? least : now;
	return TIDE_OK;
}
