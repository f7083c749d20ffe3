// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The host heap against a slow oracle, and the arithmetic of samples. */
#include <math.h>

#include "analyze/memory/heap.h"
#include "some_model.h"
#include "testing.h"

static tide_model *with_heap(void)
{
	tide_model *m = some_machine();
	(void)some_model;
	(void)some_allocs;
	uint32_t d = tide__push(&m->devices, &tide_devices_desc);
	m->devices.kind[d] = TIDE_DEVICE_HOST;
	uint32_t p = tide__push(&m->pools, &tide_pools_desc);
	m->pools.device[p] = (tide_device_id){ d };
	m->pools.name[p] = tide__intern(m, "malloc");
	return m;
}

static void no_heap(void **state)
{
	tide_model *m = some_machine();
	tide_heap h;
	some_alloc(m, 1, 10, 0);
	assert_int_equal(tide__heap_report_find(m, &h, NULL), TIDE_OK);
	assert_int_equal(h.pool, 0);
	assert_int_equal(h.n, 0);
	tide__heap_report_free(&h);
	tide__model_free(m);
}

/* a: freed at once; b stays; c is freed after d was allocated. */
static void few(void **state)
{
	tide_model *m = with_heap();
	uint32_t pool = (uint32_t)m->pools.n - 1;
	tide_heap h;
	uint32_t a = some_alloc(m, pool, 100, 1);
	some_free(m, a, 2);
	some_alloc(m, pool, 40, 3);
	uint32_t c = some_alloc(m, pool, 70, 4);
	some_alloc(m, 1, 1000, 4); /* another pool */
	some_alloc(m, pool, 5, 5);
	some_free(m, c, 6);
	assert_int_equal(tide__heap_report_find(m, &h, NULL), TIDE_OK);
	assert_int_equal(h.pool, pool);
	assert_int_equal(h.total.peak, 115);
	assert_int_equal(h.peak_t, 5);
	assert_int_equal(h.total.left, 45);
	assert_true(h.total.left_count == 2);
	assert_int_equal(h.total.allocated, 215);
	assert_int_equal(h.total.temporary, 1);
	assert_true(h.total.count == 4);
	assert_int_equal(h.n, 1);
	assert_int_equal(h.rows[0].peak, 115);
	tide__heap_report_free(&h);
	tide__model_free(m);
}

/* Random lifetimes: sums over rows equal the totals, and the peak equals the maximum of a sum per
 * moment. */
static void oracle(void **state)
{
	tide_model *m = with_heap();
	uint32_t pool = (uint32_t)m->pools.n - 1, live[64], n_live = 0;
	uint64_t now = 0, most = 0, left = 0;
	tide_heap h;
	for (int64_t t = 1; t < 2000; t++) {
		if (n_live && (n_live == 64 || some_random(2))) {
			uint32_t k = (uint32_t)some_random(n_live);
			now -= m->allocs.size[live[k]];
			some_free(m, live[k], t);
			live[k] = live[--n_live];
		} else {
			live[n_live] = some_alloc(m, pool, 1 + some_random(500), t);
			m->allocs.stack[live[n_live]] = some_stack(m, "main", t % 3 ? "f" : "g");
			now += m->allocs.size[live[n_live++]];
		}
		most = now > most ? now : most;
	}
	for (uint32_t i = 0; i < n_live; i++)
		left += m->allocs.size[live[i]];
	assert_int_equal(tide__heap_report_find(m, &h, NULL), TIDE_OK);
	assert_int_equal(h.total.peak, most);
	assert_int_equal(h.total.left, left);
	uint64_t peak = 0, all = 0;
	for (size_t i = 0; i < h.n; i++) {
		peak += h.rows[i].peak;
		all += h.rows[i].allocated;
	}
	assert_int_equal(h.n, 2);
	assert_int_equal(peak, most);
	assert_int_equal(all, h.total.allocated);
	tide__heap_report_free(&h);
	tide__model_free(m);
}

/* Blocks that are recorded with probability P: over many recordings, the square of an error is on
 * average the square of its standard error, for bytes and for blocks. */
static void errors(void **state)
{
	enum { BLOCKS = 40, TIMES = 4000 };
	const double mean = 1000;
	double size[BLOCKS], bytes = 0, off_n = 0, off_bytes = 0, err_n = 0, err_bytes = 0,
			     sum_n = 0;
	for (int k = 0; k < BLOCKS; k++)
		bytes += size[k] = 100 + 97 * k;
	for (int r = 0; r < TIMES; r++) {
		tide_model *m = with_heap();
		uint32_t pool = (uint32_t)m->pools.n - 1;
		tide_heap h;
		tide__fact_set_number(m, "capture.heap", (int64_t)mean);
		for (int k = 0; k < BLOCKS; k++) {
			double p = -expm1(-size[k] / mean);
			if ((double)some_random(1000000) >= p * 1e6)
				continue;
			uint32_t a = some_alloc(m, pool, (uint64_t)(size[k] / p + 0.5), k);
			m->allocs.flags[a] |= TIDE_ALLOC_SAMPLED;
		}
		assert_int_equal(tide__heap_report_find(m, &h, NULL), TIDE_OK);
		assert_true(h.mean == mean);
		off_n += (h.total.left_count - BLOCKS) * (h.total.left_count - BLOCKS);
		off_bytes += ((double)h.total.left - bytes) * ((double)h.total.left - bytes);
		err_n += h.left_count_error * h.left_count_error;
		err_bytes += h.left_error * h.left_error;
		sum_n += h.total.left_count;
		assert_true(h.count_error == h.left_count_error);
		double rows_n = 0, rows_bytes = 0; /* variances of stacks add up */
		for (size_t i = 0; i < h.n; i++) {
			rows_n += h.rows[i].count_error * h.rows[i].count_error;
			rows_bytes += h.rows[i].left_error * h.rows[i].left_error;
		}
		assert_true(fabs(rows_n - h.count_error * h.count_error) <= 1e-6 * rows_n);
		assert_true(fabs(rows_bytes - h.left_error * h.left_error) <= 1e-6 * rows_bytes);
		tide__heap_report_free(&h);
		tide__model_free(m);
	}
	assert_true(fabs(sum_n / TIMES / BLOCKS - 1) < 0.02);
	assert_true(fabs(err_n / off_n - 1) < 0.15);
	assert_true(fabs(err_bytes / off_bytes - 1) < 0.15);
}

static void own_sizes(void **state)
{
	const double mean = 524288, sizes[] = { 1, 16, 100, 5000, 524288, 3e6, 1e9 };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		double whole = sizes[i] / -expm1(-sizes[i] / mean);
		double own = tide__heap_own_size(floor(whole + 0.5), mean);
		assert_true(fabs(own - sizes[i]) <= 1.5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(no_heap), cmocka_unit_test(few),
					    cmocka_unit_test(oracle), cmocka_unit_test(errors),
					    cmocka_unit_test(own_sizes) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
