// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The recording API: its promises, row by row; and every recorded event is read back from the file
 * in order. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tidemark/record.h>

#include "format/decode.h"
#include "format/read.h"
#include "format/rewrite.h"
#include "format/schema.h"
#include "testing.h"

static char path[64];

static int setup(void **state)
{
	snprintf(path, sizeof path, "/tmp/tide-record-%d.tide", (int)getpid());
	return 0;
}

static int teardown(void **state)
{
	tide_stop(NULL);
	unlink(path);
	return 0;
}

enum { LONG_US = 600000000 }; /* to wait for a writer that gets no processor */

static void start(size_t ring_bytes, uint32_t wait_us)
{
	tide_options o = TIDE_OPTIONS_INIT;
	tide_error err = { 0 };
	o.ring_bytes = ring_bytes;
	o.full_wait_us = wait_us;
	if (tide_start(path, &o, &err) != TIDE_OK)
		fail_msg("%s", err.text);
}

static tide_stats stop(void)
{
	tide_error err = { 0 };
	if (tide_stop(&err) != TIDE_OK)
		fail_msg("%s", err.text);
	char rings[80];
	snprintf(rings, sizeof rings, "%s-rings", path);
	assert_int_not_equal(access(rings, F_OK), 0);
	tide_stats s;
	tide_stats_get(&s);
	return s;
}

/* ---- reading back -------------------------------------------------------------------------- */

typedef struct seen {
	tide_event *e; /* in file order; LANE left out; `bytes` copied */
	size_t n, cap;
	uint64_t records; /* of DEFS chunks */
} seen;

static void add(seen *s, const tide_event *e)
{
	if (s->n == s->cap)
		s->e = realloc(s->e, (s->cap = s->cap ? 2 * s->cap : 1024) * sizeof *s->e);
	tide_event *to = &s->e[s->n++];
	*to = *e;
	if (e->tag == TIDE_REC_ANNOTATE)
		to->bytes = memcpy(malloc(e->size + 1), e->bytes, e->size);
	if (e->tag == TIDE_REC_TENSOR)
		to->bytes = memcpy(malloc(176), e->bytes, 170); /* 16 varints and padding */
}

static seen read_back(void)
{
	seen s = { 0 };
	tide_reader *r;
	tide_error err = { 0 };
	tide_payload p = { 0 };
	tide_schema schema;
	tide__schema_own(&schema);
	if (tide__reader_open(path, &r, &err) != TIDE_OK)
		fail_msg("%s", err.text);
	for (tide_chunk c; tide__reader_next(r, &c, &err) == TIDE_OK && c.head.type;) {
		assert_int_equal(tide__reader_read_payload(r, &c, &p, &err), TIDE_OK);
		assert_true(sizeof c.head + c.head.stored <= 256 << 10); /* the writer's room */
		s.records += c.head.type == TIDE_CHUNK_DEFS ? c.head.count : 0;
		if (c.head.type != TIDE_CHUNK_EVENTS)
			continue;
		tide_cursor cursor;
		tide_event some[64];
		tide__cursor_start(&cursor, &schema, p.bytes, p.n, c.head.ticks);
		for (size_t n; (n = tide__events_decode(&cursor, some, 64)) != 0;)
			for (size_t i = 0; i < n; i++)
				if (some[i].tag != TIDE_REC_LANE)
					add(&s, &some[i]);
		assert_false(cursor.bad);
		assert_int_equal(cursor.records, c.head.count);
	}
	assert_int_equal(tide__reader_state(r), TIDE_READER_CLOSED);
	tide__reader_close(r);
	tide__payload_free(&p);
	return s;
}

static void seen_free(seen *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->e[i].tag == TIDE_REC_ANNOTATE || s->e[i].tag == TIDE_REC_TENSOR)
			free((void *)(uintptr_t)s->e[i].bytes);
	free(s->e);
}

/* ---- options, start and stop --------------------------------------------------------------- */

static void bad_starts(void **state)
{
	char never[80];
	snprintf(never, sizeof never, "%s.never", path);
	const struct {
		const char *name, *path;
		size_t size, ring, max;
		tide_code code;
	} rows[] = {
		{ "no path", NULL, sizeof(tide_options), 0, 0, TIDE_EUSAGE },
		{ "empty path", "", sizeof(tide_options), 0, 0, TIDE_EUSAGE },
		{ "size not set", never, 0, 0, 0, TIDE_EUSAGE },
		{ "ring not a power of two", never, sizeof(tide_options), 100000, 0, TIDE_EUSAGE },
		{ "ring too small", never, sizeof(tide_options), 32768, 0, TIDE_EUSAGE },
		{ "ring too large", never, sizeof(tide_options), (size_t)1 << 31, 0, TIDE_EUSAGE },
		{ "less than a ring", never, sizeof(tide_options), 1 << 20, 1 << 19, TIDE_EUSAGE },
		{ "a directory", "/tmp", sizeof(tide_options), 0, 0, TIDE_EUSAGE },
		{ "a device", "/dev/null", sizeof(tide_options), 0, 0, TIDE_EUSAGE },
		{ "no such directory", "/nonexistent/x.tide", sizeof(tide_options), 0, 0,
		  TIDE_EIO },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_options o = { rows[i].size, rows[i].ring, rows[i].max, 0, 0, true };
		tide_error err = { 0 };
		tide_code rc = tide_start(rows[i].path, &o, &err);
		if (rc != rows[i].code || err.code != rc || !err.text[0])
			fail_msg("%s: %d %s", rows[i].name, rc, err.text);
		assert_false(tide_recording());
	}
	assert_int_not_equal(access(never, F_OK), 0);
}

/* "On failure nothing else changes": the last recording's name and numbers are still available. */
static void failed_start_forgets_nothing(void **state)
{
	tide_stats st;
	char last[4096];
	start(65536, 0);
	tide_mark(TIDE_STEP, TIDE_NAME("one"), 1);
	stop();
	assert_int_not_equal(tide_start("/nonexistent/x.tide", NULL, NULL), TIDE_OK);
	assert_int_not_equal(tide_start("/tmp", NULL, NULL), TIDE_OK);
	assert_int_equal(tide_recording_path(last, sizeof last), strlen(path));
	assert_string_equal(last, path);
	tide_stats_get(&st);
	assert_int_equal(st.events, 1);
}

static void silent_when_not_recording(void **state)
{
	errno = 42;
	assert_int_equal(tide_op_begin(TIDE_NAME("x")), 0);
	tide_op_end(12345);
	tide_alloc(1, 1, 1, 0);
	tide_annotate(1, "text");
	tide_tensor(1, 1, NULL);
	assert_int_equal(tide_stop(NULL), TIDE_OK);
	assert_int_equal(errno, 42);
}

static void errno_is_left_alone(void **state)
{
	errno = 42;
	start(0, 0);
	assert_true(tide_recording());
	tide_mark(TIDE_STEP, tide_intern("errno"), 1); /* the thread's first event */
	tide_pool_open(tide_device_open(TIDE_DEVICE_HOST, 0, "errno", 0), TIDE_POOL_HEAP, "errno",
		       0);
	assert_int_equal(tide_stop(NULL), TIDE_OK);
	assert_int_equal(errno, 42);
}

/* ---- names --------------------------------------------------------------------------------- */

static void ids_are_stable(void **state)
{
	static const char a[] = "same text", b[] = "same text";
	tide_name id = tide_name_static(a);
	assert_int_not_equal(id, 0);
	assert_int_equal(tide_name_static(b), id);
	assert_int_equal(tide_intern("same text"), id);
	assert_int_not_equal(tide_intern("other text"), id);
	assert_int_equal(tide_intern(NULL), 0);
	assert_int_equal(tide_intern(""), 0);
	assert_int_equal(tide_name_static(NULL), 0);

	tide_device d = tide_device_open(TIDE_DEVICE_CUDA, 1, "gpu", 1 << 30);
	assert_int_equal(tide_device_open(TIDE_DEVICE_CUDA, 1, "gpu", 1 << 30), d);
	assert_int_not_equal(tide_device_open(TIDE_DEVICE_CUDA, 2, "gpu", 1 << 30), d);
	tide_stack s = tide_stack_push(0, id, id, 1), t = tide_stack_push(s, id, id, 1);
	assert_int_equal(tide_stack_push(0, id, id, 1), s);
	assert_int_not_equal(t, s);
	assert_int_equal(tide_stack_push(s, id, id, 1), t);
	start(0, 0);
	assert_int_equal(tide_intern("same text"), id);
	stop();
	assert_int_equal(tide_stack_push(s, id, id, 1), t);
}

enum { STATIC_NAMES = 5000 }; /* the table grows several times */
static char static_names[STATIC_NAMES][12];

static void *find_static_names(void *failed)
{
	for (int i = 0; i < STATIC_NAMES; i++) {
		tide_name id = tide_name_static(static_names[i]);
		if (!id || id != tide_name_static(static_names[i]))
			*(_Atomic int *)failed = 1;
	}
	return NULL;
}

static void static_names_from_many_threads(void **state)
{
	pthread_t t[4];
	static _Atomic int failed;
	for (int i = 0; i < STATIC_NAMES; i++)
		snprintf(static_names[i], sizeof static_names[i], "static %d", i);
	start(0, 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, find_static_names, (void *)(uintptr_t)&failed);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	assert_false(failed);
	for (int i = 0; i < STATIC_NAMES; i++)
		assert_int_equal(tide_name_static(static_names[i]), tide_intern(static_names[i]));
	stop();
}

static void ids_end_at_their_limit(void **state)
{
	tide_device d = tide_device_open(TIDE_DEVICE_OTHER, 9, "limits", 0);
	tide_pool last = 0, p;
	for (uint64_t i = 1; (p = tide_pool_open(d, TIDE_POOL_L1, "bank", i)) != 0; last = p, i++)
		assert_true(i <= 4095);
	assert_int_equal(last, 4095);
	assert_int_equal(tide_pool_open(d, TIDE_POOL_L1, "bank", 1 << 20), 0);
	tide_stream stream = 0, s;
	for (int64_t i = 0; (s = tide_stream_open(d, i, NULL)) != 0; stream = s, i++)
		assert_true(i <= UINT16_MAX);
	assert_int_equal(stream, UINT16_MAX);
	start(0, 0); /* all of them are more than the writer writes at once */
	stop();
	seen all = read_back();
	assert_true(all.records >= 4095 + UINT16_MAX);
	seen_free(&all);
}

static void every_recording_has_all_definitions(void **state)
{
	start(0, 0);
	tide_mark(TIDE_STEP, tide_intern("one more"), 1);
	stop();
	seen first = read_back();
	start(0, 0);
	tide_mark(TIDE_STEP, tide_intern("one more"), 1);
	stop();
	seen second = read_back();
	assert_int_equal(first.records, second.records);
	assert_true(second.records > 1);
	seen_free(&first);
	seen_free(&second);
}

static void long_and_odd_texts(void **state)
{
	size_t n = 200000;
	char *text = malloc(n + 1);
	memset(text, 'x', n);
	text[n] = 0;
	start(0, 0);
	tide_name id = tide_intern(text); /* truncated at 65,535 bytes */
	text[65535] = 0;
	assert_int_equal(tide_intern(text), id);
	text[65534] = 0;
	assert_int_not_equal(tide_intern(text), id);
	memset(text, 'y', 8000);
	tide_annotate(id, text); /* truncated at 4,096 */
	tide_annotate(id, "");
	tide_annotate(id, "\xff\xfe not UTF-8");
	stop();
	seen s = read_back();
	assert_int_equal(s.n, 3);
	assert_int_equal(s.e[0].size, 4096);
	assert_int_equal(s.e[1].size, 0);
	assert_memory_equal(s.e[2].bytes, "\xff\xfe not UTF-8", 12);
	seen_free(&s);
	free(text);
}

/* A file that is being recorded is read, never replaced: its process would continue to write to a
 * file without a name. */
static void recover_leaves_a_live_file_alone(void **state)
{
	tide_rewrite w;
	tide_error err = { 0 };
	char copy[80];
	snprintf(copy, sizeof copy, "%s.copy", path);
	start(65536, 0);
	tide_mark(TIDE_STEP, TIDE_NAME("one"), 1);
	assert_int_equal(tide__recover(path, path, &w, &err), TIDE_EBUSY);
	assert_non_null(strstr(err.text, "recording into"));
	assert_int_equal(tide__pack(path, path, 3, &w, NULL), TIDE_EBUSY);
	assert_int_equal(tide__recover(path, copy, &w, &err), TIDE_OK);
	assert_int_equal(w.events, 1);
	tide_mark(TIDE_STEP, TIDE_NAME("two"), 2);
	stop();
	seen s = read_back();
	assert_int_equal(s.n, 2);
	seen_free(&s);
	assert_int_equal(tide__recover(path, path, &w, &err), TIDE_OK); /* no process owns it */
	unlink(copy);
}

struct marker {
	_Atomic uint64_t made; /* marks that were recorded */
	_Atomic bool stop;
};

static void *mark_on(void *arg)
{
	struct marker *k = arg;
	while (!atomic_load(&k->stop)) {
		tide_mark(TIDE_STEP, TIDE_NAME("on"), 1);
		atomic_fetch_add(&k->made, 1);
		usleep(50); /* few events: each recovery reads all of them */
	}
	return NULL;
}

#ifdef __SANITIZE_THREAD__
enum { RECOVERIES = 60 }; /* 0.1 s each there */
#else
enum { RECOVERIES = 300 };
#endif

/* The writer moves events from the rings into the file while both are read: none is missed. */
static void recover_while_it_is_written(void **state)
{
	char copy[80];
	pthread_t t;
	struct marker k = { 0 };
	snprintf(copy, sizeof copy, "%s.copy", path);
	start(1 << 20, LONG_US);
	assert_int_equal(pthread_create(&t, NULL, mark_on, &k), 0);
	for (int i = 0; i < RECOVERIES; i++) {
		tide_rewrite w;
		tide_error err = { 0 };
		uint64_t before = atomic_load(&k.made);
		assert_int_equal(tide__recover(path, copy, &w, &err), TIDE_OK);
		if (w.events < before)
			fail_msg("recovery %d has %llu of %llu events", i,
				 (unsigned long long)w.events, (unsigned long long)before);
	}
	atomic_store(&k.stop, true);
	pthread_join(t, NULL);
	stop();
	unlink(copy);
}

/* ---- ops ----------------------------------------------------------------------------------- */

/* Depth after each record, as a reader counts. */
static void check_depths(const seen *s, const char *expect)
{
	char got[64] = "";
	uint64_t depth = 0;
	for (size_t i = 0; i < s->n; i++) {
		uint8_t tag = s->e[i].tag;
		depth = tag == TIDE_REC_BEGIN	? depth + 1
			: tag == TIDE_REC_END	? depth - 1
			: tag == TIDE_REC_DEPTH ? s->e[i].size
						: depth;
		if (tag != TIDE_REC_DEPTH)
			snprintf(got + strlen(got), sizeof got - strlen(got), "%d", (int)depth);
	}
	assert_string_equal(got, expect);
}

static void ops_nest(void **state)
{
	start(0, 0);
	tide_op a = tide_op_begin(TIDE_NAME("a")), b = tide_op_begin(TIDE_NAME("b"));
	tide_op c = tide_op_begin_arg(TIDE_NAME("c"), 7);
	tide_op_end(b); /* and c with it, as after a longjmp */
	tide_op_end(c);
	tide_op_end(b); /* both ended already: ignored */
	tide_op d = tide_op_begin(TIDE_NAME("d"));
	tide_op_end(b); /* d is at b's depth now: still ignored */
	tide_mark(TIDE_STEP, 0, 0);
	tide_op_end(d);
	tide_op_end(a);
	tide_op_end(a);
	tide_op_end(0);
	stop();
	seen s = read_back();
	check_depths(&s, "123"
			 "1"
			 "2"
			 "2"
			 "1"
			 "0");
	seen_free(&s);
}

/* An op that is open when its recording stops has no effect on the next recording; nor has its
 * token. */
static void open_ops_end_with_the_recording(void **state)
{
	start(0, 0);
	tide_op old = tide_op_begin(TIDE_NAME("open"));
	stop();
	start(0, 0);
	tide_mark(TIDE_STEP, 0, 0);
	tide_op_end(old);
	tide_op_end(tide_op_begin(TIDE_NAME("new")));
	stop();
	seen s = read_back();
	check_depths(&s, "010");
	seen_free(&s);
}

static jmp_buf out;

static void jumps_out(int n)
{
	tide_op op = tide_op_begin(TIDE_NAME("inner"));
	if (n > 0)
		jumps_out(n - 1);
	if (n == 0)
		longjmp(out, 1);
	tide_op_end(op);
}

static void longjmp_needs_only_the_outer_end(void **state)
{
	start(0, 0);
	tide_op op = tide_op_begin(TIDE_NAME("outer"));
	if (!setjmp(out))
		jumps_out(2);
	tide_op_end(op);
	tide_mark(TIDE_STEP, 0, 0);
	stop();
	seen s = read_back();
	check_depths(&s, "1234"
			 "0"
			 "0");
	seen_free(&s);
}

static void too_deep_is_counted(void **state)
{
	start(0, 0);
	tide_op first = 0;
	for (int i = 0; i < 5000; i++) {
		tide_op op = tide_op_begin(TIDE_NAME("deep"));
		first = first ? first : op;
		if ((op != 0) != (i < 4095))
			fail_msg("op %d: token %u", i, op);
	}
	tide_op_end(first);
	tide_stats s = stop();
	assert_int_equal(s.lost_other, 5000 - 4095);
	assert_int_equal(s.events, 4096);
}

static int by_value(const void *a, const void *b)
{
	tide_op x = *(const tide_op *)a, y = *(const tide_op *)b;
	return (x > y) - (x < y);
}

/* In three recordings with a ring that overflows, ends and begins are lost, but tokens still
 * differ. */
static void tokens_are_unlike(void **state)
{
	enum { EACH = 60000, N = 3 * EACH };
	tide_op *tokens = malloc(N * sizeof *tokens);
	uint64_t lost = 0;
	for (int i = 0; i < N; i++) {
		if (i % EACH == 0)
			start(65536, 0);
		tokens[i] = tide_op_begin(TIDE_NAME("op"));
		if (i % 3 == 0)
			tide_mark(TIDE_STEP, 0, i);
		tide_op_end(tokens[i]);
		if (i % EACH == EACH - 1)
			lost += stop().lost_full;
	}
	assert_true(lost > 0);
	qsort(tokens, N, sizeof *tokens, by_value);
	for (int i = 0; i < N; i++)
		if (!tokens[i] || (i && tokens[i] == tokens[i - 1]))
			fail_msg("token %#x twice, or 0", tokens[i]);
	free(tokens);
}

/* ---- values out of range, full rings -------------------------------------------------------- */

static void out_of_range_is_counted(void **state)
{
	uint64_t shape[17] = { 0 };
	tide_tensor_info big = { .ndim = 17, .shape = shape }, null = { .ndim = 1 };
	start(0, 0);
	tide_alloc(1, 0, UINT64_C(1) << 48, 0);
	tide_alloc(4096, 0, 1, 0);
	tide_free(4096, 0);
	tide_segment_alloc(4096, 0, 1, 0, 1);
	tide_segment_free(1, 0, UINT64_MAX);
	tide_oom(1, UINT64_C(1) << 63, -1);
	tide_alloc_full(1, 0, UINT64_C(1) << 48, 0, 0, 0);
	tide_tensor(1, 0, &big);
	tide_tensor(1, 0, &null);
	tide_alloc(4095, UINT64_MAX, (UINT64_C(1) << 48) - 1, UINT16_MAX); /* just in range */
	tide_oom(4095, INT64_MAX, -1);
	tide_stats st = stop();
	assert_int_equal(st.lost_other, 9);
	assert_int_equal(st.events, 2);
	seen s = read_back();
	assert_int_equal(s.n, 2);
	assert_int_equal(s.e[1].size, INT64_MAX);
	assert_int_equal(s.e[0].addr, UINT64_MAX);
	assert_int_equal(s.e[0].size, (UINT64_C(1) << 48) - 1);
	assert_int_equal(s.e[0].stream, UINT16_MAX);
	assert_int_equal(s.e[0].pool, 4095);
	seen_free(&s);
}

/* ---- the file goes away -------------------------------------------------------------------- */

/* A relative path in a folder that is gone, and a folder that moves while it is recorded into. */
static void folders_that_go(void **state)
{
	char folder[64], moved[80], file[96], rings[112], here[4096];
	tide_error err = { 0 };
	snprintf(folder, sizeof folder, "/tmp/tide-folder-%d", (int)getpid());
	snprintf(moved, sizeof moved, "%s-moved", folder);
	snprintf(file, sizeof file, "%s/a.tide", folder);
	snprintf(rings, sizeof rings, "%s/a.tide-rings", moved);
	assert_non_null(getcwd(here, sizeof here));
	assert_true(!mkdir(folder, 0777) && !chdir(folder) && !rmdir(folder));
	assert_int_equal(tide_start("a.tide", NULL, &err), TIDE_EIO);
	assert_non_null(strstr(err.text, "working directory was removed"));
	assert_true(!chdir(here) && !mkdir(folder, 0777));
	assert_int_equal(tide_start(file, NULL, &err), TIDE_OK);
	tide_mark(TIDE_STEP, TIDE_NAME("one"), 1);
	assert_int_equal(rename(folder, moved), 0);
	assert_int_equal(tide_stop(&err), TIDE_EIO);
	assert_non_null(strstr(err.text, "no longer at that path"));
	assert_non_null(strstr(err.text, "a.tide-rings"));
	assert_int_equal(unlink(rings), 0); /* it did stay behind */
	snprintf(file, sizeof file, "%s/a.tide", moved);
	assert_true(!unlink(file) && !rmdir(moved));
}

static void removed_is_told(void **state)
{
	tide_error err = { 0 };
	char rings[80], other[80];
	snprintf(rings, sizeof rings, "%s-rings", path);
	snprintf(other, sizeof other, "%s-other", path);
	assert_false(tide_recording_removed());
	start(0, 0);
	tide_alloc(1, 4096, 1, 0);
	assert_false(tide_recording_removed());
	assert_int_equal(rename(path, other), 0); /* moved is not gone */
	assert_false(tide_recording_removed());
	assert_int_equal(rename(other, path), 0);
	unlink(path);
	unlink(rings);
	FILE *f = fopen(rings, "w"); /* belongs to another recording */
	assert_non_null(f);
	fclose(f);
	assert_true(tide_recording_removed());
	assert_int_equal(tide_stop(&err), TIDE_EIO);
	assert_non_null(strstr(err.text, "removed or replaced while recording"));
	assert_int_equal(access(rings, F_OK), 0);
	unlink(rings);
	assert_false(tide_recording_removed());
	start(0, 0);
	tide_alloc(1, 4096, 1, 0);
	unlink(path);
	assert_int_equal(tide_stop(NULL), TIDE_EIO);
	assert_int_not_equal(access(rings, F_OK), 0); /* ours */
}

/* More threads than rings: each event is kept or counted. */
static void *one_event(void *arg)
{
	pthread_barrier_wait(arg);
	tide_mark(TIDE_STEP, 0, 0);
	pthread_barrier_wait(arg);
	return NULL;
}

static void *one_event_alone(void *arg)
{
	tide_mark(TIDE_STEP, 0, 0);
	return arg;
}

static void too_many_threads(void **state)
{
	tide_options o = TIDE_OPTIONS_INIT;
	o.ring_bytes = 65536;
	o.max_ring_bytes = 3 * 65536;
	assert_int_equal(tide_start(path, &o, NULL), TIDE_OK);
	pthread_t t[8];
	pthread_barrier_t b;
	pthread_barrier_init(&b, NULL, 8);
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, one_event, &b);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	tide_stats s = stop();
	assert_int_equal(s.rings, 3);
	assert_int_equal(s.events, 3);
	assert_int_equal(s.lost_other, 5);
}

/* A child process never uses a file of its parent, whether that is still being written or not. */
static void as_a_child(void **state)
{
	tide_options o = TIDE_OPTIONS_INIT;
	struct stat before, after;
	char into[4200], want[4200];
	assert_int_equal(tide_start(path, NULL, NULL), TIDE_OK);
	tide_mark(TIDE_STEP, 0, 0);
	stop();
	assert_int_equal(stat(path, &before), 0);
	o.as_child = true;
	assert_int_equal(tide_start(path, &o, NULL), TIDE_OK);
	tide_recording_path(into, sizeof into);
	snprintf(want, sizeof want, "%.*s.%ld.tide", (int)strlen(path) - 5, path, (long)getpid());
	assert_string_equal(into, want);
	stop();
	assert_int_equal(stat(path, &after), 0);
	assert_true(before.st_ino == after.st_ino && before.st_size == after.st_size);
	assert_int_equal(unlink(want), 0);
}

/* Rings of 1 MiB each would be too many for this room; smaller ones for the later threads are not.
 */
static void many_threads_at_once(void **state)
{
	enum { N = 150 };
	tide_options o = TIDE_OPTIONS_INIT;
	o.ring_bytes = 1 << 20;
	o.max_ring_bytes = 80 << 20;
	assert_int_equal(tide_start(path, &o, NULL), TIDE_OK);
	pthread_t t[N];
	pthread_barrier_t b;
	pthread_barrier_init(&b, NULL, N);
	for (int i = 0; i < N; i++)
		assert_int_equal(pthread_create(&t[i], NULL, one_event, &b), 0);
	for (int i = 0; i < N; i++)
		pthread_join(t[i], NULL);
	pthread_create(&t[0], NULL, one_event_alone,
		       NULL); /* has the largest of those that are free */
	pthread_join(t[0], NULL);
	tide_stats s = stop();
	assert_int_equal(s.rings, N);
	assert_int_equal(s.events, N + 1);
	assert_int_equal(s.lost_other, 0);
	seen back = read_back();
	assert_int_equal(back.n, N + 1);
	seen_free(&back);
}

/* Output of a program to a stream that it has closed is not written into the file. */
static void closed_streams_are_left_alone(void **state)
{
	int said_to = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	tide_code rc = tide_start(path, NULL, NULL);
	ssize_t said = write(STDOUT_FILENO, "said", 4), cried = write(STDERR_FILENO, "cried", 5);
	tide_mark(TIDE_CHECKPOINT, tide_intern("here"), 0);
	tide_code end = tide_stop(NULL);
	dup2(said_to, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(said_to);
	close(err);
	assert_int_equal(rc | end, TIDE_OK);
	assert_int_equal(said, -1);
	assert_int_equal(cried, -1);
	seen back = read_back();
	assert_int_equal(back.n, 1);
	seen_free(&back);
}

/* ---- everything comes back ------------------------------------------------------------------ */

static uint64_t seed;

static uint64_t rnd(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

static uint64_t rnd_bits(void)
{
	uint64_t x = rnd(1u << 31) << 33 ^ rnd(1u << 31) << 10 ^ rnd(1024);
	return x >> rnd(64);
}

static const uint64_t MASK48 = (UINT64_C(1) << 48) - 1;

/* Records one random event and returns the event that must be read back. */
static tide_event record_one(tide_name name, char *text, uint64_t shape[16])
{
	tide_event e = { .pool = (uint16_t)rnd(5), .addr = rnd(2) ? rnd(64) * 512 : rnd_bits() };
	e.size = rnd_bits() & MASK48;
	e.stream = (uint16_t)(rnd(4) ? 1 : rnd(65536));
	int kind = (int)rnd(256);
	switch (rnd(9)) {
	case 0:
		e.tag = TIDE_REC_ALLOC;
		e.requested = e.size;
		tide_alloc(e.pool, e.addr, e.size, e.stream);
		break;
	case 1:
		e.tag = TIDE_REC_ALLOC;
		e.name = (uint32_t)rnd(3);
		e.requested = rnd(2) && e.size ? rnd(e.size) + 1 : e.size;
		tide_alloc_full(e.pool, e.addr, e.size, e.stream, e.name, e.requested);
		break;
	case 2:
		e.tag = TIDE_REC_FREE;
		tide_free(e.pool, e.addr);
		break;
	case 3:
		e.tag = TIDE_REC_SEG_ALLOC;
		e.kind = (uint8_t)kind;
		tide_segment_alloc(e.pool, e.addr, e.size, e.stream, kind);
		break;
	case 4:
		e.tag = TIDE_REC_SEG_FREE;
		tide_segment_free(e.pool, e.addr, e.size);
		break;
	case 5:
		e.tag = TIDE_REC_MARK;
		e.name = name;
		e.kind = (uint8_t)kind;
		e.size = rnd_bits();
		tide_mark(kind, name, (int64_t)e.size);
		break;
	case 6:
		e.tag = TIDE_REC_OOM;
		e.addr = rnd(2) ? UINT64_MAX : e.addr;
		tide_oom(e.pool, e.size, (int64_t)e.addr);
		break;
	case 7:
		e.tag = TIDE_REC_ANNOTATE;
		e.name = name;
		e.size = rnd(200);
		memset(text, 'a' + (int)rnd(26), e.size);
		text[e.size] = 0;
		tide_annotate(name, text);
		break;
	default:
		e.tag = TIDE_REC_TENSOR;
		e.name = name;
		e.size = rnd(17);
		e.stream = (uint16_t)(rnd(20) | rnd(10) << 8);
		e.kind = (uint8_t)rnd(3);
		for (uint64_t i = 0; i < e.size; i++)
			shape[i] = rnd_bits();
		tide_tensor_info info = { name,	  e.stream & 0xff, e.stream >> 8,
					  e.kind, (uint8_t)e.size, shape };
		tide_tensor(e.pool, e.addr, &info);
	}
	return e;
}

static void assert_same(size_t at, const tide_event *want, const tide_event *got, const char *text,
			const uint64_t *shape)
{
	bool addr = want->tag != TIDE_REC_MARK && want->tag != TIDE_REC_ANNOTATE;
	bool pool = addr, size = want->tag != TIDE_REC_FREE;
	bool name = want->tag == TIDE_REC_ALLOC || !addr || want->tag == TIDE_REC_TENSOR;
	bool stream = want->tag == TIDE_REC_ALLOC || want->tag == TIDE_REC_SEG_ALLOC ||
		      want->tag == TIDE_REC_TENSOR;
	bool kind = want->tag == TIDE_REC_SEG_ALLOC || want->tag == TIDE_REC_MARK ||
		    want->tag == TIDE_REC_TENSOR;
	if (want->tag != got->tag || (addr && want->addr != got->addr) ||
	    (pool && want->pool != got->pool) || (size && want->size != got->size) ||
	    (stream && want->stream != got->stream) || (kind && want->kind != got->kind) ||
	    (name && want->name != got->name) ||
	    (want->tag == TIDE_REC_ALLOC && want->requested != got->requested))
		fail_msg("event %zu: tag %u addr %llx size %llu: came back as tag %u addr %llx "
			 "size %llu",
			 at, want->tag, (unsigned long long)want->addr,
			 (unsigned long long)want->size, got->tag, (unsigned long long)got->addr,
			 (unsigned long long)got->size);
	if (want->tag == TIDE_REC_ANNOTATE)
		assert_memory_equal(got->bytes, text, want->size);
	const uint8_t *p = got->bytes;
	for (uint64_t i = 0; want->tag == TIDE_REC_TENSOR && i < want->size; i++) {
		uint64_t v = 0;
		for (unsigned shift = 0;; shift += 7) {
			v |= (uint64_t)(*p & 0x7f) << shift;
			if (*p++ < 0x80)
				break;
		}
		assert_int_equal(v, shape[i]);
	}
}

static void whatever_is_recorded_comes_back(void **state)
{
	enum { N = 40000 }; /* many times round the smallest ring */
	char *text = malloc(256);
	uint64_t shape[16];
	start(65536, LONG_US);
	tide_name name = tide_intern("random");
	seed = 1;
	for (int i = 0; i < N; i++)
		record_one(name, text, shape);
	tide_stats st = stop();
	assert_int_equal(st.events, N);
	assert_int_equal(st.lost_full + st.lost_signal + st.lost_other, 0);
	seen s = read_back();
	assert_int_equal(s.n, N);
	seed = 1; /* not recording: the same calls only return the expected events */
	for (int i = 0; i < N; i++) {
		tide_event want = record_one(name, text, shape);
		assert_same((size_t)i, &want, &s.e[i], text, shape);
		if (i && s.e[i].ticks < s.e[i - 1].ticks)
			fail_msg("time goes back at event %d", i);
	}
	seen_free(&s);
	free(text);
}

/* A link that names the recording is followed and stays a link, even to a file that is not there
 * yet. */
static void links_are_followed(void **state)
{
	char link[80], link2[80], to[96];
	struct stat st;
	snprintf(link, sizeof link, "%s.link", path);
	snprintf(link2, sizeof link2, "%s.link2", path);
	unlink(link);
	unlink(link2);
	assert_int_equal(symlink(strrchr(path, '/') + 1, link), 0); /* relative */
	assert_int_equal(symlink(link, link2), 0);
	for (int there = 0; there < 2; there++) {
		if (!there)
			unlink(path);
		assert_int_equal(tide_start(link2, NULL, NULL), TIDE_OK);
		assert_int_equal(tide_stop(NULL), TIDE_OK);
		assert_int_equal(lstat(link2, &st), 0);
		assert_true(S_ISLNK(st.st_mode));
		assert_int_equal(lstat(link, &st), 0);
		assert_true(S_ISLNK(st.st_mode));
		assert_int_equal(lstat(path, &st), 0);
		assert_true(S_ISREG(st.st_mode) && st.st_size > 0);
		snprintf(to, sizeof to, "%s-rings", link2);
		assert_int_not_equal(access(to, F_OK), 0);
	}
	unlink(link);
	unlink(link2);
}

/* Records in a file system of this many KiB. Returns 0 recorded, 1 "no space" reported, 2 other, 77
 * no file system available. */
static int record_in(const char *kib)
{
	char dir[] = "/tmp/tide-small-XXXXXX", options[32], file[64];
	tide_error err = { 0 };
	tide_options o = TIDE_OPTIONS_INIT;
	o.ring_bytes = 4 << 20;
	snprintf(options, sizeof options, "size=%sk", kib);
	if (!mkdtemp(dir) || unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", dir, "tmpfs", 0, options) != 0)
		return 77;
	snprintf(file, sizeof file, "%s/x.tide", dir);
	tide_code rc = tide_start(file, &o, &err);
	if (rc == TIDE_OK) {
		tide_mark(1, 0, 7);
		return tide_stop(NULL) == TIDE_OK ? 0 : 2;
	}
	return strstr(err.text, "no space") && strstr(err.text, "KiB are free") ? 1 : 2;
}

static void little_space(void **state)
{
	static const struct {
		const char *kib;
		int want;
	} rows[] = { { "1500", 0 }, { "100", 1 } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int status = 0;
		pid_t pid = fork();
		if (!pid)
			_exit(record_in(rows[i].kib));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WEXITSTATUS(status) == 77) {
			print_message("skipped: no file system of its own for this user\n");
			return;
		}
		if (!WIFEXITED(status) || WEXITSTATUS(status) != rows[i].want)
			fail_msg("%s KiB: status %x", rows[i].kib, (unsigned)status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(bad_starts),
		T(links_are_followed),
		T(little_space),
		T(failed_start_forgets_nothing),
		T(silent_when_not_recording),
		T(errno_is_left_alone),
		T(ids_are_stable),
		T(every_recording_has_all_definitions),
		T(static_names_from_many_threads),
		T(long_and_odd_texts),
		T(recover_leaves_a_live_file_alone),
		T(recover_while_it_is_written),
		T(ops_nest),
		T(open_ops_end_with_the_recording),
		T(longjmp_needs_only_the_outer_end),
		T(too_deep_is_counted),
		T(tokens_are_unlike),
		T(out_of_range_is_counted),
		T(removed_is_told),
		T(folders_that_go),
		T(closed_streams_are_left_alone),
		T(too_many_threads),
		T(many_threads_at_once),
		T(as_a_child),
		T(whatever_is_recorded_comes_back),
		T(ids_end_at_their_limit), /* last: it leaves no ids for others */
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
