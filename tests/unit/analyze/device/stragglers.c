// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include <stdlib.h>
#include <string.h>

#include "analyze/device/stragglers.h"
#include "render/report/hta.h"
#include "testing.h"

struct row {
	const char *name;
	int64_t step;
	uint32_t ordinal;
	int64_t dur;
};

static void add_rank(tide_hta_job *job, int64_t rank, const struct row *rows, size_t n)
{
	tide_hta *h = tide__hta_new();
	tide_error err;
	assert_non_null(h);
	h->h.rank = rank;
	for (size_t i = 0; i < n; i++) {
		tide_hta_comm *c = TIDE_HTA_PUSH(h, comms);
		*c = (tide_hta_comm){ tide__hta_intern(h, rows[i].name, strlen(rows[i].name)),
				      rows[i].ordinal, rows[i].step, rows[i].dur };
	}
	assert_int_equal(tide__hta_job_add(job, "trace", h, &err), TIDE_OK);
}

/* Two ranks are enough to lay side by side; one whose number is not known has none. */
static void table(void **state)
{
	static const struct row a = { "reduce", 1, 0, 100 }, b = { "reduce", 1, 0, 30 };
	for (int64_t n = 1; n <= 3; n++) {
		tide_hta_job *job = tide__hta_job_new();
		tide_error err;
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);
		tide_json j;
		for (int64_t r = 0; r < n; r++)
			add_rank(job, r ? r : -1, r ? &a : &b, 1);
		assert_int_equal(tide__hta_job_finish(job, &err), TIDE_OK);
		tide_grid *g = tide__grid_stragglers(job);
		assert_int_equal(tide__grid_rows(g), n > 1 ? n : 0);
		tide__json_begin(&j, out, false);
		tide__grid_json(g, &j);
		fclose(out);
		assert_int_equal(strstr(text, "\"rank\":null") != NULL, n > 1);
		assert_null(strstr(text, "-1"));
		free(text);
		tide__grid_free(g);
		tide__hta_job_free(job);
	}
}

static void the_shortest_came_last(void **state)
{
	(void)state;
	static const struct row a[] = { { "reduce", 1, 0, 100 },
					{ "reduce", 1, 1, 10 },
					{ "gather", 1, 0, 50 } };
	static const struct row b[] = { { "gather", 1, 0, 50 },
					{ "reduce", 1, 0, 30 },
					{ "reduce", 1, 1, 25 },
					{ "reduce", 2, 0, 7 } };
	tide_hta_job *job = tide__hta_job_new();
	tide_error err;
	tide_stragglers s;
	add_rank(job, 0, a, 3);
	add_rank(job, 1, b, 4);
	assert_int_equal(tide__hta_job_finish(job, &err), TIDE_OK);
	assert_int_equal(tide__stragglers(job, &s, &err), TIDE_OK);
	assert_int_equal(s.matched, 3);
	assert_int_equal(s.alone, 1); /* rank 1's row in step 2 */
	assert_int_equal(s.v[0].rank, 1);
	assert_int_equal(s.v[0].late_ns, 70);
	assert_int_equal(s.v[0].last, 1); /* equal gathers are nobody's fault */
	assert_int_equal(s.v[0].worst_step, 1);
	assert_int_equal(s.v[1].rank, 0);
	assert_int_equal(s.v[1].late_ns, 15);
	assert_int_equal(s.v[1].collectives, 3);
	tide__stragglers_free(&s);
	tide__hta_job_free(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_shortest_came_last),
					    cmocka_unit_test(table) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
