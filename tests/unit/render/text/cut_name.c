// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/text/cut_name.h"

#include <string.h>

#include "render/text/format.h"
#include "testing.h"

static const struct {
	const char *text;
	int width;
	const char *want;
} rows[] = {
	{ "short", 10, "short" },
	{ "encoder.layers.0.fc1  addmm", 20, "encoder.l..c1  addmm" },
	{ "step (train.py:41), in init (adam.py:182) < main (train.py:50)", 80,
	  "step (train.py:41), in init (adam.py:182) < main (train.py:50)" },
	{ "step (train.py:41), in init (adam.py:182) < main (train.py:50)", 50,
	  "step (train.py:41), in init (adam.py:182) < .." },
	{ "step (train.py:41), in init (adam.py:182) < main (train.py:50)", 40,
	  "step (train.py:41), in init < .." },
	{ "step (train.py:41), in init (adam.py:182) < main (train.py:50)", 24,
	  "step (train.py:41) < .." },
	{ "a_function_with_a_long_name (train.py:41) < main (train.py:50)", 24,
	  "a_functio..(train.py:41)" },
	{ "a_function_with_a_long_name (train.py:41)", 24, "a_functio..(train.py:41)" },
	{ "main (train.py:5), in linear (functional.py:10)  [stack 3: forward (linear.py:1)]", 60,
	  "main (train.py:5) < ..  [stack 3: forward (linear.py:1)]" },
	{ "f (a_file_with_a_very_long_name.py:41234)", 16, "..name.py:41234)" },
};

static void cuts(void **state)
{
	(void)state;
	char out[TIDE_CUT_NAME];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide__cut_name(rows[i].text, strlen(rows[i].text), rows[i].width, true, out,
			       sizeof out);
		assert_string_equal(out, rows[i].want);
	}
}

/* At any width from 12: not wider, and the line of the user's frame stays whole. */
static void any_width(void **state)
{
	(void)state;
	static const char text[] =
		"forward (gen.py:23), in linear (functional.py:3504) < main (t.py:7)";
	char out[TIDE_CUT_NAME];
	for (int width = 12; width < 100; width++) {
		tide__cut_name(text, sizeof text - 1, width, false, out, sizeof out);
		assert_true(tide__columns(out, strlen(out)) <= width);
		assert_non_null(strstr(out, ":23)"));
	}
}

static void escapes(void **state)
{
	(void)state;
	char out[TIDE_CUT_NAME];
	tide__cut_name("a\033[31m < b", 10, 40, true, out, sizeof out);
	assert_null(strchr(out, '\033'));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts),
		cmocka_unit_test(any_width),
		cmocka_unit_test(escapes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
