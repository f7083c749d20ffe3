// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Kernel sequences against the definition, word for word, on random models. */
#include "some_model.h"
#include "testing.h"

#include "analyze/device/sequences.h"

static unsigned depth_of(const tide_model *m, uint32_t s)
{
	unsigned d = 0;
	for (uint32_t p = m->spans.parent[s].i; p; p = m->spans.parent[p].i)
		d++;
	return d;
}

static bool counts(const tide_model *m, uint32_t s, const char *op, int64_t from, int64_t to)
{
	return m->lanes.kind[m->spans.lane[s].i] != TIDE_LANE_STREAM &&
	       !tide__cat_is_gpu(m->spans.cat[s]) && m->spans.t0[s] >= from &&
	       m->spans.t0[s] < to && strstr(tide__text(m, m->spans.name[s], NULL), op);
}

static bool below(const tide_model *m, uint32_t row, uint32_t op)
{
	for (uint32_t p = tide__cat_is_gpu(m->spans.cat[row]) ? m->spans.cause[row].i : 0; p;
	     p = m->spans.parent[p].i)
		if (p == op)
			return true;
	return false;
}

/* The pattern of an op as one text, "" when it has too few kernels. */
static void pattern(const tide_model *m, uint32_t op, size_t least, char *out, size_t room,
		    int64_t *gpu)
{
	size_t n = 0;
	*gpu = 0;
	snprintf(out, room, "%s", tide__text(m, m->spans.name[op], NULL));
	for (uint32_t s = 1; s < m->spans.n; s++) {
		if (!below(m, s, op))
			continue;
		size_t len = strlen(out);
		snprintf(out + len, room - len, "|%s", tide__text(m, m->spans.name[s], NULL));
		*gpu += m->spans.t1[s] - m->spans.t0[s];
		n++;
	}
	if (n < least)
		*out = 0;
}

static void joined(const tide_model *m, const tide_sequences *q, const tide_sequence *v, char *out,
		   size_t room)
{
	*out = 0;
	for (size_t i = 0; i < v->length; i++) {
		size_t len = strlen(out);
		snprintf(out + len, room - len, "%s%s", i ? "|" : "",
			 tide__text(m, q->names[v->first + i], NULL));
	}
}

/* The more frequent first, then by their names, the first that differs. */
static bool in_order(const tide_model *m, const tide_sequences *q, const tide_sequence *x,
		     const tide_sequence *y)
{
	if (x->count != y->count)
		return x->count > y->count;
	for (size_t i = 0;; i++) {
		if (i == x->length || i == y->length)
			return x->length < y->length;
		int c = strcmp(tide__text(m, q->names[x->first + i], NULL),
			       tide__text(m, q->names[y->first + i], NULL));
		if (c)
			return c < 0;
	}
}

static void compare(const tide_model *m, const char *op, size_t least, int64_t from, int64_t to)
{
	tide_sequences q;
	tide_error err;
	unsigned shallow = UINT32_MAX;
	uint64_t ops = 0;
	assert_int_equal(tide__find_sequences(m, op, least, from, to, &q, &err), TIDE_OK);
	for (size_t i = 1; i < q.n; i++)
		assert_true(in_order(m, &q, &q.v[i - 1], &q.v[i]));
	for (uint32_t s = 1; s < m->spans.n; s++)
		if (counts(m, s, op, from, to) && depth_of(m, s) < shallow)
			shallow = depth_of(m, s);
	for (uint32_t s = 1; s < m->spans.n;
	     s++) { /* every op that counts is in the pattern it should be in */
		char want[8192], have[8192];
		int64_t gpu;
		if (!counts(m, s, op, from, to) || depth_of(m, s) != shallow)
			continue;
		pattern(m, s, least, want, sizeof want, &gpu);
		if (!*want)
			continue;
		ops++;
		size_t i = 0;
		for (; i < q.n; i++) {
			joined(m, &q, &q.v[i], have, sizeof have);
			if (!strcmp(want, have))
				break;
		}
		assert_true(i < q.n);
		q.v[i].count--;
		q.v[i].gpu_ns -= gpu;
		q.v[i].cpu_ns -= m->spans.t1[s] - m->spans.t0[s];
	}
	assert_int_equal(q.ops, ops);
	for (size_t i = 0; i < q.n; i++) { /* and nothing else is */
		assert_int_equal(q.v[i].count, 0);
		assert_int_equal(q.v[i].gpu_ns, 0);
		assert_int_equal(q.v[i].cpu_ns, 0);
	}
	tide__sequences_free(&q);
}

static void random_models(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 150; seed++) {
		tide_model *m = some_model(seed, 60, 5);
		for (uint32_t s = 1; s < m->spans.n; s += 7) {
			const char *name = tide__text(m, m->spans.name[s], NULL);
			compare(m, name, 1 + seed % 3, INT64_MIN, INT64_MAX);
			compare(m, name, 1, 20, 80);
		}
		tide__model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(random_models) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
