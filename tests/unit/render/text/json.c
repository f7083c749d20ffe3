// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include <stdlib.h>
#include <string.h>

#include "render/text/json.h"
#include "testing.h"

static char *text;
static size_t size;

static tide_json begin(void)
{
	tide_json j;
	tide__json_begin(&j, open_memstream(&text, &size), false);
	return j;
}

static void expect(tide_json *j, const char *want)
{
	assert_true(tide__json_end(j));
	fclose(j->out);
	text[size - 1] = 0; /* the newline */
	assert_string_equal(text, want);
	free(text);
}

static void numbers(void **state)
{
	tide_json j = begin();
	tide__json_array(&j);
	tide__json_int(&j, 0);
	tide__json_int(&j, INT64_MIN);
	tide__json_int(&j, INT64_MAX);
	tide__json_uint(&j, UINT64_MAX);
	tide__json_milli(&j, 0);
	tide__json_milli(&j, 7);
	tide__json_milli(&j, -7);
	tide__json_milli(&j, 12345);
	tide__json_milli(&j, -1000);
	tide__json_milli(&j, INT64_MIN);
	tide__json_milli(&j, 9007199254740993); /* what a double cannot hold */
	tide__json_fixed(&j, 1.0 / 0.0, 2);
	tide__json_array_end(&j);
	expect(&j, "[0,-9223372036854775808,9223372036854775807,18446744073709551615,0.000,0.007,"
		   "-0.007,12.345,-1.000,-9223372036854775.808,9007199254740.993,null]");
}

static void texts(void **state)
{
	tide_json j = begin();
	tide__json_object(&j);
	tide__json_kstr(&j, "a\"b", "line\nend\\ \x01\xff</script>");
	tide__json_kstr(&j, "none", NULL);
	tide__json_key(&j, "nul");
	tide__json_strn(&j, "a\0b", 3);
	tide__json_object_end(&j);
	expect(&j, "{\"a\\\"b\":\"line\\nend\\\\ \\u0001\\u00ff</script>\",\"none\":null,"
		   "\"nul\":\"a\\u0000b\"}");
}

/* Invisible control characters are escaped too; letters are not. */
static void unseen(void **state)
{
	tide_json j = begin();
	tide__json_array(&j);
	tide__json_str(&j, "\xc2\x9b"
			   "2J \xe2\x80\xae evil \xe2\x81\xa6 \xd8\x9c \xef\xbb\xbf \x7f");
	tide__json_str(&j, "\xc3\xa9\xe2\x80\x93\xf0\x9f\x8c\x8a");
	tide__json_array_end(&j);
	expect(&j, "[\"\\u009b2J \\u202e evil \\u2066 \\u061c \\ufeff \\u007f\","
		   "\"\xc3\xa9\xe2\x80\x93\xf0\x9f\x8c\x8a\"]");
}

static void deep(void **state)
{
	tide_json j = begin();
	for (int i = 0; i < 2047; i++)
		tide__json_array(&j);
	tide__json_int(&j, 1);
	tide__json_int(&j, 2);
	for (int i = 0; i < 2047; i++)
		tide__json_array_end(&j);
	assert_true(tide__json_end(&j));
	fclose(j.out);
	assert_int_equal(size, 2047 * 2 + 3 + 1);
	free(text);
	j = begin();
	for (int i = 0; i < 2048; i++)
		tide__json_array(&j);
	assert_false(tide__json_end(&j)); /* too deep is a failure, not a crash */
	fclose(j.out);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(texts),
		cmocka_unit_test(unseen),
		cmocka_unit_test(deep),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
