// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The simulator against real recordings: with the recorded settings and the device's recorded
 * answers it reserves and releases every recorded segment, in order and size, and ends at torch's
 * own counters. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/allocator/sim/replay.h"
#include "import/import.h"
#include "testing.h"

static const struct row {
	const char *file;
	uint64_t events; /* recorded segment_alloc and segment_free */
	uint64_t reserved, allocated_peak, inactive_split, largest, retries, ooms;
	uint64_t limit; /* bytes the device could give */
} rows[] = {
	{ "snapshot_gpt_train.pickle.gz", 116, 6547308544, 5736168960, 1242089472, 824180736, 0, 0,
	  0 },
	/* 146949537792 reserved + 2343698432 free on the device at the OOM */
	{ "snapshot_oom.pickle.gz", 98, 146949537792, 145931542528, 1017995264, 334823424, 2, 1,
	  149293236224 },
};

static tide_requests *load(const char *file)
{
	char path[4096];
	const char *top = getenv("TIDE_SOURCE");
	tide_model *m;
	tide_requests *q;
	tide_error err = { 0 };

	snprintf(path, sizeof path, "%s/tests/data/torchsnap/%s", top ? top : ".", file);
	if (tide__load(path, NULL, &m, &err) != TIDE_OK)
		fail_msg("%s: %s", path, err.text);
	assert_int_equal(tide__requests_new(m, (tide_device_id){ 1 }, &q, &err), TIDE_OK);
	tide__model_free(m);
	return q;
}

static void same(const char *file, const char *what, uint64_t got, uint64_t want)
{
	if (got != want)
		fail_msg("%s: %s is %llu, not %llu", file, what, (unsigned long long)got,
			 (unsigned long long)want);
}

static void check_end(const struct row *r, const tide_sim_result *out)
{
	same(r->file, "reserved", out->st.reserved, r->reserved);
	same(r->file, "allocated peak", out->st.allocated_peak, r->allocated_peak);
	same(r->file, "inactive split", out->inactive_split, r->inactive_split);
	same(r->file, "largest free block", out->largest_free, r->largest);
	same(r->file, "retries", out->st.retries, r->retries);
	same(r->file, "ooms", out->st.ooms, r->ooms);
}

static void test_recorded(void **state)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_requests *q = load(rows[i].file);
		tide_sim_result out;

		assert_true(q->settings_known);
		assert_int_equal(tide__sim_check(q, &out), TIDE_OK);
		if (out.diverged)
			fail_msg("%s: request %zu: difference %d", rows[i].file, out.diverged_req,
				 (int)out.difference.what);
		same(rows[i].file, "recorded segment events", q->n_taken, rows[i].events);
		same(rows[i].file, "reproduced", out.checked, rows[i].events);
		same(rows[i].file, "empty_cache calls", q->n_empty, 0);
		check_end(&rows[i], &out);
		tide__requests_free(q);
	}
}

/* With only the device's size given, the result is the same. */
static void test_by_capacity(void **state)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_requests *q = load(rows[i].file);
		tide_sim_config c = q->recorded;
		tide_sim_result out;

		same(rows[i].file, "limit", q->limit, rows[i].limit);
		c.capacity = q->limit;
		assert_int_equal(tide__sim_run(q, &c, TIDE_BEFORE_KEEP, &out), TIDE_OK);
		assert_false(out.out);
		same(rows[i].file, "segments taken", out.st.n_seg_alloc + out.st.n_seg_free,
		     rows[i].events);
		check_end(&rows[i], &out);
		tide__requests_free(q);
	}
}

/* A device one segment too small runs out. */
static void test_too_small(void **state)
{
	tide_requests *q = load(rows[0].file);
	tide_sim_config c = q->recorded;
	tide_sim_result out;

	c.capacity = rows[0].allocated_peak - 1;
	assert_int_equal(tide__sim_run(q, &c, TIDE_BEFORE_KEEP, &out), TIDE_OK);
	assert_true(out.out);
	assert_int_equal(q->r[out.out_req].kind, TIDE_REQ_ALLOC);
	assert_true(out.st.retries > 0);
	tide__requests_free(q);
}

/* Segments from before the recording count: a device smaller than they are runs out at once. */
static void test_before_too_large(void **state)
{
	static const struct {
		uint64_t capacity;
		bool out;
	} cases[] = { { 3 << 20, true }, { 5 << 20, true }, { 6 << 20, false }, { 0, false } };
	tide_requests *q = load(rows[0].file), kept = *q;
	tide_before two[] = { { .addr = 1 << 20, .size = 4 << 20 },
			      { .addr = 64 << 20, .size = 2 << 20 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		tide_sim_config c = q->recorded;
		tide_sim_result out;
		c.capacity = cases[i].capacity;
		q->before = two;
		q->n_before = 2;
		q->n_blocks = q->n_loose = q->n = 0;
		assert_int_equal(tide__sim_run(q, &c, TIDE_BEFORE_KEEP, &out), TIDE_OK);
		assert_int_equal(out.out, cases[i].out);
		assert_true(!out.out || (out.out_req == q->n && out.out_free <= c.capacity));
	}
	*q = kept;
	tide__requests_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_recorded),
					    cmocka_unit_test(test_by_capacity),
					    cmocka_unit_test(test_too_small),
					    cmocka_unit_test(test_before_too_large) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
