// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The name of a run: its program, its session, its device. */
#include "analyze/compare/run_summary.h"

#include <string.h>

#include "some_model.h"
#include "testing.h"

static void summarize(const tide_model *m, tide_run_summary *s)
{
	tide_error err;
	assert_int_equal(tide__run_summarize(m, s, &err), TIDE_OK);
}

/* Sessions of one script do different work, so they are different programs. */
static void test_session(void **state)
{
	char name[300], wanted[128];
	tide_run_summary s;
	tide_model *m = some_model(3, 30, 20);
	summarize(m, &s);
	assert_string_equal(s.program, "");
	m->processes.command[1] = tide__intern(m, "/usr/bin/python3 /home/ml/train.py --lr 1");
	summarize(m, &s);
	assert_string_equal(s.program, "train.py");
	assert_true(tide__fact_text(m, "session.name", "forward pass"));
	summarize(m, &s);
	assert_string_equal(s.program, "train.py: forward pass");
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = 0;
	assert_true(tide__fact_text(m, "session.name", name));
	summarize(m, &s);
	snprintf(wanted, sizeof wanted, "train.py: %.117s", name);
	assert_string_equal(s.program, wanted);
	m->processes.command[1] = (tide_str){ 0 };
	assert_true(tide__fact_text(m, "session.name", "alone"));
	summarize(m, &s);
	assert_string_equal(s.program, "alone");
	tide__model_free(m);
}

/* Without memory events the device is the one that worked. */
static void test_device(void **state)
{
	tide_run_summary s;
	tide_model *m = some_model(3, 30, 0);
	summarize(m, &s);
	assert_true(s.busy_ppm >= 0 && s.peak_bytes < 0);
	assert_string_equal(s.device, "cuda:0");
	m->devices.name[1] = tide__intern(m, "Some GPU");
	summarize(m, &s);
	assert_string_equal(s.device, "Some GPU");
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_session),
					    cmocka_unit_test(test_device) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
