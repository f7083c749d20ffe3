// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Pages as bytes: names never appear outside base64, equal input gives equal bytes, failing memory
 * and a failing disk are reported, and the page's code stays small. web/test checks the content, in
 * a browser too. */
#include "some_model.h"
#include "analyze/device/hta_job.h"
#include "analyze/advice/findings.h"
#include "base/error.h"
#include "base/mem.h"
#include "render/page/page.h"
#include "render/page/page_parts.h"
#include "testing.h"

enum { MOST_CODE = 215 * 1000 };

static char *page(const tide_model *m, size_t *n, tide_code *rc)
{
	const tide_page_options opt = { .losses = "" };
	char *text = NULL;
	FILE *f = open_memstream(&text, n);
	*rc = tide__page_write(m, &opt, f, NULL);
	fclose(f);
	return text;
}

static void code_is_small(void **state)
{
	if (tide__page_missing())
		skip();
	assert_true(tide__page_shell_size < tide__page_code_size);
	if (tide__page_code_size > MOST_CODE)
		fail_msg("the page's code has %zu bytes, at most %d", tide__page_code_size,
			 MOST_CODE);
}

static void names_stay_packed(void **state)
{
	size_t n, again;
	tide_code rc;
	if (tide__page_missing())
		skip();
	tide_model *m = some_model(11, 150, 50);
	static const char evil[] = "</script><img src=x onerror=alert(1)>";
	m->spans.name[1] = tide__intern(m, evil);
	m->spans.stack[1] = tide__stack_intern(
		m, (tide_stack_id){ 0 },
		tide__frame_intern(m, tide__intern(m, evil), (tide_str){ 0 }, 1));
	char *a = page(m, &n, &rc);
	assert_int_equal(rc, TIDE_OK);
	assert_null(memmem(a, n, "onerror", 7));
	char *b = page(m, &again, &rc);
	assert_int_equal(n, again);
	assert_memory_equal(a, b, n);
	free(a);
	free(b);
	tide__model_free(m);
}

/* More requests that failed than a page explains. */
static void some_failure(tide_model *m)
{
	for (int i = 0; i < 6; i++) {
		uint32_t k = tide__push(&m->marks, &tide_marks_desc);
		m->marks.kind[k] = TIDE_MARK_OOM;
		m->marks.t[k] = m->t_end;
		m->marks.pool[k] = (tide_pool_id){ 1 };
		m->marks.stack[k] = m->allocs.stack[1];
		m->marks.value[k] = 1 << 20;
		m->marks.extra[k] = i ? 1 << 10 : -1;
		m->marks.position[k] = m->memory_events.n;
	}
}

static void memory_fails(void **state)
{
	tide_code rc;
	size_t n;
	if (tide__page_missing())
		skip();
	tide_model *m = some_model(5, 60, 30);
	m->spans.stack[1] = m->allocs.stack[1];
	some_failure(m);
	for (uint64_t at = 1;; at++) {
		tide__mem_fail_at(at);
		char *text = page(m, &n, &rc);
		tide__mem_fail_at(0);
		free(text);
		if (rc == TIDE_OK) {
			assert_true(at > 20);
			break;
		}
		if (rc != TIDE_ENOMEM)
			fail_msg("allocation %d: code %d", (int)at, rc);
	}
	tide__model_free(m);
}

static void empty_model(void **state)
{
	tide_code rc;
	size_t n;
	if (tide__page_missing())
		skip();
	tide_model *m = tide__model_new();
	free(page(m, &n, &rc));
	assert_int_equal(rc, TIDE_OK);
	tide__model_free(m);
}

static void disk_is_full(void **state)
{
	const tide_page_options opt = { .losses = "" };
	FILE *f = fopen("/dev/full", "w");
	if (tide__page_missing() || !f)
		skip();
	tide_model *m = some_model(11, 150, 50);
	setvbuf(f, NULL, _IONBF, 0);
	assert_int_equal(tide__page_write(m, &opt, f, NULL), TIDE_EIO);
	fclose(f);
	tide__model_free(m);
}

/* ---- prepared beside the sections ---- */

static tide_code counts(void *user, tide_page_options *opt, tide_error *err)
{
	++*(int *)user;
	opt->critical_why = "not asked for";
	return TIDE_OK;
}

static tide_code refuses(void *user, tide_page_options *opt, tide_error *err)
{
	++*(int *)user;
	return tide__fail(err, TIDE_EUNSUPPORTED, 7, "cannot be prepared");
}

static tide_code page_with(const tide_model *m, const char *only, int *calls,
			   tide_code (*prepare)(void *, tide_page_options *, tide_error *),
			   tide_error *err)
{
	const tide_page_options opt = {
		.losses = "", .only = only, .prepare = prepare, .user = calls
	};
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	tide_code rc = tide__page_write(m, &opt, f, err);
	fclose(f);
	assert_true(!memmem(text, n, "id=\"tide-critical\"", 18) ==
		    (prepare == refuses || (only && strcmp(only, "hta"))));
	free(text);
	return rc;
}

/* Once, whether one thread fills the sections or several; its failure is the page's. */
static void prepared(void **state)
{
	if (tide__page_missing())
		skip();
	for (int large = 0; large < 2; large++) {
		tide_model *m = some_model(3, large ? 2000 : 200, large ? 5000 : 60);
		tide_error err = { .offset = TIDE_NO_OFFSET };
		int calls = 0;
		assert_int_equal(page_with(m, NULL, &calls, counts, &err), TIDE_OK);
		assert_int_equal(calls, 1);
		assert_int_equal(page_with(m, "hta", &calls, counts, &err), TIDE_OK);
		assert_int_equal(calls, 2);
		assert_int_equal(page_with(m, NULL, &calls, refuses, &err), TIDE_EUNSUPPORTED);
		assert_int_equal(calls, 3);
		assert_string_equal(err.text, "cannot be prepared");
		tide__model_free(m);
	}
}

/* Sections do not depend on who fills them, nor on whose index of the timeline they use. */
static void threads_agree(void **state)
{
	tide_lod l = { 0 };
	if (tide__page_missing())
		skip();
	tide_model *m = some_model(8, 2000, 5000);
	assert_int_equal(tide__lod_build(m, &l, NULL), TIDE_OK);
	const tide_page_options own = { .losses = "" }, given = { .losses = "", .lod = &l };
	const tide_page_options *const opts[] = { &own, &own, &given };
	char *text[3] = { NULL, NULL, NULL };
	size_t n[3];
	for (int i = 0; i < 3; i++) {
		FILE *f = open_memstream(&text[i], &n[i]);
		assert_int_equal(tide__page_write(m, opts[i], f, NULL), TIDE_OK);
		fclose(f);
		assert_int_equal(n[i], n[0]);
		assert_memory_equal(text[i], text[0], n[0]);
	}
	for (int i = 0; i < 3; i++)
		free(text[i]);
	tide__lod_free(&l);
	tide__model_free(m);
}

/* A pool's scope has its name, a device's has none. */
static void scopes(void **state)
{
	static const char *const wants[] = {
		"{\"scope\":\"pool\",\"device\":\"cuda:0\",\"pool\":\"DRAM\",\"pools\":1",
		"{\"scope\":\"device\",\"device\":\"cuda:0\",\"pool\":\"\",\"pools\":1",
		"{\"scope\":\"total\",\"device\":\"?\",\"pool\":\"\",\"pools\":1",
	};
	tide_model *m = some_machine();
	tide_page_options opt = { 0 };
	tide_box *b = tide__box_new("tables");
	char *text = NULL;
	size_t n;
	tide_error err;
	m->pools.name[1] = tide__intern(m, "DRAM");
	some_alloc(m, 1, 512, 0);
	FILE *out = open_memstream(&text, &n);
	tide__box_json(b)->out = out;
	assert_true(tide__page_write_tables(b, m, &opt, &err));
	fclose(out);
	for (size_t i = 0; i < 3; i++)
		if (!strstr(text, wants[i]))
			fail_msg("no %s in %s", wants[i], text);
	tide__box_free(b);
	free(text);
	tide__model_free(m);
}

/* Failed requests, advice on time and advice on memory: a page has each of them. */
static void all_findings(void **state)
{
	tide_model *m = some_machine();
	tide_page_options opt = { 0 };
	char *text = NULL;
	size_t n;
	tide_error err;
	uint32_t a = some_alloc(m, 1, UINT64_C(64) << 20, 0);
	m->allocs.role[a] = TIDE_ROLE_ACTIVATION;
	uint32_t k = tide__push(&m->marks, &tide_marks_desc);
	m->marks.kind[k] = TIDE_MARK_OOM;
	m->marks.pool[k].i = 1;
	m->marks.value[k] = 1 << 20;
	m->marks.position[k] = 1;
	for (int64_t i = 0; i < 2; i++)
		some_span(m, 3, TIDE_CAT_KERNEL, "k", 90 * i, 90 * i + 9);
	tide_hta_job *job = NULL;
	assert_int_equal(tide__hta_job_find(m, "x", &job, &err), TIDE_OK);
	opt.job = job;
	FILE *out = open_memstream(&text, &n);
	tide_json j;
	tide__json_begin(&j, out, false);
	tide__json_object(&j);
	assert_true(tide__page_write_findings(&j, m, &opt, &err));
	fclose(out);
	static const char *const wants[] = { "\"Out of memory\"", "GPU idle", "\"activations\"",
					     "\"untried\":false" };
	for (size_t i = 0; i < 4; i++)
		if (!strstr(text, wants[i]))
			fail_msg("no %s in %s", wants[i], text);
	for (size_t most = 0; most < 2; most++) { /* 1: less than the recording has */
		static tide_findings f;
		const tide_findings_query q = { .most_replayed = most };
		some_alloc(m, 1, 4096, 0);
		assert_int_equal(tide__collect_findings(m, &q, &f, &err), TIDE_OK);
		assert_int_equal(f.untried, most == 1);
	}
	tide__hta_job_free(job);
	free(text);
	tide__model_free(m);
}

/* If there are more edges than a page holds, the longest are kept, at any position among equals. */
static void longest_edges(void **state)
{
	enum { N = 3001, ROOM = 2000 };
	tide_model *m = some_machine();
	tide_cp_step *path = calloc(N, sizeof *path);
	for (int i = 0; i < N; i++)
		path[i] = (tide_cp_step){ .weight = i == N - 1 ? 1000 : 1, .t0 = i, .t1 = i + 1 };
	tide_critical_path c = { .found = true, .path = path, .n_path = N };
	tide_page_options opt = { .critical = &c, .critical_model = m };
	tide_box *b = tide__box_new("critical");
	char *text = NULL, want[64];
	size_t n;
	tide_error err;
	FILE *out = open_memstream(&text, &n);
	tide__box_json(b)->out = out;
	assert_true(tide__page_write_critical(b, m, &opt, &err));
	fclose(out);
	snprintf(want, sizeof want, "\"path_left_out\":%d,\"path_left_out_ns\":%d,", N - ROOM,
		 N - ROOM);
	if (!strstr(text, want))
		fail_msg("no %s in %s", want, text);
	tide__box_free(b);
	free(text);
	free(path);
	tide__model_free(m);
}

static void not_built(void **state)
{
	size_t n;
	tide_code rc;
	if (!tide__page_missing())
		skip();
	tide_model *m = some_model(11, 150, 50);
	free(page(m, &n, &rc));
	assert_int_equal(rc, TIDE_EUNSUPPORTED);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_small), cmocka_unit_test(names_stay_packed),
		cmocka_unit_test(memory_fails),	 cmocka_unit_test(empty_model),
		cmocka_unit_test(disk_is_full),	 cmocka_unit_test(not_built),
		cmocka_unit_test(prepared),	 cmocka_unit_test(threads_agree),
		cmocka_unit_test(longest_edges), cmocka_unit_test(all_findings),
		cmocka_unit_test(scopes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
