// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include <stdlib.h>
#include <string.h>

#include "analyze/device/stragglers.h"
#include "render/report/device/hta.h"
#include "testing.h"

struct row {
	const char *name;
	int64_t step;
	uint32_t ordinal;
	int64_t dur;
	const char *group, *ranks;
	int64_t seq, size; /* 0 = unknown */
};

static tide_str intern(tide_hta *h, const char *s)
{
	return s ? tide__hta_intern(h, s, strlen(s)) : (tide_str){ 0 };
}

static void add_rank(tide_hta_job *job, int64_t rank, const struct row *rows, size_t n)
{
	tide_hta *h = tide__hta_new();
	tide_error err;
	assert_non_null(h);
	h->h.rank = rank;
	for (size_t i = 0; i < n; i++) {
		tide_hta_comm *c = TIDE_HTA_PUSH(h, comms);
		*c = (tide_hta_comm){ .name = intern(h, rows[i].name),
				      .group = intern(h, rows[i].group),
				      .ranks = intern(h, rows[i].ranks),
				      .ordinal = rows[i].ordinal,
				      .step = rows[i].step,
				      .dur = rows[i].dur,
				      .seq = rows[i].seq ? rows[i].seq : -1,
				      .size = rows[i].size ? rows[i].size : -1 };
	}
	assert_int_equal(tide__hta_job_add(job, "trace", h, &err), TIDE_OK);
}

/* Two ranks are enough for a comparison; a rank of unknown number has none. */
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
	assert_int_equal(tide__find_stragglers(job, &s, &err), TIDE_OK);
	assert_int_equal(s.matched, 3);
	assert_int_equal(s.alone, 1); /* rank 1's row in step 2 */
	assert_int_equal(s.v[0].rank, 1);
	assert_int_equal(s.v[0].late_ns, 70);
	assert_int_equal(s.v[0].last, 1); /* equal gathers have no straggler */
	assert_int_equal(s.v[0].worst_step, 1);
	assert_int_equal(s.v[1].rank, 0);
	assert_int_equal(s.v[1].late_ns, 15);
	assert_int_equal(s.v[1].collectives, 3);
	tide__stragglers_free(&s);
	tide__hta_job_free(job);
}

static int64_t late(const tide_stragglers *s, int64_t rank)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].rank == rank)
			return s->v[i].late_ns;
	return -1;
}

/* Two tensor-parallel groups: the slow one's ranks did not keep the other one's waiting. */
static void groups_are_apart(void **state)
{
	static const struct {
		const char *name;
		struct row of[4];
		uint64_t matched;
		int64_t late[4];
	} cases[] = {
		{ "no group said",
		  { { "ar", 1, 0, 5000 },
		    { "ar", 1, 0, 5000 },
		    { "ar", 1, 0, 750 },
		    { "ar", 1, 0, 500 } },
		  1,
		  { 0, 0, 4250, 4500 } },
		{ "names and ranks",
		  { { "ar", 1, 0, 5000, "1", "[0, 1]", 0, 2 },
		    { "ar", 1, 0, 5000, "1", "[0, 1]", 0, 2 },
		    { "ar", 1, 0, 750, "2", "[2, 3]", 0, 2 },
		    { "ar", 1, 0, 500, "2", "[2, 3]", 0, 2 } },
		  2,
		  { 0, 0, 0, 250 } },
		{ "one name, other ranks",
		  { { "ar", 1, 0, 5000, "tp", "[0, 1]" },
		    { "ar", 1, 0, 5000, "tp", "[0, 1]" },
		    { "ar", 1, 0, 750, "tp", "[2, 3]" },
		    { "ar", 1, 0, 500, "tp", "[2, 3]" } },
		  2,
		  { 0, 0, 0, 250 } },
		{ "one name, no ranks, groups of two",
		  { { "ar", 1, 0, 5000, "tp", NULL, 0, 2 },
		    { "ar", 1, 0, 5000, "tp", NULL, 0, 2 },
		    { "ar", 1, 0, 750, "tp", NULL, 0, 2 },
		    { "ar", 1, 0, 500, "tp", NULL, 0, 2 } },
		  0,
		  { 0, 0, 0, 0 } },
		{ "sequence numbers match over steps, places do not",
		  { { "ar", 1, 0, 5000, "0", "[0, 1, 2, 3]", 7, 4 },
		    { "ar", 2, 1, 100, "0", "[0, 1, 2, 3]", 8, 4 },
		    { "ar", 2, 0, 750, "0", "[0, 1, 2, 3]", 7, 4 },
		    { "ar", 1, 1, 500, "0", "[0, 1, 2, 3]", 7, 4 } },
		  1,
		  { 0, 0, 4250, 0 } },
	};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		tide_hta_job *job = tide__hta_job_new();
		tide_error err;
		tide_stragglers s;
		for (int64_t r = 0; r < 4; r++)
			add_rank(job, r, &cases[k].of[r], 1);
		assert_int_equal(tide__hta_job_finish(job, &err), TIDE_OK);
		assert_int_equal(tide__find_stragglers(job, &s, &err), TIDE_OK);
		if (s.matched != cases[k].matched)
			fail_msg("%s: %d matched", cases[k].name, (int)s.matched);
		for (int64_t r = 0; r < 4; r++)
			if (late(&s, r) != cases[k].late[r])
				fail_msg("%s: rank %d late by %d", cases[k].name, (int)r,
					 (int)late(&s, r));
		tide__stragglers_free(&s);
		tide__hta_job_free(job);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_shortest_came_last),
					    cmocka_unit_test(groups_are_apart),
					    cmocka_unit_test(table) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
