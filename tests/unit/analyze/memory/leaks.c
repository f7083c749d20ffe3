// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Growth over marked steps: frees after the last step do not hide it. */
#include "analyze/memory/leaks.h"
#include "analyze/advice/time_advice.h"
#include "analyze/advice/memory_advice.h"
#include "base/mem.h"
#include "some_model.h"
#include "testing.h"

static void mark_step(tide_model *m, int64_t t)
{
	uint32_t k = tide__push(&m->marks, &tide_marks_desc);
	m->marks.kind[k] = TIDE_MARK_STEP;
	m->marks.t[k] = t;
	m->marks.position[k] = m->memory_events.n;
}

/* Five steps that keep 100 bytes each; all of it is freed when the program ends, or exactly at the
 * end of the last step, which does not count as a free within the step. */
static void freed_at(int64_t when)
{
	tide_model *m = some_machine();
	uint32_t kept[5];
	tide_leaks l;
	(void)some_model; /* rows by hand are enough */

	mark_step(m, 0);
	for (int i = 0; i < 5; i++) {
		kept[i] = some_alloc(m, 1, 100, i * 10 + 5);
		mark_step(m, i * 10 + 10);
	}
	for (int i = 0; i < 5; i++)
		some_free(m, kept[i], when);
	m->t_end = 70;
	assert_int_equal(tide__find_leaks(m, 1, TIDE_BY_STACK, 0, &l, NULL), TIDE_OK);
	assert_true(l.known);
	assert_int_equal(l.steps.n, 5);
	assert_int_equal(l.n, 1);
	assert_true(l.v[0].steady);
	assert_true(l.v[0].slope == 100.0);
	assert_int_equal(l.v[0].last, 500);
	assert_int_equal(l.v[0].last_count, 5);
	assert_int_equal(l.v[0].alloc, kept[4]);
	tide__leaks_free(&l);
	tide__model_free(m);
}

static void frees_at_the_end(void **state)
{
	freed_at(60);
	freed_at(50);
}

/* Two steps give no result, three do. */
static void few_steps(void **state)
{
	for (int steps = 0; steps <= 4; steps++) {
		tide_model *m = some_machine();
		tide_leaks l;

		mark_step(m, 0);
		for (int i = 0; i < steps; i++) {
			some_alloc(m, 1, 100, i * 10 + 5);
			mark_step(m, i * 10 + 10);
		}
		m->t_end = 70;
		assert_int_equal(tide__find_leaks(m, 1, TIDE_BY_STACK, 0, &l, NULL), TIDE_OK);
		assert_int_equal(l.known, steps >= 3);
		tide__leaks_free(&l);
		tide__model_free(m);
	}
}

/* The same without marks, in intervals of equal length: the end of the program is not an
 * interval. */
static void even_distances_end_with_the_work(void **state)
{
	tide_model *m = some_machine();
	uint32_t kept[10];
	tide_leaks l;

	for (int i = 0; i < 10; i++)
		kept[i] = some_alloc(m, 1, 100, i * 10 + 5);
	for (int i = 0; i < 10; i++)
		some_free(m, kept[i], 150);
	m->t_end = 200;
	assert_int_equal(tide__find_leaks(m, 1, TIDE_BY_STACK, 20, &l, NULL), TIDE_OK);
	assert_true(l.known);
	assert_int_equal(l.steps.n, 4);
	assert_int_equal(l.steps.t[0], 20);
	assert_int_equal(l.steps.t[4], 96);
	assert_int_equal(l.n, 1);
	assert_true(l.v[0].slope == 200.0);
	assert_int_equal(l.v[0].first, 200); /* when the interval began; it only grew from there */
	assert_int_equal(l.v[0].last, 800);
	tide__leaks_free(&l);
	tide__model_free(m);
}

static uint64_t live_at(const tide_model *m, int64_t t)
{
	uint64_t live = 0;
	for (uint32_t a = 1; a < m->allocs.n; a++)
		if (m->allocs.born[a] <= t && t < m->allocs.died[a])
			live += m->allocs.size[a];
	return live;
}

/* Each token keeps 64 KiB and uses a temporary buffer fifty times as large. Intervals are not
 * aligned with tokens, so some of their ends see the buffer and others do not. */
static void growth_under_a_rhythm(void **state)
{
	tide_model *m = some_machine();
	tide_leaks l;
	uint64_t y[40];
	for (int i = 0; i < 100; i++) {
		some_alloc(m, 1, 65536, i * 10);
		uint32_t scratch = some_alloc(m, 1, 50 * 65536, i * 10 + 1);
		some_free(m, scratch, i * 10 + (i % 3 ? 9 : 4));
	}
	m->t_end = 1000;
	assert_int_equal(tide__find_leaks(m, 1, TIDE_BY_STACK, 37, &l, NULL), TIDE_OK);
	assert_int_equal(l.n, 1);
	assert_true(l.v[0].steady);
	assert_true(l.total.slope > 3.6 * 65536 && l.total.slope < 3.8 * 65536);
	assert_true(l.steps.n < 40);
	assert_int_equal(tide__leaks_find_series(m, 1, &l, l.v[0].key, y, NULL), TIDE_OK);
	assert_int_equal(y[0], l.v[0].first);
	assert_int_equal(y[(l.steps.n + 1) / 2 - 1], l.v[0].middle);
	assert_int_equal(y[l.steps.n - 1], l.v[0].last);
	for (size_t i = 0; i < l.steps.n; i++) { /* the least of each interval, moment by moment */
		uint64_t want = live_at(m, l.steps.t[i] - 1);
		for (int64_t t = l.steps.t[i]; t < l.steps.t[i + 1]; t++)
			want = live_at(m, t) < want ? live_at(m, t) : want;
		assert_int_equal(y[i], want);
	}
	tide__leaks_free(&l);
	tide__model_free(m);
}

/* A profiler's step recorded on two threads is one step; device-side copies are not steps. */
static void steps_once(void **state)
{
	tide_model *m = some_machine();
	tide_step_boundaries b;
	char name[32];

	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "ProfilerStep#%d", i);
		some_span(m, 1, TIDE_CAT_USER, name, i * 10, i * 10 + 9);
		some_span(m, 2, TIDE_CAT_USER, name, i * 10 + 1, i * 10 + 8);
		some_span(m, 3, TIDE_CAT_GPU_USER, name, i * 10 + 3, i * 10 + 9);
	}
	assert_int_equal(tide__find_step_boundaries(m, 0, 0, &b), TIDE_OK);
	assert_int_equal(b.source, TIDE_STEPS_PROFILER);
	assert_int_equal(b.n, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(b.t[i], i * 10);
	tide__step_boundaries_free(&b);
	tide__model_free(m);
}

/* The most informative grouping that exists. */
static void telling(void **state)
{
	tide_model *m = some_machine();
	uint32_t a = some_alloc(m, 1, 512, 0);

	assert_int_equal(tide__group_by_best(m), TIDE_BY_SIZE);
	m->allocs.role[a] = TIDE_ROLE_PARAMETER;
	assert_int_equal(tide__group_by_best(m), TIDE_BY_ROLE);
	m->allocs.role[a] = TIDE_ROLE_UNKNOWN;
	uint32_t t = tide__push(&m->tensors, &tide_tensors_desc);
	m->tensors.alloc[t].i = a;
	m->tensors.role[t] = TIDE_ROLE_PARAMETER;
	assert_int_equal(tide__group_by_best(m), TIDE_BY_ROLE);
	m->allocs.span[a].i = some_span(m, 1, TIDE_CAT_OP, "op", 0, 9);
	assert_int_equal(tide__group_by_best(m), TIDE_BY_OP);
	m->allocs.stack[a] =
		tide__stack_intern(m, (tide_stack_id){ 0 },
				   tide__frame_intern(m, tide__intern(m, "f"), (tide_str){ 0 }, 1));
	assert_int_equal(tide__group_by_best(m), TIDE_BY_STACK);
	tide__model_free(m);
}

/* Advice is given for much growth: 1 MiB per step, or 10 % of the peak. */
static void advice_on_growth(void **state)
{
	static const struct {
		uint64_t each, before; /* bytes kept per step, bytes held all the time */
		const char *want;      /* NULL = no advice */
		unsigned severity;
	} rows[] = {
		{ 3 << 20, 1ull << 30, "memory grows by 3.00 MiB per step over 30 steps; 1 group",
		  TIDE_ADVICE_INFO },
		{ 8 << 20, 1ull << 30, "memory grows by 8.00 MiB per step over 30 steps; 1 group",
		  TIDE_ADVICE_MEDIUM },
		{ 40 << 10, 0, "memory grows by 40.00 KiB per step over 30 steps; 1 group",
		  TIDE_ADVICE_HIGH }, /* it holds half of the peak */
		{ 40 << 10, 1 << 30, NULL, 0 },
		{ 100, 0, NULL, 0 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_model *m = some_machine();
		tide_memory_advices *v = tide__calloc(1, sizeof *v);
		const char *told = NULL;

		if (rows[i].before)
			some_alloc(m, 1, rows[i].before, 0);
		mark_step(m, 1);
		for (int k = 0; k < 30; k++) {
			some_alloc(m, 1, rows[i].each, k * 10 + 5);
			mark_step(m, k * 10 + 10);
		}
		m->t_end = 400;
		assert_int_equal(tide__find_memory_advice(m, 1, NULL, NULL, v, NULL), TIDE_OK);
		for (size_t k = 0; k < v->n; k++)
			if (!strcmp(v->v[k].kind, "growth")) {
				told = v->v[k].text;
				assert_int_equal(v->v[k].severity, rows[i].severity);
			}
		if (rows[i].want)
			assert_true(told && strstr(told, rows[i].want) == told);
		else
			assert_null(told);
		tide__free(v);
		tide__model_free(m);
	}
}

/* The device has 100 MiB: from 80 % on there is advice. */
static void advice_on_capacity(void **state)
{
	static const struct {
		uint64_t mib;
		int severity; /* -1 = no advice */
	} rows[] = { { 80, -1 }, { 81, TIDE_ADVICE_MEDIUM }, { 96, TIDE_ADVICE_HIGH } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_model *m = some_machine();
		tide_memory_advices *v = tide__calloc(1, sizeof *v);
		int told = -1;

		m->devices.capacity[1] = 100 << 20;
		some_alloc(m, 1, rows[i].mib << 20, 5);
		m->t_end = 10;
		assert_int_equal(tide__find_memory_advice(m, 1, NULL, NULL, v, NULL), TIDE_OK);
		for (size_t k = 0; k < v->n; k++)
			if (!strcmp(v->v[k].kind, "capacity"))
				told = (int)v->v[k].severity;
		assert_int_equal(told, rows[i].severity);
		tide__free(v);
		tide__model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_once),
		cmocka_unit_test(telling),
		cmocka_unit_test(frees_at_the_end),
		cmocka_unit_test(few_steps),
		cmocka_unit_test(even_distances_end_with_the_work),
		cmocka_unit_test(growth_under_a_rhythm),
		cmocka_unit_test(advice_on_growth),
		cmocka_unit_test(advice_on_capacity),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
