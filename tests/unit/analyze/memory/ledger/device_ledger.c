// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The ledger's context line: lasting growth belongs to the context, temporary growth is
 * unexplained. */
#include "analyze/memory/ledger/device_ledger.h"
#include "some_model.h"
#include "testing.h"

enum { MOST = 5 };

static uint32_t some_counter(tide_model *m, const char *name)
{
	uint32_t c = tide__push(&m->counters, &tide_counters_desc);
	m->counters.name[c] = tide__intern(m, name);
	return c;
}

static void some_sample(tide_model *m, uint32_t counter, int64_t t, uint64_t value)
{
	size_t i;
	tide__table_push(&m->samples, &tide_samples_desc, &i);
	m->samples.t[i] = t;
	m->samples.value[i] = (double)value;
	m->samples.counter[i].i = counter;
	m->t_end = t;
}

/* At sample k of n the process holds used[k] bytes and 100 are allocated from `born` to `died`. */
struct row {
	const char *name;
	size_t n, born, died;
	uint64_t used[MOST], context[MOST];
	int64_t unexplained[MOST];
	uint64_t first;
};

static const struct row rows[] = {
	{ "steady", 3, 0, 9, { 600, 600, 600 }, { 500, 500, 500 }, { 0, 0, 0 }, 500 },
	{ "grows and stays", 4, 0, 9, { 600, 632, 640, 640 }, { 500, 532, 540, 540 }, { 0 }, 500 },
	{ "comes and goes", 3, 0, 9, { 600, 632, 600 }, { 500, 500, 500 }, { 0, 32, 0 }, 500 },
	{ "comes, goes in part", 3, 0, 9, { 600, 640, 610 }, { 500, 510, 510 }, { 0, 30 }, 500 },
	{ "made before it", 3, 1, 9, { 200, 600, 608 }, { 200, 500, 508 }, { 0, 0, 0 }, 500 },
	{ "freed at the end", 3, 0, 1, { 600, 508, 508 }, { 500, 500, 500 }, { 0, 8, 8 }, 500 },
	{ "context gone", 3, 0, 1, { 600, 600, 0 }, { 500, 500, 0 }, { 0, 100, 0 }, 500 },
};

static tide_model *model_of(const struct row *r)
{
	tide_model *m = some_machine();
	uint32_t used = some_counter(m, "nvml.cuda:0.used_bytes"),
		 own = some_counter(m, "nvml.cuda:0.process_bytes"), a = 0;
	m->pools.name[1] = tide__intern(m, "cuda");
	for (size_t k = 0; k < r->n; k++) {
		int64_t t = (int64_t)(10 * (k + 1));
		if (k == r->born)
			a = some_alloc(m, 1, 100, t - 1);
		if (k == r->died)
			some_free(m, a, t - 1);
		some_sample(m, used, t, r->used[k]);
		some_sample(m, own, t, r->used[k]);
	}
	return m;
}

static void context(void **state)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];
		tide_model *m = model_of(r);
		tide_ledgers l;
		print_message("%s\n", r->name);
		assert_int_equal(tide__find_ledgers(m, &l, NULL), TIDE_OK);
		assert_int_equal(l.n, 1);
		assert_int_equal(l.v[0].n, r->n);
		for (size_t k = 0; k < r->n; k++) {
			assert_int_equal(l.v[0].at[k].context, r->context[k]);
			assert_int_equal(l.v[0].at[k].unexplained, r->unexplained[k]);
		}
		assert_int_equal(l.v[0].context_first, r->first);
		tide__ledgers_free(&l);
		tide__model_free(m);
	}
}

int main(void)
{
	(void)some_model;
	(void)some_allocs;
	(void)some_stack;
	const struct CMUnitTest tests[] = { cmocka_unit_test(context) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
