// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Small nodes of an op tree in one row per parent: root 0 of 1000 ns has 1 (900 ns, with small 3
 * and 4 inside, 5 inside 4) and the small 2. */
#include "analyze/ops/op_tree_fold.h"
#include "testing.h"

enum { N = 6 };

static void make(tide_optree *t, tide_op_row *rows, uint32_t *parent, tide_str *name)
{
	static const struct {
		uint32_t parent;
		int64_t all, self;
	} of[N] = { { 0, 1000, 96 }, { 0, 900, 891 }, { 0, 4, 4 },
		    { 1, 3, 3 },     { 1, 6, 5 },     { 4, 1, 1 } };
	for (uint32_t i = 0; i < N; i++) {
		parent[i] = of[i].parent;
		name[i] = (tide_str){ i };
		rows[i] = (tide_op_row){ .count = 1 };
		rows[i].all.ns = of[i].all;
		rows[i].self.ns = of[i].self;
	}
	t->rows = rows;
	t->n = N;
	t->paths.parent = parent;
	t->paths.name = name;
}

static void test_fold(void **state)
{
	static const struct {
		uint32_t name, parent;
		uint64_t count;
		int64_t all, self;
	} wanted[] = {
		{ 0, 0, 1, 1000, 96 }, { 1, 0, 1, 900, 891 }, { 0, 0, 1, 4, 4 }, { 0, 1, 3, 9, 9 }
	};
	tide_optree t = { 0 };
	tide_op_row rows[N];
	uint32_t parent[N];
	tide_str name[N];
	tide_op_folded f;
	make(&t, rows, parent, name);
	assert_true(tide__op_tree_fold(&t, 100, 0, &f));
	assert_int_equal(f.n, 4);
	assert_int_equal(f.folded, 4);
	for (uint32_t i = 0; i < f.n; i++) {
		assert_int_equal(f.name[i].i, wanted[i].name);
		assert_int_equal(f.parent[i], wanted[i].parent);
		assert_int_equal(f.rows[i].count, wanted[i].count);
		assert_int_equal(f.rows[i].all.ns, wanted[i].all);
		assert_int_equal(f.rows[i].self.ns, wanted[i].self);
	}
	tide__op_folded_free(&f);
	assert_true(tide__op_tree_fold(&t, 100, N, &f)); /* few enough: a whole copy */
	assert_int_equal(f.n, N);
	assert_int_equal(f.folded, 0);
	tide__op_folded_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_fold) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
