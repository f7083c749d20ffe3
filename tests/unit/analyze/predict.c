// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Predictions: random programs whose allocations grow with the size of their work are predicted to
 * the byte; what fits is what trying every size finds. */
#include <string.h>

#include "analyze/predict.h"
#include "some_model.h"
#include "testing.h"

enum { MOST = 24 };

static uint64_t seed;

static uint64_t below(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

/* A program: allocations of fixed + each × size bytes, made and freed in some order. */
static struct program {
	uint64_t fixed[MOST], each[MOST];
	uint8_t order[2 * MOST]; /* allocation to make, or to free when it is there */
	size_t n;
} program;

static void invent(void)
{
	program.n = 1 + below(2 * MOST);
	for (size_t i = 0; i < MOST; i++) {
		program.fixed[i] = below(3) ? 1 + below(100000) : 1;
		program.each[i] = below(2) ? below(5000) : 0;
	}
	for (size_t i = 0; i < program.n; i++)
		program.order[i] = (uint8_t)below(MOST);
}

/* What it does at a size, as a model; its peak counted as it goes. */
static tide_model *perform(uint64_t size, uint64_t *peak)
{
	tide_model *m = some_machine();
	uint32_t there[MOST] = { 0 };
	uint64_t live = 0;
	*peak = 0;
	(void)some_model;
	for (size_t i = 0; i < program.n; i++) {
		size_t k = program.order[i];
		uint64_t bytes = program.fixed[k] + program.each[k] * size;
		if (there[k]) {
			some_free(m, there[k], (int64_t)i);
			there[k] = 0;
			live -= bytes;
		} else {
			there[k] = some_alloc(m, 1, bytes, (int64_t)i);
			live += bytes;
		}
		*peak = live > *peak ? live : *peak;
	}
	return m;
}

static void held_at(uint64_t size, tide_held *h, uint64_t *peak)
{
	tide_model *m = perform(size, peak);
	assert_int_equal(tide__held(m, m->pools.device[1].i, size, h, NULL), TIDE_OK);
	assert_int_equal(h->n, program.n);
	tide__model_free(m);
}

static void programs_are_predicted(void **state)
{
	for (unsigned round = 0; round < 300; round++) {
		tide_held a, b;
		uint64_t peak;
		seed = 88172645463325252u + round;
		invent();
		uint64_t x = 1 + below(50), y = x + 1 + below(50);
		held_at(x, &a, &peak);
		held_at(y, &b, &peak);
		assert_int_equal(tide__held_same(&a, &b), program.n);
		for (uint64_t size = 1; size < 200; size += 1 + below(9)) {
			tide__model_free(perform(size, &peak));
			if (tide__predict(&a, &b, size, NULL) != peak)
				fail_msg("round %u, size %u", round, (unsigned)size);
		}
		tide__held_free(&a);
		tide__held_free(&b);
	}
}

/* Against trying sizes one by one, on lines that rise, fall and stay. */
static void what_fits_is_what_trying_finds(void **state)
{
	enum { STEPS = 6, TRIED = 400 };
	for (unsigned round = 0; round < 2000; round++) {
		uint64_t live[2][STEPS];
		uint64_t what[STEPS] = { 0 };
		uint32_t row[STEPS] = { 0 };
		seed = 1234567 + round;
		size_t n = 1 + below(STEPS);
		for (size_t i = 0; i < n; i++) {
			live[0][i] = below(2000);
			live[1][i] = below(4) ? live[0][i] + below(300) : below(2000);
		}
		uint64_t x = 1 + below(20), y = x + 1 + below(20);
		tide_held a = { x, live[0], what, row, n }, b = { y, live[1], what, row, n };
		uint64_t capacity = below(4000), fits = tide__predict_fits(&a, &b, capacity);
		uint64_t found = 0;
		for (uint64_t size = 1; size <= TRIED; size++)
			if (tide__predict(&a, &b, size, NULL) <= capacity)
				found = size;
		if (fits > TRIED) {
			assert_int_equal(found, TRIED);
			assert_true(tide__predict(&a, &b, fits, NULL) <= capacity);
			assert_true(fits == TIDE_MOST_SIZE ||
				    tide__predict(&a, &b, fits + 1, NULL) > capacity);
		} else if (fits != found) {
			fail_msg("round %u: %u, not %u", round, (unsigned)fits, (unsigned)found);
		}
	}
}

static void rounded_up_and_never_below_nothing(void **state)
{
	tide_held a, b;
	size_t at = 9;
	assert_int_equal(tide__held_one(2, 100, &a, NULL), TIDE_OK);
	assert_int_equal(tide__held_one(5, 101, &b, NULL), TIDE_OK);
	assert_int_equal(tide__predict(&a, &b, 3, &at), 101);
	assert_int_equal(at, 0);
	tide_held raised;
	assert_int_equal(tide__held_raised(&b, 7, &raised, NULL), TIDE_OK);
	assert_int_equal(raised.size, 5);
	assert_int_equal(raised.live[0], 108);
	assert_int_equal(tide__held_same(&b, &raised), 1);
	tide__held_free(&raised);
	assert_int_equal(tide__predict(&a, &b, 2, NULL), 100);
	b.live[0] = 10;
	assert_int_equal(tide__predict(&a, &b, 50, NULL), 0);
	b.live[0] = UINT64_MAX;
	assert_int_equal(tide__predict(&a, &b, TIDE_MOST_SIZE, NULL), UINT64_MAX);
	tide__held_free(&a);
	tide__held_free(&b);
}

static void other_orders_are_seen(void **state)
{
	tide_held a, b;
	uint64_t peak;
	program = (struct program){ .fixed = { 1, 1, 1 }, .order = { 0, 1, 0, 1 }, .n = 4 };
	held_at(1, &a, &peak);
	program.order[2] = 1; /* frees the other first */
	program.order[3] = 0;
	held_at(2, &b, &peak);
	assert_int_equal(tide__held_same(&a, &b), 2);
	tide__held_free(&b);
	program.n = 2;
	held_at(2, &b, &peak);
	assert_int_equal(tide__held_same(&a, &b), 2); /* and no more */
	tide__held_free(&b);
	tide_model *m = perform(2, &peak);
	m->allocs.span[2].i = some_span(m, 1, TIDE_CAT_OP, "elsewhere", 0, 9);
	assert_int_equal(tide__held(m, m->pools.device[1].i, 2, &b, NULL), TIDE_OK);
	assert_int_equal(tide__held_same(&a, &b), 1); /* the second is made in another op */
	tide__model_free(m);
	tide__held_free(&a);
	tide__held_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_are_predicted),
		cmocka_unit_test(what_fits_is_what_trying_finds),
		cmocka_unit_test(rounded_up_and_never_below_nothing),
		cmocka_unit_test(other_orders_are_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
