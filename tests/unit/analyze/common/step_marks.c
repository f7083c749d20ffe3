// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Steps of programs that mark begins, ends, or nothing: one per iteration, with the given numbers.
 * */
#include <inttypes.h>

#include "analyze/common/step_boundaries.h"
#include "analyze/common/steps.h"
#include "analyze/common/step_marks.h"
#include "some_model.h"
#include "testing.h"

/* The events, a letter every 10 ns: f a model's first run, marked; o an optimizer's step, 3 ns;
 * a the mark after it; a digit: the program marks step N; any other letter: work. */
static const struct row {
	const char *name, *what;
	const char *steps; /* number:from-to */
	size_t n, unlike;
	bool unended; /* the last mark begins a step without an end */
} rows[] = {
	{ "nothing is said", "foaoaoaw", "0:0-20 1:20-40 2:40-60", 3 },
	{ "at the beginning", "0o1o2oww", "0:0-20 1:20-40 2:40-53", 2, 1 },
	{ "after a trial run", "f0o1o2ow", "0:10-30 1:30-50 2:50-63", 2, 1 },
	{ "at the beginning, after steps that do not count", "foa0o1ow", "0:30-50 1:50-63", 1, 1 },
	{ "at the end", "wfoa0wo1wo2w", "0:10-40 1:40-70 2:70-100", 3 },
	{ "at the end, from 1 on, old torch", "wfo1o2o3www", "1:10-30 2:30-50 3:50-70", 3 },
	{ "at the end, without modules", "wwo7o8o9ww", "7:0-30 8:30-50 9:50-70", 3 },
	{ "at the end, each of several turns", "foaoaoa0ooo1w", "0:0-70 1:70-110", 2 },
	{ "at the end, a step of the optimizer's in every second turn", "fw0wo1ww2wo3w",
	  "0:0-20 1:20-50 2:50-80 3:80-110", 4 },
	{ "at the beginning, the last turn is cut short", "0fo1o2ww", "0:0-30 1:30-50", 2 },
	{ "no optimizer", "w0w1w2ww", "0:10-30 1:30-50", 2, .unended = true },
	{ "no optimizer, a model", "f0w1w2ww", "0:10-30 1:30-50", 2, .unended = true },
	{ "a model that only runs", "wfwww", "0:10-50", 1 },
	{ "said once, at the end", "foa5w", "5:0-30", 1 },
	{ "said once, at the beginning", "5ow", "5:0-13", 1 },
};

static void mark(tide_model *m, int64_t t, const char *name, int64_t value)
{
	uint32_t k = tide__push(&m->marks, &tide_marks_desc);
	m->marks.kind[k] = TIDE_MARK_STEP;
	m->marks.name[k] = tide__intern(m, name);
	m->marks.value[k] = value;
	m->marks.t[k] = t;
}

static tide_model *made_of(const char *what)
{
	tide_model *m = some_machine();
	int64_t t = 0, steps = 0;
	for (; *what; what++, t += 10)
		if (*what == 'f')
			mark(m, t, TIDE_OPTIMIZERS_MARK, 0);
		else if (*what == 'a')
			mark(m, t, TIDE_OPTIMIZERS_MARK, ++steps);
		else if (*what == 'o')
			some_span(m, 1, TIDE_CAT_OP, "Optimizer.step#SGD.step", t, t + 3);
		else if (*what >= '0' && *what <= '9')
			mark(m, t, "step", *what - '0');
	m->t_end = t;
	return m;
}

static void habits(void **state)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_model *m = made_of(rows[i].what);
		tide_steps s;
		tide_step_boundaries b;
		char got[256] = "";
		assert_int_equal(tide__steps_find(m, &s, NULL), TIDE_OK);
		for (size_t k = 0; k < s.n; k++)
			snprintf(got + strlen(got), sizeof got - strlen(got),
				 "%s%" PRId64 ":%" PRId64 "-%" PRId64, k ? " " : "", s.v[k].number,
				 s.v[k].t0, s.v[k].t1);
		if (strcmp(got, rows[i].steps))
			fail_msg("%s: %s, not %s", rows[i].name, got, rows[i].steps);
		if (s.unended != rows[i].unended)
			fail_msg("%s: unended %d", rows[i].name, s.unended);
		assert_int_equal(tide__find_step_boundaries(m, 0, 0, &b), TIDE_OK);
		if (b.n != rows[i].n || b.unlike != rows[i].unlike)
			fail_msg("%s: %zu + %zu steps", rows[i].name, b.n, b.unlike);
		tide__step_boundaries_free(&b);
		tide__steps_free(&s);
		tide__model_free(m);
	}
}

int main(void)
{
	(void)some_model; /* rows by hand are enough */
	const struct CMUnitTest tests[] = { cmocka_unit_test(habits) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
