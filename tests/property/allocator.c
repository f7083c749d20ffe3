// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The allocator's analyses on recordings made here: random programs run on the simulator, and its
 * actions are recorded as a trace. Then
 *   - replaying the trace under its own settings takes the same segments in the same order;
 *   - the state at any position equals a map of 512-byte cells painted from scratch;
 *   - the state over time equals the states at its positions;
 *   - savings, growth and room equal slow recomputation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/allocator/allocator_state.h"
#include "analyze/memory/initial_state.h"
#include "analyze/memory/peak_savings.h"
#include "analyze/allocator/fragmentation.h"
#include "analyze/memory/leaks.h"
#include "analyze/allocator/oom.h"
#include "analyze/allocator/sim/replay.h"
#include "analyze/live/usage.h"
#include "base/mem.h"
#include "extent.h"
#include "memory_events.h"
#include "testing.h"

#define MIB (1024ull * 1024)

enum { ROUNDS = 120, STEPS = 300, LIVE = 60, STACKS = 5 };

/* ---- a program and its recorder ---------------------------------------------------------- */

struct world {
	tide_model *m;
	tide_sim *s;
	uint64_t rng, used, next;
	tide_sim_config c;
	int64_t t;
	uint32_t live[LIVE];
	bool pending[LIVE];
	uint32_t lane[3]; /* streams */
	uint32_t pool[3];
};

static uint64_t rnd(struct world *w, uint64_t n)
{
	return one_of(&w->rng, n);
}

static void write_free(struct world *w, uint32_t slot)
{
	w->m->allocs.died[w->live[slot]] = w->t;
	push_event(w->m, TIDE_MEMORY_FREE, w->live[slot]);
	w->live[slot] = 0;
	w->pending[slot] = false;
}

/* A release waits for pending frees: they are complete before the first segment goes. */
static void write_waited(struct world *w)
{
	uint64_t addr, size;

	for (uint32_t i = 0; i < LIVE; i++)
		if (w->live[i] && w->pending[i] && !tide__sim_block(w->s, w->live[i], &addr, &size))
			write_free(w, i);
}

static void write_segment(struct world *w, tide_sim_where at, uint64_t addr, uint64_t size,
			  bool mapped)
{
	uint32_t r = tide__push(&w->m->segments, &tide_segments_desc);
	tide_segments *s = &w->m->segments;

	s->addr[r] = addr;
	s->size[r] = size;
	s->born[r] = w->t;
	s->died[r] = TIDE_T_NEVER;
	s->pool[r].i = w->pool[at.pool];
	s->stream[r].i = w->lane[at.stream];
	s->kind[r] = mapped	? TIDE_SEGMENT_EXPANDABLE
		     : at.small ? TIDE_SEGMENT_SMALL
				: TIDE_SEGMENT_LARGE;
	push_event(w->m, TIDE_MEMORY_SEG_ALLOC, r);
}

static uint64_t take(void *u, tide_sim_where at, uint64_t size)
{
	struct world *w = u;

	write_waited(w);
	if (w->used + size > w->c.capacity)
		return 0;
	w->used += size;
	w->next += size;
	write_segment(w, at, w->next - size, size, false);
	return w->next - size;
}

static uint64_t take_range(void *u, tide_sim_where at, uint64_t size)
{
	struct world *w = u;

	w->next += size;
	return w->next - size;
}

static bool map(void *u, tide_sim_where at, uint64_t addr, uint64_t size)
{
	struct world *w = u;

	write_waited(w);
	if (w->used + size > w->c.capacity)
		return false;
	w->used += size;
	write_segment(w, at, addr, size, true);
	return true;
}

/* Returns the segment row that contains an address. */
static uint32_t find_stretch(struct world *w, uint64_t addr)
{
	const tide_segments *s = &w->m->segments;

	for (uint32_t r = 1; r < s->n; r++)
		if (s->died[r] == TIDE_T_NEVER && addr >= s->addr[r] &&
		    addr - s->addr[r] < s->size[r])
			return r;
	fail_msg("no stretch at %llx", (unsigned long long)addr);
	return 0;
}

/* A segment row is released; its remaining part is taken again at the same moment, marked as a
 * part. */
static void give(void *u, tide_sim_where at, uint64_t addr, uint64_t size)
{
	struct world *w = u;
	uint64_t end = addr + size;

	write_waited(w);
	w->used -= size;
	while (addr < end) {
		uint32_t r = find_stretch(w, addr);
		uint64_t from = w->m->segments.addr[r], to = from + w->m->segments.size[r];
		bool mapped = w->m->segments.kind[r] == TIDE_SEGMENT_EXPANDABLE;

		w->m->segments.died[r] = w->t;
		push_event(w->m, TIDE_MEMORY_SEG_FREE, r);
		if (from < addr) {
			write_segment(w, at, from, addr - from, mapped);
			w->m->segments.flags[w->m->segments.n - 1] = TIDE_SEGMENT_PART;
		}
		if (to > end) {
			write_segment(w, at, end, to - end, mapped);
			w->m->segments.flags[w->m->segments.n - 1] = TIDE_SEGMENT_PART;
		}
		addr = to;
	}
}

static void set_facts(struct world *w)
{
	char text[600] = "";
	size_t at = 0;

	tide__fact_set_number(
		w->m, "allocator.max_split_size",
		w->c.max_split_size == TIDE_SIM_NO_SPLIT_MAX ? -1 : (int64_t)w->c.max_split_size);
	tide__fact_set_number(w->m, "allocator.expandable_segments", w->c.expandable);
	for (int i = 0; i < TIDE_SIM_CLASSES; i++)
		if (w->c.roundup[i])
			at += (size_t)snprintf(text + at, sizeof text - at, "%s%llu:%u",
					       at ? "," : "", 1ull << i, w->c.roundup[i]);
	tide__fact_text(w->m, "allocator.roundup_power2_divisions", text);
}

static void begin(struct world *w, uint32_t seed)
{
	static const tide_sim_device dev = { NULL, take, take_range, map, give };
	tide_sim_device d = dev;

	memset(w, 0, sizeof *w);
	w->rng = 0x9e3779b97f4a7c15ull * (seed + 1);
	w->m = tide__model_new();
	w->next = 1ull << 40;
	w->c = tide__sim_defaults();
	w->c.capacity = (150 + rnd(w, 300)) * MIB;
	w->c.expandable = rnd(w, 3) == 0;
	/* not both: an expandable segment may then serve a refused request without taking memory,
	 * and a trace looks the same after an emptied cache */
	if (!w->c.expandable && rnd(w, 3) == 0)
		w->c.max_split_size = (20 + rnd(w, 40)) * MIB;
	for (int i = 0; rnd(w, 2) && i < TIDE_SIM_CLASSES; i++)
		w->c.roundup[i] = 1u << rnd(w, 4);
	set_facts(w);
	uint32_t dv = tide__push(&w->m->devices, &tide_devices_desc);

	w->m->devices.kind[dv] = TIDE_DEVICE_CUDA;
	for (int i = 0; i < 3; i++) {
		w->lane[i] = tide__push(&w->m->lanes, &tide_lanes_desc);
		w->m->lanes.kind[w->lane[i]] = TIDE_LANE_STREAM;
		w->m->lanes.number[w->lane[i]] = 1000 * (i + 1);
		w->pool[i] = tide__push(&w->m->pools, &tide_pools_desc);
		w->m->pools.device[w->pool[i]].i = dv;
		w->m->pools.kind[w->pool[i]] = i ? TIDE_POOL_PRIVATE : TIDE_POOL_DRAM;
	}
	for (int i = 0; i < STACKS; i++) {
		char name[16];

		snprintf(name, sizeof name, "f%d", i);
		tide__stack_intern(
			w->m, (tide_stack_id){ 0 },
			tide__frame_intern(w->m, tide__intern(w->m, name), (tide_str){ 0 }, 0));
	}
	d.user = w;
	w->s = tide__sim_new(&w->c, &d, 4096);
}

static uint64_t random_size(struct world *w)
{
	static const uint64_t top[] = { 2000, 100000, MIB, 2 * MIB, 9 * MIB, 30 * MIB, 60 * MIB };
	uint64_t t = top[rnd(w, 7)];

	return rnd(w, 4) ? 1 + rnd(w, t) : t;
}

static void write_oom(struct world *w, uint64_t size, uint32_t stream, uint32_t pool)
{
	uint32_t k = tide__push(&w->m->marks, &tide_marks_desc);
	tide_marks *t = &w->m->marks;

	write_waited(w);
	t->kind[k] = TIDE_MARK_OOM;
	t->t[k] = w->t;
	t->value[k] = (int64_t)tide__sim_round(&w->c, size);
	t->extra[k] = (int64_t)(w->c.capacity - w->used);
	t->position[k] = w->m->memory_events.n;
	t->pool[k].i = w->pool[pool];
	t->lane[k].i = w->lane[stream];
}

static void do_alloc(struct world *w, uint32_t slot)
{
	uint64_t size = random_size(w);
	uint32_t stream = rnd(w, 4) ? 0 : (uint32_t)rnd(w, 3),
		 pool = rnd(w, 8) ? 0 : 1 + (uint32_t)rnd(w, 2);
	uint32_t a = (uint32_t)w->m->allocs.n; /* the row it will have */

	if (tide__sim_allocate(w->s, a, size, stream, pool) != TIDE_OK) {
		write_oom(w, size, stream, pool);
		return;
	}
	write_waited(w);
	assert_int_equal(tide__push(&w->m->allocs, &tide_allocs_desc), a);
	tide_allocs *t = &w->m->allocs;

	tide__sim_block(w->s, a, &t->addr[a], &t->size[a]);
	t->requested[a] = size;
	t->born[a] = w->t;
	t->died[a] = TIDE_T_NEVER;
	t->pool[a].i = w->pool[pool];
	t->stream[a].i = w->lane[stream];
	t->stack[a].i = 1 + (uint32_t)rnd(w, STACKS);
	w->live[slot] = a;
	push_event(w->m, TIDE_MEMORY_ALLOC, a);
}

static void do_ask(struct world *w, uint32_t slot)
{
	uint32_t p = tide__push(&w->m->pendings, &tide_pendings_desc);

	w->m->pendings.alloc[p].i = w->live[slot];
	w->m->pendings.t[p] = w->t;
	w->pending[slot] = true;
	w->m->allocs.flags[w->live[slot]] |= TIDE_ALLOC_ASKED;
	push_event(w->m, TIDE_MEMORY_FREE_ASKED, p);
	tide__sim_free_asked(w->s, w->live[slot]);
}

static void step(struct world *w)
{
	uint32_t slot = (uint32_t)rnd(w, LIVE);

	w->t += (int64_t)rnd(w, 3);
	if (rnd(w, 50) == 0) {
		tide__sim_empty_cache(w->s);
		write_waited(w);
	} else if (rnd(w, 40) == 0) {
		uint32_t k = tide__push(&w->m->marks, &tide_marks_desc);

		w->m->marks.kind[k] = TIDE_MARK_STEP;
		w->m->marks.t[k] = w->t;
		w->m->marks.position[k] = w->m->memory_events.n;
	} else if (!w->live[slot]) {
		do_alloc(w, slot);
	} else if (!w->pending[slot] && rnd(w, 6) == 0) {
		do_ask(w, slot);
	} else {
		tide__sim_free(w->s, w->live[slot]);
		write_free(w, slot);
	}
}

static void record(struct world *w, uint32_t seed)
{
	tide_error err = { 0 };

	begin(w, seed);
	for (int i = 0; i < STEPS; i++)
		step(w);
	w->m->t_end = w->t + 1;
	if (tide__model_check(w->m, &err) != TIDE_OK)
		fail_msg("round %u: %s", seed, err.text);
}

static void forget(struct world *w)
{
	tide__sim_free_all(w->s);
	tide__model_free(w->m);
}

/* ---- replaying --------------------------------------------------------------------------- */

static void test_replay(void **state)
{
	for (uint32_t seed = 0; seed < rounds(2000); seed++) {
		struct world w;
		tide_requests *q;
		tide_sim_result out;
		tide_error err = { 0 };

		record(&w, seed);
		assert_int_equal(tide__requests_new(w.m, (tide_device_id){ 1 }, &q, &err), TIDE_OK);
		assert_true(tide__sim_config_equals(&q->recorded, &w.c));
		q->recorded.capacity = w.c.capacity; /* sizes address ranges */
		assert_int_equal(tide__sim_check(q, &out), TIDE_OK);
		if (out.diverged)
			fail_msg("round %u, request %zu of %zu: difference %d", seed,
				 out.diverged_req, q->n, (int)out.difference.what);
		assert_true(out.checked + out.followed == q->n_taken);
		assert_int_equal(out.st.reserved, w.used);
		assert_int_equal(out.st.active, tide__sim_stats(w.s)->active);
		tide__requests_free(q);
		forget(&w);
	}
}

/* ---- the state, painted ------------------------------------------------------------------ */

enum { CELL = 512 };

struct painted {
	uint64_t reserved, active, allocated, free, cached, split, expandable, largest, n_free;
};

/* Is row r alive after `position` events? By looking at all of them. */
static bool alive_row(const tide_model *m, uint64_t position, uint32_t r, uint8_t born,
		      uint8_t dead)
{
	bool alive = false;

	for (uint64_t i = 0; i < position; i++)
		if (m->memory_events.row[i] == r &&
		    (m->memory_events.kind[i] == born || m->memory_events.kind[i] == dead))
			alive = m->memory_events.kind[i] == born;
	return alive;
}

static bool asked_row(const tide_model *m, uint64_t position, uint32_t a)
{
	for (uint64_t i = 0; i < position; i++)
		if (m->memory_events.kind[i] == TIDE_MEMORY_FREE_ASKED &&
		    m->pendings.alloc[m->memory_events.row[i]].i == a)
			return true;
	return false;
}

struct area { /* cells of a segment, or of adjacent segment rows */
	uint64_t addr, size;
	uint32_t first;
	uint8_t *cell;
};

/* Free cells of one area: runs, and whether anything is used. */
static void count_area(const tide_model *m, const struct area *g, struct painted *p)
{
	uint64_t free = 0, run = 0, n = g->size / CELL;

	for (uint64_t i = 0; i < n; i++) {
		if (g->cell[i]) {
			run = 0;
			continue;
		}
		p->n_free += run == 0;
		run += CELL;
		free += CELL;
		if (run > p->largest)
			p->largest = run;
	}
	p->reserved += g->size;
	p->free += free;
	if (m->segments.kind[g->first] == TIDE_SEGMENT_EXPANDABLE)
		p->expandable += free;
	else if (free == g->size)
		p->cached += free;
	else
		p->split += free;
}

static size_t find_areas(const tide_model *m, uint64_t position, struct area *g)
{
	size_t n = 0;

	for (uint32_t r = 1; r < m->segments.n; r++)
		if (alive_row(m, position, r, TIDE_MEMORY_SEG_ALLOC, TIDE_MEMORY_SEG_FREE))
			g[n++] = (struct area){ m->segments.addr[r], m->segments.size[r], r, NULL };
	for (size_t i = 0; i < n;) { /* join what touches, again and again */
		size_t j = 0;

		for (; j < n; j++)
			if (m->segments.kind[g[i].first] == TIDE_SEGMENT_EXPANDABLE &&
			    m->segments.kind[g[j].first] == TIDE_SEGMENT_EXPANDABLE &&
			    g[i].addr + g[i].size == g[j].addr &&
			    m->segments.pool[g[i].first].i == m->segments.pool[g[j].first].i &&
			    m->segments.stream[g[i].first].i == m->segments.stream[g[j].first].i)
				break;
		if (j == n) {
			i++;
			continue;
		}
		g[i].size += g[j].size;
		g[j] = g[--n];
		i = 0;
	}
	return n;
}

static struct painted paint(const tide_model *m, uint64_t position)
{
	struct painted p = { 0 };
	struct area *g = calloc(m->segments.n + 1, sizeof *g);
	size_t n = find_areas(m, position, g);

	for (size_t i = 0; i < n; i++)
		g[i].cell = calloc(g[i].size / CELL + 1, 1);
	for (uint32_t a = 1; a < m->allocs.n; a++) {
		if (!alive_row(m, position, a, TIDE_MEMORY_ALLOC, TIDE_MEMORY_FREE))
			continue;
		p.active += m->allocs.size[a];
		p.allocated += asked_row(m, position, a) ? 0 : m->allocs.size[a];
		for (size_t i = 0; i < n; i++)
			for (uint64_t c = 0;
			     m->allocs.addr[a] >= g[i].addr &&
			     m->allocs.addr[a] < g[i].addr + g[i].size && c < m->allocs.size[a];
			     c += CELL)
				g[i].cell[(m->allocs.addr[a] - g[i].addr + c) / CELL]++;
	}
	for (size_t i = 0; i < n; i++) {
		count_area(m, &g[i], &p);
		free(g[i].cell);
	}
	free(g);
	return p;
}

static void same(uint32_t seed, uint64_t position, const char *what, uint64_t got, uint64_t want)
{
	if (got != want)
		fail_msg("round %u, position %llu: %s is %llu, not %llu", seed,
			 (unsigned long long)position, what, (unsigned long long)got,
			 (unsigned long long)want);
}

static void check_state(const tide_model *m, uint32_t seed, uint64_t position)
{
	struct painted p = paint(m, position);
	tide_state s;
	tide_error err;

	assert_int_equal(tide__state_find_at(m, position, 1, &s, &err), TIDE_OK);
	same(seed, position, "reserved", s.total.reserved, p.reserved);
	same(seed, position, "active", s.total.active, p.active);
	same(seed, position, "allocated", s.total.allocated, p.allocated);
	same(seed, position, "free", s.total.free, p.free);
	same(seed, position, "cached", s.total.cached, p.cached);
	same(seed, position, "inactive split", s.total.inactive_split, p.split);
	same(seed, position, "expandable free", s.total.expandable_free, p.expandable);
	same(seed, position, "largest free", s.total.largest_free, p.largest);
	same(seed, position, "free blocks", s.total.n_free, p.n_free);
	same(seed, position, "loose", s.total.loose, 0);
	same(seed, position, "sum", s.total.free + s.total.active, s.total.reserved);
	for (size_t g = 0; g < s.n_segments; g++) {
		uint64_t at = s.segments[g].addr;

		for (size_t b = s.segments[g].first; b < s.segments[g].first + s.segments[g].n;
		     b++) {
			same(seed, position, "a block's address", s.blocks[b].addr, at);
			at += s.blocks[b].size;
		}
		same(seed, position, "a segment's end", at,
		     s.segments[g].addr + s.segments[g].size);
	}
	tide__state_free(&s);
}

static void test_state(void **state)
{
	for (uint32_t seed = 0; seed < rounds(ROUNDS) / 4; seed++) {
		struct world w;

		record(&w, seed);
		for (int i = 0; i < 8; i++)
			check_state(w.m, seed, rnd(&w, w.m->memory_events.n + 1));
		check_state(w.m, seed, w.m->memory_events.n);
		forget(&w);
	}
}

static void check_point(const tide_model *m, uint32_t seed, const tide_fragmentation_point *p)
{
	tide_state s;
	tide_error err;

	assert_int_equal(tide__state_find_at(m, p->position, 1, &s, &err), TIDE_OK);
	same(seed, p->position, "reserved then", p->reserved, s.total.reserved);
	same(seed, p->position, "active then", p->active, s.total.active);
	same(seed, p->position, "allocated then", p->allocated, s.total.allocated);
	same(seed, p->position, "requested then", p->requested, s.total.requested);
	same(seed, p->position, "cached then", p->cached, s.total.cached);
	same(seed, p->position, "inactive split then", p->inactive_split, s.total.inactive_split);
	same(seed, p->position, "expandable free then", p->expandable_free,
	     s.total.expandable_free);
	same(seed, p->position, "largest free then", p->largest_free, s.total.largest_free);
	tide__state_free(&s);
}

/* The allocated bytes of the program equal those that the allocator counted. */
static void test_usage(void **state)
{
	for (uint32_t seed = 0; seed < rounds(ROUNDS); seed++) {
		struct world w;
		tide_usage u;
		tide_live_set a;
		tide_error err;
		uint64_t sum = 0;

		record(&w, seed);
		const tide_sim_stats *st = tide__sim_stats(w.s);

		assert_int_equal(tide__find_usage(w.m, UINT64_MAX, 0, &u, &err), TIDE_OK);
		same(seed, 0, "peak", u.devices[1].peak, st->allocated_peak);
		same(seed, 0, "live", u.devices[1].bytes, st->allocated);
		same(seed, 0, "reserved", u.devices[1].reserved, st->reserved);
		same(seed, 0, "reserved peak", u.devices[1].reserved_peak, st->reserved_peak);
		assert_int_equal(
			tide__live_set_at(w.m, u.devices[1].peak_position, 1, TIDE_ANY, &a, &err),
			TIDE_OK);
		for (size_t i = 0; i < a.n; i++)
			sum += w.m->allocs.size[a.rows[i]];
		same(seed, 0, "alive at the peak", sum, st->allocated_peak);
		tide__live_set_free(&a);
		tide__usage_free(&u);
		forget(&w);
	}
}

/* Points in order, no two further apart than the events need, the last at the end. */
static void check_by_events(const tide_model *m, uint32_t seed, size_t points)
{
	size_t want = points < m->memory_events.n ? points : m->memory_events.n;
	uint64_t last = 0;
	tide_fragmentation f;
	tide_error err;

	assert_int_equal(tide__fragmentation_find_by_events(m, 1, points, &f, &err), TIDE_OK);
	assert_true(f.n <= want && f.n >= want / 2); /* none inside a partial free */
	for (size_t i = 0; i < f.n; i++) {
		check_point(m, seed, &f.p[i]);
		assert_true(f.p[i].position > last &&
			    f.p[i].position - last <= m->memory_events.n / want + 3);
		assert_int_equal(f.p[i].t, tide__memory_event_time(m, f.p[i].position - 1));
		last = f.p[i].position;
	}
	check_point(m, seed, &f.worst);
	same(seed, 0, "events at the end", last, m->memory_events.n);
	tide__fragmentation_free(&f);
}

static void test_over_time(void **state)
{
	for (uint32_t seed = 0; seed < rounds(ROUNDS); seed++) {
		struct world w;
		tide_fragmentation f;
		tide_error err;

		record(&w, seed);
		assert_int_equal(tide__find_fragmentation(w.m, 1, 25, &f, &err), TIDE_OK);
		assert_int_equal(f.n, 25);
		same(seed, 0, "loose", f.loose, 0);
		for (size_t i = 0; i < f.n; i++)
			check_point(w.m, seed, &f.p[i]);
		check_point(w.m, seed, &f.worst);
		same(seed, 0, "events at the end", f.p[24].position, w.m->memory_events.n);
		tide__fragmentation_free(&f);
		check_by_events(w.m, seed, 1 + seed % 40);
		check_by_events(w.m, seed, SIZE_MAX);
		forget(&w);
	}
}

/* Adjacent segment rows of two streams are two segments: their free blocks are not merged. */
static void test_touching_streams(void **state)
{
	struct world w = { .m = tide__model_new() };
	tide_fragmentation f;
	tide_error err;

	tide__push(&w.m->devices, &tide_devices_desc);
	w.pool[0] = tide__push(&w.m->pools, &tide_pools_desc);
	w.m->pools.device[w.pool[0]].i = 1;
	for (int i = 0; i < 3; i++)
		w.lane[i] = tide__push(&w.m->lanes, &tide_lanes_desc);
	for (uint32_t i = 0; i < 4; i++)
		write_segment(&w, (tide_sim_where){ 0, i / 2, false }, (1 + i) * MIB, MIB, true);
	assert_int_equal(tide__find_fragmentation(w.m, 1, 1, &f, &err), TIDE_OK);
	same(0, 0, "largest free block", f.p[0].largest_free, 2 * MIB);
	check_point(w.m, 0, &f.worst);
	tide__fragmentation_free(&f);
	tide__model_free(w.m);
}

/* The state from before the recording exists at once: segments without their blocks are no state of
 * the program. */
static void test_state_before(void **state)
{
	struct world w = { .m = tide__model_new() };
	tide_fragmentation f;
	tide_error err;

	tide__push(&w.m->devices, &tide_devices_desc);
	w.pool[0] = tide__push(&w.m->pools, &tide_pools_desc);
	w.m->pools.device[w.pool[0]].i = 1;
	w.lane[0] = tide__push(&w.m->lanes, &tide_lanes_desc);
	for (uint32_t i = 0; i < 3; i++) {
		write_segment(&w, (tide_sim_where){ 0, 0, false }, (1 + 2 * i) * MIB, MIB, true);
		w.m->segments.flags[w.m->segments.n - 1] |= TIDE_SEGMENT_BEFORE;
	}
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t a = tide__push(&w.m->allocs, &tide_allocs_desc);
		w.m->allocs.pool[a].i = w.pool[0];
		w.m->allocs.addr[a] = (1 + 2 * i) * MIB;
		w.m->allocs.size[a] = w.m->allocs.requested[a] = MIB - 1024 * (i + 1);
		w.m->allocs.died[a] = TIDE_T_NEVER;
		w.m->allocs.flags[a] = TIDE_ALLOC_BEFORE;
		push_event(w.m, TIDE_MEMORY_ALLOC, a);
	}
	assert_int_equal(tide__find_fragmentation(w.m, 1, 3, &f, &err), TIDE_OK);
	same(0, 0, "unused", f.worst.reserved - f.worst.active, 6 * 1024);
	same(0, 0, "events", f.worst.position, 6);
	tide__fragmentation_free(&f);
	assert_int_equal(tide__fragmentation_find_by_events(w.m, 1, 6, &f, &err), TIDE_OK);
	same(0, 0, "points", f.n, 1);
	same(0, 0, "events at the end", f.p[0].position, 6);
	tide__fragmentation_free(&f);
	for (uint64_t position = 0; position <= 6; position++)
		same(0, 0, "position", tide__after_initial(w.m, position), 6);
	tide__model_free(w.m);
}

/* ---- savings, growth, room --------------------------------------------------------------- */

/* Returns the allocation that ends at event i: its free is requested there, or completed without a
 * request before. */
static uint32_t ended(const tide_model *m, size_t i)
{
	if (m->memory_events.kind[i] == TIDE_MEMORY_FREE_ASKED)
		return m->pendings.alloc[m->memory_events.row[i]].i;
	if (m->memory_events.kind[i] != TIDE_MEMORY_FREE ||
	    asked_row(m, i, m->memory_events.row[i]))
		return 0;
	return m->memory_events.row[i];
}

static uint64_t peak_without(const tide_model *m, uint32_t stack, uint64_t *position)
{
	uint64_t live = 0, peak = 0;

	for (size_t i = 0; i < m->memory_events.n; i++) {
		bool born = m->memory_events.kind[i] == TIDE_MEMORY_ALLOC;
		uint32_t r = born ? m->memory_events.row[i] : ended(m, i);

		if (!r || m->allocs.stack[r].i == stack)
			continue;
		live = born ? live + m->allocs.size[r] : live - m->allocs.size[r];
		if (live > peak) {
			peak = live;
			*position = i + 1;
		}
	}
	return peak;
}

static void test_culprits(void **state)
{
	for (uint32_t seed = 0; seed < rounds(ROUNDS); seed++) {
		struct world w;
		tide_live_set a;
		tide_groups g;
		tide_peak_saving *c;
		tide_error err;
		size_t n;
		uint64_t position = 0, peak;

		record(&w, seed);
		peak = peak_without(w.m, 0, &position);
		assert_int_equal(tide__live_set_at(w.m, position, 1, TIDE_ANY, &a, &err), TIDE_OK);
		assert_int_equal(tide__find_groups(w.m, &a, TIDE_BY_STACK, &g, &err), TIDE_OK);
		assert_int_equal(tide__find_peak_savings(w.m, 1, TIDE_ANY, &g, 3, &c, &n, &err),
				 TIDE_OK);
		assert_int_equal(n, g.n < 3 ? g.n : 3);
		for (size_t i = 0; i < n; i++) {
			uint64_t without = peak_without(w.m, (uint32_t)g.rows[i].key, &position);

			same(seed, i, "peak without", c[i].without, without);
			same(seed, i, "saving", c[i].saving, peak - without);
			assert_true(c[i].saving <= g.rows[i].bytes);
		}
		tide__free(c);
		tide__groups_free(&g);
		tide__live_set_free(&a);
		forget(&w);
	}
}

/* Live bytes of a stack (0 = all) just before time t. */
static uint64_t held_before(const tide_model *m, uint32_t stack, int64_t t)
{
	uint64_t live = 0;

	for (size_t i = 0; i < m->memory_events.n && tide__memory_event_time(m, i) < t; i++) {
		bool born = m->memory_events.kind[i] == TIDE_MEMORY_ALLOC;
		uint32_t r = born ? m->memory_events.row[i] : ended(m, i);

		if (!r || (stack && m->allocs.stack[r].i != stack))
			continue;
		live = born ? live + m->allocs.size[r] : live - m->allocs.size[r];
	}
	return live;
}

/* Returns the minimum of the bytes that a stack held in [from, to), including the value at the
 * begin. */
static uint64_t least_held(const tide_model *m, uint32_t stack, int64_t from, int64_t to)
{
	uint64_t least = held_before(m, stack, from);

	for (size_t i = 0; i < m->memory_events.n; i++) {
		int64_t t = tide__memory_event_time(m, i);
		uint64_t live = 0;

		if (t < from || t >= to)
			continue;
		for (size_t k = 0; k <= i; k++) {
			bool born = m->memory_events.kind[k] == TIDE_MEMORY_ALLOC;
			uint32_t r = born ? m->memory_events.row[k] : ended(m, k);

			if (r && (!stack || m->allocs.stack[r].i == stack))
				live = born ? live + m->allocs.size[r] : live - m->allocs.size[r];
		}
		least = live < least ? live : least;
	}
	return least;
}

static void check_growth(const tide_model *m, uint32_t seed, tide_leaks *l, uint32_t stack)
{
	size_t n = l->steps.n, rose = 0, fell = 0;
	uint64_t *y = calloc(n, sizeof *y), *series = calloc(n, sizeof *series);
	double mean_y = 0, mean_s = ((double)n + 1) / 2, num = 0, den = 0;
	tide_error err;
	const tide_leak *found = stack ? NULL : &l->total;

	for (size_t i = 0; i < n; i++) {
		y[i] = l->steps.source == TIDE_STEPS_EVERY
			       ? least_held(m, stack, l->steps.t[i], l->steps.t[i + 1])
			       : held_before(m, stack, l->steps.t[i + 1]);
		mean_y += (double)y[i] / (double)n;
		rose += i && y[i] > y[i - 1];
		fell += i && y[i] < y[i - 1];
	}
	for (size_t i = 0; i < n; i++) {
		num += ((double)i + 1 - mean_s) * ((double)y[i] - mean_y);
		den += ((double)i + 1 - mean_s) * ((double)i + 1 - mean_s);
	}
	bool growing = num > 0 && y[0] < y[(n + 1) / 2 - 1] && y[(n + 1) / 2 - 1] < y[n - 1] &&
		       rose > fell;

	for (size_t i = 0; stack && i < l->n; i++)
		if (l->v[i].key == stack)
			found = &l->v[i];
	assert_int_equal(stack ? found != NULL : l->total.growing, growing);
	if (found) {
		same(seed, stack, "first", found->first, y[0]);
		same(seed, stack, "last", found->last, y[n - 1]);
		same(seed, stack, "rose", found->up, rose);
		same(seed, stack, "fell", found->down, fell);
		double off = found->slope - num / den;

		assert_true(off < 1e-3 && off > -1e-3);
	}
	if (stack) {
		assert_int_equal(tide__leaks_find_series(m, 1, l, stack, series, &err), TIDE_OK);
		assert_memory_equal(y, series, n * sizeof *y);
	}
	free(y);
	free(series);
}

static void test_leaks(void **state)
{
	for (uint32_t seed = 0; seed < rounds(ROUNDS); seed++) {
		struct world w;
		tide_leaks l;
		tide_error err;

		record(&w, seed);
		for (int64_t every = 0; every < 100; every += 29) {
			assert_int_equal(tide__find_leaks(w.m, 1, TIDE_BY_STACK, every, &l, &err),
					 TIDE_OK);
			assert_int_equal(l.known, l.steps.n >= 3);
			for (uint32_t k = 0; l.known && k <= STACKS; k++)
				check_growth(w.m, seed, &l, k);
			tide__leaks_free(&l);
		}
		forget(&w);
	}
}

/* The state if one stack's blocks had been freed at the OOM: paint it. */
static void check_room(const tide_model *m, uint32_t seed, const tide_oom *o,
		       const tide_oom_room *r)
{
	uint64_t position = m->marks.position[o->mark], released = 0, largest = 0;
	struct area *g = calloc(m->segments.n + 1, sizeof *g);
	size_t n = find_areas(m, position, g);

	for (size_t i = 0; i < n; i++) {
		struct painted p = { 0 };

		g[i].cell = calloc(g[i].size / CELL + 1, 1);
		for (uint32_t a = 1; a < m->allocs.n; a++)
			if (m->allocs.addr[a] >= g[i].addr &&
			    m->allocs.addr[a] < g[i].addr + g[i].size &&
			    m->allocs.stack[a].i != o->groups.rows[r->row].key &&
			    alive_row(m, position, a, TIDE_MEMORY_ALLOC, TIDE_MEMORY_FREE))
				for (uint64_t c = 0; c < m->allocs.size[a]; c += CELL)
					g[i].cell[(m->allocs.addr[a] - g[i].addr + c) / CELL] = 1;
		count_area(m, &g[i], &p);
		released += p.free == g[i].size ? g[i].size : 0;
		largest = p.largest > largest ? p.largest : largest;
		free(g[i].cell);
	}
	same(seed, position, "released", r->released, released);
	same(seed, position, "largest", r->largest, largest);
	free(g);
}

static void test_oom(void **state)
{
	size_t seen = 0;

	for (uint32_t seed = 0; seed < rounds(ROUNDS) && seen < 12; seed++) {
		struct world w;
		uint32_t *rows;
		size_t n;
		tide_error err;

		record(&w, seed);
		assert_int_equal(tide__oom_marks_find(w.m, 1, &rows, &n, &err), TIDE_OK);
		for (size_t i = 0; i < n && i < 2; i++, seen++) {
			tide_oom o;

			assert_int_equal(tide__find_oom(w.m, rows[i], TIDE_BY_STACK, 2, &o, &err),
					 TIDE_OK);
			same(seed, i, "capacity", o.capacity, w.c.capacity);
			assert_int_equal(o.cause == TIDE_OOM_FULL,
					 o.asked > o.at.free + (uint64_t)o.device_free);
			for (size_t k = 0; k < o.n_room; k++)
				check_room(w.m, seed, &o, &o.room[k]);
			tide__oom_free(&o);
		}
		tide__free(rows);
		forget(&w);
	}
	assert_true(seen > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replay),	     cmocka_unit_test(test_state),
		cmocka_unit_test(test_usage),	     cmocka_unit_test(test_over_time),
		cmocka_unit_test(test_culprits),     cmocka_unit_test(test_leaks),
		cmocka_unit_test(test_oom),	     cmocka_unit_test(test_touching_streams),
		cmocka_unit_test(test_state_before),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
