// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/common/interval_set.h"
#include "analyze/compare/diff.h"
#include "analyze/compare/thresholds.h"
#include "base/mem.h"
#include "some_model.h"
#include "testing.h"

static const tide_diff_row *row(const tide_diff *d, tide_diff_kind k, const char *name)
{
	for (size_t i = 0; i < d->table[k].n; i++)
		if (!strcmp(tide__flame_name(d->tree, d->table[k].rows[i].node, NULL), name))
			return &d->table[k].rows[i];
	return NULL;
}

static void sums(const tide_diff_table *t, uint64_t *count, uint64_t *value)
{
	count[0] = count[1] = value[0] = value[1] = 0;
	for (size_t i = 0; i < t->n; i++)
		for (int s = 0; s < 2; s++) {
			count[s] += t->rows[i].count[s];
			value[s] += t->rows[i].value[s];
		}
}

/* Count and summed duration of kernels of one name, the obvious way. */
static void oracle_kernel(const tide_model *m, const char *name, uint64_t *count, uint64_t *ns)
{
	*count = *ns = 0;
	for (size_t i = 1; i < m->spans.n; i++)
		if (tide__cat_is_gpu(m->spans.cat[i]) &&
		    !strcmp(tide__text(m, m->spans.name[i], NULL), name)) {
			++*count;
			*ns += (uint64_t)(m->spans.t1[i] - m->spans.t0[i]);
		}
}

static void check_order(const tide_diff_table *t)
{
	size_t statuses = 0;
	for (size_t i = 1; i < t->n; i++) {
		const uint64_t *x = t->rows[i - 1].value, *y = t->rows[i].value;
		uint64_t ex = x[0] > x[1] ? x[0] - x[1] : x[1] - x[0];
		uint64_t ey = y[0] > y[1] ? y[0] - y[1] : y[1] - y[0];
		assert_true(ex >= ey);
	}
	for (int s = 0; s < 4; s++)
		statuses += t->by_status[s];
	assert_int_equal(statuses, t->n);
}

static void against_oracle(void **state)
{
	for (uint32_t seed = 1; seed <= 40; seed++) {
		tide_model *a = some_model(seed, 3 * seed, 40);
		tide_model *b = some_model(seed + 1000, 2 * seed, 50);
		const tide_model *m[2] = { a, b };
		tide_diff d;
		uint64_t count[2], value[2];
		assert_int_equal(tide__find_diff(a, b, NULL, &d, NULL), TIDE_OK);
		for (unsigned k = 0; k < TIDE_N_DIFF_KINDS; k++)
			check_order(&d.table[k]);
		for (size_t i = 0; i < d.table[TIDE_DIFF_KERNEL].n; i++) {
			const tide_diff_row *r = &d.table[TIDE_DIFF_KERNEL].rows[i];
			for (int s = 0; s < 2; s++) {
				uint64_t n, ns;
				oracle_kernel(m[s], tide__flame_name(d.tree, r->node, NULL), &n,
					      &ns);
				assert_int_equal(r->count[s], n);
				assert_int_equal(r->value[s], ns);
			}
		}
		sums(&d.table[TIDE_DIFF_KERNEL], count, value);
		assert_int_equal(value[0], d.metric[TIDE_METRIC_KERNEL_TIME][0]);
		assert_int_equal(value[1], d.metric[TIDE_METRIC_KERNEL_TIME][1]);
		for (unsigned k = TIDE_DIFF_DEVICE_OP; k <= TIDE_DIFF_DEVICE_CATEGORY; k++) {
			sums(&d.table[k], count, value);
			assert_int_equal(value[0], d.metric[TIDE_METRIC_KERNEL_TIME][0]);
			assert_int_equal(value[1], d.metric[TIDE_METRIC_KERNEL_TIME][1]);
		}
		for (unsigned k = TIDE_DIFF_STACK; k <= TIDE_DIFF_ROLE; k++) {
			sums(&d.table[k], count, value);
			assert_int_equal(value[0], d.metric[TIDE_METRIC_PEAK][0]);
			assert_int_equal(value[1], d.metric[TIDE_METRIC_PEAK][1]);
		}
		sums(&d.table[TIDE_DIFF_OP], count, value);
		for (int s = 0; s < 2; s++) {
			tide_flame *f;
			assert_int_equal(tide__find_flame(m[s], NULL, &f, NULL), TIDE_OK);
			assert_int_equal(value[s], f->nodes.total[0]);
			tide__flame_free(f);
		}
		tide__diff_free(&d);
		tide__model_free(a);
		tide__model_free(b);
	}
}

static void same_trace_is_the_same(void **state)
{
	tide_model *m = some_model(9, 100, 60);
	tide_diff d;
	assert_int_equal(tide__find_diff(m, m, NULL, &d, NULL), TIDE_OK);
	for (unsigned k = 0; k < TIDE_N_DIFF_KINDS; k++)
		assert_int_equal(d.table[k].by_status[TIDE_DIFF_SAME], d.table[k].n);
	for (unsigned k = 0; k < TIDE_N_METRICS; k++)
		assert_int_equal(d.metric[k][0], d.metric[k][1]);
	tide__diff_free(&d);
	tide__model_free(m);
}

static void known_case(void **state)
{
	tide_model *a = some_machine(), *b = some_machine();
	tide_diff d;
	tide_failif f;
	some_span(a, 1, TIDE_CAT_OP, "linear", 0, 100); /* recursion counts once in the total */
	some_span(a, 1, TIDE_CAT_OP, "linear", 10, 90);
	some_span(a, 1, TIDE_CAT_PYTHON, "<f at 0x7fe708f28800>", 100, 110);
	some_span(a, 3, TIDE_CAT_KERNEL, "gone", 20, 50);
	some_span(b, 1, TIDE_CAT_OP, "linear", 0, 40);
	some_span(b, 1, TIDE_CAT_PYTHON, "<f at 0x7f0000000010>", 40, 60);
	some_span(b, 3, TIDE_CAT_KERNEL, "new", 20, 27);
	some_alloc(a, 1, 1000, 5);
	some_alloc(b, 1, 1021, 5);
	assert_int_equal(tide__find_diff(a, b, NULL, &d, NULL), TIDE_OK);
	const tide_diff_row *r = row(&d, TIDE_DIFF_OP, "linear");
	assert_int_equal(r->total[0], 100);
	assert_int_equal(r->value[0], 100);
	assert_int_equal(r->count[0], 2);
	assert_int_equal(r->total[1], 40);
	assert_int_equal(tide__diff_status(r), TIDE_DIFF_CHANGED);
	r = row(&d, TIDE_DIFF_OP, "<f at 0x*>"); /* one object in two runs */
	assert_non_null(r);
	assert_int_equal(r->value[0] + r->value[1], 30);
	assert_int_equal(tide__diff_status(row(&d, TIDE_DIFF_KERNEL, "gone")), TIDE_DIFF_REMOVED);
	assert_int_equal(tide__diff_status(row(&d, TIDE_DIFF_KERNEL, "new")), TIDE_DIFF_ADDED);
	assert_int_equal(tide__failif_parse("peak>+2%", &f, NULL), TIDE_OK);
	assert_true(tide__failif_check(&f, &d).crossed);
	assert_int_equal(tide__failif_parse("peak(unknown)>+21B", &f, NULL), TIDE_OK);
	assert_false(tide__failif_check(&f, &d).crossed);
	assert_int_equal(tide__failif_parse("count(*)>=4", &f, NULL), TIDE_OK);
	tide_fail_result c = tide__failif_check(&f, &d);
	assert_int_equal(c.a, 4);
	assert_int_equal(c.b, 3);
	assert_false(c.crossed);
	assert_int_equal(tide__failif_parse("kernel_time(n*)>6ns", &f, NULL), TIDE_OK);
	assert_true(tide__failif_check(&f, &d).crossed);
	assert_int_equal(tide__failif_parse("op_time(linear)<+0%", &f, NULL), TIDE_OK);
	assert_true(tide__failif_check(&f, &d).crossed);
	tide__diff_free(&d);
	tide__model_free(a);
	tide__model_free(b);
}

/* Ops inside others that match are not counted again. */
static void nested_op_time(void **state)
{
	static const struct {
		const char *text;
		uint64_t want;
	} rows[] = { { "op_time(aten::*)>1ns", 130 },
		     { "op_time(*)>1ns", 250 },
		     { "op_time(aten::addmm)>1ns", 80 },
		     { "op_time(*mm)>1ns", 80 } };
	tide_model *m = some_machine();
	tide_diff d;
	tide_failif f;
	some_span(m, 1, TIDE_CAT_PYTHON, "main", 0, 250);
	some_span(m, 1, TIDE_CAT_OP, "aten::linear", 0, 100);
	some_span(m, 1, TIDE_CAT_OP, "aten::addmm", 10, 60);
	some_span(m, 1, TIDE_CAT_OP, "aten::mm", 20, 30);
	some_span(m, 1, TIDE_CAT_OP, "aten::addmm", 200, 230);
	assert_int_equal(tide__find_diff(m, m, NULL, &d, NULL), TIDE_OK);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(tide__failif_parse(rows[i].text, &f, NULL), TIDE_OK);
		assert_int_equal(tide__failif_check(&f, &d).b, rows[i].want);
	}
	tide__diff_free(&d);
	tide__model_free(m);
}

/* Objects that differ by their address alone are one name, also inside each other. */
static void nested_addresses(void **state)
{
	tide_model *m = some_machine();
	tide_diff d;
	some_span(m, 1, TIDE_CAT_PYTHON, "<f at 0x7fe708f28800>", 0, 100);
	some_span(m, 1, TIDE_CAT_PYTHON, "<f at 0x7fe708f28900>", 10, 30);
	assert_int_equal(tide__find_diff(m, m, NULL, &d, NULL), TIDE_OK);
	const tide_diff_row *r = row(&d, TIDE_DIFF_OP, "<f at 0x*>");
	assert_int_equal(r->count[0], 2);
	assert_int_equal(r->value[0], 100);
	assert_int_equal(r->total[0], 100); /* not 120 */
	tide__diff_free(&d);
	tide__model_free(m);
}

static tide_model *one_step(const char *name)
{
	tide_model *m = some_machine();
	some_span(m, 1, TIDE_CAT_USER, name, 0, 100);
	some_span(m, 1, TIDE_CAT_OP, "aten::mm", 10, 30);
	uint32_t a = some_alloc(m, 1, 64, 15);
	m->allocs.lane[a].i = 1;
	m->allocs.span[a].i = 2;
	return m;
}

/* Two recordings begin at different steps: the same work is the same. */
static void steps_are_one_name(void **state)
{
	tide_model *a = one_step("ProfilerStep#3"), *b = one_step("ProfilerStep#12");
	tide_diff d;
	assert_int_equal(tide__find_diff(a, b, NULL, &d, NULL), TIDE_OK);
	for (unsigned k = 0; k < TIDE_N_DIFF_KINDS; k++)
		for (size_t i = 0; i < d.table[k].n; i++)
			assert_int_equal(tide__diff_status(&d.table[k].rows[i]), TIDE_DIFF_SAME);
	assert_int_equal(row(&d, TIDE_DIFF_OP, "ProfilerStep#*")->value[1], 80);
	tide__diff_free(&d);
	tide__model_free(a);
	tide__model_free(b);
}

static void what_is_missing_is_unknown(void **state)
{
	tide_model *a = tide__model_new(), *b = some_model(3, 30, 20);
	tide_diff d;
	assert_int_equal(tide__find_diff(a, b, NULL, &d, NULL), TIDE_OK);
	for (unsigned k = 0; k < TIDE_N_METRICS; k++)
		assert_false(d.known[k][0]);
	assert_true(d.known[TIDE_METRIC_PEAK][1]);
	assert_false(d.known[TIDE_METRIC_RESERVED][1]);
	tide__diff_free(&d);
	tide__model_free(a);
	tide__model_free(b);
}

static void no_memory(void **state)
{
	tide_model *a = some_model(5, 30, 20), *b = some_model(6, 30, 20);
	for (uint64_t n = 1;; n++) {
		tide_diff d;
		tide__mem_fail_at(n);
		tide_code rc = tide__find_diff(a, b, NULL, &d, NULL);
		tide__mem_fail_at(0);
		if (rc == TIDE_OK) {
			assert_true(n > 20);
			tide__diff_free(&d);
			break;
		}
		assert_int_equal(rc, TIDE_ENOMEM);
	}
	tide__model_free(a);
	tide__model_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_oracle), cmocka_unit_test(same_trace_is_the_same),
		cmocka_unit_test(known_case),	  cmocka_unit_test(what_is_missing_is_unknown),
		cmocka_unit_test(no_memory),	  cmocka_unit_test(nested_addresses),
		cmocka_unit_test(nested_op_time), cmocka_unit_test(steps_are_one_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
