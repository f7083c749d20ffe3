// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/common/interval_set.h"
#include "analyze/timeline/tracks.h"
#include "base/mem.h"
#include "some_model.h"
#include "testing.h"

/* The definition: of two spans in a track, one contains the other or they do not overlap. */
static void check(const tide_model *m, const tide_tracks *t)
{
	for (uint32_t a = 1; a < m->spans.n; a++) {
		assert_int_equal(t->tracks[t->track[a]].lane.i, m->spans.lane[a].i);
		for (uint32_t b = a + 1; b < m->spans.n; b++) {
			int64_t a1 = tide__track_end(t, m, a), b1 = tide__track_end(t, m, b);
			if (t->track[a] == t->track[b])
				assert_true(m->spans.t0[b] >= a1 || b1 <= a1);
		}
	}
}

static void random_models(void **state)
{
	for (uint32_t seed = 1; seed <= 60; seed++) {
		tide_model *m = some_model(seed, 3 * seed, 0);
		tide_tracks t;
		assert_int_equal(tide__find_tracks(m, &t, NULL), TIDE_OK);
		assert_int_equal(t.n_cut, 0);
		check(m, &t);
		for (uint32_t k = 1; k < t.n_tracks; k++)
			assert_true(t.tracks[k].n > 0);
		tide__tracks_free(&t);
		tide__model_free(m);
	}
}

static void proper_nesting_needs_one_track(void **state)
{
	tide_model *m = some_machine();
	tide_tracks t;
	some_span(m, 1, TIDE_CAT_OP, "a", 0, 100);
	some_span(m, 1, TIDE_CAT_OP, "b", 0, 50);
	some_span(m, 1, TIDE_CAT_OP, "c", 10, 50);
	some_span(m, 1, TIDE_CAT_OP, "d", 50, 50);
	some_span(m, 1, TIDE_CAT_OP, "e", 50, 100);
	assert_int_equal(tide__find_tracks(m, &t, NULL), TIDE_OK);
	assert_int_equal(t.n_tracks, 2);
	tide__tracks_free(&t);
	tide__model_free(m);
}

static void the_longer_stays(void **state)
{
	tide_model *m = some_machine();
	tide_tracks t;
	uint32_t enter = some_span(m, 1, TIDE_CAT_PYTHON, "__enter__", 0, 10);
	uint32_t range = some_span(m, 1, TIDE_CAT_USER, "forward", 5, 100);
	uint32_t op = some_span(m, 1, TIDE_CAT_OP, "mm", 20, 30);
	assert_int_equal(tide__find_tracks(m, &t, NULL), TIDE_OK);
	assert_int_equal(t.tracks[t.track[enter]].number, 1);
	assert_int_equal(t.tracks[t.track[range]].number, 0);
	assert_int_equal(t.track[op], t.track[range]);
	tide__tracks_free(&t);
	tide__model_free(m);
}

static void stagger_is_bounded(void **state)
{
	tide_model *m = some_machine();
	tide_tracks t;
	enum { N = 600 };
	for (int64_t i = 0; i < N; i++) { /* every one overlaps every other */
		uint32_t s = tide__push(&m->spans, &tide_spans_desc);
		m->spans.lane[s].i = 1;
		m->spans.t0[s] = i;
		m->spans.t1[s] = i + N;
	}
	m->t_end = 2 * N;
	assert_int_equal(tide__find_tracks(m, &t, NULL), TIDE_OK);
	assert_int_equal(t.n_tracks - 1, TIDE_TRACKS_MAX);
	assert_int_equal(t.n_cut, N - TIDE_TRACKS_MAX);
	check(m, &t);
	tide__tracks_free(&t);
	tide__model_free(m);
}

static void no_memory(void **state)
{
	tide_model *m = some_model(3, 120, 0);
	for (uint64_t n = 1;; n++) {
		tide_tracks t;
		tide__mem_fail_at(n);
		tide_code rc = tide__find_tracks(m, &t, NULL);
		tide__mem_fail_at(0);
		if (rc == TIDE_OK) {
			assert_true(n > 5);
			tide__tracks_free(&t);
			break;
		}
	}
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_models),
		cmocka_unit_test(proper_nesting_needs_one_track),
		cmocka_unit_test(the_longer_stays),
		cmocka_unit_test(stagger_is_bounded),
		cmocka_unit_test(no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
