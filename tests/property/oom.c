// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* All out-of-memory events in one sweep against each by itself (which tests/property/allocator.c
 * checks against a painted map): on random recordings of several devices, with plain and expandable
 * segments, released whole and in part, blocks outside segments, pending frees, and in some
 * recordings contradictory overlaps. The groups whose memory would have made room are compared with
 * a search through every block for every group. */
#include <string.h>

#include "analyze/allocator/fragmentation.h"
#include "analyze/allocator/oom.h"
#include "base/mem.h"
#include "memory_events.h"
#include "testing.h"

enum { ROUNDS = 400, STEPS = 160, CELL = 4096, CELLS = 64, MOST = 512, DEVICES = 3 };

struct world {
	tide_model *m;
	uint64_t rng;
	int64_t t;
	bool odd;		       /* contradictory recording */
	uint8_t used[DEVICES][CELLS];  /* cells: alive there */
	uint8_t taken[DEVICES][CELLS]; /* cells: in a segment */
	uint32_t live[MOST], segment[MOST];
	size_t n_live, n_segments;
};

static uint64_t rnd(struct world *w, uint64_t n)
{
	return one_of(&w->rng, n);
}

/* Every device has two pools: a device's is 2 d + 1 or 2 d + 2, its device d + 1. */
static size_t device_of(uint32_t pool)
{
	return (pool - 1) / 2;
}

static bool is_clear(const uint8_t *cell, size_t at, size_t n)
{
	while (n && !cell[at + n - 1])
		n--;
	return !n;
}

/* ---- events ---- */

static void add_segment(struct world *w, uint32_t pool, size_t at, size_t n, uint8_t kind,
			uint8_t flags)
{
	tide_segments *s = &w->m->segments;
	uint32_t r = tide__push(s, &tide_segments_desc);
	s->addr[r] = at * CELL;
	s->size[r] = n * CELL;
	s->born[r] = w->t;
	s->died[r] = TIDE_T_NEVER;
	s->pool[r].i = pool;
	s->kind[r] = kind;
	s->flags[r] = flags;
	memset(w->taken[device_of(pool)] + at, 1, n);
	w->segment[w->n_segments++] = r;
	push_event(w->m, TIDE_MEMORY_SEG_ALLOC, r);
}

static void take_segment(struct world *w, uint32_t pool)
{
	static const uint8_t kinds[] = { TIDE_SEGMENT_SMALL, TIDE_SEGMENT_LARGE,
					 TIDE_SEGMENT_EXPANDABLE };
	size_t n = 1 + rnd(w, 12), at = rnd(w, CELLS - n), d = device_of(pool);
	bool clear = is_clear(w->taken[d] + at, 0, n) && is_clear(w->used[d] + at, 0, n);
	if (w->n_segments < MOST && (clear || w->odd))
		add_segment(w, pool, at, n, kinds[rnd(w, 3)], 0);
}

/* Releases a segment whole, or the middle of an expandable one: then its ends are taken again at
 * the same moment. */
static void give_segment(struct world *w)
{
	tide_segments *s = &w->m->segments;
	if (!w->n_segments)
		return;
	size_t i = rnd(w, w->n_segments);
	uint32_t r = w->segment[i], pool = s->pool[r].i;
	size_t at = s->addr[r] / CELL, n = s->size[r] / CELL, front = 0, back = 0;
	if (n > 2 && rnd(w, 2) && (s->kind[r] == TIDE_SEGMENT_EXPANDABLE || w->odd)) {
		front = rnd(w, n - 1);
		back = rnd(w, n - front - 1);
	}
	if (!w->odd && !is_clear(w->used[device_of(pool)], at + front, n - front - back))
		return;
	uint8_t kind = s->kind[r];
	s->died[r] = w->t;
	w->segment[i] = w->segment[--w->n_segments];
	memset(w->taken[device_of(pool)] + at, 0, n);
	push_event(w->m, TIDE_MEMORY_SEG_FREE, r);
	if (front)
		add_segment(w, pool, at, front, kind, TIDE_SEGMENT_PART);
	if (back)
		add_segment(w, pool, at + n - back, back, kind, TIDE_SEGMENT_PART);
}

/* Inside one segment, or in none; in a contradictory recording anywhere. */
static void add_alloc(struct world *w, uint32_t pool)
{
	size_t n = rnd(w, 4), at = rnd(w, CELLS - 4), d = device_of(pool);
	bool inside = false;
	for (size_t i = 0; i < w->n_segments; i++) {
		uint32_t g = w->segment[i];
		inside |= device_of(w->m->segments.pool[g].i) == d &&
			  w->m->segments.addr[g] <= at * CELL &&
			  (at + n) * CELL <= w->m->segments.addr[g] + w->m->segments.size[g];
	}
	if (w->n_live == MOST || (!w->odd && (!is_clear(w->used[d], at, n) ||
					      (!inside && !is_clear(w->taken[d], at, n)))))
		return;
	tide_allocs *t = &w->m->allocs;
	uint32_t r = tide__push(t, &tide_allocs_desc);
	t->addr[r] = at * CELL;
	t->size[r] = n * CELL;
	t->requested[r] = n * CELL - rnd(w, n * 100 + 1);
	t->born[r] = w->t;
	t->died[r] = TIDE_T_NEVER;
	t->pool[r].i = pool;
	t->stack[r].i = 1 + (uint32_t)rnd(w, 3);
	t->flags[r] = w->odd ? TIDE_ALLOC_OVERLAPS : 0;
	memset(w->used[d] + at, 1, n);
	w->live[w->n_live++] = r;
	push_event(w->m, TIDE_MEMORY_ALLOC, r);
}

static void end_alloc(struct world *w)
{
	tide_allocs *t = &w->m->allocs;
	if (!w->n_live)
		return;
	size_t i = rnd(w, w->n_live);
	uint32_t r = w->live[i];
	if (rnd(w, 3) == 0 && !(t->flags[r] & TIDE_ALLOC_ASKED)) {
		uint32_t p = tide__push(&w->m->pendings, &tide_pendings_desc);
		w->m->pendings.alloc[p].i = r;
		w->m->pendings.t[p] = w->t;
		t->flags[r] |= TIDE_ALLOC_ASKED;
		push_event(w->m, TIDE_MEMORY_FREE_ASKED, p);
		return;
	}
	t->died[r] = w->t;
	w->live[i] = w->live[--w->n_live];
	memset(w->used[device_of(t->pool[r].i)] + t->addr[r] / CELL, 0, t->size[r] / CELL);
	push_event(w->m, TIDE_MEMORY_FREE, r);
}

static void fail_request(struct world *w, uint32_t pool)
{
	uint32_t k = tide__push(&w->m->marks, &tide_marks_desc);
	tide_marks *t = &w->m->marks;
	t->kind[k] = TIDE_MARK_OOM;
	t->t[k] = w->t;
	t->position[k] = w->m->memory_events.n;
	t->pool[k].i = pool;
	t->value[k] = (int64_t)rnd(w, 30 * CELL);
	t->extra[k] = (int64_t)rnd(w, 20 * CELL) - 1;
}

static void step(struct world *w)
{
	uint32_t pool = 1 + (uint32_t)rnd(w, w->m->pools.n - 1);
	w->t += (int64_t)rnd(w, 3);
	switch (rnd(w, 8)) {
	case 0:
		take_segment(w, pool);
		break;
	case 1:
		give_segment(w);
		break;
	case 2:
		fail_request(w, rnd(w, 8) ? pool : 0);
		break;
	case 3:
	case 4:
		end_alloc(w);
		break;
	default:
		add_alloc(w, pool);
	}
}

static void record(struct world *w, uint32_t seed)
{
	tide_error err;
	*w = (struct world){ .m = tide__model_new(),
			     .rng = 0x9e3779b97f4a7c15ull * (seed + 1),
			     .odd = seed % 4 == 3 };
	for (uint32_t d = 1; d <= 1 + seed % DEVICES; d++) {
		tide__push(&w->m->devices, &tide_devices_desc);
		w->m->devices.kind[d] = TIDE_DEVICE_CUDA;
		for (int i = 0; i < 2; i++)
			w->m->pools.device[tide__push(&w->m->pools, &tide_pools_desc)].i = d;
	}
	for (uint32_t i = 0; i < 3; i++)
		tide__stack_intern(
			w->m, (tide_stack_id){ 0 },
			tide__frame_intern(w->m, tide__intern(w->m, "f"), (tide_str){ 0 }, i));
	for (int i = 0; i < STEPS; i++)
		step(w);
	w->m->t_end = w->t + 1;
	if (tide__model_check(w->m, &err) != TIDE_OK)
		fail_msg("round %u: %s", seed, err.text);
}

/* ---- whose memory would have made room ---- */

/* Returns whether block b is in use by another stack than `key`. A pending free keeps its block. */
static bool stays(const tide_model *m, const tide_live_set *a, const tide_state_block *b,
		  uint64_t key)
{
	bool alive = false;
	for (size_t i = 0; i < a->n; i++)
		alive |= a->rows[i] == b->alloc;
	return b->alloc && !(alive && m->allocs.stack[b->alloc].i == key);
}

static void check_room(const tide_model *m, const tide_state *s, const tide_live_set *a,
		       const tide_oom *o, const tide_oom_room *r, uint32_t seed)
{
	uint64_t released = 0, largest = 0;
	for (size_t g = 0; g < s->n_segments; g++) {
		uint64_t run = 0;
		bool all = true;
		for (size_t i = 0; i < s->segments[g].n; i++) {
			const tide_state_block *b = &s->blocks[s->segments[g].first + i];
			bool used = stays(m, a, b, o->groups.rows[r->row].key);
			all &= !used;
			run = used ? 0 : run + b->size;
			largest = run > largest ? run : largest;
		}
		released += all ? s->segments[g].size : 0;
	}
	if (r->released != released || r->largest != largest)
		fail_msg("round %u: %llu released, largest %llu, not %llu and %llu", seed,
			 (unsigned long long)r->released, (unsigned long long)r->largest,
			 (unsigned long long)released, (unsigned long long)largest);
}

static void check_rooms(const tide_model *m, const tide_oom *o, uint32_t seed)
{
	uint64_t position = m->marks.position[o->mark];
	uint32_t pool = m->marks.pool[o->mark].i,
		 device = pool ? m->pools.device[pool].i : TIDE_ANY;
	tide_state s;
	tide_live_set a;
	assert_int_equal(tide__state_find_at(m, position, device, &s, NULL), TIDE_OK);
	assert_int_equal(tide__live_set_at(m, position, device, TIDE_ANY, &a, NULL), TIDE_OK);
	assert_int_equal(o->n_room, o->groups.n);
	for (size_t i = 0; i < o->n_room; i++)
		check_room(m, &s, &a, o, &o->room[i], seed);
	tide__state_free(&s);
	tide__live_set_free(&a);
}

/* ---- the same as one by one ---- */

struct check {
	const tide_model *m;
	const uint32_t *marks;
	size_t n, known, unknown;
	uint32_t seed;
	bool odd;
};

static void same(const struct check *c, const char *what, uint64_t got, uint64_t want)
{
	if (got != want)
		fail_msg("round %u, event %zu: %s is %llu, not %llu", c->seed, c->n, what,
			 (unsigned long long)got, (unsigned long long)want);
}

static void same_blocks(const struct check *c, const tide_oom *got, const tide_oom *want)
{
	same(c, "free", got->at.free, want->at.free);
	same(c, "cached", got->at.cached, want->at.cached);
	same(c, "inactive split", got->at.inactive_split, want->at.inactive_split);
	same(c, "expandable free", got->at.expandable_free, want->at.expandable_free);
	same(c, "largest free", got->at.largest_free, want->at.largest_free);
	same(c, "cause", got->cause, want->cause);
	same(c, "missing", got->missing, want->missing);
}

static bool check_one(void *user, const tide_oom *got)
{
	struct check *c = user;
	tide_oom want;
	assert_int_equal(tide__find_oom(c->m, got->mark, TIDE_BY_STACK, 9, &want, NULL), TIDE_OK);
	check_rooms(c->m, &want, c->seed);
	same(c, "mark", got->mark, c->marks[c->n]);
	same(c, "time", (uint64_t)got->t, (uint64_t)want.t);
	same(c, "asked", got->asked, want.asked);
	same(c, "needed", got->needed, want.needed);
	same(c, "free on the device", (uint64_t)got->device_free, (uint64_t)want.device_free);
	same(c, "source", got->source, want.source);
	same(c, "reserved", got->reserved, want.reserved);
	same(c, "unallocated", got->unallocated, want.unallocated);
	same(c, "capacity", got->capacity, want.capacity);
	same(c, "below", got->below, want.below);
	same(c, "reserved by segments", got->at.reserved, want.at.reserved);
	same(c, "active", got->at.active, want.at.active);
	same(c, "allocated", got->at.allocated, want.at.allocated);
	same(c, "requested", got->at.requested, want.at.requested);
	same(c, "waste", got->at.waste, want.at.waste);
	if (got->segments_known)
		same_blocks(c, got, &want);
	else if (!c->odd && c->m->marks.pool[got->mark].i) /* all devices as one may overlap */
		same(c, "whether segments are known", false, want.segments_known);
	c->known += got->segments_known;
	c->unknown += want.segments_known && !got->segments_known;
	tide__oom_free(&want);
	c->n++;
	return true;
}

static void test_sweep(void **state)
{
	size_t known = 0, unknown = 0;
	for (uint32_t seed = 0; seed < ROUNDS; seed++) {
		struct world w;
		record(&w, seed);
		for (uint32_t d = 0; d < w.m->devices.n; d++) {
			uint32_t device = d ? d : TIDE_ANY, *marks;
			size_t n;
			assert_int_equal(tide__oom_marks_find(w.m, device, &marks, &n, NULL),
					 TIDE_OK);
			struct check c = { w.m, marks, .seed = seed, .odd = w.odd };
			assert_int_equal(tide__find_ooms(w.m, device, check_one, &c, NULL),
					 TIDE_OK);
			assert_int_equal(c.n, n);
			known += c.known;
			unknown += c.unknown;
			tide__free(marks);
		}
		tide__model_free(w.m);
	}
	assert_true(known > 1000 && unknown > 100); /* both were looked at */
}

/* ---- the state over time, too ---- */

static void check_over_time(const tide_model *m, uint32_t seed, size_t *known, size_t *odd)
{
	struct check c = { m, .seed = seed };
	tide_fragmentation f;
	assert_int_equal(tide__fragmentation_find_by_events(m, 1, SIZE_MAX, &f, NULL), TIDE_OK);
	for (; c.n < f.n; c.n++) {
		const tide_fragmentation_point *p = &f.p[c.n];
		tide_state s;
		assert_int_equal(tide__state_find_at(m, p->position, 1, &s, NULL), TIDE_OK);
		same(&c, "active", p->active, s.total.active);
		same(&c, "allocated", p->allocated, s.total.allocated);
		if (f.known && !p->odd) {
			same(&c, "cached", p->cached, s.total.cached);
			same(&c, "inactive split", p->inactive_split, s.total.inactive_split);
			same(&c, "expandable free", p->expandable_free, s.total.expandable_free);
			same(&c, "largest free", p->largest_free, s.total.largest_free);
		}
		*known += !p->odd;
		*odd += p->odd;
		tide__state_free(&s);
	}
	tide__fragmentation_free(&f);
}

static void test_over_time(void **state)
{
	size_t known = 0, odd = 0;
	for (uint32_t seed = 0; seed < ROUNDS / 4; seed++) {
		struct world w;
		record(&w, seed);
		check_over_time(w.m, seed, &known, &odd);
		tide__model_free(w.m);
	}
	assert_true(known > 1000 && odd > 100);
}

/* ---- how much it takes ---- */

static bool count(void *user, const tide_oom *o)
{
	++*(size_t *)user;
	return true;
}

/* The same events with 1 and with 1000 events at each: the analysis allocates the same memory,
 * except for the list of events. */
static void test_work(void **state)
{
	uint64_t work[2];
	for (int many = 0; many < 2; many++) {
		struct world w;
		size_t n = 0, events = 0;
		record(&w, 4);
		w.m->marks.n = 1;
		for (int i = 0; i < (many ? 1000 : 1); i++, events++)
			fail_request(&w, 1);
		tide__mem_fail_at(0);
		assert_int_equal(tide__find_ooms(w.m, TIDE_ANY, count, &n, NULL), TIDE_OK);
		work[many] = tide__mem_count();
		assert_int_equal(n, events);
		tide__model_free(w.m);
	}
	assert_int_equal(work[0], work[1]);
}

static bool stop(void *user, const tide_oom *o)
{
	return ++*(size_t *)user < 2;
}

static void test_stop(void **state)
{
	struct world w;
	size_t n = 0;
	record(&w, 4);
	assert_int_equal(tide__find_ooms(w.m, TIDE_ANY, stop, &n, NULL), TIDE_OK);
	assert_int_equal(n, 2);
	tide__model_free(w.m);
}

/* Memory runs out at every place: an error, and nothing is left behind. */
static void test_exhaustion(void **state)
{
	struct world w;
	tide_error err;
	uint64_t failures = 0;
	record(&w, 5);
	for (;; failures++) {
		size_t n = 0;
		tide__mem_fail_at(failures + 1);
		tide_code rc = tide__find_ooms(w.m, TIDE_ANY, count, &n, &err);
		bool all = tide__mem_count() <= failures;
		tide__mem_fail_at(0);
		if (all) {
			assert_int_equal(rc, TIDE_OK);
			break;
		}
		assert_int_equal(rc, TIDE_ENOMEM);
	}
	assert_true(failures > 10);
	tide__model_free(w.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sweep),	   cmocka_unit_test(test_over_time),
		cmocka_unit_test(test_work),	   cmocka_unit_test(test_stop),
		cmocka_unit_test(test_exhaustion),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
