// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sampled bytes and own peaks against a slow, obvious recomputation on random models: counters of
 * existing and of missing devices, with values that are no bytes and times out of order. Samples
 * change no counted figure. */
#include <math.h>

#include "analyze/memory/sampled.h"
#include "analyze/live/usage.h"
#include "base/mem.h"
#include "memory_model.h"
#include "testing.h"

enum { ROUNDS = 300, MOST = 24 };

static const char *const names[] = { "", "torch.allocated_bytes.cuda:0",
				     "torch.allocated_bytes.tt:0", "torch.allocated_bytes.cpu:0" };
static const char *const peaks[] = { "", "torch.peak_bytes.cuda:0", "torch.peak_bytes.tt:0",
				     "torch.peak_bytes.cpu:0" };

/* One counter, at times that mostly go up. */
static void add_counter(struct mm *x, const char *name)
{
	static const double nonsense[] = { -1, 0.5, NAN, INFINITY, 1e300 };
	tide_model *m = x->m;
	uint32_t c = tide__push(&m->counters, &tide_counters_desc);
	uint32_t n = mm_random(x, MOST), bad = mm_random(x, 4 * MOST),
		 back = mm_random(x, 4 * MOST);
	int64_t t = 0;
	m->counters.name[c] = tide__intern(m, name);
	for (uint32_t i = 0; i < n; i++) {
		size_t row;
		t += mm_random(x, (uint32_t)m->t_end / MOST + 2);
		tide__table_push(&m->samples, &tide_samples_desc, &row);
		m->samples.counter[row].i = c;
		m->samples.t[row] = i && i == back ? -1 : t;
		m->samples.value[row] =
			i == bad ? nonsense[mm_random(x, 5)] : mm_random(x, 9) * 1e6;
	}
}

static tide_model *model(uint32_t seed)
{
	struct mm x = { .m = memory_model(seed, 10 + seed % 100), .seed = seed * 31 + 7 };
	for (size_t d = 1; d < sizeof names / sizeof *names; d++)
		if (mm_random(&x, 3))
			add_counter(&x, names[d]);
	for (size_t d = 1; d < sizeof peaks / sizeof *peaks; d++)
		if (mm_random(&x, 3))
			add_counter(&x, peaks[d]);
	add_counter(&x, "torch.peak_bytes.cuda:9");
	add_counter(&x, "torch.allocated_bytes.cuda:9");
	add_counter(&x, "torch.allocated_bytes");
	return x.m;
}

/* ---- the oracle ---- */

struct list {
	int64_t t[MOST];
	uint64_t v[MOST];
	size_t n;
};

static struct list of_counter(const tide_model *m, const char *name)
{
	struct list l = { .n = 0 };
	for (size_t i = 0; i < m->samples.n; i++) {
		double v = m->samples.value[i];
		uint32_t c = m->samples.counter[i].i;
		if (strcmp(tide__text(m, m->counters.name[c], NULL), name) != 0)
			continue;
		if (!(v >= 0 && v < 1e15 && v == floor(v)) ||
		    (l.n && m->samples.t[i] < l.t[l.n - 1]))
			return (struct list){ .n = 0 };
		l.t[l.n] = m->samples.t[i];
		l.v[l.n++] = (uint64_t)v;
	}
	return l;
}

/* Values that hold at some moment of an interval: samples in it, and the last one before it. */
static uint64_t most_in(const tide_model *m, const struct list *l, size_t b, size_t buckets)
{
	uint64_t most = TIDE_SAMPLED_NONE, carried = TIDE_SAMPLED_NONE;
	for (size_t i = 0; i < l->n; i++) {
		double at = (double)l->t[i] * (double)buckets / ((double)m->t_end + 1);
		size_t in = at >= (double)buckets ? buckets - 1 : (size_t)at;
		if (in < b)
			carried = l->v[i];
		else if (in == b && (most == TIDE_SAMPLED_NONE || l->v[i] > most))
			most = l->v[i];
	}
	if (most == TIDE_SAMPLED_NONE || (carried != TIDE_SAMPLED_NONE && carried > most))
		most = carried;
	return most;
}

/* The peak that the device's counter reported, and the number of samples taken by then. */
static void check_own(const tide_model *m, const tide_sampled_device *x, uint32_t d, int64_t t)
{
	struct list l = of_counter(m, names[d]), own = of_counter(m, peaks[d]);
	uint64_t most = TIDE_SAMPLED_NONE;
	int64_t told = 0;
	size_t looks = 0;
	for (size_t i = own.n; l.n && i-- > 0;)
		if (own.t[i] <= t && (most == TIDE_SAMPLED_NONE || own.v[i] >= most)) {
			most = own.v[i];
			told = own.t[i];
		}
	while (looks < l.n && l.t[looks] <= told)
		looks++;
	assert_int_equal(x->own_peak, most);
	assert_int_equal(x->own_told, told);
	assert_int_equal(x->own_since, most != TIDE_SAMPLED_NONE && looks > 1 ? l.t[looks - 2] : 0);
	assert_true(x->own_since <= x->own_told);
	bool above = most != TIDE_SAMPLED_NONE && (x->peak == TIDE_SAMPLED_NONE || most > x->peak);
	assert_int_equal(tide__sampled_by_own(x), above);
	assert_int_equal(tide__sampled_most(x), above ? most : x->peak);
}

static void check_device(const tide_model *m, const tide_sampled *s, uint32_t d, int64_t t)
{
	struct list l = of_counter(m, names[d]);
	uint64_t now = TIDE_SAMPLED_NONE, most = TIDE_SAMPLED_NONE;
	int64_t when = 0;
	for (size_t i = 0; i < l.n && l.t[i] <= t; i++) {
		now = l.v[i];
		if (most == TIDE_SAMPLED_NONE || now > most) {
			most = now;
			when = l.t[i];
		}
	}
	assert_int_equal(s->devices[d].n, l.n);
	assert_int_equal(s->devices[d].bytes, now);
	assert_int_equal(s->devices[d].peak, most);
	assert_int_equal(s->devices[d].peak_t, when);
	for (size_t b = 0; s->any && b < s->buckets; b++)
		assert_int_equal(s->series[d * s->buckets + b], most_in(m, &l, b, s->buckets));
}

static void check_apart(tide_model *m)
{
	tide_usage with = { 0 }, without = { 0 };
	size_t n = m->samples.n;
	assert_int_equal(tide__find_usage(m, UINT64_MAX, 5, &with, NULL), TIDE_OK);
	m->samples.n = 0;
	assert_int_equal(tide__find_usage(m, UINT64_MAX, 5, &without, NULL), TIDE_OK);
	m->samples.n = n;
	assert_memory_equal(with.devices, without.devices, with.n_devices * sizeof *with.devices);
	assert_memory_equal(with.live_series, without.live_series,
			    with.n_devices * 5 * sizeof *with.live_series);
	tide__usage_free(&with);
	tide__usage_free(&without);
}

static void samples(void **state)
{
	for (uint32_t seed = 1; seed <= ROUNDS; seed++) {
		struct mm x = { .seed = seed };
		tide_model *m = model(seed);
		tide_sampled s;
		size_t any = 0;
		int64_t t = mm_random(&x, 3) ? (int64_t)mm_random(&x, (uint32_t)m->t_end + 2)
					     : INT64_MAX;
		assert_int_equal(tide__find_sampled(m, t, 1 + seed % 40, &s, NULL), TIDE_OK);
		for (uint32_t d = 1; d < sizeof names / sizeof *names; d++) {
			check_device(m, &s, d, t);
			check_own(m, &s.devices[d], d, t);
			any += s.devices[d].n > 0;
		}
		assert_int_equal(s.any, any);
		tide__sampled_free(&s);
		check_apart(m);
		tide__model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(samples) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
