// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Op paths: sharing, depth without recursion, texts that do not fit. */
#include <string.h>

#include "analyze/ops/op_tree.h"
#include "analyze/common/paths.h"
#include "testing.h"

static uint32_t span(tide_model *m, uint32_t parent, const char *name)
{
	uint32_t s = tide__push(&m->spans, &tide_spans_desc);
	m->spans.parent[s].i = parent;
	m->spans.name[s] = tide__intern(m, name);
	m->spans.lane[s].i = 1;
	return s;
}

static void shared_nodes(void **state)
{
	tide_model *m = tide__model_new();
	tide_paths p;
	char buf[64], small[12];
	uint32_t a = span(m, 0, "train"), b = span(m, a, "forward"), c = span(m, b, "matmul");
	uint32_t d = span(m, 0, "train"), e = span(m, d, "forward"), u = span(m, e, "");
	assert_true(tide__paths_init(&p));
	uint32_t node = tide__paths_add_span(&p, m, (tide_span_id){ c });
	memset(buf, 'x', sizeof buf);
	memset(small, 'x', sizeof small);
	assert_string_equal(tide__paths_text(&p, m, node, buf, sizeof buf), "train/forward/matmul");
	assert_string_equal(tide__paths_text(&p, m, node, small, sizeof small), ".../matmul");
	assert_string_equal(tide__paths_text(&p, m, 0, buf, sizeof buf), "");
	assert_int_equal(tide__paths_add_span(&p, m, (tide_span_id){ b }),
			 tide__paths_add_span(&p, m, (tide_span_id){ e }));
	assert_int_equal(tide__paths_add_span(&p, m, (tide_span_id){ 0 }), 0);
	node = tide__paths_add_span(&p, m, (tide_span_id){ u });
	assert_string_equal(tide__paths_text(&p, m, node, buf, sizeof buf),
			    "train/forward/(unnamed)");
	assert_int_equal(p.n, 5);
	tide__paths_free(&p);
	tide__model_free(m);
}

/* A long chain of spans, an allocation in each: linear time, no recursion. */
static void deep(void **state)
{
	enum { DEPTH = 200000 };
	tide_model *m = tide__model_new();
	tide_optree_options opt = { .device = TIDE_ANY };
	tide_optree t;
	tide_op_flat f;
	char buf[4096];
	uint32_t s = 0;
	m->lanes.kind[tide__push(&m->lanes, &tide_lanes_desc)] = TIDE_LANE_THREAD;
	tide__push(&m->pools, &tide_pools_desc);
	for (int i = 0; i < DEPTH; i++) {
		size_t at;
		s = span(m, s, "f");
		uint32_t a = tide__push(&m->allocs, &tide_allocs_desc);
		m->allocs.size[a] = 1;
		m->allocs.span[a].i = s;
		m->allocs.died[a] = TIDE_T_NEVER;
		tide__table_push(&m->memory_events, &tide_memory_events_desc, &at);
		m->memory_events.row[at] = a;
	}
	assert_int_equal(tide__find_op_tree(m, &opt, &t, NULL), TIDE_OK);
	assert_int_equal(t.n, DEPTH + 1);
	assert_int_equal(t.rows[1].all.alloc_bytes, DEPTH);
	assert_int_equal(t.rows[1].peak, DEPTH);
	assert_int_equal(t.rows[DEPTH].peak, 1);
	tide__paths_text(&t.paths, m, DEPTH, buf, sizeof buf);
	assert_memory_equal(buf, ".../f/f/", 8);
	assert_true(strlen(buf) > 4000 && strlen(buf) < sizeof buf);
	assert_int_equal(tide__find_op_table(&t, &f, NULL), TIDE_OK);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.rows[0].count, DEPTH);
	assert_int_equal(f.rows[0].all.alloc_bytes, DEPTH);
	tide__optree_flat_free(&f);
	tide__optree_free(&t);
	tide_paths p;
	assert_true(tide__paths_init(&p));
	assert_int_equal(tide__paths_add_span(&p, m, (tide_span_id){ s }), DEPTH);
	tide__paths_free(&p);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(shared_nodes),
					    cmocka_unit_test(deep) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
