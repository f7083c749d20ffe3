// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Every report of the registry, by the doors of C, HTTP and Python: what they once did differently, and
 * every report with failing memory. */
#include <stdlib.h>
#include <string.h>

#include <tidemark/analyze.h>

#include "base/mem.h"
#include "report/arrow.h"
#include "report/csv.h"
#include "report/registry.h"
#include "report/rows.h"
#include "report/schema.h"
#include "report/text.h"
#include "some_model.h"
#include "testing.h"

static const char *const groupings[] = { "op",	   "stack", "tensor", "role",  "pool",
					 "stream", "size",  "frame",  "module" };

static tide_code find(const char *name, const tide_model *m, const char *option, const char *value,
		      tide_report **out, tide_error *err)
{
	const tide_trace *t = (const tide_trace *)m;
	const char *options[] = { option, value, NULL };
	return tide_report_find(name, &t, 1, options, out, err);
}

static uint64_t number(tide_report *r, const char *key)
{
	return tide_node_uint(tide_node_get(tide_report_root(r), key), UINT64_MAX);
}

static char *text_of(tide_report *r)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	assert_int_equal(tide_report_print(r, f, NULL), TIDE_OK);
	fclose(f);
	return text;
}

/* Two allocations on an axis of operations: one more byte at each of the first five. */
static tide_model *by_ops(void)
{
	tide_model *m = some_machine();
	m->axis = TIDE_AXIS_OPS;
	for (int i = 0; i < 5; i++)
		some_alloc(m, 1, 100, i * TIDE_OP_NS);
	m->t_end = 4 * TIDE_OP_NS;
	return m;
}

/* `at` of every door takes an operation, and text has operations, not durations. */
static void operations(void **state)
{
	tide_model *m = by_ops();
	tide_peak_options o = TIDE_PEAK_OPTIONS_INIT;
	tide_report *r;
	tide_error err;
	o.at = "op 2";
	assert_int_equal(tide_peak_find((tide_trace *)m, &o, &r, &err), TIDE_OK);
	assert_int_equal(number(r, "alive_bytes"), 300);
	tide_report_free(r);
	assert_int_equal(find("peak", m, "at", "op 2", &r, &err), TIDE_OK);
	assert_int_equal(number(r, "alive_bytes"), 300);
	char *text = text_of(r);
	assert_non_null(strstr(text, "op 2"));
	assert_null(strstr(text, " us"));
	free(text);
	tide_report_free(r);
	some_span(m, 1, TIDE_CAT_OP, "add", 0, 2 * TIDE_OP_NS);
	assert_int_equal(find("ops", m, "flat", "true", &r, &err), TIDE_OK);
	const tide_node *row = tide_node_at(tide_node_get(tide_report_root(r), "ops"), 0);
	assert_int_equal(tide_node_type(tide_node_get(row, "wall_ns")), TIDE_NODE_NULL);
	tide_report_free(r);
	assert_int_equal(find("peak", m, "at", "op 9", &r, &err), TIDE_EUSAGE);
	assert_null(r);
	tide__model_free(m);
	(void)state;
}

/* The groupings of peak, leaks and oom are the same words in every door. */
static void words_of_groups(void **state)
{
	tide_model *m = some_model(3, 40, 60);
	tide_report *r;
	tide_error err;
	for (size_t i = 0; i < sizeof groupings / sizeof *groupings; i++) {
		tide_leaks_options o = TIDE_LEAKS_OPTIONS_INIT;
		o.group_by = groupings[i];
		if (tide_leaks_find((tide_trace *)m, &o, &r, &err) != TIDE_OK)
			fail_msg("C: leaks by %s: %s", groupings[i], err.text);
		tide_report_free(r);
		static const char *const reports[] = { "peak", "leaks", "oom" };
		for (size_t k = 0; k < 3; k++) {
			if (find(reports[k], m, "group_by", groupings[i], &r, &err) != TIDE_OK)
				fail_msg("%s by %s: %s", reports[k], groupings[i], err.text);
			tide_report_free(r);
			assert_int_equal(find(reports[k], m, "group_by", "x", &r, &err),
					 TIDE_EUSAGE);
		}
	}
	tide__model_free(m);
	(void)state;
}

static void pools(void **state)
{
	tide_model *m = some_machine();
	uint32_t l1 = tide__push(&m->pools, &tide_pools_desc);
	tide_report *r;
	tide_error err;
	m->pools.device[l1].i = m->pools.device[1].i;
	m->pools.kind[l1] = TIDE_POOL_L1;
	m->pools.name[l1] = tide__intern(m, "L1");
	some_alloc(m, 1, 100, 0);
	some_alloc(m, l1, 7, 1);
	m->t_end = 5;
	tide_peak_options o = TIDE_PEAK_OPTIONS_INIT;
	o.pool = "L1";
	assert_int_equal(tide_peak_find((tide_trace *)m, &o, &r, &err), TIDE_OK);
	assert_int_equal(number(r, "peak_bytes"), 7);
	tide_report_free(r);
	assert_int_equal(find("peak", m, "pool", "L1", &r, &err), TIDE_OK);
	assert_int_equal(number(r, "peak_bytes"), 7);
	tide_report_free(r);
	assert_int_equal(find("peak", m, "pool", "L9", &r, &err), TIDE_ENOTFOUND);
	tide__model_free(m);
	(void)state;
}

/* Two recordings of the same program; `bytes` is the larger allocation of the second. */
static void two(tide_model *m[2], uint64_t bytes)
{
	static char path[] = "run.tide";
	for (int i = 0; i < 2; i++) {
		m[i] = some_machine();
		m[i]->path = path;
		some_alloc(m[i], 1, 100, 0);
		some_alloc(m[i], 1, i ? bytes : 200, 1);
		m[i]->t_end = 5;
	}
}

static void free_two(tide_model *m[2])
{
	for (int i = 0; i < 2; i++) {
		m[i]->path = NULL;
		tide__model_free(m[i]);
	}
}

/* A pair: the conditions of fail_if are kept by the report; a wrong one is named. */
static void pairs_of_traces(void **state)
{
	tide_model *m[2];
	tide_report *r;
	tide_error err;
	two(m, 300);
	const tide_trace *t[] = { (tide_trace *)m[0], (tide_trace *)m[1] };
	char limit[] = "peak>+10%";
	const char *limits[] = { limit };
	tide_diff_report_options o = TIDE_DIFF_REPORT_OPTIONS_INIT;
	o.fail_if = limits;
	o.n_fail_if = 1;
	assert_int_equal(tide_diff_find(t[0], t[1], &o, &r, &err), TIDE_OK);
	memset(limit, 'x', sizeof limit - 1); /* borrowed for the call only */
	const tide_node *check = tide_node_at(tide_node_get(tide_report_root(r), "fail_if"), 0);
	assert_string_equal(tide_node_text(tide_node_get(check, "expression"), NULL), "peak>+10%");
	assert_true(tide_node_bool(tide_node_get(check, "crossed"), false));
	tide_report_free(r);
	assert_int_equal(tide_diff_find(t[0], t[1], &o, &r, &err), TIDE_EUSAGE);
	assert_non_null(strstr(err.text, "fail_if 'xxx"));
	const char *plain[] = { NULL };
	assert_int_equal(tide_report_find("diff", t, 1, plain, &r, &err), TIDE_EUSAGE);
	assert_int_equal(tide_report_find("diff", t, 0, plain, &r, &err), TIDE_EUSAGE);
	free_two(m);
	(void)state;
}

/* Sizes and lists of numbers; more work that needs less memory is refused. */
static void sizes_of_work(void **state)
{
	tide_model *m[2];
	tide_report *r;
	tide_error err;
	two(m, 300);
	const tide_trace *t[] = { (tide_trace *)m[0], (tide_trace *)m[1] };
	const uint64_t size[] = { 1, 2 }, swapped[] = { 2, 1 }, same[] = { 2, 2 };
	uint64_t at[] = { 3, 7 };
	tide_predict_options o = TIDE_PREDICT_OPTIONS_INIT;
	o.at = at;
	o.n_at = 2;
	assert_int_equal(tide_predict_find(t, size, 2, &o, &r, &err), TIDE_OK);
	const tide_node *rows = tide_node_get(tide_report_root(r), "sizes");
	assert_int_equal(tide_node_count(rows), 4); /* 1, 2, 3, 7 */
	assert_int_equal(tide_node_uint(tide_node_get(tide_node_at(rows, 3), "size"), 0), 7);
	assert_int_equal(tide_node_uint(tide_node_get(tide_node_at(rows, 3), "peak_bytes"), 0),
			 900); /* 300 + 100 for each more */
	tide_report_free(r);
	assert_int_equal(tide_predict_find(t, swapped, 2, &o, &r, &err), TIDE_EUSAGE);
	assert_non_null(strstr(err.text, "holds less than"));
	assert_int_equal(tide_predict_find(t, same, 2, &o, &r, &err), TIDE_EUSAGE);
	assert_int_equal(tide_predict_find(t, size, 1, &o, &r, &err), TIDE_EUSAGE);
	assert_int_equal(tide_predict_find(t, size, 0, &o, &r, &err), TIDE_EUSAGE);
	at[1] = 0;
	assert_int_equal(tide_predict_find(t, size, 2, &o, &r, &err), TIDE_EUSAGE);
	assert_non_null(strstr(err.text, "at needs 1 to"));
	free_two(m);
	(void)state;
}

/* ---- the registry ---- */

static void check_members(const char *report, const tide_member *list, int depth)
{
	for (size_t i = 0; list && list[i].key; i++) {
		const tide_member *m = &list[i];
		bool element = depth < 0;
		if (!element && (!*m->key || !m->meaning || !*m->meaning))
			fail_msg("%s: member %s has no meaning", report, m->key);
		if (m->kind == TIDE_KIND_WORD && !m->words)
			fail_msg("%s: member %s has no words", report, m->key);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(list[k].key, m->key))
				fail_msg("%s: member %s twice", report, m->key);
		if (depth < 8 && (m->kind == TIDE_KIND_OBJECT || m->kind == TIDE_KIND_TABLE))
			check_members(report, m->members, depth < 0 ? 1 : depth + 1);
		if (!strcmp(m->key, "values") && m->kind == TIDE_KIND_TABLE)
			fail_msg("%s: values.csv has the single values", report);
	}
}

static void descriptions_are_whole(void **state)
{
	for (size_t i = 0; tide__reports[i]; i++) {
		const tide_report_type *t = tide__reports[i];
		if (!t->summary || !t->members || !t->version)
			fail_msg("%s lacks a part of its description", t->name);
		check_members(t->name, t->members, 0);
		for (size_t k = 0; k < t->n_options; k++) {
			const tide_option *o = &t->options[k];
			if (!o->name || !o->help)
				fail_msg("%s: option %zu has no name or help", t->name, k);
			if (o->field && o->field >= t->struct_size)
				fail_msg("%s: option %s is not in its struct", t->name, o->name);
		}
	}
	(void)state;
}

/* Writes a report in every form into `null`. */
static tide_code write_all(const tide_report_type *type, tide_report *r, FILE *null)
{
	tide_json j;
	tide_out to = { .out = null };
	tide_code rc = tide__report_text(type, r->result, &to);
	if (rc == TIDE_OK)
		rc = tide_report_json(r, null);
	for (size_t i = 0; rc == TIDE_OK && i < tide__rows_count(type); i++) {
		rc = tide__csv_write(type, r->result, i, null);
		if (rc == TIDE_OK)
			rc = tide__arrow_write(type, r->result, i, null);
	}
	if (rc == TIDE_OK && !tide_report_root(r))
		rc = TIDE_ENOMEM;
	tide__json_begin(&j, null, false);
	if (rc == TIDE_OK)
		rc = tide__schema_write(type, &j);
	bool whole = tide__json_end(&j);
	return rc == TIDE_OK && !whole ? TIDE_EIO : rc;
}

static tide_code run_report(const tide_report_type *type, const tide_model *m, FILE *null)
{
	const tide_model *models[] = { m, m };
	const uint64_t sizes[] = { 1, 2 };
	tide_report_traces in = { .models = models, .sizes = sizes };
	tide_report *r;
	tide_error err;
	in.n = type->input == TIDE_INPUT_PAIR || type->input == TIDE_INPUT_SIZES ? 2 : 1;
	tide_code rc = tide__report_find_pairs(type, &in, NULL, 0, &r, &err);
	models[0] = models[1] = NULL; /* the lists are the caller's: gone after the call */
	if (rc == TIDE_OK)
		rc = write_all(type, r, null);
	else if (rc == TIDE_EUSAGE && strstr(err.text, "described"))
		fail_msg("%s", err.text);
	tide_report_free(r);
	return rc;
}

/* Every report, in every form, with the n-th allocation failing. A failure is ENOMEM, or an unknown
 * figure; nothing leaks or crashes (the sanitized build sees it). */
static void memory_fails(void **state)
{
	enum { MOST = 100 }; /* allocations that fail, spread over a run */
	tide_model *m = some_model(7, 12, 16);
	FILE *null = fopen("/dev/null", "w");
	m->path = tide__strndup("/no/such/file", 13);
	m->format = tide__strndup("tide", 4);
	for (size_t i = 0; tide__reports[i]; i++) {
		tide__mem_fail_at(0);
		tide_code whole = run_report(tide__reports[i], m, null);
		uint64_t n = tide__mem_count();
		uint64_t every = n / MOST + 1;
		for (uint64_t k = 1; k <= n; k += every) {
			tide__mem_fail_at(k);
			tide_code rc = run_report(tide__reports[i], m, null);
			tide__mem_fail_at(0);
			if (rc != whole && rc != TIDE_ENOMEM)
				fail_msg("%s: allocation %d: code %d", tide__reports[i]->name,
					 (int)k, (int)rc);
		}
	}
	fclose(null);
	tide__model_free(m);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations),	 cmocka_unit_test(words_of_groups),
		cmocka_unit_test(pools),	 cmocka_unit_test(descriptions_are_whole),
		cmocka_unit_test(memory_fails),	 cmocka_unit_test(pairs_of_traces),
		cmocka_unit_test(sizes_of_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
