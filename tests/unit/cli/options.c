// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The option parser: each row is a list of arguments and the expected result. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/options.h"
#include "testing.h"

enum { O_JSON, O_TOP, O_LEVEL, O_FROM, O_SIZE, O_BY, O_SET, O_OUT };
static const tide_option table[] = {
	[O_JSON] = { "json", 'j', TIDE_OPT_FLAG, NULL, "print JSON" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "rows", .def = "20" },
	[O_LEVEL] = { "level", 'l', TIDE_OPT_INT, "N", "level", .least = 1, .most = 19 },
	[O_FROM] = { "from", 0, TIDE_OPT_INT, "N", "from", .least = -3 },
	[O_SIZE] = { "size", 's', TIDE_OPT_BYTES, "SIZE", "a size" },
	[O_BY] = { "group-by", 'g', TIDE_OPT_ENUM, "op,stack,size", "group", .def = "op" },
	[O_SET] = { "set", 0, TIDE_OPT_TEXT, "K=V", "setting", .many = true },
	[O_OUT] = { "output", 'o', TIDE_OPT_FILE, "FILE", "write to FILE" },
};
static const tide_command cmd = {
	.name = "test",
	.usage = "",
	.summary = "",
	TIDE_COMMAND_OPTIONS(table),
	.max_files = 2,
};

/* Everything the parser found, as one line. */
static void describe(const tide_args *a, char *buf, size_t n)
{
	size_t at = 0;
	for (size_t k = 0; k < cmd.n_options; k++) {
		const tide_value *v = &a->opt[k];
		if (!v->given)
			continue;
		at += (size_t)snprintf(buf + at, n - at, "%s=", table[k].name);
		if (table[k].kind == TIDE_OPT_FLAG)
			at += (size_t)snprintf(buf + at, n - at, "1 ");
		else if (table[k].many)
			for (size_t i = 0; i < v->n_list; i++)
				at += (size_t)snprintf(buf + at, n - at, "%s ", v->list[i]);
		else if (table[k].kind == TIDE_OPT_FILE)
			at += (size_t)snprintf(buf + at, n - at, "%s ", v->text);
		else
			at += (size_t)snprintf(buf + at, n - at, "%lld ", (long long)v->num);
	}
	for (size_t i = 0; i < a->n_files; i++)
		at += (size_t)snprintf(buf + at, n - at, "<%s>", a->files[i]);
}

static const struct row {
	const char *words; /* separated by | */
	const char *want;  /* description, or the error text */
} rows[] = {
	{ "", "" },
	{ "a.tide", "<a.tide>" },
	{ "--json|a|b", "json=1 <a><b>" },
	{ "-j|a", "json=1 <a>" },
	{ "a|-j", "json=1 <a>" },
	{ "-jn5", "json=1 top=5 " },
	{ "-n5", "top=5 " },
	{ "-n|5", "top=5 " },
	{ "-n|0", "top=0 " },
	{ "-l|1", "level=1 " },
	{ "--level=19", "level=19 " },
	{ "--from|-3", "from=-3 " },
	{ "--top=5", "top=5 " },
	{ "--top|5|x", "top=5 <x>" },
	{ "--|--json|-", "<--json><->" },
	{ "-", "<->" },
	{ "-s2GiB", "size=2147483648 " },
	{ "--size|1.5 MB", "size=1572864 " },
	{ "--size=0", "size=0 " },
	{ "-g|size", "group-by=2 " },
	{ "--set|a=1|--set=b=2", "set=a=1 b=2 " },
	{ "-o=x", "output==x " },
	{ "--output=", "output= " },
	{ "--jsn", "unknown option --jsn (did you mean --json?)" },
	{ "--group", "unknown option --group (did you mean --group-by?)" },
	{ "--zzzzzz", "unknown option --zzzzzz" },
	{ "-x", "unknown option -x" },
	{ "--json=1", "--json takes no value" },
	{ "--top", "--top needs a value (N)" },
	{ "-n|-5", "--top needs 0 or more, not '-5'" },
	{ "-l|0", "--level needs 1 to 19, not '0'" },
	{ "--level=20", "--level needs 1 to 19, not '20'" },
	{ "--from|-4", "--from needs -3 or more, not '-4'" },
	{ "--top=", "--top needs an integer, not ''" },
	{ "--top=5x", "--top needs an integer, not '5x'" },
	{ "--top= 5", "--top needs an integer, not ' 5'" },
	{ "--top=9223372036854775808", "--top needs an integer, not '9223372036854775808'" },
	{ "--top=1|--top=2", "--top is given twice" },
	{ "-s|2XB", "--size needs a size such as 512KiB or 2GiB, not '2XB'" },
	{ "-g|stac", "--group-by needs one of op,stack,size, not 'stac'" },
	{ "-g|", "--group-by needs one of op,stack,size, not ''" },
	{ "a|b|c", "'c' is one argument too many" },
};

static void split_words(char *text, char **argv, int *argc)
{
	*argc = 0;
	if (!*text)
		return;
	for (char *s = text; s;) {
		char *bar = strchr(s, '|');
		argv[(*argc)++] = s;
		if (bar)
			*bar++ = 0;
		s = bar;
	}
}

static void parse_rows(void **state)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char words[200], got[400] = "";
		char *argv[16];
		int argc;
		tide_args a = { 0 };
		tide_error err = { 0 };
		bool help;
		snprintf(words, sizeof words, "%s", rows[i].words);
		split_words(words, argv, &argc);
		tide_code rc = tide__options_parse(&cmd, argc, argv, &a, &help, &err);
		if (rc == TIDE_OK)
			describe(&a, got, sizeof got);
		if (strcmp(rc == TIDE_OK ? got : err.text, rows[i].want))
			fail_msg("%s: got '%s', want '%s'", rows[i].words,
				 rc == TIDE_OK ? got : err.text, rows[i].want);
		assert_true(rc == TIDE_OK || rc == TIDE_EUSAGE);
		tide__options_free(&a);
	}
}

static void rest_is_anothers(void **state)
{
	static const struct {
		const char *words, *want;
	} t[] = {
		{ "-j|python|-c|x", "json=1 <python><-c><x>" },
		{ "python|--json|--help", "<python><--json><--help>" },
		{ "--|-x|--|y", "<-x><--><y>" },
		{ "--zzzzzz|python", "unknown option --zzzzzz" },
	};
	tide_command all = cmd;
	all.rest = true;
	all.max_files = 9;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		char words[200], got[400] = "", *argv[16];
		int argc;
		tide_args a = { 0 };
		tide_error err = { 0 };
		bool help;
		snprintf(words, sizeof words, "%s", t[i].words);
		split_words(words, argv, &argc);
		tide_code rc = tide__options_parse(&all, argc, argv, &a, &help, &err);
		if (rc == TIDE_OK)
			describe(&a, got, sizeof got);
		if (help || strcmp(rc == TIDE_OK ? got : err.text, t[i].want))
			fail_msg("%s: got '%s'", t[i].words, rc == TIDE_OK ? got : err.text);
		tide__options_free(&a);
	}
}

static void defaults_and_help(void **state)
{
	tide_args a = { 0 };
	bool help;
	char h[] = "-h", bad[] = "--nothing";
	char *argv[] = { h, bad };
	assert_int_equal(tide__options_parse(&cmd, 2, argv, &a, &help, NULL), TIDE_OK);
	assert_true(help);
	assert_true(a.opt[O_TOP].set && !a.opt[O_TOP].given);
	assert_int_equal(a.opt[O_TOP].num, 20);
	assert_false(a.opt[O_SIZE].set);
	tide__options_free(&a);
}

static void bytes(void **state)
{
	static const struct {
		const char *text;
		int64_t want; /* -1 = refused */
	} t[] = {
		{ "0", 0 },
		{ "1", 1 },
		{ "1B", 1 },
		{ "1k", 1024 },
		{ "1KB", 1024 },
		{ "1KiB", 1024 },
		{ "1.5k", 1536 },
		{ "0.1KiB", 102 },
		{ "3 MiB", 3 << 20 },
		{ "2G", 2LL << 30 },
		{ "1T", 1LL << 40 },
		{ "9223372036854775807", INT64_MAX },
		{ "8P", 8LL << 50 },
		{ "8192P", -1 },
		{ "9223372036854775808", -1 },
		{ "", -1 },
		{ "-1", -1 },
		{ "1 2", -1 },
		{ ".5M", -1 },
		{ "1KiBB", -1 },
		{ "1.0000000000000000000000001M", 1 << 20 },
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		int64_t got = -1;
		if (!tide__parse_bytes(t[i].text, &got))
			got = -1;
		if (got != t[i].want)
			fail_msg("%s: %lld", t[i].text, (long long)got);
	}
}

static void no_memory(void **state)
{
	char w[] = "--set=a";
	char *argv[] = { w };
	for (uint64_t n = 1; n <= 3; n++) {
		tide_args a = { 0 };
		tide_error err = { 0 };
		bool help;
		tide__mem_fail_at(n);
		tide_code rc = tide__options_parse(&cmd, 1, argv, &a, &help, &err);
		tide__mem_fail_at(0);
		assert_int_equal(rc, TIDE_ENOMEM);
		tide__options_free(&a);
	}
}

/* The table itself: names unique, letters unique, -h free, summaries present, defaults valid. */
static void command_table(void **state)
{
	for (const tide_command *const *c = tide__command_list(); *c; c++) {
		tide_args a = { 0 };
		bool help;
		char h[] = "--help";
		char *argv[] = { h };
		assert_ptr_equal(tide__command_find((*c)->name), *c);
		assert_true((*c)->summary && *(*c)->summary && (*c)->usage && (*c)->run);
		if (tide__options_parse(*c, 1, argv, &a, &help, NULL) != TIDE_OK)
			fail_msg("%s: a default does not parse", (*c)->name);
		tide__options_free(&a);
		for (size_t i = 0; i < (*c)->n_options; i++) {
			const tide_option *o = &(*c)->options[i];
			if (!o->name || !o->help || o->letter == 'h' || !strcmp(o->name, "help"))
				fail_msg("%s: option %zu", (*c)->name, i);
			if (o->kind != TIDE_OPT_FLAG && !o->arg)
				fail_msg("%s: --%s has no name for its value", (*c)->name, o->name);
			for (size_t k = 0; k < i; k++)
				if (!strcmp(o->name, (*c)->options[k].name) ||
				    (o->letter && o->letter == (*c)->options[k].letter))
					fail_msg("%s: --%s twice", (*c)->name, o->name);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_rows),	     cmocka_unit_test(rest_is_anothers),
		cmocka_unit_test(defaults_and_help), cmocka_unit_test(bytes),
		cmocka_unit_test(no_memory),	     cmocka_unit_test(command_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
