// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Ranks of two jobs: changes that are known, and the order. */
#include "analyze/compare/rank_diff.h"
#include "testing.h"

static tide_rank_diff make(int64_t rank, uint64_t time_b, uint64_t peak_b, bool known)
{
	tide_diff d = { 0 };
	tide_diff_checks none = { 0 };
	tide_rank_diff r;
	const char *const path[2] = { "a", "b" };
	d.metric[TIDE_METRIC_TIME][0] = d.metric[TIDE_METRIC_PEAK][0] = 100;
	d.metric[TIDE_METRIC_TIME][1] = time_b;
	d.metric[TIDE_METRIC_PEAK][1] = peak_b;
	d.known[TIDE_METRIC_TIME][0] = d.known[TIDE_METRIC_PEAK][0] = true;
	d.known[TIDE_METRIC_TIME][1] = d.known[TIDE_METRIC_PEAK][1] = known;
	tide__rank_diff_set(&r, rank, path, &d, &none);
	return r;
}

static void test_order(void **state)
{
	tide_rank_diff v[] = { make(3, 90, 100, true), make(2, 120, 100, true),
			       make(1, 120, 130, true), make(0, 120, 100, true),
			       make(4, 500, 500, false) };
	static const int64_t wanted[] = { 1, 0, 2, 4, 3 };
	int64_t change;
	tide__rank_diff_sort(v, sizeof v / sizeof *v);
	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		assert_int_equal(v[i].rank, wanted[i]);
	assert_true(tide__rank_diff_change(&v[4], TIDE_METRIC_TIME, &change));
	assert_int_equal(change, -10);
	assert_false(tide__rank_diff_change(&v[3], TIDE_METRIC_TIME, &change));
	assert_int_equal(change, 0);
	assert_true(tide__change_pct(200, 300) == 50);
	assert_true(tide__change_pct(0, 300) != tide__change_pct(0, 300)); /* NaN: unknown */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_order) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
