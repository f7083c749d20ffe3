// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/timeline/timeline.h"
#include "base/mem.h"
#include "some_model.h"
#include "testing.h"

struct row {
	const char *name;
	struct {
		uint32_t lane;
		unsigned cat;
		int64_t t0, t1;
	} s[4];
	int64_t total, cpu, gpu, overlap;
};

static const struct row rows[] = {
	{ "nothing", { { 0 } }, 0, 0, 0, 0 },
	{ "union of three",
	  { { 1, TIDE_CAT_OP, 0, 100 }, { 1, TIDE_CAT_OP, 50, 150 }, { 1, TIDE_CAT_OP, 200, 250 } },
	  250,
	  200,
	  0,
	  0 },
	{ "overlap is never counted twice",
	  { { 1, TIDE_CAT_OP, 0, 100 },
	    { 2, TIDE_CAT_OP, 0, 100 },
	    { 3, TIDE_CAT_KERNEL, 20, 60 },
	    { 4, TIDE_CAT_MEMCPY, 40, 80 } },
	  100,
	  100,
	  60,
	  60 },
	{ "a runtime call is the CPU's", { { 1, TIDE_CAT_RUNTIME, 5, 10 } }, 5, 5, 0, 0 },
	{ "a fill is the GPU's", { { 3, TIDE_CAT_MEMSET, 5, 10 } }, 5, 0, 5, 0 },
	{ "ranges and sync rows are not work",
	  { { 1, TIDE_CAT_USER, 0, 90 },
	    { 1, TIDE_CAT_OP, 10, 20 },
	    { 3, TIDE_CAT_GPU_USER, 10, 80 },
	    { 3, TIDE_CAT_SYNC, 30, 40 } },
	  10,
	  10,
	  0,
	  0 },
	{ "touching",
	  { { 1, TIDE_CAT_OP, 0, 10 }, { 3, TIDE_CAT_KERNEL, 10, 20 } },
	  20,
	  10,
	  10,
	  0 },
};

static void known(void **state)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_model *m = some_machine();
		tide_timeline t;
		for (size_t k = 0; k < 4 && rows[i].s[k].lane; k++)
			some_span(m, rows[i].s[k].lane, rows[i].s[k].cat, "x", rows[i].s[k].t0,
				  rows[i].s[k].t1);
		assert_int_equal(tide__find_timeline(m, NULL, &t, NULL), TIDE_OK);
		if (t.total_ns != rows[i].total || t.cpu_ns != rows[i].cpu ||
		    t.gpu_ns != rows[i].gpu || t.overlap_ns != rows[i].overlap)
			fail_msg("%s: total %lld cpu %lld gpu %lld overlap %lld", rows[i].name,
				 (long long)t.total_ns, (long long)t.cpu_ns, (long long)t.gpu_ns,
				 (long long)t.overlap_ns);
		tide__timeline_free(&t);
		tide__model_free(m);
	}
}

/* The obvious way: look at every nanosecond. */
static bool active_at(const tide_model *m, tide_side side, uint32_t lane, int64_t t)
{
	for (size_t i = 1; i < m->spans.n; i++)
		if (tide__side(m, i) == side && (!lane || m->spans.lane[i].i == lane) &&
		    m->spans.t0[i] <= t && t < m->spans.t1[i])
			return true;
	return false;
}

static void against_oracle(void **state)
{
	for (uint32_t seed = 1; seed <= 60; seed++) {
		tide_model *m = some_model(seed, seed, 0);
		tide_timeline t;
		int64_t cpu = 0, gpu = 0, both = 0;
		assert_int_equal(tide__find_timeline(m, NULL, &t, NULL), TIDE_OK);
		for (int64_t ns = 0; ns < m->t_end; ns++) {
			bool c = active_at(m, TIDE_SIDE_CPU, 0, ns);
			bool g = active_at(m, TIDE_SIDE_GPU, 0, ns);
			cpu += c;
			gpu += g;
			both += c && g;
		}
		assert_int_equal(t.cpu_ns, cpu);
		assert_int_equal(t.gpu_ns, gpu);
		assert_int_equal(t.overlap_ns, both);
		assert_true(t.cpu_ns + t.gpu_ns - t.overlap_ns <= t.total_ns);
		for (size_t l = 0; l < t.n_lanes; l++) {
			tide_side side = t.lanes[l].side;
			tide_side other = side == TIDE_SIDE_CPU ? TIDE_SIDE_GPU : TIDE_SIDE_CPU;
			int64_t active = 0, shared = 0;
			for (int64_t ns = 0; ns < m->t_end; ns++) {
				bool here = active_at(m, side, t.lanes[l].lane.i, ns);
				active += here;
				shared += here && active_at(m, other, 0, ns);
			}
			assert_int_equal(t.lanes[l].active_ns, active);
			assert_int_equal(t.lanes[l].overlap_ns, shared);
			assert_int_equal(
				tide__interval_set_inside_ns(&t.lanes[l].cover, 0, m->t_end),
				active);
		}
		tide__timeline_free(&t);
		tide__model_free(m);
	}
}

/* Few pieces and many, either way round: found by looking each up, or by walking over both. */
static void few_and_many(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 7, 40, 900 };
	uint64_t rng = 88172645463325252u;
	for (size_t round = 0; round < 36 * 20; round++) {
		tide_interval_set c[2] = { { 0 }, { 0 } };
		for (size_t k = 0; k < 2; k++) {
			int64_t t = 0, n = (int64_t)sizes[k ? round / 6 % 6 : round % 6];
			for (int64_t i = 0; i < n; i++) {
				rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
				t += 1 + (int64_t)(rng >> 40) % (2000 / n);
				int64_t end = t + 1 + (int64_t)(rng >> 20) % (1 + 2000 / n);
				assert_true(tide__interval_set_add(&c[k], t, end));
				t = end;
			}
		}
		int64_t *sums = tide__interval_set_sums(&c[1]),
			want = tide__interval_set_both_ns(&c[0], &c[1]);
		assert_int_equal(tide__interval_set_with_ns(&c[0], &c[1], sums), want);
		int64_t slow = 0;
		for (size_t i = 0; i < c[0].n; i++)
			slow += tide__interval_set_inside_ns(&c[1], c[0].t0[i], c[0].t1[i]);
		assert_int_equal(slow, want);
		tide__free(sums);
		tide__interval_set_free(&c[0]);
		tide__interval_set_free(&c[1]);
	}
}

static void options(void **state)
{
	tide_model *m = some_machine();
	tide_timeline t;
	some_span(m, 1, TIDE_CAT_PYTHON, "f", 0, 100);
	some_span(m, 1, TIDE_CAT_OP, "mm", 10, 40);
	some_span(m, 1, TIDE_CAT_RUNTIME, "launch", 50, 60);
	some_span(m, 3, TIDE_CAT_KERNEL, "k", 70, 73);
	tide_timeline_options o = { .no_python = true };
	assert_int_equal(tide__find_timeline(m, &o, &t, NULL), TIDE_OK);
	assert_int_equal(t.cpu_ns, 40);
	assert_int_equal(t.left_out, 1);
	tide__timeline_free(&t);
	o = (tide_timeline_options){ .no_python = true, .no_runtime = true, .min_ns = 5 };
	assert_int_equal(tide__find_timeline(m, &o, &t, NULL), TIDE_OK);
	assert_int_equal(t.cpu_ns, 30);
	assert_int_equal(t.gpu_ns, 0);
	assert_int_equal(t.left_out, 3);
	tide__timeline_free(&t);
	tide__model_free(m);
}

static void no_memory(void **state)
{
	tide_model *m = some_model(7, 60, 0);
	for (uint64_t n = 1;; n++) {
		tide_timeline t;
		tide_error err;
		tide__mem_fail_at(n);
		tide_code rc = tide__find_timeline(m, NULL, &t, &err);
		tide__mem_fail_at(0);
		if (rc == TIDE_OK) {
			assert_true(n > 3);
			tide__timeline_free(&t);
			break;
		}
		assert_int_equal(rc, TIDE_ENOMEM);
	}
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known),	cmocka_unit_test(against_oracle),
		cmocka_unit_test(few_and_many), cmocka_unit_test(options),
		cmocka_unit_test(no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
