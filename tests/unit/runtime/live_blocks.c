// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Compares the carried blocks with a plain list: two threads allocate and free blocks, and their
 * rings are drained in pieces of random length, so that frees come before their allocations and
 * addresses are reused. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "format/tide.h"
#include "runtime/live_blocks.h"

enum { ADDRESSES = 40, EVENTS = 4000 };

static uint64_t seed = 88172645463325252u;

static unsigned chance(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % n;
}

static tide_ring_slot alloc_slot(uint64_t t, uint64_t addr, uint64_t size)
{
	return (tide_ring_slot){ t, addr, size, 7, TIDE_REC_ALLOC_STACK | 3u << 8 | 5u << 20 };
}

/* Every event in its ring, in order of time; `live[a]` is the size of the block at address a, 0 =
 * none. */
static void make(tide_ring_slot *ring[2], size_t n[2], uint64_t live[ADDRESSES],
		 uint64_t born[ADDRESSES])
{
	for (uint64_t t = 1; t <= EVENTS; t++) {
		unsigned a = chance(ADDRESSES), r = chance(2);
		uint64_t addr = 0x1000 + 16 * a;
		if (live[a]) {
			ring[r][n[r]++] =
				(tide_ring_slot){ t, addr, 0, 0, TIDE_REC_FREE | 3u << 8 };
			live[a] = 0;
		} else {
			live[a] = 1 + chance(1000);
			born[a] = t;
			ring[r][n[r]++] = alloc_slot(t, addr, live[a]);
		}
	}
}

static void test_two_threads(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		tide_ring_slot *ring[2] = { calloc(EVENTS, sizeof(tide_ring_slot)),
					    calloc(EVENTS, sizeof(tide_ring_slot)) };
		size_t n[2] = { 0, 0 }, at[2] = { 0, 0 }, kept, found = 0, want = 0;
		uint64_t live[ADDRESSES] = { 0 }, born[ADDRESSES] = { 0 }, lost;
		make(ring, n, live, born);
		tide__carry_reset();
		while (at[0] < n[0] || at[1] < n[1]) {
			unsigned r = chance(2);
			size_t to = at[r] + chance(300);
			to = to < n[r] ? to : n[r];
			tide__carry_follow(ring[r], UINT64_MAX, at[r], to, true, 0);
			at[r] = to;
		}
		const tide_ring_slot *all = tide__carry_all(UINT64_MAX, &kept, &lost);
		for (size_t i = 0; i < kept; i++) {
			size_t a = (all[i].addr - 0x1000) / 16;
			assert_true(i == 0 || all[i].ticks >= all[i - 1].ticks);
			assert_int_equal(all[i].head >> 20, 0);
			assert_int_equal(all[i].stack, 7);
			assert_int_equal(all[i].ticks, born[a]);
			found += all[i].size == live[a];
		}
		for (size_t a = 0; a < ADDRESSES; a++)
			want += live[a] != 0;
		assert_int_equal(lost, 0);
		assert_int_equal(kept, want);
		assert_int_equal(found, want);
		free(ring[0]);
		free(ring[1]);
	}
	tide__carry_reset();
}

/* Texts keep their last value, labels go with their block, segments and sizes of many slots stay
 * whole. */
static void test_kinds(void **state)
{
	(void)state;
	size_t n;
	uint64_t lost;
	tide_ring_slot s[16] = {
		{ 1, 3, 0, 9, TIDE_REC_ANNOTATE },	  { 0 },
		{ 2, 64, 100, 4, TIDE_REC_ALLOC_FULL },	  { 90, 0, 0, 0, 0 },
		{ 3, 64, 2u << 24, 5, TIDE_REC_TENSOR },  { 4, 5, 0, 0, 0 },
		{ 4, 3, 0, 9, TIDE_REC_ANNOTATE },	  { 0 },
		{ 5, 4096, 8192, 2, TIDE_REC_SEG_ALLOC },
	};
	memcpy(&s[1], "old", 3);
	memcpy(&s[7], "new", 3);
	tide__carry_reset();
	tide__carry_follow(s, UINT64_MAX, 0, 9, false, 0);
	const tide_ring_slot *all = tide__carry_all(0, &n, &lost);
	assert_int_equal(n, 7);
	assert_int_equal(all[0].head & 0xff, TIDE_REC_ALLOC_FULL);
	assert_int_equal(all[1].ticks, 90);
	assert_int_equal(all[2].head & 0xff, TIDE_REC_TENSOR);
	assert_memory_equal(&all[5], "new", 3);
	assert_int_equal(all[6].head & 0xff, TIDE_REC_SEG_ALLOC);
	s[0] = (tide_ring_slot){ 6, 64, 0, 0, TIDE_REC_FREE };
	s[1] = (tide_ring_slot){ 7, 4096, 8192, 0, TIDE_REC_SEG_FREE };
	tide__carry_follow(s, UINT64_MAX, 0, 2, false, 0);
	tide__carry_all(0, &n, &lost);
	assert_int_equal(n, 2);
	tide__carry_reset();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_kinds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
