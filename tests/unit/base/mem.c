// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Growing arrays: their content stays, the capacity is at least the requested one, and nothing
 * changes if memory ran out. */
#include <malloc.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "testing.h"

static void grows(void **state)
{
	uint32_t *v = NULL;
	size_t cap = 0, moved = 0;
	for (uint32_t i = 0; i < 100000; i++) {
		size_t had = cap;
		assert_true(TIDE_ROOM(v, cap, (size_t)i + 1));
		assert_true(cap > i);
		moved += cap != had;
		v[i] = i;
	}
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(v[i], i);
	assert_in_range(moved, 2, 25);
	assert_true(TIDE_ROOM(v, cap, 1000000)); /* far more at once */
	assert_true(cap >= 1000000);
	assert_int_equal(v[99999], 99999);
	tide__free(v);
}

static void asks_for_nothing_where_there_is_room(void **state)
{
	char *v = NULL;
	size_t cap = 0;
	tide__mem_fail_at(0);
	assert_true(TIDE_ROOM(v, cap, 0));
	assert_null(v);
	assert_true(TIDE_ROOM(v, cap, 10));
	assert_true(TIDE_ROOM(v, cap, cap));
	assert_int_equal(tide__mem_count(), 1);
	tide__free(v);
}

static uint64_t raised_to, raised_times;

static void note_raised(uint64_t bytes)
{
	raised_to = bytes;
	raised_times++;
}

/* Takes or refuses one block of that many bytes. */
static bool can_take(uint64_t bytes)
{
	void *p = tide__alloc(bytes, 1);
	tide__free(p);
	return p != NULL;
}

static void follows_the_inputs(void **state)
{
	const uint64_t most = TIDE_MEM_BASE * 8, slack = 1 << 20;
	tide__mem_follow_inputs(most, note_raised);
	assert_int_equal(tide__mem_budget_now(), most); /* nothing was read */
	tide__mem_add_input(1 << 20);
	assert_int_equal(tide__mem_budget_now(), TIDE_MEM_BASE + TIDE_MEM_TIMES * (1 << 20));
	assert_true(can_take(TIDE_MEM_BASE));
	assert_int_equal(raised_times, 0);
	assert_true(can_take(TIDE_MEM_BASE * 2));
	assert_int_equal(raised_times, 1);
	assert_int_equal(raised_to, 2 * (TIDE_MEM_BASE + TIDE_MEM_TIMES * (1 << 20)));
	assert_int_equal(tide__mem_budget_now(), raised_to);
	assert_false(can_take(raised_to + slack)); /* once only */
	assert_true(tide__mem_refused());
	tide__mem_forgive();
	tide__mem_add_input(1 << 20);
	assert_int_equal(tide__mem_budget_now(), 2 * (TIDE_MEM_BASE + TIDE_MEM_TIMES * (2 << 20)));
	tide__mem_add_input(UINT64_MAX / 2);
	assert_int_equal(tide__mem_budget_now(), most);
	assert_false(can_take(most + slack));
	assert_int_equal(raised_times, 1);
	tide__mem_set_budget(most / 2); /* fixed from now on */
	tide__mem_add_input(1);
	assert_int_equal(tide__mem_budget_now(), most / 2);
	assert_false(can_take(most / 2 + slack));
	assert_int_equal(raised_times, 1);
	tide__mem_set_budget(UINT64_MAX);
}

static void stays_where_memory_is_out(void **state)
{
	uint64_t *v = NULL, *had;
	size_t cap = 0, room;
	assert_true(TIDE_ROOM(v, cap, 5));
	had = v, room = cap;
	v[4] = 7;
	tide__mem_fail_at(1);
	assert_false(TIDE_ROOM(v, cap, cap + 1));
	tide__mem_fail_at(0);
	assert_false(TIDE_ROOM(v, cap, SIZE_MAX)); /* more bytes than there can be */
	assert_false(TIDE_ROOM(v, cap, SIZE_MAX / 2 - 1));
	assert_ptr_equal(v, had);
	assert_int_equal(cap, room);
	assert_int_equal(v[4], 7);
	tide__free(v);
}

/* Live bytes equal those of malloc exactly and return to their initial value; the budget refuses
 * requests beyond it, and reports that once. */
static void keeps_a_budget(void **state)
{
	uint64_t before = tide__mem_live();
	char *a = tide__alloc(1 << 20, 1), *b = tide__calloc(10, 1 << 20),
	     *small = tide__alloc(100, 1);
	uint64_t two = tide__mem_live() - before;
	assert_in_range(two, 11 << 20, (11 << 20) + 8192);
	tide__mem_set_budget(tide__mem_live() + (4 << 20));
	assert_null(tide__alloc(5 << 20, 1));
	assert_true(tide__mem_refused());
	tide_error err = { 0 };
	assert_int_equal(tide__nomem(&err), TIDE_ENOMEM);
	assert_non_null(strstr(err.text, "--max-memory"));
	tide__mem_forgive();
	tide__nomem(&err);
	assert_string_equal(err.text, "out of memory");
	assert_null(tide__realloc(a, 6 << 20, 1));
	a[(1 << 20) - 1] = 1; /* still there */
	char *grown = tide__realloc(a, 4 << 20, 1);
	assert_non_null(grown);
	tide__free(b);
	b = tide__alloc(8 << 20, 1); /* room again */
	assert_non_null(b);
	tide__mem_set_budget(UINT64_MAX);
	assert_false(tide__mem_refused());
	tide__free(grown);
	tide__free(b);
	tide__free(small);
	assert_int_equal(tide__mem_live(), before);
}

/* After tide__mem_map_large, a large block has a mapping of its own even if larger ones were freed
 * before, which raises glibc's threshold. */
static void maps_large_blocks(void **state)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
	skip(); /* sanitizers replace malloc */
#else
	tide__mem_map_large();
	tide__free(tide__alloc(24 << 20, 1));
	size_t before = mallinfo2().hblkhd;
	char *p = tide__alloc(8 << 20, 1);
	assert_in_range(mallinfo2().hblkhd - before, 8 << 20, (8 << 20) + 8192);
	tide__free(p);
	assert_int_equal(mallinfo2().hblkhd, before);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows),
		cmocka_unit_test(asks_for_nothing_where_there_is_room),
		cmocka_unit_test(follows_the_inputs),
		cmocka_unit_test(stays_where_memory_is_out),
		cmocka_unit_test(keeps_a_budget),
		cmocka_unit_test(maps_large_blocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
