// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Line breaks on a terminal. */
#include <stdlib.h>
#include <string.h>

#include "cli/output/wrap.h"
#include "testing.h"

/* `in` written in pieces of `step` bytes (0 = at once). */
static char *wrapped(const char *in, int width, size_t step)
{
	char *out = NULL;
	size_t n, len = strlen(in);
	FILE *to = open_memstream(&out, &n), *f = tide__wrap_open(to, width);
	assert_non_null(f);
	for (size_t at = 0; at < len; at += step ? step : len) {
		size_t left = len - at, take = step && step < left ? step : left;
		assert_int_equal(fwrite(in + at, 1, take, f), take);
		if (step)
			fflush(f);
	}
	assert_int_equal(fclose(f), 0);
	fclose(to);
	return out;
}

static void lines(void **state)
{
	static const struct {
		const char *name, *in;
		int width;
		const char *want;
	} t[] = {
		{ "fits", "one two\n", 7, "one two\n" },
		{ "one over", "one two\n", 6, "one\n  two\n" },
		{ "keeps its indent", "    one two three\n", 13, "    one two\n      three\n" },
		{ "hangs at the last column", "  used  1 MiB  two words more\n", 20,
		  "  used  1 MiB  two\n               words\n               more\n" },
		{ "but not too far in", "  used and more  1 MiB  two\n", 24,
		  "  used and more  1 MiB\n    two\n" },
		{ "a word longer than a line", "see /a/rather/long/path here\n", 10,
		  "see\n  /a/rather/long/path\n  here\n" },
		{ "colours take no room", "\033[1mone two\033[0m\n", 7, "\033[1mone two\033[0m\n" },
		{ "colours stay with their word", "\033[33mone two\033[0m\n", 6,
		  "\033[33mone\n  two\033[0m\n" },
		{ "wide characters", "日本 日本 日本\n", 10, "日本 日本\n  日本\n" },
		{ "no newline at the end", "one two", 4, "one\n  two" },
		{ "empty lines", "\n\none\n", 4, "\n\none\n" },
		{ "blanks only", "          \n", 4, "          \n" },
		{ "a lone escape", "\033 \033[ \033[1\n", 40, "\033 \033[ \033[1\n" },
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		for (size_t step = 0; step < 4; step++) {
			char *got = wrapped(t[i].in, t[i].width, step);
			if (strcmp(got, t[i].want))
				fail_msg("%s, in pieces of %zu:\n%s", t[i].name, step, got);
			free(got);
		}
}

static void failing(void **state)
{
	FILE *full = fopen("/dev/full", "w"), *f = full ? tide__wrap_open(full, 20) : NULL;
	if (!f)
		skip();
	fputs("text\n", f);
	assert_true(fflush(f) || ferror(f));
	fclose(f);
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(failing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
