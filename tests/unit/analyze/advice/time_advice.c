// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Every rule gives advice just above its threshold and none at it; the text contains the figure. */
#include <string.h>

#include "analyze/advice/time_advice.h"
#include "testing.h"

enum { WINDOW = 1000000 }; /* ns */

static tide_hta_job *a_job(void)
{
	tide_hta_job *job = tide__hta_job_new();
	job->sum->h.rows = 1;
	job->sum->h.kernel_time = WINDOW;
	return job;
}

static bool says(const tide_hta_job *job, const char *id, tide_advice *out)
{
	tide_advice a[TIDE_ADVICE_MAX];
	size_t n = tide__find_time_advice(job, a);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(a[i].id, id)) {
			*out = a[i];
			return true;
		}
	return false;
}

static void add_kernel(tide_hta_job *job, const char *name, uint64_t count, int64_t ns)
{
	tide_hta_kernel *k = TIDE_HTA_PUSH(job->sum, kernels);
	k->name = tide__hta_intern(job->sum, name, strlen(name));
	for (uint64_t i = 0; i < count; i++)
		tide__stat_add(&k->dur, ns);
}

static void set_idle(tide_hta_job *job, int64_t v)
{
	job->sum->h.idle = v;
}
static void set_comm(tide_hta_job *job, int64_t v)
{
	job->sum->h.type_ns[TIDE_GPU_COMM] = v;
}
static void set_memory(tide_hta_job *job, int64_t v)
{
	job->sum->h.type_ns[TIDE_GPU_MEMORY] = v;
}
static void set_host(tide_hta_job *job, int64_t v)
{
	job->sum->h.idle_host_active = v;
}
static void set_kernels(tide_hta_job *job, int64_t v)
{
	add_kernel(job, "k", (uint64_t)v, 9000);
}
static void set_long_kernels(tide_hta_job *job, int64_t v)
{
	add_kernel(job, "k", (uint64_t)v, 10000);
}
static void set_top(tide_hta_job *job, int64_t v)
{
	add_kernel(job, "void gemm", 1, v);
	add_kernel(job, "b", 1, 1000 - v);
}
static void set_rate(tide_hta_job *job, int64_t v)
{
	job->sum->h.kernel_time = 100 * WINDOW; /* 100 ms */
	job->sum->h.launches = (uint64_t)v;
}
static void set_few_launches(tide_hta_job *job, int64_t v)
{
	job->sum->h.kernel_time = 1000000; /* 1 ms */
	job->sum->h.launches = (uint64_t)v;
}
static void set_no_time(tide_hta_job *job, int64_t v)
{
	job->sum->h.kernel_time = 0;
	job->sum->h.launches = (uint64_t)v;
}
static void set_short(tide_hta_job *job, int64_t v)
{
	job->sum->h.launches = 1000;
	job->sum->h.kernel_time = 1000000000;
	job->sum->h.short_kernels = (uint64_t)v;
}
static void set_few_short(tide_hta_job *job, int64_t v)
{
	job->sum->h.launches = 99;
	job->sum->h.short_kernels = (uint64_t)v;
}
static void set_sync(tide_hta_job *job, int64_t v)
{
	set_idle(job, WINDOW / 5);
	job->sum->h.cause[TIDE_CAUSE_SYNC] = v;
	job->sum->h.cause[TIDE_CAUSE_OP] = 100 - v;
}
static void set_data(tide_hta_job *job, int64_t v)
{
	set_idle(job, WINDOW / 5);
	job->sum->h.cause[TIDE_CAUSE_DATA] = v;
	job->sum->h.cause[TIDE_CAUSE_OP] = 100 - v;
}
static void set_alloc(tide_hta_job *job, int64_t v)
{
	set_idle(job, WINDOW / 5);
	job->sum->h.cause[TIDE_CAUSE_ALLOC] = v;
	job->sum->h.cause[TIDE_CAUSE_OP] = 100 - v;
}
static void set_pageable(tide_hta_job *job, int64_t v)
{
	add_kernel(job, "Memcpy HtoD (Pageable -> Device)", 1, v);
}
static void set_custom(tide_hta_job *job, int64_t v)
{
	job->sum->h.custom_rows = (uint64_t)v;
}

static void test_thresholds(void **state)
{
	static const struct {
		const char *id;
		void (*set)(tide_hta_job *, int64_t);
		int64_t at, over; /* at the threshold: no advice; above it: advice (0 = never) */
		const char *in_text;
	} rows[] = {
		{ "gpu_idle", set_idle, 300000, 300001, "High GPU idle time (30.0%)" },
		{ "communication", set_comm, 200000, 210000, "overhead (21.0%)" },
		{ "memory", set_memory, 100000, 110000, "[memory 11.0% > 10%]" },
		{ "cpu_overhead", set_host, 300000, 310000, "CPU overhead: 31.0% of total time" },
		{ "small_kernels", set_kernels, 10000, 10001,
		  "Many small kernels (10001 launches, avg 9.0" },
		{ "small_kernels", set_long_kernels, 10001, 0, NULL },
		{ "dominating_kernel", set_top, 500, 501, "Tensor Cores" },
		{ "launch_rate", set_rate, 10000, 10100, "101.0 launches/ms" },
		{ "launch_rate", set_few_launches, 1000, 1001, "1001.0 launches/ms" },
		{ "launch_rate", set_no_time, 10000, 0, NULL },
		{ "short_kernels", set_short, 250, 260, "[short kernels 26.0% > 25%]" },
		{ "short_kernels", set_few_short, 99, 0, NULL },
		{ "sync", set_sync, 50, 60, "12.0% > 10%" },
		{ "data_loading", set_data, 50, 60, "12.0% > 10%" },
		{ "allocation", set_alloc, 25, 30, "6.0% > 5%" },
		{ "pageable_copies", set_pageable, 50000, 60000, "6.0% > 5%" },
		{ "custom_collectives", set_custom, 0, 3, "3 kernels look like" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_advice a;
		tide_hta_job *job = a_job();
		rows[i].set(job, rows[i].at);
		if (says(job, rows[i].id, &a))
			fail_msg("%s: said at %lld: %s", rows[i].id, (long long)rows[i].at, a.text);
		tide__hta_job_free(job);
		if (!rows[i].over)
			continue;
		job = a_job();
		rows[i].set(job, rows[i].over);
		if (!says(job, rows[i].id, &a))
			fail_msg("%s: not said at %lld", rows[i].id, (long long)rows[i].over);
		if (!strstr(a.text, rows[i].in_text))
			fail_msg("%s: no '%s' in: %s", rows[i].id, rows[i].in_text, a.text);
		assert_true(a.value > a.threshold && a.figure);
		tide__hta_job_free(job);
	}
}

static void test_queue(void **state)
{
	tide_advice a;
	tide_hta_job *job = a_job();
	tide_hta *h = tide__hta_new();
	tide_hta_stream *s = TIDE_HTA_PUSH(h, streams);
	s->queue_time = 1000;
	s->queue_full = 10;
	assert_int_equal(tide__hta_job_add(job, "x", h, NULL), TIDE_OK);
	assert_false(says(job, "queue_full", &a));
	job->ranks[0].h->streams.v[0].queue_full = 11;
	assert_true(says(job, "queue_full", &a));
	tide__hta_job_free(job);
}

static void test_fine(void **state)
{
	tide_advice a[TIDE_ADVICE_MAX], one;
	tide_hta_job *job = a_job();
	assert_true(says(job, "fine", &one));
	assert_non_null(strstr(one.text, "Profile looks well-optimized."));
	set_custom(job, 2); /* information does not make it less fine */
	assert_true(says(job, "fine", &one));
	set_idle(job, 700000);
	assert_false(says(job, "fine", &one));
	assert_int_equal(tide__find_time_advice(job, a), 2);
	assert_string_equal(a[0].id, "gpu_idle"); /* the most severe first */
	assert_int_equal(a[0].severity, TIDE_ADVICE_HIGH);
	job->sum->h.rows = 0; /* no device rows: no evidence, no advice */
	assert_int_equal(tide__find_time_advice(job, a), 0);
	tide__hta_job_free(job);
}

/* Names in a line of text: whole characters, at most so many bytes, nothing a terminal obeys. */
static void test_names(void **state)
{
	static const struct {
		const char *name, *shown;
	} rows[] = {
		{ "void gemm<a b>", "'void gemm<a b>' dominates" },
		{ "a\033[31m\nb\177", "'a?[31m?b?' dominates" },
		{ "0123456789012345678901234567890123456789x",
		  "'0123456789012345678901234567890123456789...' dominates" },
		{ "012345678901234567890123456789012345678\xc3\xa9",
		  "'012345678901234567890123456789012345678...' dominates" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_advice a;
		tide_hta_job *job = a_job();
		add_kernel(job, rows[i].name, 1, 900);
		add_kernel(job, "b", 1, 100);
		assert_true(says(job, "dominating_kernel", &a));
		if (!strstr(a.text, rows[i].shown))
			fail_msg("no %s in %s", rows[i].shown, a.text);
		tide__hta_job_free(job);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thresholds),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_fine),
		cmocka_unit_test(test_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
