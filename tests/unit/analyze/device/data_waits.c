// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Waits for data on made models: a trainer with a GPU and two workers. The oracle counts moments one by
 * one. Random models also check that parts add up and that two views of the same waits agree. */
#include "analyze/device/data_waits.h"
#include "some_model.h"
#include "testing.h"

static const char *const figures[] = { "DataLoader.computed", "DataLoader.starved",
				       "DataLoader.read", "DataLoader.waited" };

static void add_arg(tide_model *m, uint32_t span, int64_t number)
{
	size_t row;
	tide__table_push(&m->attrs, &tide_attrs_desc, &row);
	m->attrs.span[row].i = span;
	m->attrs.key[row] = tide__intern(m, "arg");
	m->attrs.number[row] = number;
}

static tide_model *process(int64_t pid, int64_t wall0)
{
	tide_model *m = some_machine();
	m->processes.pid[1] = pid;
	m->wall_known = true;
	m->wall0_ns = wall0;
	return m;
}

/* A batch with one function that did `ns` of one kind. */
static void add_fetch(tide_model *m, int64_t a, int64_t b, const char *function, int kind)
{
	some_span(m, 1, TIDE_CAT_OP, "DataLoader.fetch", a, b);
	uint32_t f = some_span(m, 1, TIDE_CAT_OP, function, a, b);
	for (int k = 0; k < 4; k++) {
		uint32_t s = some_span(m, 1, TIDE_CAT_OP, figures[k], b, b);
		m->spans.parent[s].i = f;
		add_arg(m, s, k == kind ? b - a : 0);
	}
}

static uint32_t add_wait(tide_model *m, int64_t a, int64_t b, int64_t worker)
{
	uint32_t w = some_span(m, 1, TIDE_CAT_OP, "DataLoader.wait", a, b);
	uint32_t s = some_span(m, 1, TIDE_CAT_OP, "DataLoader.worker", b, b);
	m->spans.parent[s].i = w;
	add_arg(m, s, worker);
	return w;
}

static void gpu_idle(void **state)
{
	tide_model *trainer = process(10, 1000000), *one = process(11, 1000050),
		   *two = process(12, 1000000);
	tide_data_waits all = { 0 }, part;
	tide_error err;
	add_fetch(one, 0, 60, "Images.__getitem__ (a.py:1)", TIDE_DATA_READ); /* 50..110 */
	add_fetch(two, 100, 240, "collate (a.py:9)", TIDE_DATA_COMPUTED);
	some_span(trainer, 3, TIDE_CAT_KERNEL, "k", 0, 70);
	add_wait(trainer, 60, 120, 11);
	some_span(trainer, 3, TIDE_CAT_KERNEL, "k", 125, 150);
	add_wait(trainer, 140, 250, 12);
	some_span(trainer, 1, TIDE_CAT_OP, "DataLoader.wait", 300, 310); /* the end of the data */
	tide_model *const m[] = { two, trainer, one };
	for (int i = 0; i < 3; i++) {
		part = (tide_data_waits){ 0 };
		assert_int_equal(tide__data_waits_add(&part, m[i], &err), TIDE_OK);
		assert_int_equal(tide__data_waits_join(&all, &part, &err), TIDE_OK);
		tide__data_waits_free(&part);
	}
	assert_int_equal(tide__data_waits_finish(&all, &err), TIDE_OK);
	assert_int_equal(all.n_waits, 2);
	const tide_data_wait *w = all.waits; /* the longest first */
	assert_int_equal(w[0].worker, 12);
	assert_int_equal(w[0].idle_ns, 100);
	assert_int_equal(w[0].did, TIDE_DATA_COMPUTED);
	assert_int_equal(w[0].part[TIDE_DATA_COMPUTED], 100);
	assert_int_equal(w[0].part[TIDE_DATA_HANDOVER], 10);
	assert_string_equal(tide__strings_get(all.names, w[0].function, NULL), "collate (a.py:9)");
	assert_int_equal(w[1].worker, 11);
	assert_int_equal(w[1].idle_ns, 50);
	assert_int_equal(w[1].did, TIDE_DATA_READ);
	assert_int_equal(w[1].part[TIDE_DATA_READ], 50);
	assert_int_equal(w[1].part[TIDE_DATA_HANDOVER], 10);
	tide__data_waits_free(&all);
	for (int i = 0; i < 3; i++)
		tide__model_free(m[i]);
}

/* torch's own ranges: idle time, but no worker. */
static void ranges(void **state)
{
	tide_model *m = process(10, 0);
	tide_data_waits w = { 0 };
	tide_error err;
	some_span(m, 3, TIDE_CAT_KERNEL, "k", 0, 20);
	some_span(m, 1, TIDE_CAT_USER,
		  "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 10, 50);
	some_span(m, 3, TIDE_CAT_KERNEL, "k", 45, 60);
	assert_int_equal(tide__data_waits_add(&w, m, &err), TIDE_OK);
	assert_int_equal(tide__data_waits_finish(&w, &err), TIDE_OK);
	assert_int_equal(w.n_waits, 1);
	assert_int_equal(w.waits[0].idle_ns, 25);
	assert_int_equal(w.waits[0].worker, -1);
	assert_int_equal(w.waits[0].did, TIDE_DATA_UNKNOWN);
	tide__data_waits_free(&w);
	tide__model_free(m);
}

/* Moments of [a, b) in which no kernel runs, one by one. */
static int64_t idle_moments(const tide_model *m, int64_t a, int64_t b)
{
	int64_t n = 0;
	for (int64_t t = a; t < b; t++) {
		bool busy = false;
		for (uint32_t i = 1; i < m->spans.n; i++)
			busy |= m->spans.cat[i] == TIDE_CAT_KERNEL && m->spans.t0[i] <= t &&
				t < m->spans.t1[i];
		n += !busy;
	}
	return n;
}

static void random_models(void **state)
{
	srand(7);
	for (int round = 0; round < 300; round++) {
		tide_model *m = process(10, 0);
		tide_data_waits w = { 0 };
		tide_error err;
		int64_t t = 0;
		for (int i = 0; i < 8; i++) {
			int64_t long_ = 1 + rand() % 30, kernel = t + rand() % 10;
			int kind = rand() % 6;
			if (rand() % 3)
				some_span(m, 3, TIDE_CAT_KERNEL, "k", t, kernel + 1);
			if (rand() % 2) { /* made by the program itself */
				uint32_t s = some_span(m, 1, TIDE_CAT_OP, "DataLoader.wait", t,
						       t + long_ + 2);
				(void)s;
				add_fetch(m, t + 1, t + long_, "f", kind);
			} else {
				add_wait(m, t, t + long_, 10 + rand() % 3);
			}
			t += long_ + 5;
		}
		assert_int_equal(tide__data_waits_add(&w, m, &err), TIDE_OK);
		assert_int_equal(tide__data_waits_finish(&w, &err), TIDE_OK);
		assert_int_equal(w.n_waits, 8);
		int64_t sum = 0, groups = 0;
		uint64_t waits = 0;
		for (size_t i = 0; i < w.n_waits; i++) {
			const tide_data_wait *x = &w.waits[i];
			int64_t parts = 0;
			for (int k = 0; k < TIDE_DATA_PARTS; k++)
				parts += x->part[k];
			sum += x->t1 - x->t0;
			if (x->did == TIDE_DATA_UNKNOWN)
				assert_int_equal(parts, 0);
			else
				assert_int_equal(parts, x->t1 - x->t0);
			if (x->idle_ns >= 0)
				assert_int_equal(x->idle_ns, idle_moments(m, x->t0, x->t1));
		}
		for (size_t i = 0; i < w.n_groups; i++) {
			groups += w.groups[i].ns;
			waits += w.groups[i].waits;
		}
		assert_int_equal(groups, sum);
		assert_int_equal(waits, w.n_waits);
		tide__data_waits_free(&w);
		tide__model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gpu_idle),
		cmocka_unit_test(ranges),
		cmocka_unit_test(random_models),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
