// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tables grow, shrink, are put in another order; and stay sound when memory runs out in between. */
#include <string.h>

#include "base/mem.h"
#include "base/table.h"
#include "testing.h"

typedef struct pairs {
	size_t n, cap;
	uint64_t *wide;
	uint8_t *byte;
	uint16_t *half;
	uint32_t *word;
} pairs;

static const tide_column columns[] = {
	{ "wide", "", offsetof(pairs, wide), 8, TIDE_COL_U64 },
	{ "byte", "", offsetof(pairs, byte), 1, TIDE_COL_U8 },
	{ "half", "", offsetof(pairs, half), 2, TIDE_COL_U16 },
	{ "word", "", offsetof(pairs, word), 4, TIDE_COL_U32 },
};
static const tide_table_desc desc = { "pairs", "", columns, 4 };

static bool push(pairs *t, uint64_t v)
{
	size_t row;
	if (!tide__table_push(t, &desc, &row))
		return false;
	assert_int_equal(t->wide[row] | t->byte[row] | t->half[row] | t->word[row], 0);
	t->wide[row] = v;
	t->byte[row] = (uint8_t)v;
	t->half[row] = (uint16_t)v;
	t->word[row] = (uint32_t)v;
	return true;
}

static void holds(const pairs *t, size_t row, uint64_t v)
{
	assert_int_equal(t->wide[row], v);
	assert_int_equal(t->byte[row], (uint8_t)v);
	assert_int_equal(t->half[row], (uint16_t)v);
	assert_int_equal(t->word[row], (uint32_t)v);
}

static void test_push_shrink_permute(void **state)
{
	enum { N = 1000 };
	pairs t = { 0 };
	uint32_t perm[N];
	tide__table_shrink(&t, &desc); /* a zeroed one is fine */
	for (size_t i = 0; i < N; i++)
		assert_true(push(&t, i * 77777));
	assert_int_equal(tide__table_bytes(&t, &desc), N * 15);
	tide__table_shrink(&t, &desc);
	assert_int_equal(t.cap, N);
	for (size_t i = 0; i < N; i++)
		perm[i] = (uint32_t)(i ? N - i : 0); /* row 0 stays, the others are reversed */
	assert_true(tide__table_permute(&t, &desc, perm, 1));
	for (size_t i = 0; i < N; i++)
		holds(&t, i, (i ? N - i : 0) * 77777);
	assert_false(tide__table_reserve(&t, &desc, SIZE_MAX - 10));
	assert_int_equal(t.n, N);
	tide__table_free(&t, &desc);
	assert_int_equal(t.cap, 0);
	tide__table_free(&t, &desc);
}

/* Shrinking fails at any of its columns; then rows are pushed. (The address sanitizer, where it is
 * on, sees a column that is shorter than the table thinks; `cap` shows it everywhere.) */
static void test_shrink_without_memory(void **state)
{
	for (uint64_t fail = 1; fail <= 4; fail++) {
		pairs t = { 0 };
		for (uint64_t i = 0; i < 100; i++)
			assert_true(push(&t, i));
		assert_true(t.cap > 100);
		tide__mem_fail_at(fail);
		tide__table_shrink(&t, &desc);
		tide__mem_fail_at(0);
		assert_int_equal(t.cap, 100);
		for (uint64_t i = 100; i < 200; i++)
			assert_true(push(&t, i));
		for (uint64_t i = 0; i < 200; i++)
			holds(&t, i, i);
		tide__table_free(&t, &desc);
	}
}

static void test_grow_without_memory(void **state)
{
	for (uint64_t fail = 1; fail <= 8; fail++) {
		pairs t = { 0 };
		uint64_t n = 0;
		tide__mem_fail_at(fail);
		while (n < 40 && push(&t, n))
			n++;
		assert_int_equal(t.n, n);
		tide__mem_fail_at(0);
		while (n < 80)
			assert_true(push(&t, n++));
		for (uint64_t i = 0; i < n; i++)
			holds(&t, i, i);
		tide__table_free(&t, &desc);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push_shrink_permute),
		cmocka_unit_test(test_shrink_without_memory),
		cmocka_unit_test(test_grow_without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
