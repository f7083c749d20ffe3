// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sorting and nesting of random spans against the definition read literally: a parent is the last
 * begun span of the same lane that contains it; to a reader that leaves overhead out, the same
 * holds of the others. References must follow their spans. */
#include <stdlib.h>

#include "base/mem.h"
#include "model/span_parents.h"
#include "testing.h"

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* A model of n random spans; span i has the name "i", so that the test finds it after sorting. */
static tide_model *random_model(uint32_t seed, size_t n)
{
	static const uint8_t cats[] = { TIDE_CAT_OP,	  TIDE_CAT_USER,  TIDE_CAT_PYTHON,
					TIDE_CAT_RUNTIME, TIDE_CAT_OTHER, TIDE_CAT_OVERHEAD };
	tide_model *m = tide__model_new();
	size_t row;
	assert_non_null(m);
	for (int i = 0; i < 3; i++)
		assert_true(tide__push(&m->lanes, &tide_lanes_desc));
	for (size_t i = 1; i <= n; i++) {
		char name[2] = { (char)(1 + i % 250), (char)(1 + i / 250) };
		uint32_t r = tide__push(&m->spans, &tide_spans_desc);
		m->spans.t0[r] = next(&seed) % 50;
		m->spans.t1[r] = m->spans.t0[r] + next(&seed) % (next(&seed) % 4 ? 8 : 40);
		m->spans.lane[r].i = 1 + next(&seed) % 3;
		m->spans.cat[r] = cats[next(&seed) % sizeof cats];
		m->spans.name[r] = tide__intern_n(m, name, sizeof name);
		m->spans.cause[r].i = next(&seed) % (uint32_t)(n + 1);
		if (m->spans.cause[r].i == r)
			m->spans.cause[r].i = 0;
	}
	for (size_t i = 0; i < n / 2; i++) {
		assert_true(tide__table_push(&m->attrs, &tide_attrs_desc, &row));
		m->attrs.span[row].i = 1 + next(&seed) % (uint32_t)n;
		m->attrs.key[row] = m->spans.name[m->attrs.span[row].i];
		assert_true(tide__table_push(&m->flows, &tide_flows_desc, &row));
		m->flows.from[row].i = 1 + next(&seed) % (uint32_t)n;
		m->flows.to[row].i = 1 + next(&seed) % (uint32_t)n;
	}
	m->t_end = 1000;
	return m;
}

/* The innermost span around i that is not overhead. */
static uint32_t parent_but_overhead(const tide_spans *s, uint32_t i)
{
	do
		i = s->parent[i].i;
	while (i && s->cat[i] == TIDE_CAT_OVERHEAD);
	return i;
}

/* order: place of every span in the input. */
static uint32_t obvious_parent(const tide_spans *s, const uint32_t *order, uint32_t i)
{
	uint32_t best = 0;
	for (uint32_t p = 1; p < i; p++) {
		bool ops = s->cat[p] == TIDE_CAT_OP && s->cat[i] == TIDE_CAT_OP;
		bool precedes =
			s->t0[i] == s->t1[i] && s->t0[p] == s->t0[i] && ops && order[i] < order[p];
		if (s->cat[p] == TIDE_CAT_OVERHEAD)
			continue;
		if (s->lane[p].i == s->lane[i].i && s->t0[p] < s->t1[p] && s->t1[p] > s->t0[i] &&
		    s->t1[p] >= s->t1[i] && !precedes)
			best = p;
	}
	return best;
}

static void test_random(void **state)
{
	for (uint32_t seed = 1; seed < 300; seed++) {
		size_t n = 1 + seed % 90;
		tide_model *m = random_model(seed, n), *was = random_model(seed, n);
		uint32_t column[100], ref[100];
		tide_error err = { 0 };
		for (uint32_t i = 0; i <= n; i++)
			column[i] = ref[i] = i;
		tide_parent_column c = { column, sizeof *column };
		tide_parent_ref r = { ref, n + 1, sizeof *ref };
		assert_true(tide__find_span_parents(m, &c, 1, &r, 1));
		for (uint32_t i = 1; i <= n; i++) {
			uint32_t old = column[i];
			assert_int_equal(m->spans.name[i].i, was->spans.name[old].i);
			assert_int_equal(ref[old], i);
			assert_int_equal(column[m->spans.cause[i].i], was->spans.cause[old].i);
			if (m->spans.cat[i] != TIDE_CAT_OVERHEAD)
				assert_int_equal(parent_but_overhead(&m->spans, i),
						 obvious_parent(&m->spans, column, i));
		}
		for (size_t i = 0; i < m->attrs.n; i++)
			assert_int_equal(m->attrs.key[i].i, m->spans.name[m->attrs.span[i].i].i);
		if (tide__model_check(m, &err) != TIDE_OK)
			fail_msg("seed %u: %s", seed, err.text);
		tide__model_free(m);
		tide__model_free(was);
	}
}

/* If two spans begin and end together, the one in the earlier category is the parent, in any input
 * order. */
static void test_same_times(void **state)
{
	static const uint8_t order[][2] = {
		{ TIDE_CAT_USER, TIDE_CAT_PYTHON },	{ TIDE_CAT_PYTHON, TIDE_CAT_OP },
		{ TIDE_CAT_OP, TIDE_CAT_RUNTIME },	{ TIDE_CAT_RUNTIME, TIDE_CAT_DRIVER },
		{ TIDE_CAT_DRIVER, TIDE_CAT_OTHER },	{ TIDE_CAT_GPU_USER, TIDE_CAT_KERNEL },
		{ TIDE_CAT_GPU_USER, TIDE_CAT_MEMCPY },
	};
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		for (int swapped = 0; swapped < 2; swapped++) {
			tide_model *m = tide__model_new();
			assert_true(tide__push(&m->lanes, &tide_lanes_desc));
			for (int k = 0; k < 2; k++) {
				uint32_t r = tide__push(&m->spans, &tide_spans_desc);
				m->spans.lane[r].i = 1;
				m->spans.t1[r] = 10;
				m->spans.cat[r] = order[i][k ^ swapped];
			}
			assert_true(tide__find_span_parents(m, NULL, 0, NULL, 0));
			if (m->spans.cat[1] != order[i][0] || m->spans.parent[2].i != 1)
				fail_msg("%s is not outside %s", tide__cat_text(order[i][0]),
					 tide__cat_text(order[i][1]));
			tide__model_free(m);
		}
}

/* Ops of one lane, each inside `parent` (its place in the input + 1), as PyTorch writes them. */
static void test_no_time(void **state)
{
	static const struct {
		const char *name;
		struct {
			int64_t t0, t1;
			uint32_t parent;
		} ops[4];
	} rows[] = {
		{ "neighbours at one moment",
		  { { 5, 5, 0 }, { 5, 5, 0 }, { 5, 5, 0 }, { 6, 7, 0 } } },
		{ "at the begin, after it",
		  { { 5, 9, 0 }, { 5, 5, 1 }, { 6, 6, 1 }, { 9, 9, 0 } } },
		{ "at the begin, before it",
		  { { 5, 5, 0 }, { 5, 9, 0 }, { 5, 6, 2 }, { 7, 7, 2 } } },
		{ "between two that begin with it",
		  { { 5, 9, 0 }, { 5, 5, 1 }, { 5, 8, 1 }, { 6, 7, 3 } } },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_model *m = tide__model_new();
		uint32_t column[5] = { 0, 1, 2, 3, 4 };
		tide_parent_column c = { column, sizeof *column };
		assert_true(tide__push(&m->lanes, &tide_lanes_desc));
		for (int k = 0; k < 4; k++) {
			uint32_t r = tide__push(&m->spans, &tide_spans_desc);
			m->spans.lane[r].i = 1;
			m->spans.cat[r] = TIDE_CAT_OP;
			m->spans.t0[r] = rows[i].ops[k].t0;
			m->spans.t1[r] = rows[i].ops[k].t1;
		}
		assert_true(tide__find_span_parents(m, &c, 1, NULL, 0));
		for (uint32_t r = 1; r <= 4; r++)
			if (column[m->spans.parent[r].i] != rows[i].ops[column[r] - 1].parent)
				fail_msg("%s: the parent of op %u is %u", rows[i].name, column[r],
					 column[m->spans.parent[r].i]);
		tide__model_free(m);
	}
}

static void test_exhaustion(void **state)
{
	for (uint64_t i = 1;; i++) {
		tide_model *m = random_model(7, 40);
		tide__mem_fail_at(i);
		bool ok = tide__find_span_parents(m, NULL, 0, NULL, 0),
		     reached = tide__mem_count() >= i;
		tide__mem_fail_at(0);
		tide__model_free(m);
		assert_int_equal(ok, !reached);
		if (!reached)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random),
					    cmocka_unit_test(test_same_times),
					    cmocka_unit_test(test_no_time),
					    cmocka_unit_test(test_exhaustion) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
