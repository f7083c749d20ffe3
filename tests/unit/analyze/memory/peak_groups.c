// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* All groupings of a live set at once are the ones that each gives alone, and every failed
 * allocation is an error. */
#include "some_model.h"
#include "testing.h"

#include "analyze/memory/peak_groups.h"
#include "base/mem.h"

static tide_model *model(void)
{
	tide_model *m = some_machine();
	uint32_t a = some_alloc(m, 1, 1000, 1), b = some_alloc(m, 1, 200, 2);
	m->allocs.stack[a] = some_stack(m, "main", "layer");
	m->allocs.stack[b] = some_stack(m, "main", "loss");
	m->allocs.role[a] = TIDE_ROLE_PARAMETER;
	uint32_t c = some_alloc(m, 1, 30, 3);
	some_free(m, b, 4);
	some_free(m, c, 5);
	m->t_end = 6;
	return m;
}

static void test_groups(void **state)
{
	tide_model *m = model();
	tide_peak_groups all;
	tide_error err;
	for (uint64_t at = 0; at <= m->memory_events.n; at++) {
		assert_int_equal(tide__find_peak_groups(m, 1, at, &all, &err), TIDE_OK);
		tide_live_set alive;
		tide_roles roles;
		assert_int_equal(tide__live_set_at(m, at, 1, TIDE_ANY, &alive, &err), TIDE_OK);
		assert_int_equal(tide__find_roles(m, &roles), TIDE_OK);
		assert_int_equal(all.alive.n, alive.n);
		for (size_t k = 0; k < TIDE_PEAK_GROUPINGS; k++) {
			tide_groups one;
			uint64_t bytes = 0;
			assert_int_equal(tide__groups_find_in_roles(
						 m, &alive, tide__peak_groupings[k],
						 TIDE_NAMES_FOLDED, roles.role, &one, &err),
					 TIDE_OK);
			assert_int_equal(all.by[k].n, one.n);
			for (size_t i = 0; i < one.n; i++) {
				assert_int_equal(all.by[k].rows[i].bytes, one.rows[i].bytes);
				bytes += one.rows[i].bytes;
			}
			static const uint64_t live[] = { 0, 1000, 1200, 1230, 1030, 1000 };
			assert_int_equal(bytes, live[at]);
			tide__groups_free(&one);
		}
		tide__roles_free(&roles);
		tide__live_set_free(&alive);
		tide__peak_groups_free(&all);
	}
	tide__model_free(m);
}

static void test_memory(void **state)
{
	tide_model *m = model();
	tide_peak_groups all;
	tide_error err;
	tide_code rc = TIDE_ENOMEM;
	uint64_t n = 1;
	for (; rc != TIDE_OK && n < 1000; n++) {
		tide__mem_fail_at(n);
		rc = tide__find_peak_groups(m, 1, 3, &all, &err);
		tide__mem_fail_at(0);
		assert_true(rc == TIDE_OK || rc == TIDE_ENOMEM);
		tide__peak_groups_free(&all);
	}
	assert_true(n > 5);
	assert_int_equal(rc, TIDE_OK);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_groups),
					    cmocka_unit_test(test_memory) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
