// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The breakdown of a predicted peak: its parts add up to it, each equals a plain count of live
 * allocations in both recordings, and running out of memory anywhere is only an error. */
#include "analyze/predict/predicted_breakdown.h"
#include "analyze/predict/predicted_reserved.h"
#include "base/mem.h"
#include "some_training.h"

struct pair {
	tide_model *m[2];
	tide_moment_profile held[2];
	tide_lines l;
};

static void record(struct pair *p, unsigned round)
{
	uint64_t peak;
	seed = 998877 + 1001 * round;
	invent();
	uint64_t x = 1 + below(20), y = x + 1 + below(20);
	p->m[0] = perform(x, &peak);
	p->m[1] = perform(y, &peak);
	for (size_t i = 0; i < 2; i++) {
		tide_allocs *a = &p->m[i]->allocs;
		for (size_t k = 1; k < a->n; k++) /* labels that both agree on */
			a->role[k] = k == 1 ? TIDE_ROLE_PARAMETER : TIDE_ROLE_ACTIVATION;
		assert_int_equal(
			tide__find_moment_profile(p->m[i], 1, i ? y : x, &p->held[i], NULL),
			TIDE_OK);
	}
	assert_int_equal(tide__find_lines(&p->held[0], &p->held[1], &p->l, NULL), TIDE_OK);
}

static void forget(struct pair *p)
{
	tide__lines_free(&p->l);
	for (size_t i = 0; i < 2; i++) {
		tide__moment_profile_free(&p->held[i]);
		tide__model_free(p->m[i]);
	}
}

/* Returns the live bytes of a role after `position` memory events by checking each event. */
static uint64_t count(const tide_model *m, uint64_t position, uint64_t role)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < position; i++) {
		uint32_t a = m->memory_events.row[i];
		if (m->allocs.role[a] == role)
			sum += m->memory_events.kind[i] == TIDE_MEMORY_ALLOC ? m->allocs.size[a]
									     : -m->allocs.size[a];
	}
	return sum;
}

static void parts_are_what_is_alive(void **state)
{
	static const uint32_t device[2] = { 1, 1 };
	for (unsigned round = 0; round < 60; round++) {
		struct pair p;
		tide_predicted_breakdown parts;
		size_t at;
		record(&p, round);
		uint64_t size = 1 + below(300), peak = tide__predict(&p.l, size, &at);
		const tide_model *const m[2] = { p.m[0], p.m[1] };
		assert_int_equal(tide__find_predicted_breakdown(m, device, &p.l, at, size,
								TIDE_BY_ROLE, &parts, NULL),
				 TIDE_OK);
		assert_int_equal(parts.bytes, peak);
		int64_t sum = 0;
		for (size_t i = 0; i < parts.n; i++) {
			sum += parts.v[i].bytes;
			assert_true(!i || parts.v[i].bytes <= parts.v[i - 1].bytes);
			for (size_t k = 0; k < 2; k++)
				assert_int_equal(
					parts.v[i].at[k],
					count(m[k], p.l.v[at].at[k].position, parts.v[i].key));
		}
		assert_int_equal(sum, peak);
		tide__predicted_breakdown_free(&parts);
		assert_int_equal(tide__find_predicted_breakdown(m, device, &p.l, at, size,
								TIDE_BY_MODULE, &parts, NULL),
				 TIDE_OK);
		assert_int_equal(parts.bytes, peak);
		tide__predicted_breakdown_free(&parts);
		forget(&p);
	}
}

/* Runs everything; TIDE_ENOTFOUND of the simulator is a valid result. */
static tide_code everything(const struct pair *p)
{
	static const uint32_t device[2] = { 1, 1 };
	const tide_model *const m[2] = { p->m[0], p->m[1] };
	tide_moment_profile a = { 0 }, b = { 0 };
	tide_lines l = { 0 };
	tide_predicted_breakdown parts = { 0 };
	tide_predicted_reserved r = { 0 };
	tide_sim_result sim;
	uint64_t fits;
	tide_code rc = tide__find_moment_profile(m[0], 1, p->l.size[0], &a, NULL);
	rc = rc == TIDE_OK ? tide__find_moment_profile(m[1], 1, p->l.size[1], &b, NULL) : rc;
	rc = rc == TIDE_OK ? tide__find_lines(&a, &b, &l, NULL) : rc;
	rc = rc == TIDE_OK ? tide__find_predicted_breakdown(m, device, &l, 0, 70, TIDE_BY_MODULE,
							    &parts, NULL)
			   : rc;
	rc = rc == TIDE_OK ? tide__find_predicted_reserved(m[1], 1, &b, &l, &r, NULL) : rc;
	if (rc == TIDE_OK)
		rc = tide__predicted_reserved_run(&r, 70, 0, &sim);
	if (rc == TIDE_OK)
		rc = tide__predicted_reserved_fits(&r, 90, 1 << 22, &fits);
	tide__predicted_reserved_free(&r);
	tide__predicted_breakdown_free(&parts);
	tide__lines_free(&l);
	tide__moment_profile_free(&a);
	tide__moment_profile_free(&b);
	return rc == TIDE_ENOTFOUND ? TIDE_OK : rc;
}

static void memory_may_run_out_anywhere(void **state)
{
	struct pair p;
	record(&p, 3);
	uint64_t at = 0, met;
	do {
		at++;
		tide__mem_fail_at(at);
		tide_code rc = everything(&p);
		met = tide__mem_count() >= at;
		tide__mem_fail_at(0);
		assert_int_equal(rc, met ? TIDE_ENOMEM : TIDE_OK);
	} while (met);
	assert_true(at > 30);
	forget(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_what_is_alive),
		cmocka_unit_test(memory_may_run_out_anywhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
