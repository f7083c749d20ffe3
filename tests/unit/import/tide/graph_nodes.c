// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Spans that captured the kernels of graph replays, on random nodes and spans, compared with a search
 * through all records for each row. */
#include "import/tide/graph_nodes.h"

#include <stdlib.h>

#include "format/device_log.h"
#include "model/span_parents.h"
#include "some_model.h"
#include "testing.h"

enum { ROUNDS = 200, MOST = 60, NODES = 12, ROWS = 30 };

static void put_node_id(tide_model *m, uint32_t span, uint64_t node)
{
	size_t row;
	tide__table_push(&m->attrs, &tide_attrs_desc, &row);
	m->attrs.span[row].i = span;
	m->attrs.key[row] = tide__intern(m, "graph node id");
	m->attrs.number[row] = (int64_t)node;
}

/* The host span of a thread that began last, or the innermost one around it that has not ended. */
static uint32_t slow_span(const tide_model *m, uint32_t tid, int64_t t)
{
	uint32_t best = 0;
	for (uint32_t i = 1; i < m->spans.n; i++) {
		uint32_t lane = m->spans.lane[i].i;
		if (m->lanes.kind[lane] == TIDE_LANE_THREAD && m->lanes.number[lane] == tid &&
		    m->spans.cat[i] != TIDE_CAT_OVERHEAD && m->spans.t0[i] <= t)
			best = i;
	}
	while (best && m->spans.t1[best] < t)
		best = m->spans.parent[best].i;
	return best;
}

/* The span of a node after the first n records, which are sorted by time. False: it has none. */
static bool slow_origin(const tide_model *m, const struct tide_graph_node *v, size_t n,
			uint64_t node, uint32_t *span)
{
	bool known = false;
	*span = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t old = 0;
		if (v[i].node != node)
			continue;
		bool has_old = v[i].original && slow_origin(m, v, i, v[i].original, &old);
		if (v[i].how == TIDE_NODE_CREATED && !known)
			*span = slow_span(m, v[i].tid, v[i].t);
		else if (v[i].how == TIDE_NODE_CLONED || (v[i].how == TIDE_NODE_UPDATED && has_old))
			*span = old;
		known |= v[i].how != TIDE_NODE_UPDATED || has_old;
	}
	return known;
}

static size_t make_nodes(struct tide_graph_node *v)
{
	size_t n = 1 + some_random(MOST);
	for (size_t i = 0; i < n; i++) {
		uint64_t node = 1 + some_random(NODES), original = some_random(NODES + 1);
		unsigned how = 1 + some_random(3);
		if (original >= node) /* as CUDA numbers them; no cycles */
			original = 0;
		v[i] = (struct tide_graph_node){ .t = some_random(SOME_END),
						 .node = node,
						 .original = how == 1 ? 0 : original,
						 .tid = 100 + some_random(3),
						 .how = (uint8_t)how,
						 .number = (uint32_t)i };
	}
	return n;
}

static size_t before(const struct tide_graph_node *v, size_t n, int64_t t)
{
	size_t k = 0;
	while (k < n && v[k].t <= t)
		k++;
	return k;
}

static void check_round(uint32_t seed, uint64_t *found)
{
	struct tide_graph_node v[MOST + 1];
	tide_model *m = some_model(seed, 40, 0);
	uint64_t node[ROWS], unknown = 0;
	uint32_t row[ROWS], rows = 0;
	assert_true(tide__find_span_parents(m, NULL, 0, NULL, 0));
	for (uint32_t i = 1; i < m->spans.n && rows < ROWS; i++)
		if (tide__cat_is_gpu(m->spans.cat[i])) {
			row[rows] = i;
			node[rows] = 1 + some_random(NODES);
			put_node_id(m, i, node[rows++]);
		}
	size_t n = make_nodes(v);
	assert_true(tide__graph_nodes_put(m, v, n));
	for (uint32_t i = 0; i < rows; i++) {
		uint32_t launch = m->spans.cause[row[i]].i;
		int64_t t = m->spans.t0[launch ? launch : row[i]];
		uint32_t want;
		slow_origin(m, v, before(v, n, t), node[i], &want);
		assert_int_equal(m->span_captured[row[i]], want);
		unknown += !want;
		*found += want != 0;
	}
	int64_t loss = tide__fact_find(m, "loss.graph_rows_unmatched");
	assert_int_equal(loss < 0 ? 0 : m->facts.number[loss], unknown);
	tide__model_free(m);
}

static void test_random(void **state)
{
	uint64_t found = 0;
	(void)state;
	for (uint32_t seed = 1; seed <= ROUNDS; seed++)
		check_round(seed, &found);
	assert_true(found > ROUNDS / 4);
}

/* Numbers of few graphs and places, every kind of record: nested graphs, updates, contradictions. */
static void test_hostile(void **state)
{
	struct tide_graph_node v[MOST];
	(void)state;
	for (uint32_t seed = 1; seed <= 20 * ROUNDS; seed++) {
		tide_model *m = some_model(seed, 40, 0);
		assert_true(tide__find_span_parents(m, NULL, 0, NULL, 0));
		for (uint32_t i = 1; i < m->spans.n; i++)
			if (tide__cat_is_gpu(m->spans.cat[i]))
				put_node_id(m, i, (uint64_t)some_random(4) << 32 | some_random(6));
		size_t n = 1 + some_random(MOST);
		for (size_t i = 0; i < n; i++)
			v[i] = (struct tide_graph_node){
				.t = some_random(SOME_END),
				.node = (uint64_t)some_random(4) << 32 | some_random(4),
				.original = (uint64_t)some_random(4) << 32 | some_random(4),
				.tid = 100 + some_random(2),
				.how = (uint8_t)some_random(6),
				.type = (uint8_t)(some_random(8) ? 0 : some_random(16)),
				.number = (uint32_t)i
			};
		assert_true(tide__graph_nodes_put(m, v, n));
		for (uint32_t i = 1; i < m->spans.n; i++) {
			uint32_t span = m->span_captured[i];
			assert_true(span < m->spans.n && !tide__cat_is_gpu(m->spans.cat[span]));
		}
		tide__model_free(m);
	}
}

static void test_nothing(void **state)
{
	tide_model *m = some_model(1, 10, 0);
	(void)state;
	assert_true(tide__graph_nodes_put(m, NULL, 0));
	assert_null(m->span_captured);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random),
					    cmocka_unit_test(test_hostile),
					    cmocka_unit_test(test_nothing) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
