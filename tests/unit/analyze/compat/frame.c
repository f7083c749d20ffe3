// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The profiler step of a row of HTA's table, compared with the definition: the last one of the file
 * among the steps around its start. Steps overlap, touch, nest and repeat here. */
#include "some_model.h"
#include "testing.h"

#include "analyze/compat/frame.h"
#include "base/mem.h"

enum { ROUNDS = 300, END_US = 60 };

/* Sorted by start as every model is; events in another order. */
static tide_model *steps_model(void)
{
	tide_model *m = some_machine();
	uint32_t n = 1 + some_random(40);
	for (int64_t t = 0; t < END_US; t++)
		for (uint32_t k = 0; k < n; k++)
			if (!some_random(END_US)) {
				char name[32];
				snprintf(name, sizeof name, "ProfilerStep#%u", some_random(6));
				some_span(m, 1, TIDE_CAT_USER, some_random(2) ? name : "op",
					  t * 1000, (t + some_random(20)) * 1000);
			}
	m->span_raw = tide__alloc(m->spans.n, sizeof *m->span_raw);
	for (uint32_t i = 0; i < m->spans.n; i++)
		m->span_raw[i] = (tide_raw){ i * 7919 % 1009, -1, -1 };
	return m;
}

static int64_t want(const tide_model *m, const tide_compat_frame *f, size_t row)
{
	int64_t found = -1;
	for (size_t i = 0; i < f->n; i++) {
		const char *name = tide__text(m, m->spans.name[f->span[i].i], NULL);
		if (*name == 'P' && f->ts[i] <= f->ts[row] && f->ts[row] < f->ts[i] + f->dur[i])
			found = strtoll(name + 13, NULL, 10);
	}
	return found;
}

static void test_steps(void **state)
{
	for (uint32_t seed = 1; seed <= ROUNDS; seed++) {
		tide_compat_frame f;
		tide_error err;
		some_seed = seed;
		tide_model *m = steps_model();
		bool seen[6] = { false };
		size_t steps = 0;
		assert_int_equal(tide__compat_frame_build(m, true, &f, &err), TIDE_OK);
		for (size_t i = 0; i < f.n; i++)
			if (f.step[i] != want(m, &f, i))
				fail_msg("seed %u: row %zu is in step %lld, not %lld", seed, i,
					 (long long)f.step[i], (long long)want(m, &f, i));
		for (size_t i = 1; i < m->spans.n; i++) {
			const char *name = tide__text(m, m->spans.name[i], NULL);
			bool *s = *name == 'P' ? &seen[name[13] - '0'] : NULL;
			steps += s && !*s;
			if (s)
				*s = true;
		}
		assert_int_equal(f.steps, steps);
		tide__compat_frame_free(&f);
		tide__model_free(m);
	}
}

int main(void)
{
	(void)some_model;
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_steps) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
