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

/* The name of the interpreter alone says nothing about the program. */
static void test_program(void **state)
{
	static const struct {
		const char *command, *program;
	} rows[] = { { "/usr/bin/python3 /home/ml/train.py --lr 1", "train.py" },
		     { "torchrun --nproc 8 train.py", "train.py" },
		     { "python3 -m torch.distributed.run a/train.py", "train.py" },
		     { "/usr/bin/python3.11 -m models.train --lr 1", "models.train" },
		     { "python -m train", "train" },
		     { "python3", "" },
		     { "/opt/bin/python3.12 -c 1", "" },
		     { "python3 -m", "" },
		     { "pythonic -m x", "pythonic" },
		     { "./build/server --port 1", "server" } };
	tide_model *m = some_model(3, 30, 20);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_run_summary s;
		m->processes.command[1] = tide__intern(m, rows[i].command);
		summarize(m, &s);
		if (strcmp(s.program, rows[i].program))
			fail_msg("%s: '%s'", rows[i].command, s.program);
	}
	tide__model_free(m);
}

/* Words after the program's; the recording's own file differs from run to run. */
static void test_arguments(void **state)
{
	static const struct {
		const char *command, *arguments;
	} rows[] = { { "python3 train.py --lr 1  --wd 2 ", "--lr 1 --wd 2" },
		     { "python3 train.py", "" },
		     { "./gpt --steps 3 -o /tmp/run.tide", "--steps 3 -o" },
		     { "./gpt run.tide --trace=out/run.tide xrun.tide", "xrun.tide" },
		     { "python3 -m models.train --lr 1", "--lr 1" },
		     { "python3 -c 1", "" } };
	tide_model *m = some_model(3, 30, 20);
	char *path = m->path;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_run_summary s;
		m->processes.command[1] = tide__intern(m, rows[i].command);
		m->path = (char *)(uintptr_t) "runs/run.tide";
		summarize(m, &s);
		if (strcmp(s.arguments, rows[i].arguments))
			fail_msg("%s: '%s'", rows[i].command, s.arguments);
	}
	m->path = path;
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

/* Figures of a part of a run are lower bounds; other losses leave it whole. */
static void test_partial(void **state)
{
	static const struct {
		const char *loss;
		bool partial;
	} rows[] = { { "loss.alloc_overlaps", false },
		     { "loss.truncated_at", true },
		     { "loss.events", true },
		     { "loss.not_closed", true } };
	tide_run_summary s;
	tide_model *m = some_model(3, 30, 20);
	summarize(m, &s);
	assert_false(s.partial);
	tide__model_free(m);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		m = some_model(3, 30, 20);
		assert_true(tide__fact_set_number(m, rows[i].loss, 7));
		summarize(m, &s);
		if (s.partial != rows[i].partial || s.losses != 1)
			fail_msg("%s: %d", rows[i].loss, s.partial);
		tide__model_free(m);
	}
}

/* Makes steps of two spans of a host thread. */
static void add_steps(tide_model *m)
{
	char name[32];
	int n = 0;
	for (uint32_t i = 1; i < m->spans.n && n < 2; i++) {
		if (m->lanes.kind[m->spans.lane[i].i] != TIDE_LANE_THREAD ||
		    m->spans.t1[i] == m->spans.t0[i])
			continue;
		snprintf(name, sizeof name, "ProfilerStep#%d", n++);
		m->spans.name[i] = tide__intern(m, name);
		m->spans.cat[i] = TIDE_CAT_USER;
	}
}

/* A source without a clock has steps, but no duration of a step. */
static void test_no_clock(void **state)
{
	tide_run_summary s;
	tide_model *m = some_model(3, 30, 20);
	add_steps(m);
	summarize(m, &s);
	assert_int_equal(s.steps, 2);
	assert_true(s.step_ns > 0);
	m->axis = TIDE_AXIS_OPS;
	summarize(m, &s);
	assert_int_equal(s.steps, 2);
	assert_int_equal(s.step_ns, -1);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session),	  cmocka_unit_test(test_no_clock),
		cmocka_unit_test(test_partial),	  cmocka_unit_test(test_program),
		cmocka_unit_test(test_arguments), cmocka_unit_test(test_device)
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
