// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The public reading API: the example of its header, every table and column, and missing ones.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tidemark/tidemark.h>

#include "models.h"
#include "testing.h"

static char path[64];

static tide_trace *open_sample(void)
{
	tidefile f;
	tide_trace *t;
	snprintf(path, sizeof path, "/tmp/tide-trace-%d.tide", (int)getpid());
	tidefile_some_of_everything(&f);
	tidefile_end(&f);
	tidefile_save(&f, path);
	tidefile_free(&f);
	assert_int_equal(tide_trace_open(path, &t, NULL), TIDE_OK);
	unlink(path);
	return t;
}

static void test_example(void **state)
{
	tide_trace *t = open_sample();
	tide_column_view size, pool, name;
	assert_int_equal(tide_trace_column(t, "allocs", "size", &size), TIDE_OK);
	assert_int_equal(tide_trace_column(t, "allocs", "pool", &pool), TIDE_OK);
	assert_int_equal(tide_trace_column(t, "pools", "name", &name), TIDE_OK);
	const uint64_t *sizes = size.data;
	const uint32_t *in = pool.data, *names = name.data;
	uint64_t sum = 0;
	for (size_t i = size.first; i < size.rows; i++)
		sum += strcmp(tide_trace_text(t, names[in[i]], NULL), "alpha") ? 0 : sizes[i];
	assert_int_equal(sum, 6 * 1000 + 15);
	assert_string_equal(tide_trace_format(t), "tide");
	int64_t n;
	assert_true(tide_trace_wall(t, &n));
	assert_true(tide_trace_fact(t, "tide.events", &n));
	assert_int_equal(n, 76);
	assert_false(tide_trace_fact(t, "no such fact", &n));
	assert_int_equal(tide_trace_end(t), 900);
	size_t dims;
	assert_non_null(tide_trace_dims(t, &dims));
	assert_int_equal(dims, 18);
	tide_trace_close(t);
}

/* Every id column refers to a table that is there, and its ids are rows of it. */
static void test_walk(void **state)
{
	tide_trace *t = open_sample();
	tide_table_view b, to;
	tide_column_view c;
	for (size_t i = 0; tide_trace_table_at(t, i, &b); i++) {
		size_t k = 0;
		for (; tide_trace_column_at(t, b.name, k, &c); k++) {
			assert_int_equal(c.rows, b.rows);
			assert_true(c.type == TIDE_TYPE_ID ? c.refers != NULL : !c.refers);
			if (!c.refers || !strcmp(c.refers, "strings"))
				continue;
			assert_int_equal(tide_trace_table(t, c.refers, &to), TIDE_OK);
			for (size_t r = 0; r < c.rows; r++)
				assert_true(((const uint32_t *)c.data)[r] < to.rows);
		}
		assert_int_equal(k, b.columns);
	}
	assert_int_equal(tide_trace_column(t, "memory_events", "position", &c), TIDE_ENOTFOUND);
	assert_int_equal(tide_trace_table(t, "nothing", &b), TIDE_ENOTFOUND);
	assert_int_equal(tide_trace_column(t, "allocs", "nothing", &c), TIDE_ENOTFOUND);
	assert_int_equal(tide_trace_column(t, "nothing", "size", &c), TIDE_ENOTFOUND);
	assert_null(c.data);
	tide_trace_close(t);
	tide_trace_close(NULL);
}

static void test_failure(void **state)
{
	tide_trace *t = (tide_trace *)&t;
	tide_error err;
	assert_int_equal(tide_trace_open("/nowhere/at/all", &t, &err), TIDE_EIO);
	assert_null(t);
	assert_true(*err.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_example),
					    cmocka_unit_test(test_walk),
					    cmocka_unit_test(test_failure) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
