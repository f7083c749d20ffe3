// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Two graphs in one tree: every path has the weights of both, and folding drops none. */
#include "analyze/compare/flame_pair.h"
#include "base/mem.h"
#include "some_model.h"
#include "testing.h"

static void path_of(const tide_flame *f, uint32_t node, char *out, size_t n)
{
	char up[400] = "";
	if (node)
		path_of(f, f->nodes.parent[node], up, sizeof up);
	snprintf(out, n, "%.300s;%.90s", up, node ? tide__flame_name(f, node, NULL) : "");
}

/* Returns the self of a path in a graph by checking every node, 0 if there is none. */
static uint64_t self_at(const tide_flame *f, const char *path)
{
	char own[400];
	for (uint32_t i = 0; i < f->nodes.n; i++) {
		path_of(f, i, own, sizeof own);
		if (!strcmp(own, path))
			return f->nodes.self[i];
	}
	return 0;
}

static void both_weights(void **state)
{
	char path[400];
	for (uint32_t seed = 1; seed < 25; seed++) {
		for (int kind = 0; kind < 3; kind++) {
			const tide_flame_options opt = { .kind = (tide_flame_kind)kind,
							 .merge = true };
			tide_model *m[2] = { some_model(seed, 60, 30),
					     some_model(seed + 100, 40, 30) };
			tide_flame *f[2];
			tide_flame_pair p;
			for (int s = 0; s < 2; s++)
				assert_int_equal(tide__find_flame(m[s], &opt, &f[s], NULL),
						 TIDE_OK);
			assert_true(tide__flame_pair_build(f[0], f[1], 0, 0, &p));
			assert_int_equal(p.folded, 0);
			for (uint32_t i = 0; i < p.tree->nodes.n; i++) {
				path_of(p.tree, i, path, sizeof path);
				for (int s = 0; s < 2; s++)
					assert_int_equal(p.self[s][i], self_at(f[s], path));
			}
			tide__flame_pair_free(&p);
			for (int s = 0; s < 2; s++) {
				tide__flame_free(f[s]);
				tide__model_free(m[s]);
			}
		}
	}
}

static void folding(void **state)
{
	for (uint32_t seed = 1; seed < 40; seed++) {
		const tide_flame_options opt = { .kind = TIDE_FLAME_CPU };
		tide_model *m[2] = { some_model(seed, 90, 30), some_model(seed + 7, 90, 30) };
		tide_flame *f[2];
		tide_flame_pair p;
		for (int s = 0; s < 2; s++)
			assert_int_equal(tide__find_flame(m[s], &opt, &f[s], NULL), TIDE_OK);
		assert_true(tide__flame_pair_build(f[0], f[1], 1 + seed % 20, seed % 5, &p));
		for (int s = 0; s < 2; s++) {
			uint64_t sum = 0, count = 0, want = 0;
			for (uint32_t i = 0; i < p.tree->nodes.n; i++) {
				sum += p.self[s][i];
				count += p.count[s][i];
				assert_true(!(seed % 5) || p.tree->nodes.depth[i] <= seed % 5);
			}
			for (uint32_t i = 0; i < f[s]->nodes.n; i++)
				want += f[s]->nodes.count[i];
			assert_int_equal(sum, f[s]->nodes.total[0]);
			assert_int_equal(count, want);
			tide__flame_free(f[s]);
			tide__model_free(m[s]);
		}
		tide__flame_pair_free(&p);
	}
}

static void no_memory(void **state)
{
	const tide_flame_options opt = { .kind = TIDE_FLAME_CPU };
	tide_model *m = some_model(3, 40, 10);
	tide_flame *f;
	tide_flame_pair p;
	assert_int_equal(tide__find_flame(m, &opt, &f, NULL), TIDE_OK);
	for (uint64_t at = 1;; at++) {
		tide__mem_fail_at(at);
		bool ok = tide__flame_pair_build(f, f, 100, 0, &p);
		tide__mem_fail_at(0);
		tide__flame_pair_free(&p);
		if (ok)
			break;
	}
	tide__flame_free(f);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_weights),
		cmocka_unit_test(folding),
		cmocka_unit_test(no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
