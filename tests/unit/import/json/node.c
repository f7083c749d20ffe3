// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Documents by the names in them: numbers, values, texts that are not JSON, and failing memory. */
#include <string.h>

#include "base/mem.h"
#include "import/json/node.h"
#include "testing.h"

static void numbers(void **state)
{
	static const struct {
		const char *text;
		int64_t scale;
		bool ok;
		int64_t want;
	} rows[] = {
		{ "12", 1, true, 12 },
		{ "-12.5", 10, true, -125 },
		{ "1794709290481508.8", 1000, true, INT64_C(1794709290481508800) },
		{ "1.5e3", 1, true, 1500 },
		{ "25e-1", 1, true, 3 },
		{ "0.0004", 1000, true, 0 },
		{ "12.299701", 1000000, true, 12299701 },
		{ "1e300", 1, false, 0 },
		{ "99999999999999999999", 1, false, 0 },
		{ "1.2.3", 1, false, 0 },
		{ "x", 1, false, 0 },
		{ "+5", 1, false, 0 },
		{ "1e", 1, false, 0 },
		{ "-0.5", 1, true, -1 },
		{ "1e99999999", 1, false, 0 },
		{ "1e-99999999", 1, true, 0 },
		{ "9223372036854775807", 1, true, INT64_MAX },
		{ "9223372036854775808", 1, false, 0 },
		{ "\"5\"", 1, false, 0 },
	};
	jsonr r = { 0 };
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		jsonr_node v;
		int64_t got = 0;
		assert_true(tide__jsonr_open(&r, rows[i].text, strlen(rows[i].text), &v));
		if (tide__jsonr_parse_number(v, rows[i].scale, &got) != rows[i].ok ||
		    got != rows[i].want)
			fail_msg("%s: %lld", rows[i].text, (long long)got);
	}
	tide__jsonr_fini(&r);
}

static void values(void **state)
{
	static const char *const bad[] = { "",	"  ",	"{",  "[1,",	"\"a",	"{} x", "\"\\\"",
					   ",", "[\"]", "1,", "1], [2", "[1}x", "1 2" };
	jsonr_node v, key, x;
	const char *text = " {\"a\\\"b\": [1, {\"c\": \"}\"}], \"d\": null}\t";
	jsonr r = { 0 };
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (tide__jsonr_open(&r, bad[i], strlen(bad[i]), &v))
			fail_msg("%s was read", bad[i]);
	assert_true(tide__jsonr_open(&r, text, strlen(text), &v));
	assert_true(tide__jsonr_get(v, "d", &x) && x.type == 'n');
	assert_false(tide__jsonr_get(v, "c", &x) || x.type);
	assert_true(tide__jsonr_get(v, "a\\\"b", &x) && x.type == '[');
	jsonr_nodes w = tide__jsonr_walk(x);
	assert_true(tide__jsonr_next_node(&w, &key, &x) && x.type == '0');
	assert_true(tide__jsonr_next_node(&w, &key, &x) && x.type == '{');
	assert_false(tide__jsonr_next_node(&w, &key, &x) || w.bad);
	assert_true(tide__jsonr_open(&r, "[1 2]", 5, &v));
	w = tide__jsonr_walk(v);
	assert_false(tide__jsonr_next_node(&w, &key, &x));
	assert_true(w.bad && tide__jsonr_offset(&r, w.at) == 1);
	tide__jsonr_fini(&r);
}

/* Whatever the layout and the size of the text: members are found, and each allocation may fail. */
static void memory(void **state)
{
	char text[9000] = "{\"a\":";
	jsonr_node v, x;
	(void)state;
	memset(text + 5, ' ', sizeof text - 5);
	memcpy(text + sizeof text - 4, "7 }", 4);
	for (uint64_t n = 1;; n++) {
		jsonr r = { 0 };
		int64_t got = 0;
		tide__mem_fail_at(n);
		bool ok = tide__jsonr_open(&r, text, sizeof text - 1, &v);
		tide__mem_fail_at(0);
		if (ok)
			assert_true(tide__jsonr_get(v, "a", &x) &&
				    tide__jsonr_parse_number(x, 1, &got) && got == 7);
		else
			assert_int_equal(r.why, JSONR_NOMEM);
		tide__jsonr_fini(&r);
		if (ok) {
			assert_int_equal(n, 3); /* the copy, the bit maps */
			return;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(numbers), cmocka_unit_test(values),
					    cmocka_unit_test(memory) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
