// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Ops that are known by an address (tidemark/detail/quick.h), as the hooks of PyTorch have them:
 * begun on one thread and ended on another, alone and from many threads at once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tidemark/detail/quick.h>
#include <tidemark/trace.h>

#include "testing.h"

static char path[64];

static int setup(void **state)
{
	snprintf(path, sizeof path, "/tmp/tide-quick-%d.tide", (int)getpid());
	assert_int_equal(tide_start(path, NULL, NULL), TIDE_OK);
	return 0;
}

static int teardown(void **state)
{
	tide_stop(NULL);
	unlink(path);
	return 0;
}

/* ---- the content of the file ---- */

typedef struct spans {
	tide_trace *t;
	size_t first, rows;
	const uint32_t *name, *parent;
	const int64_t *t1;
} spans;

static const void *column(tide_trace *t, const char *name, spans *s)
{
	tide_column_view v;
	assert_int_equal(tide_trace_column(t, "spans", name, &v), TIDE_OK);
	s->first = v.first;
	s->rows = v.rows;
	return v.data;
}

static spans read_back(void)
{
	spans s = { 0 };
	tide_error err = { 0 };
	assert_int_equal(tide_stop(NULL), TIDE_OK);
	if (tide_trace_open(path, &s.t, &err) != TIDE_OK)
		fail_msg("%s", err.text);
	s.name = column(s.t, "name", &s);
	s.parent = column(s.t, "parent", &s);
	s.t1 = column(s.t, "t1", &s);
	return s;
}

/* "outer/inner" of the row. */
static void path_of(const spans *s, size_t row, char *out, size_t n)
{
	char rest[256] = "";
	*out = 0;
	for (; row >= s->first && row < s->rows; row = s->parent[row]) {
		snprintf(out, n, "%s%s%.200s", tide_trace_text(s->t, s->name[row], NULL),
			 *rest ? "/" : "", rest);
		snprintf(rest, sizeof rest, "%s", out);
		if (!s->parent[row])
			return;
	}
}

static void assert_paths(const spans *s, const char *const *want)
{
	char got[256];
	size_t row = s->first;
	for (; *want; want++, row++) {
		path_of(s, row, got, sizeof got);
		assert_true(row < s->rows);
		assert_string_equal(got, *want);
	}
	assert_int_equal(row, s->rows);
}

/* ---- one by one ---- */

static void *end_it(void *op)
{
	tide__end(op);
	return NULL;
}

static void end_on_another(void *op)
{
	pthread_t t;
	assert_int_equal(pthread_create(&t, NULL, end_it, op), 0);
	pthread_join(t, NULL);
}

static void begin(const void *op, const char *name)
{
	if (tide__self)
		tide__begin(tide__self, op, tide_intern(name), 0, 0, 0);
	else
		tide__begin_long(op, tide_intern(name), 0, 0, 0);
}

static void ended_elsewhere_is_ended(void **state)
{
	uint64_t around = 0, given = 0, after = 0;
	begin(&given, "given");
	end_on_another(&given);
	begin(&after, "after");
	tide__end(&after);
	begin(&around, "around");
	begin(&given, "given");
	begin(&after, "inside");
	end_on_another(&given); /* not the innermost: it ends with the ops around it */
	tide__end(&after);
	tide__end(&around);
	begin(&after, "last");
	tide__end(&after);
	spans s = read_back();
	static const char *const want[] = {
		"given", "after", "around", "around/given", "around/given/inside", "last", NULL
	};
	assert_paths(&s, want);
	for (size_t i = s.first; i < s.rows; i++)
		assert_true(s.t1[i] != INT64_MAX);
	tide_trace_close(s.t);
}

/* More than can be open on a thread. */
static void they_do_not_pile_up(void **state)
{
	enum { N = TIDE_DEPTH_MAX + 500, AT_ONCE = 16 };
	uint64_t ops[AT_ONCE] = { 0 };
	for (int i = 0; i < N / AT_ONCE; i++) {
		for (int k = 0; k < AT_ONCE; k++)
			begin(&ops[k], "given");
		for (int k = AT_ONCE; k-- > 0;)
			end_on_another(&ops[k]);
	}
	tide_stats st;
	tide_stats_get(&st);
	assert_int_equal(st.lost_full + st.lost_signal + st.lost_other, 0);
	spans s = read_back();
	assert_int_equal(s.rows - s.first, N / AT_ONCE * AT_ONCE);
	for (size_t i = s.first; i < s.rows; i++)
		assert_true(s.t1[i] != INT64_MAX);
	tide_trace_close(s.t);
}

/* The same if an op of its own thread is open inside it when it ends. */
static void nor_do_those_with_others_inside(void **state)
{
	enum { N = TIDE_DEPTH_MAX + 500 };
	uint64_t given = 0, inside = 0, last = 0;
	char got[256];
	for (int i = 0; i < N; i++) {
		begin(&given, "given");
		begin(&inside, "inside");
		end_on_another(&given);
		tide_mark(TIDE_STEP, TIDE_NAME("step"), i);
		tide__end(&inside);
	}
	begin(&last, "last");
	tide__end(&last);
	tide_stats st;
	tide_stats_get(&st);
	assert_int_equal(st.lost_full + st.lost_signal + st.lost_other, 0);
	spans s = read_back();
	assert_int_equal(s.rows - s.first, 2 * N + 1);
	for (size_t i = s.first; i < s.rows; i++) {
		path_of(&s, i, got, sizeof got);
		assert_string_equal(got, i + 1 == s.rows     ? "last"
					 : (i - s.first) % 2 ? "given/inside"
							     : "given");
	}
	tide_trace_close(s.t);
}

/* ---- many at once ---- */

enum { THREADS = 4, ROUNDS = 3000 };
static _Atomic(uint64_t *)
	handed[THREADS]; /* an op for any other thread, which ends and frees it */

/* Nested ops of its own, and now and then one that is left to others. */
static void *hand_over(void *which)
{
	uint64_t a = 0, b = 0;
	for (size_t i = 0; i < ROUNDS; i++) {
		uint64_t *given = malloc(sizeof *given);
		begin(&a, "a");
		begin(given, "given");
		begin(&b, "b");
		uint64_t *old = atomic_exchange(&handed[i % THREADS], given);
		if (old)
			tide__end(old);
		free(old);
		tide__end(&b);
		tide__end(&a);
	}
	return which;
}

static void all_at_once(void **state)
{
	pthread_t t[THREADS];
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, hand_over, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < THREADS; i++) {
		uint64_t *left = atomic_exchange(&handed[i], NULL);
		tide__end(left);
		free(left);
	}
	spans s = read_back();
	char got[256];
	for (size_t i = s.first; i < s.rows; i++) {
		path_of(&s, i, got, sizeof got);
		assert_true(!strcmp(got, "a") || !strcmp(got, "a/given") ||
			    !strcmp(got, "a/given/b") || !strcmp(got, "a/b"));
		assert_true(s.t1[i] != INT64_MAX);
	}
	assert_int_equal(s.rows - s.first, 3 * THREADS * ROUNDS);
	tide_trace_close(s.t);
}

/* ---- stacks of several frames ---- */

/* Ids are consecutive, frames get theirs, and a forked child continues after them. */
static void stacks_together(void **state)
{
	tide_text_frame few[] = { { "outer", "a.c", 0 },
				  { "inner", NULL, 0 },
				  { "outer", "a.c", 0 } };
	tide_text_frame many[33] = { { "x", NULL, 0 } };
	uint32_t first = tide__stack_push_texts(0, few, 3);
	assert_true(first > 0);
	assert_true(few[0].id && few[1].id && few[0].id != few[1].id);
	assert_int_equal(few[2].id, few[0].id);
	assert_int_equal(tide__stack_push_texts(first + 2, few, 2), first + 3);
	tide_name name = tide_name_static("one more");
	assert_int_equal(tide_stack_push(first + 4, name, 0, 1), first + 5);
	assert_int_equal(tide__stack_push_texts(0, many, 33), 0); /* too many */
	int status;
	pid_t pid = fork();
	if (!pid) {
		tide_stack old = tide_stack_push(first + 4, name, 0, 1);
		_exit(old != first + 5				       ? 1
		      : tide__stack_push_texts(0, few, 3) != first + 6 ? 2
								       : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(ended_elsewhere_is_ended),
		T(they_do_not_pile_up),
		T(nor_do_those_with_others_inside),
		T(all_at_once),
		T(stacks_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
