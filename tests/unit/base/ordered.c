// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The ordered map, used as a set and as a map, against an array of flags, under growing and shrinking. */
#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
#include "testing.h"

enum { KEYS = 4096, STEPS = 20000, SEEDS = 8 };

struct world {
	uint8_t in[KEYS];
	tide_ordered set;
	tide_ordered map;
	uint64_t seed;
};

static unsigned next(struct world *w)
{
	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(w->seed >> 33);
}

static int below(const struct world *w, int k)
{
	while (k >= 0 && !w->in[k])
		k--;
	return k;
}

static int above(const struct world *w, int k)
{
	while (k < KEYS && !w->in[k])
		k++;
	return k;
}

static void change(struct world *w, bool grow)
{
	unsigned k = next(w) % KEYS;
	if (next(w) % 4 == 0 ? !grow : grow) {
		assert_true(tide__ordered_add(&w->set, k));
		assert_true(tide__ordered_put(&w->map, k, k + 1));
		w->in[k] = 1;
	} else {
		assert_int_equal(tide__ordered_del(&w->set, k), w->in[k]);
		assert_int_equal(tide__ordered_del(&w->map, k), w->in[k]);
		w->in[k] = 0;
	}
}

static void look(struct world *w)
{
	int q = (int)(next(w) % KEYS), want;
	uint64_t got;
	want = below(w, q - 1);
	assert_int_equal(tide__ordered_below(&w->set, (uint64_t)q, &got), want >= 0);
	if (want >= 0)
		assert_int_equal(got, want);
	want = above(w, q + 1);
	assert_int_equal(tide__ordered_above(&w->set, (uint64_t)q, &got), want < KEYS);
	if (want < KEYS)
		assert_int_equal(got, want);
	tide_ordered_pos p = tide__ordered_floor(&w->map, (uint64_t)q);
	want = below(w, q);
	assert_int_equal(tide__ordered_ok(p), want >= 0);
	if (want >= 0) {
		assert_int_equal(tide__ordered_key(&w->map, p), want);
		assert_int_equal(tide__ordered_val(&w->map, p), want + 1);
		want = above(w, want + 1);
		p = tide__ordered_next(&w->map, p);
		assert_int_equal(tide__ordered_ok(p), want < KEYS);
		if (want < KEYS) {
			assert_int_equal(tide__ordered_key(&w->map, p), want);
			p = tide__ordered_prev(&w->map, p);
			assert_int_equal(tide__ordered_key(&w->map, p), below(w, want - 1));
		}
	}
	p = tide__ordered_ceil(&w->map, (uint64_t)q);
	want = above(w, q);
	assert_int_equal(tide__ordered_ok(p), want < KEYS);
	if (want < KEYS)
		assert_int_equal(tide__ordered_key(&w->map, p), want);
}

static void like_flags(void **state)
{
	(void)state;
	static struct world w;
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		memset(&w, 0, sizeof w);
		w.seed = seed + 1;
		for (int i = 0; i < STEPS; i++) {
			change(&w, i / 3000 % 2 == 0);
			look(&w);
		}
		tide__ordered_free(&w.set);
		tide__ordered_free(&w.map);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(like_flags) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
