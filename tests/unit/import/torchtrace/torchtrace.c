// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Compile logs: records, and every allocation failing in turn. */
#include <string.h>

#include "analyze/compile/compile_report.h"
#include "base/mem.h"
#include "import/torchtrace/torchtrace_impl.h"
#include "testing.h"

#define P "V0102 03:04:05.000001 4 a.py:1] "

static const char log_text[] = P
	"{\"str\": [\"/m.py\", 0]}\n" P
	"{\"dynamo_start\": {\"stack\": [{\"line\": 3, \"name\": \"f\", \"filename\": 0}]}, "
	"\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0}\n" P
	"{\"chromium_event\": {}}\n\t{\"name\": \"compile_attempt_0\", \"ph\": \"B\", \"ts\": 10}\n" P
	"{\"artifact\": {\"name\": \"dynamo_graph_break_reason\"}, \"frame_id\": 0, "
	"\"frame_compile_id\": 0}\n\tGraph break in user code at /m.py:7\n\tGraph Break Reason: x\n"
	"\t\n\tCall of numpy\n\t  Explanation: why\n\t  Hint: do that\n" P
	"{\"chromium_event\": {}}\n\t{\"name\": \"compile_attempt_0\", \"ph\": \"E\", \"ts\": 25.5}\n" P
	"{\"chromium_event\": {}}\n\t{\"name\": \"compile_attempt_1\", \"ph\": \"B\", \"ts\": 26}\n" P
	"{\"artifact\": {\"name\": \"dynamo_graph_break_reason\"}, \"frame_id\": 0, "
	"\"frame_compile_id\": 0}\n\tGraph break in user code at /m.py:8\n"
	"\tGraph Break Reason: Call of open\n\t  Explanation: not traced\n"
	"\t  Hint: for a logging function (e.g. `print`), ...\n" P
	"{\"chromium_event\": {}}\n\t{\"name\": \"compile_attempt_1\", \"ph\": \"E\", \"ts\": 30}\n" P
	"{\"chromium_event\": {}}\n\t{\"name\": \"compile_attempt_0\", \"ph\": \"B\", \"ts\": 31}\n" P
	"{\"chromium_event\": {}}\n\t{\"name\": \"compile_attempt_0\", \"ph\": \"E\", \"ts\": 32}\n"
	"nonsense\n" P "{\"compilation_metrics\": {\"co_name\": \"f\", \"co_filename\": \"/m.py\", "
	"\"dynamo_cumulative_compile_time_us\": 20}, \"frame_id\": 0, \"frame_compile_id\": 0}\n";

static tide_model *load(tide_error *err)
{
	tide_model *m = tide__model_new();
	if (!m)
		return NULL;
	m->format = tide__strndup("torchtrace", 10);
	if (!m->format ||
	    tide__torchtrace_import(log_text, sizeof log_text - 1, NULL, m, err) != TIDE_OK) {
		tide__model_free(m);
		return NULL;
	}
	return m;
}

static void report(void **state)
{
	tide_error err = { 0 };
	tide_compile_report r;
	tide_model *m = load(&err);
	(void)state;
	assert_non_null(m);
	assert_int_equal(tide__model_check(m, &err), TIDE_OK);
	assert_int_equal(m->facts.number[tide__fact_find(m, "loss.bad_lines")], 1);
	assert_int_equal(tide__compile_report_find(m, &r, &err), TIDE_OK);
	assert_int_equal(r.n_units, 1);
	assert_int_equal(r.units[0].total_ns, 20000);
	assert_string_equal(tide__text(m, r.units[0].function, NULL), "f");
	assert_int_equal(r.n_breaks, 2);
	const tide_graph_break *b = &r.breaks[0];
	assert_int_equal(b->line, 7);
	assert_int_equal(b->retrace_ns, 15500);
	assert_memory_equal(b->reason.s, "Call of numpy", b->reason.n);
	assert_memory_equal(b->hint.s, "do that", b->hint.n);
	assert_string_equal(b->suggestion, "Use PyTorch operations instead of NumPy");
	b = &r.breaks[1]; /* its attempt was the last one of the frame: nothing is traced again */
	assert_int_equal(b->line, 8);
	assert_int_equal(b->retrace_ns, 0);
	assert_int_equal(b->reason.n, strlen("Call of open"));
	assert_memory_equal(b->reason.s, "Call of open", b->reason.n);
	assert_string_equal(b->suggestion, "Review and refactor to use supported operations");
	tide__compile_report_free(&r);
	tide__model_free(m);
}

static void out_of_memory(void **state)
{
	tide_error err = { 0 };
	(void)state;
	for (uint64_t n = 1; n < 10000; n++) {
		tide_compile_report r = { 0 };
		tide__mem_fail_at(n);
		tide_model *m = load(&err);
		bool whole = m && tide__compile_report_find(m, &r, &err) == TIDE_OK;
		uint64_t made = tide__mem_count();
		tide__mem_fail_at(0);
		tide__compile_report_free(&r);
		tide__model_free(m);
		if (made < n) {
			assert_true(whole);
			return;
		}
		assert_false(whole);
	}
	fail_msg("it never had enough");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(report),
		cmocka_unit_test(out_of_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
