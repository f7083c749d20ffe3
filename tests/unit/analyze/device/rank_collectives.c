// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Collectives over ranks when memory runs out at every place, and when a result was sent between
 * processes. The figures are compared in tests/property/collectives.py. */
#include "analyze/device/rank_collectives.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "testing.h"

enum { RANKS = 4, CALLS = 6 };

static tide_str intern(tide_hta *h, const char *s)
{
	return tide__hta_intern(h, s, strlen(s));
}

static tide_hta *make_rank(int64_t rank)
{
	tide_hta *h = tide__hta_new();
	assert_non_null(h);
	h->h.rank = rank;
	h->h.world = RANKS;
	tide_hta_pg *g = TIDE_HTA_PUSH(h, pgs);
	*g = (tide_hta_pg){ .name = intern(h, "0"),
			    .ranks = intern(h, "[0, 1, 2, 3]"),
			    .size = RANKS,
			    .first = -1,
			    .stride = -1 };
	for (int64_t i = 0; i < CALLS; i++) {
		tide_hta_call *c = TIDE_HTA_PUSH(h, calls);
		*c = (tide_hta_call){ .name = intern(h, "allreduce"),
				      .dtype = intern(h, "Float"),
				      .pg = 1,
				      .flags = TIDE_CALL_SYNC,
				      .step = -1,
				      .seq = i,
				      .t0 = i * 1000 + rank * 10,
				      .t1 = i * 1000 + 500,
				      .bytes = 4096,
				      .bus_bytes = 6144,
				      .since = i ? (i - 1) * 1000 + 500 : -1 };
		c->before[TIDE_BEFORE_COMPUTE] = i ? 500 + rank * 10 : 0;
	}
	for (uint32_t d = 0; d < 2; d++) {
		tide_hta_split *s = TIDE_HTA_PUSH(h, splits);
		*s = (tide_hta_split){ .pg = 1, .received = d, .peer = 1, .calls = 1, .bytes = 64 };
	}
	return h;
}

/* A job whose ranks went through the bytes that processes exchange. */
static tide_hta_job *make_job(void)
{
	tide_hta_job *job = tide__hta_job_new();
	tide_error err;
	for (int64_t r = 0; r < RANKS; r++) {
		tide_hta *h = make_rank(r), *copy;
		uint8_t *p;
		size_t n;
		assert_int_equal(tide__hta_pack(h, &p, &n, &err), TIDE_OK);
		assert_int_equal(tide__hta_unpack(p, n, &copy, &err), TIDE_OK);
		for (size_t i = 0; i < n; i += 7) { /* damage is refused, or has ids in range */
			tide_hta *odd = NULL;
			p[i] ^= 0x55;
			tide__hta_unpack(p, n, &odd, &err);
			tide__hta_free(odd);
			p[i] ^= 0x55;
		}
		tide__free(p);
		tide__hta_free(h);
		assert_int_equal(tide__hta_job_add(job, "trace", copy, &err), TIDE_OK);
	}
	assert_int_equal(tide__hta_job_finish(job, &err), TIDE_OK);
	return job;
}

static void check(const tide_rank_collectives *c)
{
	assert_int_equal(c->n_groups, 1);
	assert_int_equal(c->groups[0].calls, CALLS);
	assert_int_equal(c->groups[0].whole, CALLS);
	assert_int_equal(c->n_rows, 1);
	assert_int_equal(c->rows[0].latency.min, 470);
	assert_int_equal(c->rows[0].placed, CALLS);
	assert_int_equal(c->n_last, RANKS);
	assert_int_equal(c->last[0].rank, 3);
	assert_int_equal(c->last[0].last, CALLS);
	assert_int_equal(c->last[0].late_ns, 30 * CALLS);
	assert_int_equal(c->last[0].why[TIDE_BEFORE_COMPUTE], CALLS - 1);
	assert_int_equal(c->last[0].why[TIDE_LATE_UNKNOWN], 1);
	assert_int_equal(c->n_cells, 7);
}

static void figures(void **state)
{
	tide_hta_job *job = make_job();
	tide_rank_collectives c;
	tide_error err;
	assert_int_equal(tide__rank_collectives_find(job, &c, &err), TIDE_OK);
	check(&c);
	tide__rank_collectives_free(&c);
	tide__hta_job_free(job);
}

static void no_memory(void **state)
{
	tide_hta_job *job = make_job();
	bool done = false;
	for (uint64_t n = 1; !done && n < 10000; n++) {
		tide_rank_collectives c;
		tide_error err;
		tide__mem_fail_at(n);
		tide_code rc = tide__rank_collectives_find(job, &c, &err);
		tide__mem_fail_at(0);
		done = rc == TIDE_OK;
		if (done)
			check(&c);
		else
			assert_int_equal(rc, TIDE_ENOMEM);
		tide__rank_collectives_free(&c);
	}
	assert_true(done);
	tide__hta_job_free(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures),
		cmocka_unit_test(no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
