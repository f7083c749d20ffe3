// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The hash map against an array, under growing and shrinking; and keys chosen to collide, which
 * must not. */
#include "base/map.h"
#include "base/mem.h"
#include "testing.h"

enum { KEYS = 1024, STEPS = 40000 };

static uint64_t state_of = 1;

static unsigned next(void)
{
	state_of = state_of * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state_of >> 33);
}

static void test_against_array(void **state)
{
	static uint32_t want[KEYS];
	tide_map m = { 0 };
	size_t n = 0;
	assert_int_equal(tide__map_get(&m, 5), 0);
	assert_int_equal(tide__map_del(&m, 5), 0);
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned k = next() % KEYS;
		uint64_t key = (uint64_t)k << 20; /* 0 is a key like any other */
		if (next() % 2) {
			n += !want[k];
			want[k] = next() | 1;
			assert_true(tide__map_put(&m, key, want[k]));
		} else {
			n -= want[k] != 0;
			assert_int_equal(tide__map_del(&m, key), want[k]);
			want[k] = 0;
		}
		assert_int_equal(m.n, n);
		k = next() % KEYS;
		assert_int_equal(tide__map_get(&m, (uint64_t)k << 20), want[k]);
	}
	for (unsigned k = 0; k < KEYS; k++)
		assert_int_equal(tide__map_get(&m, (uint64_t)k << 20), want[k]);
	tide__map_free(&m);
	assert_int_equal(tide__map_get(&m, 0), 0);
}

/* The x with tide__mix(x) == h. */
static uint64_t unmix(uint64_t h)
{
	uint64_t inverse = 0xd6e8feb86659fd93u; /* of itself, mod 2^64, by Newton's method */
	for (int i = 0; i < 6; i++)
		inverse *= 2 - 0xd6e8feb86659fd93u * inverse;
	h ^= h >> 32;
	h *= inverse;
	h ^= h >> 32;
	h *= inverse;
	return h ^ h >> 32;
}

static void test_keys_made_to_meet(void **state)
{
	tide_map m = { 0 };
	size_t longest = 0;
	for (uint64_t i = 1; i <= 4096; i++) {
		uint64_t key = unmix(i << 32);
		assert_int_equal(tide__mix(key), i << 32); /* all in slot 0 of any table */
		assert_true(tide__map_put(&m, key, (uint32_t)i));
	}
	for (size_t i = 0; i <= m.mask; i++) {
		size_t from = m.vals[i] ? tide__map_home(&m, m.keys[i]) : i;
		size_t way = (i - from) & m.mask;
		longest = way > longest ? way : longest;
	}
	assert_true(longest < 256); /* of 4096; a table half full has some ten */
	tide__map_free(&m);
}

static void test_copy(void **state)
{
	tide_map m = { 0 }, c;
	assert_true(tide__map_copy(&c, &m));
	assert_int_equal(tide__map_get(&c, 1), 0);
	for (uint32_t i = 1; i <= 100; i++)
		assert_true(tide__map_put(&m, i, i));
	tide__mem_fail_at(2);
	assert_false(tide__map_copy(&c, &m));
	tide__mem_fail_at(0);
	assert_int_equal(tide__map_bytes(&c), 0);
	assert_true(tide__map_copy(&c, &m));
	tide__map_del(&m, 7);
	for (uint32_t i = 1; i <= 100; i++)
		assert_int_equal(tide__map_get(&c, i), i);
	assert_int_equal(c.n, 100);
	assert_true(tide__map_bytes(&c) >= 100 * 12);
	tide__map_free(&m);
	tide__map_free(&c);
}

static void test_no_memory(void **state)
{
	tide_map m = { 0 };
	uint64_t n = 0;
	for (uint64_t fail = 1; fail <= 8; fail++) {
		tide__mem_fail_at(fail % 2 + 1);
		while (tide__map_put(&m, n + 1, 7))
			n++;
		tide__mem_fail_at(0);
		assert_int_equal(m.n, n);
		for (uint64_t k = 1; k <= n; k++)
			assert_int_equal(tide__map_get(&m, k), 7);
		assert_int_equal(tide__map_get(&m, n + 1), 0);
		assert_true(tide__map_put(&m, ++n, 7)); /* continues once there is memory */
	}
	tide__map_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_array),
		cmocka_unit_test(test_keys_made_to_meet),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
