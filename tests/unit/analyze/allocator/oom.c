// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Why an allocation failed, at the bytes where one answer becomes another: a segment of 40 MiB that
 * holds 24 MiB of one stack, 8 MiB of another and 8 MiB free. (The figures themselves are checked
 * against slow ones in tests/property.) */
#include "analyze/allocator/oom_events.h"
#include "base/table.h"
#include "testing.h"

#define MIB (UINT64_C(1) << 20)

static void add_event(tide_model *m, uint8_t kind, uint32_t row)
{
	size_t i;

	assert_true(tide__table_push(&m->memory_events, &tide_memory_events_desc, &i));
	m->memory_events.kind[i] = kind;
	m->memory_events.row[i] = row;
}

static void alloc(tide_model *m, uint64_t addr, uint64_t size, const char *function)
{
	uint32_t r = tide__push(&m->allocs, &tide_allocs_desc);
	tide_frame_id f =
		tide__frame_intern(m, tide__intern(m, function), tide__intern(m, "me.py"), 1);

	m->allocs.addr[r] = addr;
	m->allocs.size[r] = m->allocs.requested[r] = size;
	m->allocs.pool[r].i = 1;
	m->allocs.died[r] = TIDE_T_NEVER;
	m->allocs.stack[r] = tide__stack_intern(m, (tide_stack_id){ 0 }, f);
	add_event(m, TIDE_MEMORY_ALLOC, r);
}

static tide_model *make(uint64_t asked, int64_t device_free)
{
	tide_model *m = tide__model_new();
	tide_error err = { 0 };

	tide__push(&m->devices, &tide_devices_desc);
	m->devices.kind[1] = TIDE_DEVICE_CUDA;
	tide__push(&m->pools, &tide_pools_desc);
	m->pools.device[1].i = 1;
	m->pools.kind[1] = TIDE_POOL_DRAM;
	uint32_t s = tide__push(&m->segments, &tide_segments_desc);

	m->segments.addr[s] = 64 * MIB;
	m->segments.size[s] = 40 * MIB;
	m->segments.pool[s].i = 1;
	m->segments.died[s] = TIDE_T_NEVER;
	m->segments.kind[s] = TIDE_SEGMENT_LARGE;
	add_event(m, TIDE_MEMORY_SEG_ALLOC, s);
	alloc(m, 64 * MIB, 24 * MIB, "large");
	alloc(m, 88 * MIB, 8 * MIB, "small");
	uint32_t k = tide__push(&m->marks, &tide_marks_desc);

	m->marks.kind[k] = TIDE_MARK_OOM;
	m->marks.position[k] = m->memory_events.n;
	m->marks.pool[k].i = 1;
	m->marks.value[k] = (int64_t)asked;
	m->marks.extra[k] = device_free;
	if (tide__model_check(m, &err) != TIDE_OK)
		fail_msg("%s", err.text);
	return m;
}

static void test_edges(void **state)
{
	static const struct {
		const char *name;
		uint64_t asked;
		int64_t device_free;
		tide_oom_cause cause;
		uint64_t missing;
		bool large_is_enough, small_is_enough;
	} rows[] = {
		{ "as much as the large one", 24 * MIB, 0, TIDE_OOM_FULL, 16 * MIB, true, false },
		{ "a block more", 24 * MIB + 512, 0, TIDE_OOM_FULL, 16 * MIB + 512, false, false },
		{ "the free bytes would do", 8 * MIB, 0, TIDE_OOM_FRAGMENTED, 0, true, true },
		{ "a block more than those", 8 * MIB + 512, 0, TIDE_OOM_FULL, 512, true, true },
		{ "small and its free bytes", 16 * MIB, 0, TIDE_OOM_FULL, 8 * MIB, true, true },
		{ "a block more than these", 16 * MIB + 512, 0, TIDE_OOM_FULL, 8 * MIB + 512, true,
		  false },
		{ "the device had enough", 24 * MIB, 24 * MIB, TIDE_OOM_LIMITED, 0, true, false },
		{ "the device had a byte less", 24 * MIB, 24 * MIB - 1, TIDE_OOM_FRAGMENTED, 0,
		  true, false },
		{ "nobody knows", 24 * MIB, -1, TIDE_OOM_UNKNOWN, 0, true, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_model *m = make(rows[i].asked, rows[i].device_free);
		tide_oom o;

		assert_int_equal(tide__find_oom(m, 1, TIDE_BY_STACK, 5, &o, NULL), TIDE_OK);
		assert_int_equal(o.n_room, 2);
		if (o.cause != rows[i].cause || o.missing != rows[i].missing ||
		    o.room[0].enough != rows[i].large_is_enough ||
		    o.room[1].enough != rows[i].small_is_enough)
			fail_msg("%s: cause %d, %llu missing, %d, %d", rows[i].name, o.cause,
				 (unsigned long long)o.missing, o.room[0].enough, o.room[1].enough);
		tide__oom_free(&o);
		tide__model_free(m);
	}
}

static void add_oom(tide_model *m, uint64_t asked, int64_t t)
{
	uint32_t k = tide__push(&m->marks, &tide_marks_desc);

	m->marks.kind[k] = TIDE_MARK_OOM;
	m->marks.t[k] = t;
	m->marks.position[k] = m->memory_events.n;
	m->marks.pool[k].i = 1;
	m->marks.value[k] = (int64_t)asked;
}

/* 3 events, 1 explained in full: the others are counted, summed and listed alike. */
static void test_events(void **state)
{
	tide_model *m = make(24 * MIB, 0);
	tide_error err = { 0 };
	tide_oom_query q = { .device = TIDE_ANY, .by = TIDE_BY_STACK, .top = 2, .full = 1 };
	tide_oom_events x;
	const tide_oom_sum *s;

	add_oom(m, 40 * MIB, 5);
	add_oom(m, 30 * MIB, 7);
	for (q.others = TIDE_OOM_COUNT; q.others <= TIDE_OOM_LIST; q.others++) {
		assert_int_equal(tide__oom_events_find(m, &q, &x, &err), TIDE_OK);
		assert_int_equal(x.n, 3);
		assert_int_equal(x.n_full, 1);
		assert_int_equal(x.others_t, 5);
		assert_int_equal(x.v[0].n_room, 2);
		assert_int_equal(x.n_v, q.others == TIDE_OOM_LIST ? 3 : 1);
		assert_int_equal(x.sums != NULL, q.others != TIDE_OOM_COUNT);
		s = x.sums ? &x.sums[TIDE_OOM_CAUSES + TIDE_OOM_FULL] : NULL;
		if (s) {
			assert_int_equal(s->n, 2);
			assert_int_equal(s->least, 30 * MIB);
			assert_int_equal(s->most, 40 * MIB);
			assert_int_equal(s->first, 5);
			assert_int_equal(s->last, 7);
		}
		for (size_t i = 1; i < x.n_v; i++) {
			tide_oom one;
			assert_int_equal(tide__find_oom(m, x.v[i].mark, q.by, 0, &one, &err), 0);
			assert_int_equal(x.v[i].missing, one.missing);
			assert_int_equal(x.v[i].t, i == 1 ? 5 : 7);
			tide__oom_free(&one);
		}
		tide__oom_events_free(&x);
	}
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_edges),
					    cmocka_unit_test(test_events) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
