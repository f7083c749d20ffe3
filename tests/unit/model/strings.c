// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Interned texts: equal texts have one id, different ones never share it, for any bytes. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/strings.h"
#include "testing.h"

static void test_ids(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		uint32_t id;
	} rows[] = {
		{ "alpha", 5, 1 },	  { "alphb", 5, 2 }, { "alpha", 5, 1 }, { "alph", 4, 3 },
		{ "blpha", 5, 4 },	  { "", 0, 0 },	     { "\0", 1, 5 },	{ "\0\0", 2, 6 },
		{ "alpha\0beta", 10, 7 }, { "\xff", 1, 8 },  { "\0", 1, 5 },
	};
	tide_strings *s = tide__strings_new();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint32_t id = tide__strings_add(s, rows[i].text, rows[i].n);
		size_t n;
		assert_int_equal(id, rows[i].id);
		assert_int_equal(tide__strings_find(s, rows[i].text, rows[i].n), id);
		const char *text = tide__strings_get(s, id, &n);
		assert_int_equal(n, rows[i].n);
		assert_memory_equal(text, rows[i].text, n);
		assert_int_equal(text[n], 0);
	}
	assert_int_equal(tide__strings_count(s), 8);
	assert_int_equal(tide__strings_find(s, "gamma", 5), 0);
	assert_string_equal(tide__strings_get(s, 9, NULL), "");
	tide__strings_free(s);
}

/* Many, over several sizes of the table; an allocation that fails now and then changes nothing. */
static void test_many(void **state)
{
	enum { N = 5000 };
	tide_strings *s = tide__strings_new();
	char text[32];
	for (uint32_t i = 1; i <= N; i++) {
		size_t n = (size_t)snprintf(text, sizeof text, "text %u", i);
		tide__mem_fail_at(1);
		uint32_t id = tide__strings_add(s, text, n);
		tide__mem_fail_at(0);
		if (!id)
			id = tide__strings_add(s, text, n);
		assert_int_equal(id, i);
	}
	for (uint32_t i = 1; i <= N; i++) {
		size_t n = (size_t)snprintf(text, sizeof text, "text %u", i);
		assert_int_equal(tide__strings_find(s, text, n), i);
		assert_string_equal(tide__strings_get(s, i, NULL), text);
	}
	tide__strings_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_ids),
					    cmocka_unit_test(test_many) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
