// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Critical paths of traces made by hand: the edge of each synchronisation; and the first event of a
 * file is treated as any other. */
#include "some_model.h"
#include "testing.h"

#include "analyze/critical/critical_path.h"
#include "base/mem.h"

enum { HOST = 1, A = 3, B = 4, MOST = 12 }; /* lanes; A and B are streams 7 and 8 */

struct event {
	uint32_t lane;
	unsigned cat;
	const char *name;
	int64_t t0, t1;
	int64_t corr;	    /* 0 = none */
	int64_t record, on; /* sync rows: the record's correlation, its stream */
};

static const struct {
	const char *name;
	int64_t length;
	uint64_t edges[TIDE_CP_EDGE_TYPES];
	struct event events[MOST];
} rows[] = {
	{ "the first event is the launch",
	  50,
	  { [TIDE_CP_OPERATOR] = 2, [TIDE_CP_LAUNCH_DELAY] = 1 },
	  { { HOST, TIDE_CAT_RUNTIME, "cudaLaunchKernel", 0, 10, 1 },
	    { A, TIDE_CAT_KERNEL, "k", 20, 50, 1 } } },
	{ "the first event is the kernel",
	  55,
	  { [TIDE_CP_OPERATOR] = 2, [TIDE_CP_LAUNCH_DELAY] = 1 },
	  { { A, TIDE_CAT_KERNEL, "k", 20, 60, 1 },
	    { HOST, TIDE_CAT_RUNTIME, "cudaLaunchKernel", 5, 10, 1 } } },
	{ "a kernel waits for the one before it",
	  75,
	  { [TIDE_CP_OPERATOR] = 4,
	    [TIDE_CP_DEPENDENCY] = 1,
	    [TIDE_CP_LAUNCH_DELAY] = 1,
	    [TIDE_CP_KERNEL_DELAY] = 1 },
	  { { HOST, TIDE_CAT_RUNTIME, "cuLaunchKernel", 0, 2, 1 },
	    { HOST, TIDE_CAT_RUNTIME, "cuLaunchKernel", 3, 5, 2 },
	    { A, TIDE_CAT_KERNEL, "k", 10, 50, 1 },
	    { A, TIDE_CAT_KERNEL, "k", 55, 75, 2 } } },
	{ "a stream waits for an event of another one",
	  70, /* launch 10, first kernel 40; then, at once with its end, the second one: 20 */
	  { [TIDE_CP_OPERATOR] = 6,
	    [TIDE_CP_DEPENDENCY] = 3,
	    [TIDE_CP_LAUNCH_DELAY] = 1,
	    [TIDE_CP_SYNC] = 1 },
	  { { A, TIDE_CAT_KERNEL, "k", 10, 50, 1 },
	    { HOST, TIDE_CAT_RUNTIME, "cuLaunchKernel", 0, 2, 1 },
	    { HOST, TIDE_CAT_RUNTIME, "cudaEventRecord", 2, 3, 2 },
	    { HOST, TIDE_CAT_RUNTIME, "cudaStreamWaitEvent", 3, 4, 3 },
	    { HOST, TIDE_CAT_RUNTIME, "cuLaunchKernel", 4, 6, 4 },
	    { B, TIDE_CAT_SYNC, "Stream Wait Event", 3, 4, 3, 2, 7 },
	    { B, TIDE_CAT_KERNEL, "k", 52, 72, 4 } } },
	{ "not for one recorded on a third",
	  26, /* nothing was launched there: the launch's own delay and work */
	  { [TIDE_CP_OPERATOR] = 6, [TIDE_CP_DEPENDENCY] = 3, [TIDE_CP_LAUNCH_DELAY] = 2 },
	  { { HOST, TIDE_CAT_RUNTIME, "cuLaunchKernel", 0, 2, 1 },
	    { HOST, TIDE_CAT_RUNTIME, "cudaEventRecord", 2, 3, 2 },
	    { HOST, TIDE_CAT_RUNTIME, "cudaStreamWaitEvent", 3, 4, 3 },
	    { HOST, TIDE_CAT_RUNTIME, "cuLaunchKernel", 4, 6, 4 },
	    { B, TIDE_CAT_SYNC, "Stream Wait Event", 3, 4, 3, 2, 9 },
	    { A, TIDE_CAT_KERNEL, "k", 10, 12, 1 },
	    { B, TIDE_CAT_KERNEL, "k", 12, 26, 4 } } },
};

static void attr(tide_model *m, uint32_t span, const char *key, int64_t number)
{
	size_t r;
	tide__table_push(&m->attrs, &tide_attrs_desc, &r);
	m->attrs.span[r].i = span;
	m->attrs.key[r] = tide__intern(m, key);
	m->attrs.number[r] = number;
}

/* Events are numbered in the order of the row, spans in order of time. */
static tide_model *play(const struct event *e)
{
	tide_model *m = some_machine();
	int64_t event[MOST + 1] = { 0 }, corr[MOST + 1] = { 0 }, lane[MOST + 1] = { 0 };
	tide__intern(m, "wait_on_stream");
	tide__intern(m, "wait_on_cuda_event_record_corr_id");
	for (int64_t t = 0; t < 100; t++)
		for (int i = 0; i < MOST && e[i].name; i++) {
			if (e[i].t0 != t)
				continue;
			uint32_t s = some_span(m, e[i].lane, e[i].cat, e[i].name, t, e[i].t1);
			event[s] = i;
			corr[s] = e[i].corr;
			lane[s] = e[i].lane;
			if (e[i].record) {
				attr(m, s, "wait_on_stream", e[i].on);
				attr(m, s, "wait_on_cuda_event_record_corr_id", e[i].record);
			}
		}
	m->span_raw = tide__calloc(m->spans.n, sizeof *m->span_raw);
	for (uint32_t s = 1; s < m->spans.n; s++)
		m->span_raw[s] = (tide_raw){ event[s], corr[s],
					     lane[s] == HOST ? -1 : m->lanes.number[lane[s]] };
	return m;
}

static void test_rows(void **state)
{
	const tide_critical_search_options all = { .annotation = "" };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_model *m = play(rows[i].events);
		tide_compat_frame f;
		tide_critical_path c;
		tide_error err;
		assert_int_equal(tide__compat_frame_build_exact(m, &f, &err), TIDE_OK);
		assert_int_equal(tide__find_critical_path(m, &f, &all, &c, &err), TIDE_OK);
		if (!c.found || c.length != rows[i].length)
			fail_msg("%s: %lld, not %lld (%s)", rows[i].name, (long long)c.length,
				 (long long)rows[i].length, c.why ? c.why : "found");
		for (int t = 0; t < TIDE_CP_EDGE_TYPES; t++)
			if (c.edge_count[t] != rows[i].edges[t])
				fail_msg("%s: %llu edges of type %s", rows[i].name,
					 (unsigned long long)c.edge_count[t],
					 tide__cp_edge_text((tide_cp_edge_type)t));
		tide__critical_path_free(&c);
		tide__compat_frame_free(&f);
		tide__model_free(m);
	}
}

int main(void)
{
	(void)some_model;
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
