// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Which names are steps, and from when to when each goes. */
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

/* A mark ends the step before it; the last one goes on to the end. */
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
	expect(m, (const tide_step[]){ { 101, 10, 30 }, { 103, 30, 40 }, { 104, 40, 70 } }, 3);
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
		cmocka_unit_test(none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
