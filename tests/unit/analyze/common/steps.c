// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Names that are steps, and the begin and end of each. */
#include <stdio.h>

#include "analyze/common/step_boundaries.h"
#include "analyze/common/steps.h"
#include "some_model.h"
#include "testing.h"

static void expect(tide_model *m, const tide_step *want, size_t n)
{
	tide_steps s;
	assert_int_equal(tide__steps_find(m, &s, NULL), TIDE_OK);
	assert_int_equal(s.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(s.v[i].number, want[i].number);
		assert_int_equal(s.v[i].t0, want[i].t0);
		assert_int_equal(s.v[i].t1, want[i].t1);
	}
	tide__steps_free(&s);
	tide__model_free(m);
}

/* Host rows alone; one number is one step however it is written; one without any length is one too.
 */
static void by_name(void **state)
{
	tide_model *m = some_machine();
	some_span(m, 1, TIDE_CAT_USER, "ProfilerStep#9", 0, 10);
	some_span(m, 3, TIDE_CAT_GPU_USER, "ProfilerStep#5", 5, 60);
	some_span(m, 1, TIDE_CAT_USER, "ProfilerStep#", 6, 7);
	some_span(m, 1, TIDE_CAT_USER, "ProfilerStep#1x", 6, 7);
	some_span(m, 1, TIDE_CAT_USER, "ProfilerStep#1234567890123456789", 6, 7);
	some_span(m, 1, TIDE_CAT_OP, "ProfilerStep#07", 20, 30);
	some_span(m, 2, TIDE_CAT_USER, "ProfilerStep#7", 25, 40);
	some_span(m, 1, TIDE_CAT_USER, "ProfilerStep#8", 50, 50);
	some_span(m, 1, TIDE_CAT_USER, "ProfilerStep#123456789012345678", 70, 71);
	expect(m,
	       (const tide_step[]){
		       { 9, 0, 10 }, { 7, 20, 40 }, { 8, 50, 50 }, { 123456789012345678, 70, 71 } },
	       4);
}

/* A mark ends the step before it; the end of the last step is unknown. */
static void by_mark(void **state)
{
	static const uint8_t kinds[] = { TIDE_MARK_PHASE, TIDE_MARK_STEP, TIDE_MARK_CHECKPOINT,
					 TIDE_MARK_STEP, TIDE_MARK_STEP };
	tide_model *m = some_machine();
	for (uint32_t i = 0; i < sizeof kinds; i++) {
		uint32_t k = tide__push(&m->marks, &tide_marks_desc);
		m->marks.kind[k] = kinds[i];
		m->marks.t[k] = 10 * (int64_t)i;
		m->marks.value[k] = 100 + (int64_t)i;
	}
	m->t_end = 70;
	expect(m, (const tide_step[]){ { 101, 10, 30 }, { 103, 30, 40 } }, 2);
}

static void mark(tide_model *m, int64_t t, int64_t value)
{
	uint32_t k = tide__push(&m->marks, &tide_marks_desc);
	m->marks.kind[k] = TIDE_MARK_STEP;
	m->marks.t[k] = t;
	m->marks.value[k] = value;
}

static void ranges(tide_model *m, const char *name, int n)
{
	for (int i = 0; i < n; i++) {
		char text[32];
		snprintf(text, sizeof text, name, i);
		some_span(m, 1, TIDE_CAT_USER, text, i * 10, i * 10 + 8);
	}
}

/* One definition: device analyses, leaks and the page's card count the same steps, for any
 * combination of marks, ProfilerStep ranges and repeating ranges. */
static void one_definition(void **state)
{
	static const struct {
		const char *name, *ranges;
		int n_ranges, n_marks;
		size_t steps;
		tide_step_source source;
	} rows[] = {
		{ "nothing", "x%d", 0, 0, 0, TIDE_STEPS_NONE },
		{ "marks and profiler's steps", "ProfilerStep#%d", 3, 6, 5, TIDE_STEPS_MARKS },
		{ "profiler's steps", "ProfilerStep#%d", 4, 0, 4, TIDE_STEPS_PROFILER },
		{ "what is not a number is no step", "ProfilerStep#x%d", 4, 0, 0, TIDE_STEPS_NONE },
		{ "a range that comes back", "turn", 4, 0, 4, TIDE_STEPS_RANGES },
		{ "too rarely", "turn", 2, 0, 0, TIDE_STEPS_NONE },
		{ "marks", "x%d", 2, 3, 2, TIDE_STEPS_MARKS },
		{ "one mark", "x%d", 2, 1, 1, TIDE_STEPS_MARKS },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_model *m = some_machine();
		tide_steps s;
		tide_step_boundaries b;
		ranges(m, rows[i].ranges, rows[i].n_ranges);
		for (int k = 0; k < rows[i].n_marks; k++)
			mark(m, k * 7, k);
		m->t_end = 100;
		assert_int_equal(tide__steps_find(m, &s, NULL), TIDE_OK);
		assert_int_equal(tide__find_step_boundaries(m, 0, 0, &b), TIDE_OK);
		if (s.n != rows[i].steps || s.source != rows[i].source)
			fail_msg("%s: %zu steps", rows[i].name, s.n);
		if (b.n + b.unlike != s.n || b.source != s.source)
			fail_msg("%s: leaks sees %zu", rows[i].name, b.n + b.unlike);
		for (size_t k = 0; k < b.n; k++) {
			assert_int_equal(b.t[k], s.v[k].t0);
			assert_true(b.t[k + 1] >= s.v[k].t1);
		}
		tide__steps_free(&s);
		tide__step_boundaries_free(&b);
		tide__model_free(m);
	}
}

static void none(void **state)
{
	expect(some_model(3, 20, 20), NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_name),
		cmocka_unit_test(by_mark),
		cmocka_unit_test(one_definition),
		cmocka_unit_test(none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
