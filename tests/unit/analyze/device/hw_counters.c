// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Counter rows get the launches in order of time if there are as many, else none. */
#include "some_model.h"
#include "testing.h"

#include "analyze/device/hw_counters.h"

/* One letter a span: C counters, L a launch, X cudaLaunchKernelExC, M another runtime call, O an op
 * named like a launch. */
static const struct row {
	const char *name, *spans;
	size_t counters, launches;
	bool matched;
} rows[] = {
	{ "nothing", "", 0, 0, true },
	{ "one of each", "LC", 1, 1, true },
	{ "launches before the rows", "LXMLCCC", 3, 3, true },
	{ "mixed with other spans", "OLCMOXC", 2, 2, true },
	{ "a launch too many", "LLC", 1, 2, false },
	{ "a launch too few", "LCC", 2, 1, false },
	{ "no launches", "CC", 2, 0, false },
	{ "no rows", "LX", 0, 2, false },
};

static uint32_t add(tide_model *m, char letter, int64_t t)
{
	switch (letter) {
	case 'C':
		return some_span(m, 3, TIDE_CAT_COUNTERS, "counters", t, t);
	case 'L':
		return some_span(m, 1, TIDE_CAT_RUNTIME, "cudaLaunchKernel", t, t);
	case 'X':
		return some_span(m, 1, TIDE_CAT_RUNTIME, "cudaLaunchKernelExC", t, t);
	case 'M':
		return some_span(m, 1, TIDE_CAT_RUNTIME, "cudaMemcpy", t, t);
	default:
		return some_span(m, 1, TIDE_CAT_OP, "cudaLaunchKernel", t, t);
	}
}

static void test_row(void **state)
{
	const struct row *r = *state;
	uint32_t launches[16], ranges[16];
	size_t n_launches = 0, n_ranges = 0;
	tide_model *m = some_machine();
	tide_hwcounters h;
	tide_error err;
	for (size_t i = 0; r->spans[i]; i++) {
		uint32_t s = add(m, r->spans[i], (int64_t)i);
		if (r->spans[i] == 'C')
			ranges[n_ranges++] = s;
		else if (r->spans[i] == 'L' || r->spans[i] == 'X')
			launches[n_launches++] = s;
	}
	assert_int_equal(tide__find_counters(m, &h, &err), TIDE_OK);
	assert_int_equal(h.n, r->counters);
	assert_int_equal(h.launches, r->launches);
	for (size_t i = 0; i < h.n; i++) {
		assert_int_equal(h.v[i].range.i, ranges[i]);
		assert_int_equal(h.v[i].launch.i, r->matched ? launches[i] : 0);
	}
	tide__hwcounters_free(&h);
	tide__model_free(m);
}

int main(void)
{
	enum { N = sizeof rows / sizeof *rows };
	struct CMUnitTest tests[N];
	for (size_t i = 0; i < N; i++)
		tests[i] = (struct CMUnitTest){ rows[i].name, test_row, NULL, NULL,
						(void *)(uintptr_t)&rows[i] };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
