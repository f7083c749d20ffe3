// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The longest edges of a critical path: how many, which of equal ones, what is left out. */
#include "analyze/critical/critical_path.h"
#include "testing.h"

static void test_longest(void **state)
{
	static const struct {
		const char *name;
		size_t most, n;
		uint32_t step[6];
		uint64_t left_out;
		int64_t time;
	} rows[] = {
		{ "all that take time", 10, 5, { 0, 1, 3, 4, 5 }, 0, 0 },
		{ "as many as there are", 6, 5, { 0, 1, 3, 4, 5 }, 0, 0 },
		{ "the first of equals", 3, 3, { 0, 1, 4 }, 2, 5 + 2 },
		{ "one", 1, 1, { 4 }, 4, 5 + 5 + 2 + 5 },
	};
	tide_cp_step path[6] = { 0 };
	static const int64_t weight[6] = { 5, 5, 0, 2, 9, 5 };
	tide_critical_path c = { .path = path, .n_path = 6 };
	for (size_t i = 0; i < 6; i++)
		path[i].weight = weight[i];
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		tide_cp_longest l;
		assert_true(tide__critical_find_longest(&c, rows[r].most, &l));
		if (l.n != rows[r].n || l.left_out != rows[r].left_out ||
		    l.left_out_time != rows[r].time)
			fail_msg("%s: %zu, %d left out with %d", rows[r].name, l.n, (int)l.left_out,
				 (int)l.left_out_time);
		for (size_t i = 0; i < l.n; i++)
			assert_int_equal(l.step[i], rows[r].step[i]);
		tide__critical_longest_free(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_longest) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
