// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The longest path against a brute-force walk of every path, on random small graphs. */
#include <stdlib.h>

#include "analyze/critical/critical_graph.h"
#include "base/mem.h"
#include "testing.h"

enum { NODES = 8 };

static int64_t longest_from(const tide_cg *g, uint32_t v)
{
	int64_t best = 0;
	for (uint32_t e = g->nodes[v].first_out; e; e = g->edges[e - 1].next_out) {
		int64_t w = g->edges[e - 1].weight,
			l = (w < 0 ? 0 : w) + longest_from(g, g->edges[e - 1].to);
		best = l > best ? l : best;
	}
	return best;
}

static int64_t oracle(const tide_cg *g)
{
	int64_t best = 0;
	for (uint32_t v = 0; v < NODES; v++) {
		int64_t l = longest_from(g, v);
		best = l > best ? l : best;
	}
	return best;
}

static int64_t path_length(const tide_cg *g, const uint32_t *path, size_t n)
{
	int64_t sum = 0;
	for (size_t i = 0; i < n; i++) {
		if (i)
			assert_int_equal(g->edges[path[i - 1]].to, g->edges[path[i]].from);
		sum += g->edges[path[i]].weight < 0 ? 0 : g->edges[path[i]].weight;
	}
	return sum;
}

static void random_graphs(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 500; seed++) {
		srand(seed);
		tide_cg g;
		assert_true(tide__cg_init(&g, NODES));
		for (int i = 0; i < 14; i++) {
			uint32_t a = (uint32_t)rand() % NODES, b = (uint32_t)rand() % NODES;
			if (a < b)
				assert_non_null(tide__cg_add_edge(&g, a, b, 0, rand() % 10 - 2));
		}
		uint32_t *path;
		size_t n;
		bool cyclic;
		assert_true(tide__cg_find_longest(&g, &path, &n, &cyclic));
		assert_false(cyclic);
		assert_int_equal(path_length(&g, path, n), oracle(&g));
		tide__free(path);
		tide__cg_free(&g);
	}
}

static void cycles_are_noticed(void **state)
{
	(void)state;
	tide_cg g;
	uint32_t *path;
	size_t n;
	bool cyclic;
	assert_true(tide__cg_init(&g, 3));
	tide__cg_add_edge(&g, 0, 1, 0, 1);
	tide__cg_add_edge(&g, 1, 2, 0, 1);
	tide__cg_add_edge(&g, 2, 1, 0, 1);
	assert_true(tide__cg_find_longest(&g, &path, &n, &cyclic));
	assert_true(cyclic);
	assert_int_equal(n, 0);
	tide__free(path);
	tide__cg_free(&g);
}

static void adding_again_replaces(void **state)
{
	(void)state;
	tide_cg g;
	assert_true(tide__cg_init(&g, 2));
	tide__cg_add_edge(&g, 0, 1, 0, 5);
	tide__cg_add_edge(&g, 0, 1, 1, 7);
	assert_int_equal(g.n_edges, 1);
	assert_int_equal(g.edges[0].weight, 7);
	assert_int_equal(g.edges[0].type, 1);
	tide__cg_free(&g);
}

/* A node with many edges, each added twice, in an order of its own; some again at the end. */
static void many_from_one(void **state)
{
	(void)state;
	for (uint32_t nodes = 2; nodes < 40; nodes++) {
		tide_cg g;
		assert_true(tide__cg_init(&g, nodes));
		for (uint32_t i = 0; i < 2 * nodes; i++) {
			uint32_t to = 1 + i * 7 % (nodes - 1);
			tide_cg_edge *e = tide__cg_add_edge(&g, 0, to, 0, i);
			assert_non_null(e);
			assert_int_equal(e->to, to);
		}
		bool seen[40] = { 0 };
		for (size_t i = 0; i < g.n_edges; i++) {
			assert_false(seen[g.edges[i].to]);
			seen[g.edges[i].to] = true;
		}
		size_t n = 0;
		for (uint32_t e = g.nodes[0].first_out; e; e = g.edges[e - 1].next_out)
			n++;
		assert_int_equal(n, g.n_edges);
		assert_int_equal(n, g.nodes[0].n_out);
		tide__cg_free(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_graphs),
		cmocka_unit_test(cycles_are_noticed),
		cmocka_unit_test(adding_again_replaces),
		cmocka_unit_test(many_from_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
