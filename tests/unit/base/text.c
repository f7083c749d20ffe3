// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Texts: errors of one line, UTF-8, the nearest name; and the hook before large allocations.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include "testing.h"

static void test_error(void **state)
{
	tide_error e;
	assert_int_equal(tide__fail(&e, TIDE_ETRUNC, 7, "a\nb\x1b[%d\x7f", 3), TIDE_ETRUNC);
	assert_string_equal(e.text, "a?b?[3?"); /* one line, no colours */
	assert_int_equal(e.offset, 7);
	assert_int_equal(e.sys_errno, 0);
	char big[1000];
	memset(big, 'x', sizeof big);
	big[sizeof big - 1] = 0;
	tide__fail(&e, TIDE_EIO, 0, "%s", big);
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
	errno = ENOENT;
	assert_int_equal(tide__fail_errno(&e, "cannot open %s", "x"), TIDE_EIO);
	assert_string_equal(e.text, "cannot open x: No such file or directory");
	assert_int_equal(e.sys_errno, ENOENT);
	assert_int_equal(e.offset, TIDE_NO_OFFSET);
	assert_int_equal(tide__nomem(NULL), TIDE_ENOMEM);
	assert_string_equal(tide_code_text(TIDE_ELIMIT), "a limit was reached");
	assert_string_equal(tide_code_text((tide_code)999), "unknown error");
}

static void test_utf8(void **state)
{
	static const struct {
		const char *name, *s;
		size_t n, len;
	} rows[] = {
		{ "ascii", "a", 1, 1 },
		{ "nul", "", 1, 1 },
		{ "two", "\xc3\xa9", 2, 2 },
		{ "two, cut", "\xc3\xa9", 1, 0 },
		{ "three", "\xe2\x82\xac", 3, 3 },
		{ "three, cut", "\xe2\x82\xac", 2, 0 },
		{ "four", "\xf0\x9f\x98\x80", 4, 4 },
		{ "four, cut", "\xf0\x9f\x98\x80", 3, 0 },
		{ "a continuation", "\x80", 1, 0 },
		{ "overlong two", "\xc1\xbf", 2, 0 },
		{ "overlong three", "\xe0\x9f\xbf", 3, 0 },
		{ "first of three", "\xe0\xa0\x80", 3, 3 },
		{ "overlong four", "\xf0\x8f\xbf\xbf", 4, 0 },
		{ "first of four", "\xf0\x90\x80\x80", 4, 4 },
		{ "last before surrogates", "\xed\x9f\xbf", 3, 3 },
		{ "surrogate", "\xed\xa0\x80", 3, 0 },
		{ "last there is", "\xf4\x8f\xbf\xbf", 4, 4 },
		{ "over U+10FFFF", "\xf4\x90\x80\x80", 4, 0 },
		{ "f5", "\xf5\x80\x80\x80", 4, 0 },
		{ "no continuation", "\xe2\x82z", 3, 0 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (tide__utf8_len(rows[i].s, rows[i].n) != rows[i].len)
			fail_msg("%s: %zu", rows[i].name, tide__utf8_len(rows[i].s, rows[i].n));
}

static const char *name_at(const void *user, size_t i)
{
	return ((const char *const *)user)[i];
}

static void test_nearest(void **state)
{
	static const char *const names[] = { "peak", "phases", "kernels", "critical-path", "ops" };
	static const struct {
		const char *word, *want;
	} rows[] = {
		{ "peek", "peak" },
		{ "phsaes", "phases" },
		{ "kern", "kernels" },
		{ "op", "ops" },
		{ "kernals", "kernels" },
		{ "xyz", NULL },
		{ "timeline", NULL },
		{ "", NULL },
		{ "critical_path", "critical-path" },
		{ "a-word-that-is-longer-than-the-table-of-the-distance", NULL },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *got = tide__nearest(rows[i].word, name_at, names, 5);
		if (got ? !rows[i].want || strcmp(got, rows[i].want) : rows[i].want != NULL)
			fail_msg("%s: %s", rows[i].word, got ? got : "none");
	}
}

/* Before a large table is allocated, the hook is called; if it refuses, the allocation fails. */
static size_t asked_for;
static int refuse_large(size_t more, int grows)
{
	asked_for = more;
	return 0;
}

static void test_asked(void **state)
{
	tide__mem_ask(refuse_large);
	void *small = tide__alloc(1000, 1000);
	assert_non_null(small);
	assert_int_equal(asked_for, 0);
	assert_null(tide__alloc(TIDE_MEM_LARGE, 1));
	assert_null(tide__calloc(TIDE_MEM_LARGE, 2));
	assert_int_equal(asked_for, 2 * TIDE_MEM_LARGE);
	assert_null(tide__realloc(small, TIDE_MEM_LARGE + 2000000, 1));
	assert_in_range(asked_for, TIDE_MEM_LARGE, TIDE_MEM_LARGE + 1000000);
	tide__mem_ask(NULL);
	small = tide__realloc(small, TIDE_MEM_LARGE, 1);
	assert_non_null(small);
	tide__free(small);
}

static void test_mem(void **state)
{
	assert_null(tide__alloc(SIZE_MAX / 2, 4)); /* a product that wraps */
	assert_null(tide__calloc(SIZE_MAX, 2));
	assert_null(tide__realloc(NULL, SIZE_MAX / 8, 16));
	assert_null(tide__strndup("x", SIZE_MAX));
	char *p = tide__alloc(0, 8);
	assert_non_null(p);
	tide__free(p);
	p = tide__strndup("abcdef", 3);
	assert_string_equal(p, "abc");
	tide__free(p);
	tide__mem_fail_at(2);
	p = tide__alloc(1, 1);
	assert_null(tide__alloc(1, 1));
	assert_int_equal(tide__mem_count(), 2);
	tide__mem_fail_at(0);
	tide__free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error),	cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_nearest), cmocka_unit_test(test_asked),
		cmocka_unit_test(test_mem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
