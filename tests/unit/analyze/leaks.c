// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Growth over steps that are marked: what a program frees after its last step hides nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "analyze/leaks.h"
#include "base/mem.h"
#include "some_model.h"

static void mark_step(tide_model *m, int64_t t)
{
	uint32_t k = tide__push(&m->marks, &tide_marks_desc);
	m->marks.kind[k] = TIDE_MARK_STEP;
	m->marks.t[k] = t;
	m->marks.move[k] = m->moves.n;
}

/* Five steps that keep 100 bytes each; all of it is freed when the program ends. */
static void frees_at_the_end(void **state)
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
		some_free(m, kept[i], 60);
	m->t_end = 70;
	assert_int_equal(tide__leaks(m, 1, TIDE_BY_STACK, 0, &l, NULL), TIDE_OK);
	assert_true(l.known);
	assert_int_equal(l.beats.n, 5);
	assert_int_equal(l.n, 1);
	assert_true(l.v[0].steady);
	assert_true(l.v[0].slope == 100.0);
	assert_int_equal(l.v[0].last, 500);
	assert_int_equal(l.v[0].last_count, 5);
	assert_int_equal(l.v[0].alloc, kept[4]);
	tide__leaks_free(&l);
	tide__model_free(m);
}

/* The same without marks, looked at in even distances: the end of the program is none of them. */
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
	assert_int_equal(tide__leaks(m, 1, TIDE_BY_STACK, 20, &l, NULL), TIDE_OK);
	assert_true(l.known);
	assert_int_equal(l.beats.n, 5);
	assert_int_equal(l.beats.t[5], 96);
	assert_int_equal(l.n, 1);
	assert_true(l.v[0].slope == 200.0);
	assert_int_equal(l.v[0].last, 1000);
	tide__leaks_free(&l);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frees_at_the_end),
		cmocka_unit_test(even_distances_end_with_the_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
