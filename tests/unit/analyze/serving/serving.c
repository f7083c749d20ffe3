// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Snapshots of a server: patterns against a recursive matcher, the n-th allocation fails for every n,
 * wrong options. Figures: tests/e2e/server_memory.py. */
#include "analyze/serving/serving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/serving/serving_impl.h"
#include "base/mem.h"
#include "import/import.h"
#include "testing.h"

static tide_model *load(const char *file)
{
	char path[4096];
	const char *top = getenv("TIDE_SOURCE");
	tide_model *m;
	tide_error err = { 0 };
	snprintf(path, sizeof path, "%s/tests/data/server/%s", top ? top : ".", file);
	if (tide__load(path, NULL, &m, &err) != TIDE_OK)
		fail_msg("%s: %s", path, err.text);
	return m;
}

/* ---- patterns ---- */

static bool slow_match(const char *p, const char *s)
{
	if (*p == '*')
		return slow_match(p + 1, s) || (*s && slow_match(p, s + 1));
	return *p ? *p == *s && slow_match(p + 1, s + 1) : !*s;
}

static void test_patterns(void **state)
{
	static const char letters[] = "ab/*";
	unsigned seed = 1;
	(void)state;
	for (int round = 0; round < 20000; round++) {
		char p[9] = "", s[9] = "";
		for (int i = 0; i < 8; i++) {
			seed = seed * 1664525u + 1013904223u;
			p[i] = letters[seed >> 30];
			s[i] = letters[(seed >> 20) % 3];
		}
		p[(seed >> 8) % 9] = s[(seed >> 16) % 9] = 0;
		bool want = slow_match(p, s) || (!strncmp(p, "**/", 3) && slow_match(p + 3, s));
		if (tide__serving_match(p, s, strlen(s)) != want)
			fail_msg("pattern %s, text %s: not %d", p, s, want);
	}
	assert_true(tide__serving_match("**/vllm/**/cache.py", "/x/vllm/a/b/cache.py", 20));
	assert_true(tide__serving_match("**/cache.py", "cache.py", 8));
	assert_false(tide__serving_match("**/cache.py", "/x/mycache.py", 13));
}

/* ---- memory runs out ---- */

static void test_failures(void **state)
{
	tide_model *models[] = { load("shared-02-loaded.pickle.gz"),
				 load("shared-03-captured32.pickle.gz") };
	const char *rules[] = { "kv_cache=**/server.py:__init__" };
	const tide_serving_query q = { .device = 1,
				       .rules = rules,
				       .n_rules = 1,
				       .sizes = "32",
				       .capacity = UINT64_C(80) << 30,
				       .outside = TIDE_SERVING_UNKNOWN };
	(void)state;
	for (uint64_t n = 1;; n++) {
		tide_serving s;
		tide_error err = { 0 };
		tide__mem_fail_at(n);
		tide_code rc =
			tide__serving_find((const tide_model *const *)models, 2, &q, &s, &err);
		tide__mem_fail_at(0);
		if (rc == TIDE_OK) {
			assert_true(n > 50);
			assert_int_equal(s.n, 2);
			assert_int_equal(s.n_sizes, 1);
			assert_int_equal(s.sizes[0].batch, 32);
			assert_true(s.replay.known && s.replay.reproduced);
			assert_int_equal(tide__serving_sum(&s.at[1]), s.at[1].reserved);
			tide__serving_free(&s);
			break;
		}
		assert_int_equal(rc, TIDE_ENOMEM);
		tide__serving_free(&s);
	}
	for (int i = 0; i < 2; i++)
		tide__model_free(models[i]);
}

static void test_no_device(void **state)
{
	tide_model *m = tide__model_new();
	const tide_serving_query q = { .outside = TIDE_SERVING_UNKNOWN };
	tide_serving s;
	tide_error err = { 0 };
	(void)state;
	m->path = tide__strndup("x", 1);
	assert_int_equal(tide__serving_find((const tide_model *const *)&m, 1, &q, &s, &err),
			 TIDE_OK);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.at[0].device, 0);
	assert_int_equal(tide__serving_sum(&s.at[0]), 0);
	tide__serving_free(&s);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_patterns),
					    cmocka_unit_test(test_failures),
					    cmocka_unit_test(test_no_device) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
