// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The grid and the formats of single values. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "render/text/format.h"
#include "render/text/grid.h"
#include "testing.h"

static void numbers(void **state)
{
	static const struct {
		char *(*fmt)(char *, size_t, double);
		double v;
		const char *want;
	} t[] = {
		{ tide__fmt_bytes, 0, "0 B" },
		{ tide__fmt_bytes, 1023, "1023 B" },
		{ tide__fmt_bytes, 1024, "1.00 KiB" },
		{ tide__fmt_bytes, 1048575, "1.00 MiB" },
		{ tide__fmt_bytes, 1048576 - 6, "1023.99 KiB" },
		{ tide__fmt_bytes, 12.34 * 1048576, "12.34 MiB" },
		{ tide__fmt_bytes, 141.0 * 1073741824, "141.00 GiB" },
		{ tide__fmt_bytes, 18446744073709551615.0, "16384.00 PiB" },
		{ tide__fmt_bytes, -5, "-5 B" },
		{ tide__fmt_delta, 0, "0 B" },
		{ tide__fmt_delta, 2048, "+2.00 KiB" },
		{ tide__fmt_delta, -2048, "-2.00 KiB" },
		{ tide__fmt_ns, 0, "0 ns" },
		{ tide__fmt_ns, 999, "999 ns" },
		{ tide__fmt_ns, 1000, "1.000 us" },
		{ tide__fmt_ns, 999999, "999.999 us" },
		{ tide__fmt_ns, 999999.6, "1.000 ms" },
		{ tide__fmt_ns, 1234567, "1.235 ms" },
		{ tide__fmt_ns, 90e9, "90.000 s" },
	};
	char buf[64];
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		assert_string_equal(t[i].fmt(buf, sizeof buf, t[i].v), t[i].want);
	assert_string_equal(tide__fmt_count(buf, sizeof buf, 0), "0");
	assert_string_equal(tide__fmt_count(buf, sizeof buf, 999), "999");
	assert_string_equal(tide__fmt_count(buf, sizeof buf, -1234567), "-1,234,567");
	assert_string_equal(tide__fmt_count(buf, sizeof buf, INT64_MIN),
			    "-9,223,372,036,854,775,808");
	assert_string_equal(tide__fmt_count(buf, 4, 1234), "1,2");
}

static void names(void **state)
{
	static const struct {
		const char *in;
		int width;
		size_t room;
		const char *want;
	} t[] = {
		{ "forward", 0, 64, "forward" },
		{ "a\nb\x1b[31m", 0, 64, "a\\x0ab\\x1b[31m" },
		{ "\xff\xc3", 0, 64, "\\xff\\xc3" },
		{ "grün", 4, 64, "grün" },
		{ "abcdefghij", 10, 64, "abcdefghij" },
		{ "abcdefghij", 7, 64, "abc…hij" },
		{ "abcdefghij", 1, 64, "…" },
		{ "日本語日本語", 6, 64, "日…語" },
		{ "日本語日本語", 7, 64, "日…語" },
		{ "\xe2\x80\xae"
		  "evil",
		  0, 64,
		  "\\xe2\\x80\\xae"
		  "evil" },
		{ "a\xe2\x80\x8b", 0, 64, "a\\xe2\\x80\\x8b" }, /* invisible */
		{ "👩\xe2\x80\x8d💻", 0, 64, "👩\xe2\x80\x8d💻" },	/* joins */
		{ "abcdef", 0, 4, "abc" },
		{ "grün", 0, 4, "gr" },
	};
	char buf[64];
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		tide__fmt_name(buf, t[i].room, t[i].in, strlen(t[i].in), t[i].width);
		assert_string_equal(buf, t[i].want);
		int w = tide__columns(t[i].in, strlen(t[i].in));
		if (t[i].width)
			assert_true(tide__columns(buf, strlen(buf)) <= t[i].width ||
				    w <= t[i].width);
	}
	assert_string_equal(tide__fmt_name(buf, 64, "abcdefghij", 10, 7), "abc…hij");
}

static void widths(void **state)
{
	static const struct {
		const char *text;
		int columns;
	} rows[] = {
		{ "grün", 4 },
		{ "日本", 4 }, /* wide */
		{ "e\xcc\x81", 1 },
		{ "\xd7\x91\xd6\xbc", 1 },	   /* marks: e with acute, bet with dagesh */
		{ "\xe0\xb8\x81\xe0\xb8\xb4", 1 }, /* Thai */
		{ "\xe2\x8c\x9a", 2 },
		{ "\xf0\x9f\x91\xa9", 2 }, /* pictures: watch, woman */
		{ "\xef\xbc\xa1", 2 },
		{ "", 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_int_equal(tide__columns(rows[i].text, strlen(rows[i].text)),
				 rows[i].columns);
}

static const tide_grid_col cols[] = {
	{ "name", "Kernel", TIDE_CELL_TEXT }, { "sum_ns", "Total", TIDE_CELL_NS },
	{ "n", "Count", TIDE_CELL_COUNT },    { "at", "Address", TIDE_CELL_HEX },
	{ "pct", "Part", TIDE_CELL_PCT },     { "d", "Change", TIDE_CELL_DELTA },
	{ "hidden", NULL, TIDE_CELL_COUNT },
};

static tide_grid *sample(void)
{
	tide_grid *g = tide__grid_new(cols, 7);
	tide__grid_text(g, "gemm_with_a_rather_long_name_in_it");
	tide__grid_int(g, 1234567);
	tide__grid_uint(g, 12345);
	tide__grid_uint(g, 0x7f00);
	tide__grid_real(g, 12.345);
	tide__grid_int(g, -2048);
	tide__grid_int(g, 7);
	tide__grid_textn(g, "k\t", 2);
	tide__grid_none(g);
	tide__grid_int(g, 1);
	tide__grid_none(g);
	tide__grid_real(g, NAN);
	tide__grid_int(g, 1024);
	tide__grid_none(g);
	return g;
}

static char *printed(const tide_grid *g, const tide_style *st, bool json)
{
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	if (json) {
		tide_json j;
		tide__json_begin(&j, f, false);
		tide__grid_json(g, &j);
		assert_true(tide__json_end(&j));
	} else {
		tide__grid_print(g, f, st, 2);
	}
	fclose(f);
	return text;
}

/* A list of integers in a text is a list in JSON; anything else is unknown. */
static void sizes(void **state)
{
	static const tide_grid_col one[] = { { "v", "V", TIDE_CELL_SIZES } };
	static const struct {
		const char *text, *json;
	} rows[] = { { "[8, 1, 1]", "[8,1,1]" },
		     { "[4,2]", "[4,2]" },
		     { "[7]", "[7]" },
		     { "[]", "null" },
		     { "[", "null" },
		     { "", "null" },
		     { "[1, 2", "null" },
		     { "[1, ]", "null" },
		     { "[1] ", "null" },
		     { "[-1]", "null" },
		     { "[1.5]", "null" },
		     { "[99999999999999999999]", "null" },
		     { "[1,2,3,4,5,6,7,8]", "[1,2,3,4,5,6,7,8]" },
		     { "[1,2,3,4,5,6,7,8,9]", "null" },
		     { "\"[1]\"", "null" } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_grid *g = tide__grid_new(one, 1);
		tide_style wide = { 0 };
		char want[64];
		tide__grid_text(g, rows[i].text);
		char *s = printed(g, &wide, true);
		snprintf(want, sizeof want, "[{\"v\":%s}]", rows[i].json);
		for (char *from = s, *to = s;; from++) /* without its white space */
			if (!strchr(" \n", *from) || !*from)
				if (!(*to++ = *from))
					break;
		if (strcmp(s, want))
			fail_msg("%s: %s", rows[i].text, s);
		free(s);
		tide__grid_free(g);
	}
}

static void text(void **state)
{
	tide_grid *g = sample();
	tide_style wide = { 0 }, narrow = { .width = 70 }, ascii = { .width = 70, .ascii = true };
	char *s = printed(g, &wide, false);
	assert_string_equal(s, "  Kernel                                 Total   Count  Address    "
			       "Part     Change\n"
			       "  gemm_with_a_rather_long_name_in_it  1.235 ms  12,345   0x7f00  "
			       "12.3 %  -2.00 KiB\n"
			       "  k\\x09                                      -       1        -   "
			       "    -  +1.00 KiB\n");
	free(s);
	s = printed(g, &narrow, false);
	assert_string_equal(
		s, "  Kernel                     Total   Count  Address    Part     Change\n"
		   "  gemm_with_a…name_in_it  1.235 ms  12,345   0x7f00  12.3 %  -2.00 KiB\n"
		   "  k\\x09                          -       1        -       -  +1.00 KiB\n");
	free(s);
	s = printed(g, &ascii, false);
	assert_non_null(strstr(s, "gemm_with_..name_in_it"));
	free(s);
	tide__grid_free(g);
}

/* A column without a known value is dropped before one that has values, even if only the other is
 * optional. */
static void empty_columns_first(void **state)
{
	static const tide_grid_col c[] = {
		{ "a", "Live", TIDE_CELL_COUNT },
		{ "b", "Peak", TIDE_CELL_COUNT, 9 },
		{ "n", "Name", TIDE_CELL_TEXT },
	};
	tide_style narrow = { .width = 40 };
	tide_grid *g = tide__grid_new(c, 3);
	tide__grid_none(g);
	tide__grid_int(g, 7);
	tide__grid_text(g, "a_name_that_is_forty_columns_long_as_said");
	char *s = printed(g, &narrow, false);
	assert_string_equal(s, "  Peak  Name\n"
			       "     7  a_name_that_is_f…ns_long_as_said\n"
			       "  (no room for: Live)\n");
	free(s);
	tide__grid_free(g);
}

/* Optional columns are dropped, the highest first, until names are readable; a line below names
 * them. */
static void giving_way(void **state)
{
	static const tide_grid_col c[] = {
		{ "bar", "Bar", TIDE_CELL_BAR },       { "a", "First", TIDE_CELL_COUNT, 2 },
		{ "b", "Second", TIDE_CELL_COUNT, 9 }, { "c", "Third", TIDE_CELL_COUNT },
		{ "n", "Name", TIDE_CELL_TEXT },       { "h", NULL, TIDE_CELL_COUNT, 9 },
	};
	static const struct {
		int width;
		const char *want;
	} t[] = {
		{ 0,
		  "  Bar     First  Second  Third  Name\n"
		  "  ######      1       2      3  a_name_that_is_forty_columns_long_as_said\n" },
		{ 73,
		  "  Bar     First  Second  Third  Name\n"
		  "  ######      1       2      3  a_name_that_is_forty_columns_long_as_said\n" },
		{ 60, "  Bar     First  Second  Third  Name\n"
		      "  ######      1       2      3  a_name_that_is…_long_as_said\n" },
		{ 59, "  Bar     First  Third  Name\n"
		      "  ######      1      3  a_name_that_is_fo…umns_long_as_said\n"
		      "  (no room for: Second)\n" },
		{ 50, "  Bar     Third  Name\n"
		      "  ######      3  a_name_that_is_f…mns_long_as_said\n"
		      "  (no room for: First, Second)\n" },
		{ 29, "  Bar     Third  Name\n"
		      "  ######      3  a_name…_said\n"
		      "  (no room for: First, Second)\n" },
		{ 28, "  Bar     Name\n"
		      "  ######  a_name_th…_as_said\n"
		      "  (no room for: First, Second, Third)\n" },
		{ 10, "  Bar     Name\n"
		      "  ######  a_name…_said\n"
		      "  (no room for: First, Second, Third)\n" },
	};
	tide_grid *g = tide__grid_new(c, 6);
	tide__grid_text(g, "######");
	for (int i = 1; i <= 3; i++)
		tide__grid_int(g, i);
	tide__grid_text(g, "a_name_that_is_forty_columns_long_as_said");
	tide__grid_none(g);
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		char *s = printed(g, &(tide_style){ .width = t[i].width }, false);
		assert_string_equal(s, t[i].want);
		free(s);
	}
	tide__grid_free(g);
}

/* One text of 100,000 characters among 2,000 rows: it is complete, and the other rows are not as
 * wide. */
static void one_long_name(void **state)
{
	static const tide_grid_col two[] = { { "name", "Name", TIDE_CELL_TEXT },
					     { "count", "Count", TIDE_CELL_COUNT } };
	enum { ROWS = 2000, LONG = 100000 };
	char *name = malloc(LONG + 1), *text;
	size_t n;
	tide_style plain = { 0 };
	tide_grid *g = tide__grid_new(two, 2);
	memset(name, 'x', LONG);
	name[LONG] = 0;
	for (int i = 0; i < ROWS; i++) {
		tide__grid_text(g, i == 7 ? name : "short");
		tide__grid_int(g, i);
	}
	FILE *f = open_memstream(&text, &n);
	tide__grid_print(g, f, &plain, 0);
	fclose(f);
	assert_non_null(strstr(text, name));
	assert_true(n < LONG + ROWS * 120);
	tide__grid_free(g);
	free(text);
	free(name);
}

static void sentences(void **state)
{
	static const struct {
		const char *s;
		int width;
		const char *want;
	} t[] = {
		{ "one two three", 0, "one two three\n" },
		{ "one two three", 17, "one two three\n" },
		{ "one two three", 16, "one two\n  three\n" },
		{ "one two three", 1, "one\n  two\n  three\n" },
		{ "", 10, "\n" },
		{ "a\x1b b", 0, "a\\x1b b\n" },
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		char *text;
		size_t n;
		FILE *f = open_memstream(&text, &n);
		tide__put_words(f, t[i].s, 4, 2, t[i].width);
		fclose(f);
		assert_string_equal(text, t[i].want);
		free(text);
	}
}

static void json(void **state)
{
	tide_grid *g = sample();
	char *s = printed(g, NULL, true);
	assert_string_equal(s,
			    "[{\"name\":\"gemm_with_a_rather_long_name_in_it\",\"sum_ns\":1234567,"
			    "\"n\":12345,\"at\":32512,\"pct\":12.3450,\"d\":-2048,\"hidden\":7},"
			    "{\"name\":\"k\\t\",\"sum_ns\":null,\"n\":1,\"at\":null,\"pct\":null,"
			    "\"d\":1024,\"hidden\":null}]\n");
	free(s);
	tide__grid_free(g);
}

static void no_memory(void **state)
{
	for (uint64_t n = 1; n < 8; n++) {
		tide__mem_fail_at(n);
		tide_grid *g = sample();
		tide_style st = { 0 };
		char *s = printed(g, &st, false);
		tide__mem_fail_at(0);
		free(s);
		if (n <= 3)
			assert_true(tide__grid_failed(g));
		tide__grid_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),	 cmocka_unit_test(names),
		cmocka_unit_test(widths),	 cmocka_unit_test(sizes),
		cmocka_unit_test(text),		 cmocka_unit_test(empty_columns_first),
		cmocka_unit_test(giving_way),	 cmocka_unit_test(sentences),
		cmocka_unit_test(one_long_name), cmocka_unit_test(json),
		cmocka_unit_test(no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
