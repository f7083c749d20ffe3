// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Predictions: made-up trainings (a loader that allocates for every sample, steps that depend on
 * the batch, a smaller last batch, evaluation between epochs) are performed at other sizes too, and
 * predicted to the byte; the largest size that fits equals a trial of every size; for any two
 * recordings, the prediction at their sizes is the recorded peak. */
#include <string.h>

#include "analyze/predict/predict.h"
#include "analyze/predict/predicted_breakdown.h"
#include "analyze/predict/predicted_reserved.h"
#include "analyze/predict/superlinear_allocs.h"
#include "some_training.h"
#include "testing.h"

static void held_at(uint64_t size, tide_moment_profile *h, uint64_t *peak)
{
	tide_model *m = perform(size, peak);
	assert_int_equal(tide__find_moment_profile(m, 1, size, h, NULL), TIDE_OK);
	assert_int_equal(h->peak, *peak);
	tide__model_free(m);
}

static void trainings_are_predicted(void **state)
{
	unsigned groups = 0;
	for (unsigned round = 0; round < 150; round++) {
		tide_moment_profile a, b;
		tide_lines l;
		uint64_t peak;
		seed = 88172645463325252u + round;
		invent();
		uint64_t x = 1 + below(20), y = x + 1 + below(40);
		held_at(x, &a, &peak);
		held_at(y, &b, &peak);
		assert_int_equal(tide__find_lines(&a, &b, &l, NULL), TIDE_OK);
		assert_int_equal(l.moments[TIDE_LINE_AROUND], 0);
		for (uint64_t size = 1; size < 190; size += 1 + below(50)) {
			tide__model_free(perform(size, &peak));
			if (tide__predict(&l, size, NULL) != peak)
				fail_msg("round %u, from %u and %u at %u: %lld, not %lld", round,
					 (unsigned)x, (unsigned)y, (unsigned)size,
					 (long long)tide__predict(&l, size, NULL), (long long)peak);
			assert_true(tide__predict_most(&l, size) >= peak);
		}
		groups += l.per_size > 0;
		tide__lines_free(&l);
		tide__moment_profile_free(&a);
		tide__moment_profile_free(&b);
	}
	assert_true(groups > 40); /* loaders were among them */
}

/* ---- what existed before ---- */

/* `before` bytes exist when the recording begins, `early` of them are freed in it; then activations
 * grow with the size. */
static tide_model *begun_late(uint64_t n, uint64_t before, uint64_t early, tide_moment_profile *h)
{
	tide_model *m = some_machine();
	uint32_t kept = some_alloc(m, 1, before - early, 0);
	uint32_t freed = some_alloc(m, 1, early, 0);
	m->allocs.flags[kept] |= TIDE_ALLOC_BEFORE;
	m->allocs.flags[freed] |= TIDE_ALLOC_BEFORE;
	some_alloc(m, 1, 1000 * n, 1);
	some_free(m, freed, 2);
	some_alloc(m, 1, 3000 * n, 3);
	m->t_end = 4;
	assert_int_equal(tide__find_moment_profile(m, 1, n, h, NULL), TIDE_OK);
	return m;
}

/* It does not grow, however much the two recordings differ in it; that it grows is the bound. */
static void what_existed_before_does_not_grow(void **state)
{
	for (uint64_t more = 0; more <= 2000000; more += 1000000) {
		tide_moment_profile a, b;
		tide_predicted_breakdown p;
		tide_lines l;
		uint32_t device[2] = { 1, 1 };
		size_t at;
		tide_model *small = begun_late(8, 5000000, 400, &a),
			   *large = begun_late(16, 5000000 + more, 400, &b);
		const tide_model *m[2] = { small, large };
		assert_int_equal(tide__find_lines(&a, &b, &l, NULL), TIDE_OK);
		assert_int_equal(l.stepped > 0, more > 0);
		assert_int_equal(tide__predict(&l, 8, NULL), a.peak);
		assert_int_equal(tide__predict(&l, 16, NULL), b.peak);
		assert_int_equal(tide__predict(&l, 12, NULL), 5000000 - 400 + more / 2 + 48000);
		assert_int_equal(tide__predict(&l, 128, &at), 5000000 - 400 + more + 512000);
		assert_int_equal(tide__predict_most(&l, 128), 5000000 - 400 + 15 * more + 512000);
		assert_int_equal(
			tide__predict(&l, tide__predict_fits(&l, 9000000), NULL) <= 9000000, 1);
		assert_int_equal(tide__find_predicted_breakdown(m, device, &l, at, 128,
								TIDE_BY_MODULE, &p, NULL),
				 TIDE_OK);
		assert_int_equal(p.bytes, 5000000 - 400 + more + 512000);
		for (size_t i = 0; i < p.n; i++)
			if (p.v[i].key == TIDE_GROUP_BEFORE)
				assert_int_equal(p.v[i].bytes, 5000000 - 400 + more);
		tide__predicted_breakdown_free(&p);
		tide__lines_free(&l);
		tide__moment_profile_free(&a);
		tide__moment_profile_free(&b);
		tide__model_free(small);
		tide__model_free(large);
	}
}

/* ---- growth that is not even ---- */

/* Weights, activations that grow with the length n of a sequence, attention with its square; then
 * an optimizer whose memory does not grow. */
static uint64_t attention(uint64_t n, tide_moment_profile *h)
{
	tide_model *m = some_machine();
	uint64_t weights = 5000000, each = 3000 * n, square = 16 * n * n, state = 2 * weights;
	uint64_t forward = weights + each + square + each, step = weights + state + each;
	some_alloc(m, 1, weights, 1);
	uint32_t a = some_alloc(m, 1, each, 2);
	uint32_t b = some_alloc(m, 1, square, 3);
	uint32_t c = some_alloc(m, 1, each, 4);
	some_free(m, b, 5);
	some_free(m, c, 6);
	some_alloc(m, 1, state, 7);
	some_free(m, a, 8);
	m->t_end = 10;
	assert_int_equal(tide__find_moment_profile(m, 1, n, h, NULL), TIDE_OK);
	tide__model_free(m);
	return forward > step ? forward : step;
}

/* The recording of `attention`, kept: squares are found in it. */
static tide_model *attend(uint64_t n, uint64_t mixed, tide_moment_profile *h)
{
	tide_model *m = some_machine();
	some_alloc(m, 1, 5000000, 1);
	some_alloc(m, 1, 3000 * n, 2);
	uint32_t b = some_alloc(m, 1, 16 * n * n, 3);
	uint32_t c = mixed ? some_alloc(m, 1, mixed * n + 8 * n * n, 4) : 0;
	some_alloc(m, 1, 1000 * n, 5);
	some_free(m, b, 6);
	if (c)
		some_free(m, c, 7);
	some_alloc(m, 1, 7000000, 8);
	m->t_end = 10;
	assert_int_equal(tide__find_moment_profile(m, 1, n, h, NULL), TIDE_OK);
	return m;
}

/* Two recordings are enough for allocations that grow with the square and nothing else; where one
 * is linear in part, the bound holds. */
static void squares_show_in_two_recordings(void **state)
{
	for (uint64_t mixed = 0; mixed <= 9000; mixed += 3000) {
		tide_moment_profile a, b, x;
		tide_lines l;
		tide_model *small = attend(96, mixed, &a), *large = attend(256, mixed, &b);
		assert_int_equal(tide__find_lines(&a, &b, &l, NULL), TIDE_OK);
		uint64_t straight = tide__predict(&l, 4096, NULL);
		assert_int_equal(tide__lines_find_superlinear(&l, large, &b, 0, NULL), TIDE_OK);
		assert_true(l.curved > 0);
		assert_true(l.squares[3] && !l.squares[1] && !l.squares[2]);
		for (uint64_t n = 32; n <= 8192; n += 97) {
			tide_model *m = attend(n, mixed, &x);
			uint64_t got = tide__predict(&l, n, NULL);
			if (!mixed)
				assert_true(got >= x.peak && got <= x.peak + 2);
			if (n > 256)
				assert_true(tide__predict_most(&l, n) >= x.peak);
			tide__model_free(m);
			tide__moment_profile_free(&x);
		}
		assert_int_equal(tide__predict(&l, 96, NULL), a.peak);
		assert_int_equal(tide__predict(&l, 256, NULL), b.peak);
		assert_true(straight < tide__predict(&l, 4096, NULL) / 3);
		uint64_t fits = tide__predict_fits(&l, 500000000);
		assert_true(tide__predict(&l, fits, NULL) <= 500000000);
		assert_true(tide__predict(&l, fits + 1, NULL) > 500000000);
		tide__lines_free(&l);
		tide__moment_profile_free(&a);
		tide__moment_profile_free(&b);
		tide__model_free(small);
		tide__model_free(large);
	}
}

/* A loop extends a cache by copying it and keeps every copy: one allocation for each of the size,
 * each larger than the last. */
static tide_model *extend(uint64_t n, tide_moment_profile *h)
{
	tide_model *m = some_machine();
	for (uint64_t i = 1; i <= n; i++)
		some_alloc(m, 1, 4096 * i, (int64_t)i);
	m->t_end = (int64_t)n + 1;
	assert_int_equal(tide__find_moment_profile(m, 1, n, h, NULL), TIDE_OK);
	return m;
}

static void a_loop_that_extends_is_bounded(void **state)
{
	tide_moment_profile a, b, x;
	tide_lines l;
	tide_model *small = extend(8, &a), *large = extend(16, &b);
	assert_int_equal(tide__find_lines(&a, &b, &l, NULL), TIDE_OK);
	assert_int_equal(tide__lines_find_superlinear(&l, large, &b, 0, NULL), TIDE_OK);
	for (uint64_t n = 17; n < 200; n += 13) {
		tide_model *m = extend(n, &x);
		assert_true(tide__predict_most(&l, n) >= x.peak);
		tide__model_free(m);
		tide__moment_profile_free(&x);
	}
	tide__lines_free(&l);
	tide__moment_profile_free(&a);
	tide__moment_profile_free(&b);
	tide__model_free(small);
	tide__model_free(large);
}

/* Neither a batch (all in proportion), nor rounding, nor another algorithm is a square. */
static void other_growth_is_no_square(void **state)
{
	static const struct {
		const char *name;
		uint64_t a, b, slack; /* bytes at 8 and 32 */
		bool square;
	} rows[] = {
		{ "stays", 1000000, 1000000, 0, false },
		{ "in proportion", 1000000, 4000000, 0, false },
		{ "in proportion, rounded", 1000000, 4000512, 512, false },
		{ "in part", 1000000, 2000000, 0, false },
		{ "square", 1000000, 16000000, 0, true },
		{ "square of a padded length", 1000000, 15700000, 0, true },
		{ "another algorithm", 1000000, 40000000, 0, false },
		{ "made at the larger size only", 0, 8 << 20, 0, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_moment_profile h[2];
		tide_model *m[2];
		tide_lines l;
		for (size_t k = 0; k < 2; k++) {
			m[k] = some_machine();
			some_alloc(m[k], 1, k ? rows[i].b : rows[i].a, 1);
			m[k]->t_end = 2;
			assert_int_equal(
				tide__find_moment_profile(m[k], 1, k ? 32 : 8, &h[k], NULL),
				TIDE_OK);
		}
		assert_int_equal(tide__find_lines(&h[0], &h[1], &l, NULL), TIDE_OK);
		assert_int_equal(tide__lines_find_superlinear(&l, m[1], &h[1], rows[i].slack, NULL),
				 TIDE_OK);
		if ((l.curved > 0) != rows[i].square)
			fail_msg("%s", rows[i].name);
		tide__lines_free(&l);
		for (size_t k = 0; k < 2; k++) {
			tide__moment_profile_free(&h[k]);
			tide__model_free(m[k]);
		}
	}
}

static void a_third_recording_bends_lines(void **state)
{
	tide_moment_profile a, b, c, x;
	tide_lines l;
	attention(256, &a);
	attention(512, &c);
	attention(1024, &b);
	assert_int_equal(tide__find_lines(&a, &b, &l, NULL), TIDE_OK);
	uint64_t straight = tide__predict(&l, 4096, NULL);
	assert_int_equal(tide__lines_add_middle(&l, &c, &b, 0, NULL), TIDE_OK);
	assert_true(l.bent > 0);
	for (uint64_t n = 64; n <= 8192; n += 97) {
		uint64_t want = attention(n, &x), got = tide__predict(&l, n, NULL);
		tide__moment_profile_free(&x);
		assert_true(got >= want && got <= want + 2); /* rounded up */
		assert_true(tide__predict_most(&l, n) >= want);
	}
	assert_int_equal(tide__predict(&l, 256, NULL), attention(256, &x));
	tide__moment_profile_free(&x);
	assert_int_equal(tide__predict(&l, 512, NULL), attention(512, &x));
	tide__moment_profile_free(&x);
	assert_true(straight < attention(4096, &x) / 2); /* the value of a straight line there */
	tide__moment_profile_free(&x);
	for (uint64_t cap = 20000000; cap < 3000000000; cap += 271828183) {
		uint64_t fits = tide__predict_fits(&l, cap);
		assert_true(fits && tide__predict(&l, fits, NULL) <= cap);
		assert_true(tide__predict(&l, fits + 1, NULL) > cap);
	}
	assert_int_equal(tide__predict_fits(&l, 1000), 0);
	tide__lines_free(&l);
	tide__moment_profile_free(&a);
	tide__moment_profile_free(&b);
	tide__moment_profile_free(&c);
}

/* Values that may differ from the line by rounding alone stay straight; the bound does not. */
static void rounding_bends_nothing(void **state)
{
	tide_moment_profile a, b, c, x;
	tide_lines l;
	uint64_t peak;
	seed = 4711;
	invent();
	held_at(8, &a, &peak);
	held_at(16, &c, &peak);
	held_at(32, &b, &peak);
	assert_int_equal(tide__find_lines(&a, &b, &l, NULL), TIDE_OK);
	assert_int_equal(tide__lines_add_middle(&l, &c, &b, 0, NULL), TIDE_OK);
	assert_int_equal(l.bent, 0);
	tide__lines_free(&l);
	tide__moment_profile_free(&a);
	tide__moment_profile_free(&b);
	tide__moment_profile_free(&c);
	attention(256, &a);
	attention(512, &c);
	attention(1024, &b);
	assert_int_equal(tide__find_lines(&a, &b, &l, NULL), TIDE_OK);
	assert_int_equal(tide__lines_add_middle(&l, &c, &b, 1 << 30, NULL), TIDE_OK);
	assert_int_equal(l.bent, 0);
	for (uint64_t n = 64; n <= 8192; n += 97) { /* the bound assumes that it is not rounding */
		uint64_t want = attention(n, &x);
		tide__moment_profile_free(&x);
		assert_true(tide__predict_most(&l, n) >= want);
	}
	tide__lines_free(&l);
	tide__moment_profile_free(&a);
	tide__moment_profile_free(&b);
	tide__moment_profile_free(&c);
}

/* ---- reserved bytes ---- */

/* Five steps at any size, in blocks of 512 bytes; large enough for both pools. */
static tide_model *perform_large(uint64_t size)
{
	uint64_t peak;
	program.rows = 5 * size;
	tide_model *m = perform(size, &peak);
	for (size_t i = 1; i < m->allocs.n; i++) {
		m->allocs.requested[i] = 37 * m->allocs.size[i];
		m->allocs.size[i] = (m->allocs.requested[i] + 511) / 512 * 512;
	}
	return m;
}

static tide_sim_stats simulate(uint64_t size, uint64_t capacity, bool *out)
{
	tide_model *m = perform_large(size);
	tide_requests *q;
	tide_sim_result got;
	assert_int_equal(tide__requests_new(m, (tide_device_id){ 1 }, &q, NULL), TIDE_OK);
	tide_sim_config c = tide__sim_defaults();
	c.capacity = capacity;
	assert_int_equal(tide__sim_run(q, &c, TIDE_BEFORE_AGAIN, &got), TIDE_OK);
	*out = got.out;
	tide__requests_free(q);
	tide__model_free(m);
	return got.st;
}

/* The simulation of the predicted requests equals the simulation of the program's requests at that
 * size. */
static void reserved_bytes_are_those_of_the_program(void **state)
{
	for (unsigned round = 0; round < 40; round++) {
		tide_moment_profile a, b;
		tide_lines l;
		tide_predicted_reserved r;
		tide_sim_result got;
		bool out;
		seed = 4242424242u + 77 * round;
		invent();
		program.loader = false;
		uint64_t x = 2 + below(10), y = x + 1 + below(20);
		tide_model *m = perform_large(x), *o = perform_large(y);
		assert_int_equal(tide__find_moment_profile(m, 1, x, &a, NULL), TIDE_OK);
		assert_int_equal(tide__find_moment_profile(o, 1, y, &b, NULL), TIDE_OK);
		assert_int_equal(tide__find_lines(&a, &b, &l, NULL), TIDE_OK);
		assert_int_equal(tide__find_predicted_reserved(o, 1, &b, &l, &r, NULL), TIDE_OK);
		for (uint64_t size = 1; size < 150; size += 1 + below(60)) {
			tide_sim_stats want = simulate(size, 0, &out);
			assert_int_equal(tide__predicted_reserved_run(&r, size, 0, &got), TIDE_OK);
			assert_int_equal(got.st.reserved_peak, want.reserved_peak);
			assert_int_equal(got.st.allocated_peak, want.allocated_peak);
		}
		uint64_t fits, capacity = simulate(60, 0, &out).reserved_peak;
		assert_int_equal(tide__predicted_reserved_fits(&r, 1000, capacity, &fits), TIDE_OK);
		simulate(fits, capacity, &out);
		assert_false(out);
		if (fits < 1000)
			simulate(fits + 1, capacity, &out);
		assert_true(out || fits == 1000);
		tide__predicted_reserved_free(&r);
		tide__lines_free(&l);
		tide__moment_profile_free(&a);
		tide__moment_profile_free(&b);
		tide__model_free(m);
		tide__model_free(o);
	}
}

/* ---- arbitrary recordings ---- */

static void two_sizes_are_as_recorded(void **state)
{
	for (uint32_t round = 1; round < 200; round++) {
		tide_moment_profile a, b;
		tide_lines l;
		tide_model *m = some_model(round, 40, 120), *o = some_model(round * 7 + 1, 40, 90);
		uint64_t x = 1 + some_random(50), y = x + 1 + some_random(50), n = 0;
		assert_int_equal(tide__find_moment_profile(m, 1, x, &a, NULL), TIDE_OK);
		assert_int_equal(tide__find_moment_profile(o, 1, y, &b, NULL), TIDE_OK);
		assert_int_equal(tide__find_lines(&a, &b, &l, NULL), TIDE_OK);
		assert_int_equal(tide__predict(&l, x, NULL), a.peak);
		assert_int_equal(tide__predict(&l, y, NULL), b.peak);
		for (size_t k = 0; k < TIDE_LINE_KINDS_N; k++)
			n += l.moments[k];
		assert_int_equal(n, a.moments + b.moments);
		for (uint64_t size = 1; size < 300; size += 13)
			assert_true(tide__predict_most(&l, size) >= tide__predict(&l, size, NULL));
		tide__lines_free(&l);
		tide__moment_profile_free(&a);
		tide__moment_profile_free(&b);
		tide__model_free(m);
		tide__model_free(o);
	}
}

static void what_one_alone_does_is_told_from_around_it(void **state)
{
	tide_moment_profile a, b;
	tide_lines l;
	size_t at;
	struct run r = { .m = some_machine() }, s = { .m = some_machine() };
	drop(&r, make(&r, "conv", "direct", 100));
	make(&r, NULL, "other", 150);
	drop(&s, make(&s, "conv", "winograd", 300));
	make(&s, NULL, "other", 150);
	assert_int_equal(tide__find_moment_profile(r.m, 1, 1, &a, NULL), TIDE_OK);
	assert_int_equal(tide__find_moment_profile(s.m, 1, 2, &b, NULL), TIDE_OK);
	assert_int_equal(tide__find_lines(&a, &b, &l, NULL), TIDE_OK);
	assert_int_equal(l.moments[TIDE_LINE_AROUND], 2);
	assert_int_equal(l.moments[TIDE_LINE_MOMENT], 2);
	assert_int_equal(tide__predict(&l, 3, &at), 500); /* conv to conv, for any content */
	assert_int_equal(l.v[at].kind, TIDE_LINE_AROUND);
	tide__lines_free(&l);
	tide__moment_profile_free(&a);
	tide__moment_profile_free(&b);
	tide__model_free(r.m);
	tide__model_free(s.m);
}

/* ---- reading lines ---- */

static tide_line line(uint64_t a, uint64_t b)
{
	return (tide_line){ .at = { { .most = a, .least = a, .row = 1 },
				    { .most = b, .least = b, .row = 1 } } };
}

/* Against trying sizes one by one, on lines that rise, fall and stay. */
static void what_fits_is_what_trying_finds(void **state)
{
	enum { STEPS = 6, TRIED = 400 };
	for (unsigned round = 0; round < 2000; round++) {
		tide_line v[STEPS];
		seed = 1234567 + round;
		tide_lines l = { .v = v, .n = 1 + below(STEPS) };
		for (size_t i = 0; i < l.n; i++) {
			uint64_t a = below(2000);
			v[i] = line(a, below(4) ? a + below(300) : below(2000));
		}
		l.size[0] = 1 + below(20);
		l.size[1] = l.size[0] + 1 + below(20);
		l.more[0] = below(100);
		l.more[1] = below(100);
		uint64_t capacity = below(4000), fits = tide__predict_fits(&l, capacity);
		uint64_t found = 0;
		for (uint64_t size = 1; size <= TRIED; size++)
			if (tide__predict(&l, size, NULL) <= capacity)
				found = size;
		if (fits > TRIED) {
			assert_true(found == TRIED ||
				    tide__predict(&l, TRIED, NULL) > capacity); /* falls */
			assert_true(tide__predict(&l, fits, NULL) <= capacity);
			assert_true(fits == TIDE_MOST_SIZE ||
				    tide__predict(&l, fits + 1, NULL) > capacity);
		} else if (fits != found) {
			fail_msg("round %u: %u, not %u", round, (unsigned)fits, (unsigned)found);
		}
	}
}

static void rounded_up_and_never_below_nothing(void **state)
{
	tide_line v = line(100, 101);
	tide_lines l = { .size = { 2, 5 }, .v = &v, .n = 1 };
	size_t at = 9;
	assert_int_equal(tide__predict(&l, 3, &at), 101);
	assert_int_equal(at, 0);
	l.more[1] = 7;
	assert_int_equal(tide__predict(&l, 5, NULL), 108);
	l.more[1] = 0;
	assert_int_equal(tide__predict(&l, 2, NULL), 100);
	assert_int_equal(tide__on_line(&l, 0, 3, 8), 6);
	v = line(100, 10);
	assert_int_equal(tide__predict(&l, 50, NULL), 0);
	v = line(100, UINT64_MAX);
	assert_int_equal(tide__predict(&l, TIDE_MOST_SIZE, NULL), UINT64_MAX);
	v = line(100, 200);
	v.kind = TIDE_LINE_GROUP;
	v.at[0].least = 50;
	v.at[1].least = 20;
	assert_int_equal(tide__predict_most(&l, 8), 350); /* from 50 to 200, and on */
	assert_int_equal(tide__predict_most(&l, 1), 127); /* from 20 to 100 */
	assert_int_equal(tide__predict_most(&l, 3), tide__predict(&l, 3, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_third_recording_bends_lines),
		cmocka_unit_test(squares_show_in_two_recordings),
		cmocka_unit_test(other_growth_is_no_square),
		cmocka_unit_test(a_loop_that_extends_is_bounded),
		cmocka_unit_test(rounding_bends_nothing),
		cmocka_unit_test(trainings_are_predicted),
		cmocka_unit_test(what_existed_before_does_not_grow),
		cmocka_unit_test(reserved_bytes_are_those_of_the_program),
		cmocka_unit_test(two_sizes_are_as_recorded),
		cmocka_unit_test(what_one_alone_does_is_told_from_around_it),
		cmocka_unit_test(what_fits_is_what_trying_finds),
		cmocka_unit_test(rounded_up_and_never_below_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
