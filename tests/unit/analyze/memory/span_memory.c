// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory of single spans: nothing is lost, and with nested spans included they equal the figures of
 * the op tree. */
#include "analyze/ops/op_tree.h"
#include "analyze/memory/span_memory.h"
#include "base/mem.h"
#include "some_model.h"
#include "testing.h"

static void random_frees(tide_model *m)
{
	for (size_t i = 1; i < m->allocs.n; i++)
		if (m->allocs.died[i] != TIDE_T_NEVER)
			m->allocs.free_span[i].i = some_random((uint32_t)m->spans.n);
}

/* Every span gets a name of its own, and none is the profiler's own work: a row of the op tree is
 * then one span. */
static void own_names(tide_model *m)
{
	char name[32];
	for (size_t i = 1; i < m->spans.n; i++) {
		snprintf(name, sizeof name, "span %zu", i);
		m->spans.name[i] = tide__intern(m, name);
		if (m->spans.cat[i] == TIDE_CAT_OVERHEAD)
			m->spans.cat[i] = TIDE_CAT_OP;
	}
}

static void like_the_op_tree(void **state)
{
	for (uint32_t seed = 1; seed <= 40; seed++) {
		tide_model *m = some_model(seed, 80, 200);
		tide_optree_options opt = { .device = TIDE_ANY, .streams = true };
		tide_optree t;
		tide_span_memory s = { 0 };
		random_frees(m);
		own_names(m);
		assert_true(tide__span_memory_find(m, &s));
		assert_int_equal(tide__find_op_tree(m, &opt, &t, NULL), TIDE_OK);
		struct tide_span_bytes *all = calloc(m->spans.n, sizeof *all);
		for (uint32_t i = (uint32_t)m->spans.n; i-- > 0;) {
			struct tide_span_bytes own = tide__span_bytes(&s, i);
			all[i].allocated += own.allocated;
			all[i].freed += own.freed;
			if (i) {
				all[m->spans.parent[i].i].allocated += all[i].allocated;
				all[m->spans.parent[i].i].freed += all[i].freed;
			}
		}
		size_t rows = m->spans.n; /* one node per span, and the root */
		for (size_t i = 1; i < m->spans.n; i++)
			rows -= m->spans.cat[i] == TIDE_CAT_OVERHEAD; /* the profiler's own */
		assert_int_equal(t.n, rows);
		for (uint32_t n = 1; n < t.n; n++) {
			uint32_t i = (uint32_t)atoi(tide__text(m, t.paths.name[n], NULL) + 5);
			if (t.rows[n].all.alloc_bytes != all[i].allocated ||
			    t.rows[n].all.free_bytes != all[i].freed)
				fail_msg("seed %u: span %u", seed, i);
		}
		assert_int_equal(t.rows[0].all.alloc_bytes, all[0].allocated);
		assert_int_equal(t.rows[0].all.free_bytes, all[0].freed);
		free(all);
		tide__optree_free(&t);
		tide__span_memory_free(&s);
		tide__model_free(m);
	}
}

static void memory_fails(void **state)
{
	tide_model *m = some_model(3, 20, 20);
	for (uint64_t at = 1; at <= 2; at++) {
		tide_span_memory s = { 0 };
		tide__mem_fail_at(at);
		assert_false(tide__span_memory_find(m, &s));
		tide__mem_fail_at(0);
		tide__span_memory_free(&s);
	}
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_the_op_tree),
		cmocka_unit_test(memory_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
