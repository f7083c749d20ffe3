// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Segments of a recording that has none, rebuilt by a replay. The truth is a snapshot, which has them,
 * without its segments: what `tidemark run` records of the same program; and random programs on a
 * device that runs out, whose allocator is asked for its state. */
#include "analyze/allocator/oom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/allocator/sim/sim.h"
#include "analyze/live/reserved.h"
#include "base/table.h"
#include "import/import.h"
#include "testing.h"

#define MIB (UINT64_C(1) << 20)

/* ---- what a live recording has ---- */

static tide_model *new_live(const char *conf)
{
	tide_model *m = tide__model_new();

	tide__push(&m->devices, &tide_devices_desc);
	m->devices.kind[1] = TIDE_DEVICE_CUDA;
	tide__push(&m->pools, &tide_pools_desc);
	m->pools.device[1].i = 1;
	m->pools.kind[1] = TIDE_POOL_DRAM;
	tide__push(&m->counters, &tide_counters_desc);
	m->counters.name[1].i = tide__intern(m, "torch.reserved_bytes.cuda:0").i;
	m->counters.device[1].i = 1;
	assert_true(tide__fact_text(m, "allocator.conf", conf));
	return m;
}

static void add_event(tide_model *m, uint8_t kind, uint32_t row, int64_t t)
{
	size_t i;

	assert_true(tide__table_push(&m->memory_events, &tide_memory_events_desc, &i));
	m->memory_events.kind[i] = kind;
	m->memory_events.row[i] = row;
	if (t >= m->t_end)
		m->t_end = t + 1;
}

static void sample(tide_model *m, int64_t t, uint64_t reserved)
{
	size_t i;

	assert_true(tide__table_push(&m->samples, &tide_samples_desc, &i));
	m->samples.t[i] = t;
	m->samples.counter[i].i = 1;
	m->samples.value[i] = (double)reserved;
}

static uint32_t add_alloc(tide_model *m, int64_t t, uint64_t addr, uint64_t size)
{
	uint32_t r = tide__push(&m->allocs, &tide_allocs_desc);

	m->allocs.addr[r] = addr;
	m->allocs.size[r] = m->allocs.requested[r] = size;
	m->allocs.pool[r].i = 1;
	m->allocs.born[r] = t;
	m->allocs.died[r] = TIDE_T_NEVER;
	add_event(m, TIDE_MEMORY_ALLOC, r, t);
	return r;
}

static uint32_t add_oom(tide_model *m, int64_t t, uint64_t asked, int64_t device_free)
{
	uint32_t k = tide__push(&m->marks, &tide_marks_desc);

	m->marks.kind[k] = TIDE_MARK_OOM;
	m->marks.t[k] = t;
	m->marks.position[k] = m->memory_events.n;
	m->marks.pool[k].i = 1;
	m->marks.value[k] = (int64_t)asked;
	m->marks.extra[k] = device_free;
	return k;
}

static void check_model(tide_model *m)
{
	tide_error err = { 0 };

	if (tide__model_check(m, &err) != TIDE_OK)
		fail_msg("%s", err.text);
}

/* ---- a snapshot without its segments ---- */

static tide_model *load(const char *name)
{
	char path[1000];
	tide_model *m = NULL;
	tide_error err = { 0 };
	tide_load_options o = { .what = TIDE_WANT_MEMORY };

	snprintf(path, sizeof path, "%s/tests/data/snapshots/%s.pickle.gz", getenv("TIDE_SOURCE"),
		 name);
	if (tide__load(path, &o, &m, &err) != TIDE_OK)
		fail_msg("%s: %s", path, err.text);
	return m;
}

/* Copies requests; reserved bytes are sampled with each, as PyTorch reports them. */
static tide_model *without_segments(const tide_model *from, const char *conf, uint32_t *mark)
{
	tide_model *m = new_live(conf);
	uint32_t *row = calloc(from->allocs.n, sizeof *row);
	uint64_t reserved = 0, told = UINT64_MAX;

	assert_non_null(row);
	*mark = 0;
	for (size_t i = 0; i <= from->memory_events.n; i++) {
		for (uint32_t k = 1; k < from->marks.n; k++)
			if (from->marks.kind[k] == TIDE_MARK_OOM && from->marks.position[k] == i) {
				sample(m, from->marks.t[k], told = reserved);
				*mark = add_oom(m, from->marks.t[k], (uint64_t)from->marks.value[k],
						from->marks.extra[k]);
			}
		if (i == from->memory_events.n)
			break;
		uint32_t r = from->memory_events.row[i];
		int64_t t = tide__memory_event_time(from, i);
		uint8_t kind = from->memory_events.kind[i];

		if (kind == TIDE_MEMORY_SEG_ALLOC || kind == TIDE_MEMORY_SEG_FREE)
			reserved += kind == TIDE_MEMORY_SEG_ALLOC ? from->segments.size[r]
								  : -from->segments.size[r];
		if (kind > TIDE_MEMORY_FREE)
			continue;
		if (told != reserved)
			sample(m, t, told = reserved);
		if (kind == TIDE_MEMORY_ALLOC) {
			row[r] = add_alloc(m, t, from->allocs.addr[r], from->allocs.size[r]);
		} else {
			m->allocs.died[row[r]] = t;
			add_event(m, TIDE_MEMORY_FREE, row[r], t);
		}
	}
	free(row);
	check_model(m);
	return m;
}

static uint32_t last_oom(const tide_model *m)
{
	uint32_t last = 0;

	for (uint32_t k = 1; k < m->marks.n; k++)
		last = m->marks.kind[k] == TIDE_MARK_OOM ? k : last;
	return last;
}

static void same_rooms(const tide_oom *a, const tide_oom *b)
{
	assert_int_equal(a->n_room, b->n_room);
	for (size_t i = 0; i < a->n_room; i++) {
		assert_int_equal(a->groups.rows[a->room[i].row].bytes,
				 b->groups.rows[b->room[i].row].bytes);
		assert_int_equal(a->room[i].released, b->room[i].released);
		assert_int_equal(a->room[i].largest, b->room[i].largest);
		assert_int_equal(a->room[i].enough, b->room[i].enough);
	}
}

static void test_snapshot(void **state)
{
	tide_model *from = load("expandable_oom");
	uint32_t mark;
	tide_model *m = without_segments(from, "expandable_segments:True", &mark);
	tide_oom want, got;

	assert_true(mark != 0);
	assert_int_equal(tide__find_oom(from, last_oom(from), TIDE_BY_SIZE, 50, &want, NULL), 0);
	assert_int_equal(tide__find_oom(m, mark, TIDE_BY_SIZE, 50, &got, NULL), 0);
	if (!got.segments_known)
		fail_msg("%d at request %zu", got.differs.what, got.differs.request);
	assert_true(got.replayed && !want.replayed && got.compared > 1000);
	assert_int_equal(got.at.reserved, want.at.reserved);
	assert_int_equal(got.at.free, want.at.free);
	assert_int_equal(got.at.largest_free, want.at.largest_free);
	assert_int_equal(got.at.expandable_free, want.at.expandable_free);
	assert_int_equal(got.cause, want.cause);
	assert_int_equal(got.missing, want.missing);
	same_rooms(&got, &want);
	tide__oom_free(&got);
	tide__oom_free(&want);
	tide__model_free(m);
	tide__model_free(from);
}

/* ---- random programs ---- */

struct device {
	uint64_t room, used, next;
};

static uint64_t take(void *user, tide_sim_where where, uint64_t size)
{
	struct device *d = user;

	if (size > d->room - d->used)
		return 0;
	d->used += size;
	return d->next -= size;
}

static uint64_t range(void *user, tide_sim_where where, uint64_t size)
{
	struct device *d = user;

	return d->next -= size;
}

static bool map(void *user, tide_sim_where where, uint64_t addr, uint64_t size)
{
	struct device *d = user;

	if (size > d->room - d->used)
		return false;
	d->used += size;
	return true;
}

static void give(void *user, tide_sim_where where, uint64_t addr, uint64_t size)
{
	((struct device *)user)->used -= size;
}

static uint64_t random_size(void)
{
	uint64_t kind = (uint64_t)rand() % 3;
	uint64_t n = kind == 0	 ? (uint64_t)rand() % 2000
		     : kind == 1 ? (uint64_t)rand() % 40000
				 : 400;

	return (n + 1) * 512;
}

enum { STEPS = 3000 };

/* Runs a program until the device runs out, and records it. `odd`: one address is wrong. */
static tide_model *run_program(tide_sim *s, const char *conf, bool odd, uint32_t *mark)
{
	tide_model *m = new_live(conf);
	uint32_t live[STEPS], n = 0;
	uint64_t told = UINT64_MAX;

	*mark = 0;
	for (uint32_t i = 0; i < STEPS && !*mark; i++) {
		int64_t t = (int64_t)i * 10;
		uint64_t size = random_size(), addr, got;
		int what = rand() % 20;

		if (what == 0)
			tide__sim_empty_cache(s);
		if (n && what < 7) {
			uint32_t k = (uint32_t)rand() % n, id = live[k];

			if (told != tide__sim_stats(s)->reserved)
				sample(m, t, told = tide__sim_stats(s)->reserved);
			tide__sim_free(s, id);
			m->allocs.died[id] = t;
			add_event(m, TIDE_MEMORY_FREE, id, t);
			live[k] = live[--n];
			continue;
		}
		uint32_t id = (uint32_t)m->allocs.n;
		bool ok = tide__sim_allocate(s, id, size, 0, 0) == TIDE_OK;

		if (told != tide__sim_stats(s)->reserved)
			sample(m, t, told = tide__sim_stats(s)->reserved);
		if (!ok) {
			*mark = add_oom(m, t, size, 0);
			break;
		}
		assert_true(tide__sim_block(s, id, &addr, &got));
		add_alloc(m, t, addr + (odd && id == 20 ? 1 << 30 : 0), got);
		live[n++] = id;
	}
	check_model(m);
	return m;
}

static void check_random(const char *conf, bool odd)
{
	tide_sim_config c = tide__sim_defaults();
	struct device d = { 600 * MIB, 0, UINT64_C(1) << 46 };
	tide_sim_device dev = { &d, take, range, map, give };
	uint64_t largest, split;
	uint32_t mark;
	tide_oom got;

	assert_int_equal(*conf ? tide__sim_parse(&c, conf, NULL) : TIDE_OK, TIDE_OK);
	tide_sim *s = tide__sim_new(&c, &dev, STEPS + 2);
	tide_model *m = run_program(s, conf, odd, &mark);

	assert_true(mark != 0);
	assert_int_equal(tide__find_oom(m, mark, TIDE_BY_SIZE, 5, &got, NULL), TIDE_OK);
	tide__sim_free_blocks(s, &largest, &split);
	if (odd) {
		assert_false(got.segments_known);
		assert_int_equal(got.differs.what, TIDE_OOM_ADDRESS);
	} else {
		if (!got.segments_known)
			fail_msg("%s: %d at request %zu", conf, got.differs.what,
				 got.differs.request);
		assert_int_equal(got.at.reserved, tide__sim_stats(s)->reserved);
		assert_int_equal(got.at.allocated, tide__sim_stats(s)->allocated);
		assert_int_equal(got.at.largest_free, largest);
		assert_int_equal(got.at.inactive_split, split);
		assert_int_equal(got.at.free, got.at.reserved - got.at.allocated);
	}
	tide__oom_free(&got);
	tide__model_free(m);
	tide__sim_free_all(s);
}

static void test_random(void **state)
{
	static const char *const confs[] = { "", "max_split_size_mb:64", "expandable_segments:True",
					     "roundup_power2_divisions:4" };

	for (unsigned seed = 0; seed < 40; seed++) {
		srand(seed);
		check_random(confs[seed % 4], false);
	}
}

static void test_odd(void **state)
{
	srand(1);
	check_random("", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_snapshot),
					    cmocka_unit_test(test_random),
					    cmocka_unit_test(test_odd) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
