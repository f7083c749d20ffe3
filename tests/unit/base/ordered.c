// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The ordered map, used as a set and as a map, against an array of flags, under growing and shrinking; keys of
 * two parts against a sorted array. */
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

struct pair {
	uint64_t a, b;
};

static bool is_pair(const tide_ordered *s, tide_ordered_pos p, const struct pair *want)
{
	return tide__ordered_key(s, p) == want->a && tide__ordered_minor(s, p) == want->b;
}

/* Both neighbours of (a, b): ref[at] is the first pair that is not below it. */
static void look_pairs(const tide_ordered *s, struct pair k, const struct pair *ref, size_t at,
		       size_t n)
{
	bool there = at < n && ref[at].a == k.a && ref[at].b == k.b;
	size_t floor = there ? at + 1 : at;
	tide_ordered_pos p = tide__ordered_ceil2(s, k.a, k.b);
	assert_int_equal(tide__ordered_ok(p), at < n);
	assert_true(at == n || is_pair(s, p, &ref[at]));
	p = tide__ordered_floor2(s, k.a, k.b);
	assert_int_equal(tide__ordered_ok(p), floor > 0);
	assert_true(!floor || is_pair(s, p, &ref[floor - 1]));
}

static void same_pairs(const tide_ordered *s, const struct pair *ref, size_t n)
{
	size_t at = 0;
	tide_ordered_pos p = tide__ordered_first(s);
	for (; tide__ordered_ok(p); p = tide__ordered_next(s, p), at++)
		assert_true(is_pair(s, p, &ref[at]));
	assert_int_equal(at, n);
	assert_int_equal(s->n, n);
	p = tide__ordered_last(s);
	assert_true(!n ? !tide__ordered_ok(p) : is_pair(s, p, &ref[n - 1]));
}

/* Adds or removes one random pair; returns the new number of pairs. */
static size_t change_pairs(tide_ordered *s, struct pair *ref, size_t n, uint64_t x)
{
	struct pair k = { x % 50, (x >> 20) % 100 };
	size_t at = 0;
	while (at < n && (ref[at].a < k.a || (ref[at].a == k.a && ref[at].b < k.b)))
		at++;
	bool there = at < n && ref[at].a == k.a && ref[at].b == k.b;
	look_pairs(s, k, ref, at, n);
	if (there && (x >> 40) % 2) {
		assert_true(tide__ordered_del2(s, k.a, k.b));
		memmove(ref + at, ref + at + 1, (--n - at) * sizeof *ref);
	} else if (!there && n < 4000) {
		assert_false(tide__ordered_del2(s, k.a, k.b));
		assert_true(tide__ordered_put2(s, k.a, k.b, 1));
		memmove(ref + at + 1, ref + at, (n++ - at) * sizeof *ref);
		ref[at] = k;
	}
	return n;
}

static void pairs_like_array(void **state)
{
	static struct pair ref[4096];
	tide_ordered s = { 0 }, copy;
	uint64_t x = 88172645463325252ull;
	size_t n = 0;
	(void)state;
	for (int step = 0; step < 20000; step++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		n = change_pairs(&s, ref, n, x);
	}
	same_pairs(&s, ref, n);
	assert_true(tide__ordered_copy(&copy, &s));
	for (size_t k = n; k--;) {
		assert_true(tide__ordered_del2(&s, ref[k].a, ref[k].b));
		assert_false(tide__ordered_del2(&s, ref[k].a, ref[k].b));
	}
	same_pairs(&s, ref, 0);
	same_pairs(&copy, ref, n);
	tide__ordered_free(&s);
	tide__ordered_free(&copy);
}

static void ranges_overlap(void **state)
{
	static const struct {
		const char *name;
		uint64_t addr, size;
		bool overlaps;
	} rows[] = {
		{ "before", 0, 10, false },	 { "up to the first", 5, 6, true },
		{ "inside", 12, 1, true },	 { "its end", 19, 1, true },
		{ "between", 20, 10, false },	 { "into the second", 20, 11, true },
		{ "around both", 0, 100, true }, { "behind", 40, UINT64_MAX - 40, false },
		{ "the same", 30, 10, true },
	};
	tide_ordered s = { 0 };
	(void)state;
	assert_false(tide__ordered_overlaps(&s, 0, 100));
	assert_true(tide__ordered_put2(&s, 10, 10, 1) && tide__ordered_put2(&s, 30, 10, 1));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (tide__ordered_overlaps(&s, rows[i].addr, rows[i].size) != rows[i].overlaps)
			fail_msg("%s", rows[i].name);
	tide__ordered_free(&s);
}

/* A leaf keeps its owner's bound until an addition to it. */
static void leaf_bounds(void **state)
{
	tide_ordered s = { 0 };
	(void)state;
	for (uint64_t k = 0; k < 1000; k++)
		assert_true(tide__ordered_put(&s, 2 * k, 0));
	tide_ordered_pos p = tide__ordered_first(&s);
	for (; tide__ordered_ok(p); p = tide__ordered_next_leaf(&s, p)) {
		assert_true(*tide__ordered_leaf_bound(&s, p) == TIDE_ORDERED_UNBOUNDED);
		*tide__ordered_leaf_bound(&s, p) = 7;
	}
	assert_true(tide__ordered_del(&s, 20) && tide__ordered_put(&s, 1501, 0));
	size_t unbounded = 0, leaves = 0;
	for (p = tide__ordered_first(&s); tide__ordered_ok(p); leaves++) {
		bool open = *tide__ordered_leaf_bound(&s, p) == TIDE_ORDERED_UNBOUNDED;
		unbounded += open;
		if (open)
			assert_int_equal(tide__ordered_floor(&s, 1501).leaf, p.leaf);
		p = tide__ordered_next_leaf(&s, p);
	}
	assert_int_equal(unbounded, 1);
	assert_true(leaves > 10);
	tide__ordered_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_flags),
		cmocka_unit_test(pairs_like_array),
		cmocka_unit_test(ranges_overlap),
		cmocka_unit_test(leaf_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
