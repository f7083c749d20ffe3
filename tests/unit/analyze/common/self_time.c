// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Self time of ops against its definition, ns by ns: each moment of a lane belongs to one span, so
 * the selfs of a lane add up to the time it was covered, however its spans cross. */
#include "analyze/ops/op_tree.h"
#include "model/strings.h"
#include "some_model.h"
#include "testing.h"

static bool counts(const tide_model *m, uint32_t s, bool streams)
{
	if (m->spans.cat[s] == TIDE_CAT_OVERHEAD)
		return false; /* the profiler's own */
	return streams || (m->lanes.kind[m->spans.lane[s].i] != TIDE_LANE_STREAM &&
			   m->spans.cat[s] != TIDE_CAT_SYNC);
}

static uint32_t owner(const tide_model *m, uint32_t lane, int64_t t, bool streams)
{
	uint32_t found = 0;
	for (uint32_t i = 1; i < m->spans.n; i++)
		if (m->spans.lane[i].i == lane && m->spans.t0[i] <= t && t < m->spans.t1[i] &&
		    counts(m, i, streams))
			found = i; /* rows are in order of start */
	return found;
}

static void check(const tide_model *m, bool streams, uint32_t seed)
{
	tide_optree_options o = { .device = TIDE_ANY, .streams = streams };
	tide_optree t;
	tide_op_flat f;
	assert_int_equal(tide__find_op_tree(m, &o, &t, NULL), TIDE_OK);
	assert_int_equal(tide__find_op_table(&t, &f, NULL), TIDE_OK);
	int64_t *want = calloc((size_t)tide__strings_count(m->strings) + 1, sizeof *want), all = 0;
	for (uint32_t lane = 1; lane < m->lanes.n; lane++)
		for (int64_t at = 0; at < m->t_end; at++) {
			uint32_t s = owner(m, lane, at, streams);
			if (s) {
				want[m->spans.name[s].i]++;
				all++;
			}
		}
	for (size_t i = 0; i < f.n; i++)
		if (f.rows[i].self.ns != want[f.names[i].i])
			fail_msg("seed %u: %s: self %lld, not %lld", seed,
				 tide__text(m, f.names[i], NULL), (long long)f.rows[i].self.ns,
				 (long long)want[f.names[i].i]);
	for (size_t i = 1; i < t.n; i++)
		all -= t.rows[i].self.ns;
	assert_int_equal(all, 0);
	free(want);
	tide__optree_flat_free(&f);
	tide__optree_free(&t);
}

static void at_random(void **state)
{
	for (uint32_t seed = 1; seed <= 80; seed++) {
		tide_model *m = some_model(seed, seed, 0);
		check(m, false, seed);
		check(m, true, seed);
		tide__model_free(m);
	}
}

/* The later of two that cross has the common time. */
static void crossing(void **state)
{
	tide_model *m = some_machine();
	some_span(m, 1, TIDE_CAT_PYTHON, "step", 0, 20);
	some_span(m, 1, TIDE_CAT_PYTHON, "a", 0, 10);
	some_span(m, 1, TIDE_CAT_PYTHON, "b", 5, 15);
	tide_optree_options o = { .device = TIDE_ANY };
	tide_optree t;
	assert_int_equal(tide__find_op_tree(m, &o, &t, NULL), TIDE_OK);
	assert_int_equal(t.rows[1].self.ns, 5);
	assert_int_equal(t.rows[2].self.ns, 5);
	assert_int_equal(t.rows[3].self.ns, 10);
	tide__optree_free(&t);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(at_random),
					    cmocka_unit_test(crossing) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
