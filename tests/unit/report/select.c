// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Names of devices and pools, times as text and back. */
#include <string.h>

#include "report/select.h"

#include "render/text/out.h"
#include "testing.h"
#include "model/names.h"

static void devices(void **state)
{
	tide_model *m = tide__model_new();
	char buf[64];
	uint32_t host = tide__push(&m->devices, &tide_devices_desc);
	uint32_t gpu = tide__push(&m->devices, &tide_devices_desc);
	uint32_t pool = tide__push(&m->pools, &tide_pools_desc);
	m->devices.kind[host] = TIDE_DEVICE_HOST;
	m->devices.kind[gpu] = TIDE_DEVICE_CUDA;
	m->devices.index[gpu] = 3;
	m->pools.device[pool].i = gpu;
	m->pools.kind[pool] = TIDE_POOL_DRAM;
	assert_string_equal(tide__device_name(m, host, buf, sizeof buf), "cpu");
	assert_string_equal(tide__device_name(m, gpu, buf, sizeof buf), "cuda:3");
	assert_string_equal(tide__device_name(m, 0, buf, sizeof buf), "?");
	assert_string_equal(tide__device_name(m, 99, buf, sizeof buf), "?");
	assert_int_equal(tide__device_find(m, "cuda:3"), gpu);
	assert_int_equal(tide__device_find(m, "cpu"), host);
	assert_int_equal(tide__device_find(m, "2"), gpu);
	assert_int_equal(tide__device_find(m, "3"), 0);
	assert_int_equal(tide__device_find(m, ""), 0);
	assert_int_equal(tide__device_find(m, "cuda"), 0);
	assert_int_equal(tide__device_find(m, "-1"), 0);

	uint32_t other = tide__push(&m->devices, &tide_devices_desc);
	m->devices.kind[other] = TIDE_DEVICE_OTHER;
	m->devices.index[other] = 1;
	static const char *const called[][2] = { { "", "other:1" }, /* its own name, one word */
						 { "npu", "npu:1" },
						 { "Some 9000", "other:1" },
						 { "a:b", "other:1" } };
	for (size_t i = 0; i < sizeof called / sizeof *called; i++) {
		m->devices.name[other] = tide__intern(m, called[i][0]);
		assert_string_equal(tide__device_name(m, other, buf, sizeof buf), called[i][1]);
		assert_int_equal(tide__device_find(m, called[i][1]), other);
	}
	m->devices.kind[other] = TIDE_DEVICE_CUDA; /* a model's name is not one */
	m->devices.name[other] = tide__intern(m, "npu");
	assert_string_equal(tide__device_name(m, other, buf, sizeof buf), "cuda:1");
	tide__model_free(m);
}

static void wall_clock(void **state)
{
	char buf[64];
	assert_string_equal(tide__wall_text(0, buf, sizeof buf),
			    "1970-01-01 00:00:00.000000000 UTC");
	assert_string_equal(tide__wall_text(1700000000123456789, buf, sizeof buf),
			    "2023-11-14 22:13:20.123456789 UTC");
	assert_string_equal(tide__wall_text(-1, buf, sizeof buf),
			    "1969-12-31 23:59:59.999999999 UTC");
	assert_string_equal(tide__wall_text(-1000000000, buf, sizeof buf),
			    "1969-12-31 23:59:59.000000000 UTC");
}

static void times(void **state)
{
	static const struct {
		const char *text;
		int64_t want; /* -1 = refused */
	} t[] = {
		{ "0", 0 },
		{ "123", 123 },
		{ "123ns", 123 },
		{ "10us", 10000 },
		{ "1.5s", 1500000000 },
		{ "200 ms", 200000000 },
		{ "50%", 500 },
		{ "0%", 0 },
		{ "100%", 1000 },
		{ "9223372036854775807", INT64_MAX },
		{ "9007199254740993", 9007199254740993 },
		{ "9223372036854775808", -1 },
		{ "1e30s", -1 },
		{ "", -1 },
		{ "peak", -1 },
		{ "-1", -1 },
		{ "1 h", -1 },
		{ "nan", -1 },
		{ "1.5.5s", -1 },
		{ "1e9", -1 },
		{ "0x10", -1 },
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		int64_t got;
		if (!tide__parse_time(t[i].text, 1000, &got))
			got = -1;
		if (got != t[i].want)
			fail_msg("%s: %lld", t[i].text, (long long)got);
	}
	int64_t got;
	assert_true(tide__parse_time("50%", 0, &got) && got == 0);
}

/* The moments of a trace without a clock, whose axis counts ops. */
static void moments(void **state)
{
	static const struct {
		const char *text;
		int64_t op; /* -1: refused */
		const char *message;
	} rows[] = {
		{ "op 2", 2, "" },
		{ "op2", 2, "" },
		{ "2", 2, "" },
		{ "50%", 2, "" },
		{ "op 5", -1, "at needs a time such as 1.5s" },
		{ "op two", -1, "at needs a time such as 1.5s" },
		{ "#9", -1, "at #9 is after the last of 0 memory events" },
		{ "5us", -1, "at 5us is after the end of the trace, op 4" },
		{ "noon", -1, "at needs a time such as 1.5s" },
	};
	tide_model *m = tide__model_new();
	m->axis = TIDE_AXIS_OPS;
	m->t_end = 4 * TIDE_OP_NS;
	tide__fmt_axis(m->axis);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_moment at;
		tide_error err = { 0 };
		tide_code rc = tide__take_moment("at", rows[i].text, m, &at, &err);
		if ((rc == TIDE_OK) != (rows[i].op >= 0) ||
		    strncmp(err.text, rows[i].message, strlen(rows[i].message)) != 0)
			fail_msg("%s: %s", rows[i].text, err.text);
		if (rc == TIDE_OK)
			assert_int_equal(at.t, rows[i].op * TIDE_OP_NS);
	}
	tide__fmt_axis(0);
	tide__model_free(m);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(devices), cmocka_unit_test(wall_clock),
					    cmocka_unit_test(times), cmocka_unit_test(moments) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
