// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Exact statistics: rounding half to even, merging, and numbers no double can hold. */

#include "analyze/common/sort.h"
#include "analyze/common/statistics.h"
#include <stdlib.h>

#include "testing.h"
static void check(const char *row, const char *what, int64_t got, int64_t want)
{
	if (got != want)
		fail_msg("%s: %s is %lld, not %lld", row, what, (long long)got, (long long)want);
}

static void test_rows(void **state)
{
	static const struct {
		const char *row;
		size_t n;
		int64_t v[6], mean, std;
	} rows[] = {
		{ "one value", 1, { 7 }, 7, 0 },
		{ "half goes to even, down", 2, { 2, 3 }, 2, 0 }, /* 2.5, 0.5 */
		{ "half goes to even, up", 2, { 3, 4 }, 4, 0 },	  /* 3.5, 0.5 */
		{ "deviation 1.5 becomes 2", 2, { 0, 3 }, 2, 2 }, /* 1.5, 1.5 */
		{ "deviation 2.5 becomes 2", 2, { 0, 5 }, 2, 2 },
		{ "known deviation", 5, { 2, 4, 4, 4, 6 }, 4, 1 }, /* 1.26 */
		{ "wide", 4, { 0, 0, 0, 1000000007 }, 250000002, 433012705 },
		{ "236 years", 2, { 0, INT64_MAX }, INT64_MAX / 2 + 1, INT64_MAX / 2 + 1 },
		{ "negative is 0", 2, { -5, 2 }, 1, 1 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_stat s = { 0 };
		for (size_t k = 0; k < rows[i].n; k++)
			tide__stat_add(&s, rows[i].v[k]);
		check(rows[i].row, "mean", tide__stat_mean(&s), rows[i].mean);
		check(rows[i].row, "std", tide__stat_std(&s), rows[i].std);
	}
}

static void test_empty(void **state)
{
	tide_stat s = { 0 };
	check("empty", "mean", tide__stat_mean(&s), 0);
	check("empty", "std", tide__stat_std(&s), 0);
	check("empty", "sum", tide__stat_sum(&s), 0);
}

/* Slow and obvious: every candidate root, in 128 bits. */
static int64_t slow_std(const int64_t *v, size_t n)
{
	tide_u128 sum = 0, sq = 0;
	for (size_t i = 0; i < n; i++) {
		sum += (uint64_t)v[i];
		sq += (tide_u128)(uint64_t)v[i] * (uint64_t)v[i];
	}
	tide_u128 four = 4 * (n * sq - sum * sum);
	int64_t k = 0;
	while ((tide_u128)(2 * (uint64_t)k + 1) * (2 * (uint64_t)k + 1) * n * n < four)
		k++; /* sqrt(V)/n > k + 1/2 */
	if ((tide_u128)(2 * (uint64_t)k + 1) * (2 * (uint64_t)k + 1) * n * n == four && k & 1)
		k++;
	return k;
}

static void test_random(void **state)
{
	srand(3);
	for (int round = 0; round < 2000; round++) {
		int64_t v[9];
		size_t n = 1 + (size_t)rand() % 9, cut = (size_t)rand() % (n + 1);
		tide_stat all = { 0 }, a = { 0 }, b = { 0 };
		for (size_t i = 0; i < n; i++) {
			v[i] = rand() % (round % 3 ? 12 : 3000);
			tide__stat_add(&all, v[i]);
			tide__stat_add(i < cut ? &a : &b, v[i]);
		}
		check("random", "std", tide__stat_std(&all), slow_std(v, n));
		tide__stat_merge(&a, &b);
		check("merged", "std", tide__stat_std(&a), tide__stat_std(&all));
		check("merged", "sum", tide__stat_sum(&a), tide__stat_sum(&all));
		check("merged", "min", a.min, all.min);
		check("merged", "max", a.max, all.max);
	}
}

static void test_many_large(void **state)
{
	tide_stat s = { 0 };
	for (int i = 0; i < 3000; i++)
		tide__stat_add(&s, INT64_MAX);
	check("3000 x 292 years", "mean", tide__stat_mean(&s), INT64_MAX);
	check("3000 x 292 years", "std", tide__stat_std(&s), 0);
	check("3000 x 292 years", "sum", tide__stat_sum(&s), INT64_MAX);
}

static void test_nearest_rank(void **state)
{
	static const struct {
		const char *row;
		size_t n;
		unsigned p;
		size_t at;
	} rows[] = {
		{ "median of 1", 1, 50, 0 },   { "median of 2", 2, 50, 0 },
		{ "median of 3", 3, 50, 1 },   { "p99 of 100", 100, 99, 98 },
		{ "p99 of 101", 101, 99, 99 }, { "p90 of 10", 10, 90, 8 },
		{ "p100", 5, 100, 4 },	       { "p0", 5, 0, 0 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		check(rows[i].row, "index", (int64_t)tide__nearest_rank(rows[i].n, rows[i].p),
		      (int64_t)rows[i].at);
}

static void test_sort(void **state)
{
	static uint64_t v[5000], scratch[5000];
	srand(5);
	for (int round = 0; round < 60; round++) {
		size_t n = (size_t)rand() % (round % 2 ? 5000 : 60);
		uint64_t sum = 0, after = 0;
		for (size_t i = 0; i < n; i++) {
			v[i] = (uint64_t)rand() << (rand() % 40);
			sum += v[i];
		}
		tide__sort_u64(v, n, scratch);
		for (size_t i = 0; i < n; i++) {
			after += v[i];
			assert_true(!i || v[i - 1] <= v[i]);
		}
		assert_true(sum == after);
	}
}

/* Pairs: by key, equal keys in the order in which they came. */
static void test_sort_pairs(void **state)
{
	for (unsigned seed = 1; seed <= 200; seed++) {
		srand(seed);
		size_t n = (size_t)rand() % 300;
		unsigned shift = (unsigned)rand() % 60;
		tide_keyed *v = calloc(2 * n + 1, sizeof *v);
		for (size_t i = 0; i < n; i++)
			v[i] = (tide_keyed){ (uint64_t)(rand() % 40) << shift, i };
		tide__sort_keyed(v, n, v + n);
		for (size_t i = 1; i < n; i++)
			if (v[i - 1].key > v[i].key ||
			    (v[i - 1].key == v[i].key && v[i - 1].id >= v[i].id))
				fail_msg("seed %u: place %zu", seed, i);
		uint64_t ids = 0;
		for (size_t i = 0; i < n; i++)
			ids += v[i].id;
		assert_int_equal(ids, n * (n - (n > 0)) / 2);
		free(v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),	     cmocka_unit_test(test_empty),
		cmocka_unit_test(test_random),	     cmocka_unit_test(test_many_large),
		cmocka_unit_test(test_nearest_rank), cmocka_unit_test(test_sort),
		cmocka_unit_test(test_sort_pairs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
