// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Settings: every mistake has its line and byte; an edit changes one value and nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/config.h"
#include "config/toml.h"
#include "testing.h"

static tide_config c;

static tide_code parse(const char *text, const char *backend, tide_error *err)
{
	tide__config_set_defaults(&c);
	return tide__config_parse(text, strlen(text), "/etc/x", false, backend, &c, err);
}

static void mistakes_have_their_line(void **state)
{
	static const struct {
		const char *text, *says;
		uint64_t at;
	} rows[] = {
		{ "x", "line 1: = is missing after x", 1 },
		{ "[backend]", "line 1: write [[backend]], with two brackets", 0 },
		{ "[[backends]]", "line 1: unknown table 'backends' (settings are in [[backend]])",
		  0 },
		{ "[[backend]", "line 1: ] is missing", 10 },
		{ "\n[[backend]]\nintervall = 1",
		  "line 3: unknown key 'intervall' (did you mean interval?)", 13 },
		{ "[[backend]]\nzzzzzzzz = 1", "line 2: unknown key 'zzzzzzzz'", 12 },
		{ "[[backend]]\ninterval = true",
		  "line 2: interval needs seconds, 0 or 0.001 to 10000000, not the switch true",
		  23 },
		{ "[[backend]]\ninterval = 0.0001",
		  "line 2: interval needs seconds, 0 or 0.001 to 10000000, not the number 0.0001",
		  23 },
		{ "[[backend]]\ninterval = 1979-05-27",
		  "line 2: '1979-05-27' is neither true, false nor a number (texts go in quotes)",
		  23 },
		{ "[[backend]]\ninterval = 01",
		  "line 2: '01' is neither true, false nor a number (texts go in quotes)", 23 },
		{ "[[backend]]\ninterval = [1]",
		  "line 2: lists and inline tables are not supported", 23 },
		{ "[[backend]]\ninterval.x = 1", "line 2: dotted keys are not supported", 20 },
		{ "[[backend]]\ninterval = 1 2", "line 2: unexpected text after the value", 25 },
		{ "[[backend]]\ninterval =", "line 2: no value for interval", 22 },
		{ "[[backend]]\ninterval = 1\ninterval = 2",
		  "line 3: interval is set on line 2 already", 25 },
		{ "interval = 1", "line 1: interval is before the first [[backend]]", 0 },
		{ "[[backend]]\nname = \"a\\q\"", "line 2: no such escape in a string", 22 },
		{ "[[backend]]\nname = \"a\nb\"", "line 2: the string has no end", 21 },
		{ "[[backend]]\nname = \"\"\"a\"\"\"",
		  "line 2: multi-line strings are not supported", 19 },
		{ "[[backend]]\nname = \"a\x01\"", "line 2: control character 0x01", 21 },
		{ "[[backend]]\n# \xff", "line 2: not UTF-8", 14 },
		{ "[[backend]]\noutput_dir = \"\"", "line 2: output_dir is empty", 25 },
		{ "[[backend]]\nname = 3", "line 2: name needs a text in quotes, not the number 3",
		  19 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_error err = { 0 };
		assert_int_not_equal(parse(rows[i].text, NULL, &err), TIDE_OK);
		assert_string_equal(err.text, rows[i].says);
		if (err.offset != rows[i].at)
			fail_msg("%s: byte %llu, not %llu", rows[i].says,
				 (unsigned long long)err.offset, (unsigned long long)rows[i].at);
	}
}

static void values_and_their_lines(void **state)
{
	tide_error err = { 0 };
	const char *text =
		"\xef\xbb\xbf# a comment\r\n[[backend]] # one\r\nname = 'first'\r\n"
		"enable_memory_profiling = true # on\r\n\"interval\" = 1_0.25\r\n"
		"output_dir = \"a \\\"b\\\" \\u00e9\\U0001F40B\"\r\n[[backend]]\r\nname = "
		"\"second\"\r\n"
		"output_dir = '/tmp/x\\y'\r\ncapture_shapes = false\r\n";
	assert_int_equal(parse(text, NULL, &err), TIDE_OK);
	assert_string_equal(c.backend, "first");
	assert_true(c.v[TIDE_CONFIG_enable_memory_profiling].flag);
	assert_int_equal(c.v[TIDE_CONFIG_enable_memory_profiling].line, 4);
	assert_true(c.v[TIDE_CONFIG_interval].number == 10.25);
	assert_string_equal(c.v[TIDE_CONFIG_output_dir].text, "/etc/x/a \"b\" é🐋");
	assert_int_equal(c.v[TIDE_CONFIG_capture_ops].from, TIDE_FROM_DEFAULT);
	assert_false(c.v[TIDE_CONFIG_capture_shapes].known);
	assert_int_equal(parse(text, "second", &err), TIDE_OK);
	assert_string_equal(c.v[TIDE_CONFIG_output_dir].text, "/tmp/x\\y");
	assert_false(c.v[TIDE_CONFIG_enable_memory_profiling].flag);
	assert_true(c.v[TIDE_CONFIG_capture_shapes].known);
	assert_int_equal(parse(text, "third", &err), TIDE_ENOTFOUND);
}

/* A file of another program: its own keys, tables and kinds of values are skipped. */
static void files_of_other_programs(void **state)
{
	static const char text[] =
		"host = \"127.0.0.1\"\nname = 5\nat = 1979-05-27T07:32:00Z\n"
		"list = [\n  \"a]\", # ]\n  'b', [1, 2],\n]\n"
		"[auth]\ninterval = \"never\"\nsecret = '''a\n[[backend]]\n'''\n"
		"[[backend]]\nmodel.path = \"x\"\ndevice = [\"cuda:0\"]\noutput = { a = 1, b = [2] }\nnode = 1\n"
		"enable_memory_profiling = true\nfloat = 1e5\n\"odd key\" = 0x1f\n"
		"text = \"\"\"one\n\\\"\" two\"\"\"\ninterval = 2.5\n"
		"[backend.more]\ninterval = [9]\n[[other]]\ninterval = {}\n";
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "[[backend]]\nx = [1, 2\n", "line 2: the value has no end" },
		{ "[[backend]]\nx = \"\"\"a\n\"\"\n", "line 2: the string has no end" },
		{ "[[backend]]\nx = ['a\n']\n", "line 2: the string has no end" },
		{ "[[backend]]\n\ninterval = [1]",
		  "line 3: interval needs seconds, 0 or 0.001 to 10000000, not the value [1]" },
		{ "[[backend]]\nx = [\n]\nintervall = 1",
		  "line 4: unknown key 'intervall' (did you mean interval?)" },
	};
	tide_error err = { 0 };
	char *out;
	size_t n;
	unsigned line;
	tide__config_set_defaults(&c);
	assert_int_equal(tide__config_parse(text, sizeof text - 1, "/f", true, NULL, &c, &err),
			 TIDE_OK);
	assert_true(c.v[TIDE_CONFIG_enable_memory_profiling].flag);
	assert_true(c.v[TIDE_CONFIG_interval].number == 2.5);
	assert_int_equal(c.v[TIDE_CONFIG_interval].line, 23);
	assert_int_equal(tide__config_parse(text, sizeof text - 1, "/f", false, NULL, &c, &err),
			 TIDE_EFORMAT);
	assert_string_equal(err.text, "line 1: unknown key 'host'");
	assert_int_equal(tide__config_edit(text, sizeof text - 1, true, NULL, TIDE_CONFIG_interval,
					   "7", &out, &n, &line, &err),
			 TIDE_OK);
	assert_int_equal(line, 23);
	assert_int_equal(n, sizeof text - 1 - 2);
	assert_non_null(strstr(out, "two\"\"\"\ninterval = 7\n[backend.more]"));
	tide__free(out);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		tide__config_set_defaults(&c);
		assert_int_equal(tide__config_parse(bad[i].text, strlen(bad[i].text), "/f", true,
						    NULL, &c, &err),
				 TIDE_EFORMAT);
		assert_string_equal(err.text, bad[i].says);
	}
	assert_true(tide__config_is_foreign("/a/config.toml"));
	assert_true(tide__config_is_foreign("pie.toml"));
	assert_false(tide__config_is_foreign("/a/tidemark.toml"));
	assert_false(tide__config_is_foreign("tidemark.toml"));
}

static void numbers(void **state)
{
	static const struct {
		const char *text;
		double value;
	} good[] = { { "0", 0 },	 { "5", 5 },	    { "+5.0", 5 },
		     { "-0.25", -0.25 }, { "1_000", 1000 }, { "0.001", 0.001 } };
	static const char *const bad[] = { "",	 "-",	"5.",  ".5",  "1__0",  "_1",
					   "1_", "1e5", "0x1", "nan", "1.2.3", "1234567890123456" };
	double v;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (!tide__toml_parse_number(good[i].text, &v) || v != good[i].value)
			fail_msg("%s", good[i].text);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (tide__toml_parse_number(bad[i], &v))
			fail_msg("'%s' is a number?", bad[i]);
}

static void edits_leave_the_rest(void **state)
{
	static const struct {
		const char *before, *backend, *value, *after;
		unsigned line;
	} rows[] = {
		{ "", NULL, "7", "[[backend]]\ninterval = 7\n", 2 },
		{ "# mine", NULL, "7", "# mine\n\n[[backend]]\ninterval = 7\n", 4 },
		{ "[[backend]]", NULL, "7", "[[backend]]\ninterval = 7\n", 2 },
		{ "[[backend]]\r\n# end\r\n", NULL, "7", "[[backend]]\r\ninterval = 7\r\n# end\r\n",
		  2 },
		{ "[[backend]]\ninterval = 1 # why\n# x\n", NULL, "0.5",
		  "[[backend]]\ninterval = 0.5 # why\n# x\n", 2 },
		{ "[[backend]]\nname='a'\n\n[[backend]]\nname='b'\n# x\n", "b", "7",
		  "[[backend]]\nname='a'\n\n[[backend]]\nname='b'\ninterval = 7\n# x\n", 6 },
		{ "[[backend]]\ncapture_ops = true\n\n[[backend]]\nname='b'\n", NULL, "7",
		  "[[backend]]\ncapture_ops = true\ninterval = 7\n\n[[backend]]\nname='b'\n", 3 },
		{ "[[backend]]\ninterval=1\nname='b'\n", "b", "7",
		  "[[backend]]\ninterval=7\nname='b'\n", 2 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *out;
		size_t n;
		unsigned line;
		tide_error err = { 0 };
		assert_int_equal(tide__config_edit(rows[i].before, strlen(rows[i].before), false,
						   rows[i].backend, TIDE_CONFIG_interval,
						   rows[i].value, &out, &n, &line, &err),
				 TIDE_OK);
		assert_string_equal(out, rows[i].after);
		assert_int_equal(n, strlen(out));
		assert_int_equal(line, rows[i].line);
		assert_int_equal(parse(out, rows[i].backend, &err), TIDE_OK);
		assert_string_equal(c.v[TIDE_CONFIG_interval].text, rows[i].value);
		assert_int_equal(c.v[TIDE_CONFIG_interval].line, line);
		tide__free(out);
	}
}

static void paths_are_quoted(void **state)
{
	char *out, long_path[4096];
	size_t n;
	unsigned line;
	tide_error err = { 0 };
	assert_int_equal(tide__config_edit("", 0, false, NULL, TIDE_CONFIG_output_dir,
					   "/a \"b\\c\t", &out, &n, &line, &err),
			 TIDE_OK);
	assert_string_equal(out, "[[backend]]\noutput_dir = \"/a \\\"b\\\\c\\u0009\"\n");
	assert_int_equal(parse(out, NULL, &err), TIDE_OK);
	assert_string_equal(c.v[TIDE_CONFIG_output_dir].text, "/a \"b\\c\t");
	tide__free(out);
	memset(long_path, '\x01', sizeof long_path - 1);
	long_path[sizeof long_path - 1] = 0;
	assert_int_equal(tide__config_edit("", 0, false, NULL, TIDE_CONFIG_output_dir, long_path,
					   &out, &n, &line, &err),
			 TIDE_ELIMIT);
}

static void words_of_flags_and_variables(void **state)
{
	tide_error err = { 0 };
	tide_config_key k = TIDE_CONFIG_capture_ops;
	tide__config_set_defaults(&c);
	assert_int_equal(tide__config_set(&c, k, "Off", TIDE_FROM_FLAG, "--x", &err), TIDE_OK);
	assert_false(c.v[k].flag);
	assert_string_equal(c.v[k].text, "false");
	assert_int_equal(tide__config_set(&c, k, "maybe", TIDE_FROM_FLAG, "--x", &err),
			 TIDE_EUSAGE);
	assert_string_equal(err.text, "--x needs true or false, not 'maybe'");
	assert_int_equal(tide__config_set(&c, k, "auto", TIDE_FROM_FLAG, "--x", &err), TIDE_EUSAGE);
	assert_int_equal(
		tide__config_set(&c, TIDE_CONFIG_capture_shapes, "auto", TIDE_FROM_ENV, "X", &err),
		TIDE_OK);
	assert_string_equal(tide__config_env(k), "TIDEMARK_CAPTURE_OPS");
}

static void environment_over_file(void **state)
{
	char folder[] = "/tmp/tide-config-XXXXXX", file[64];
	tide_error err = { 0 };
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof file, "%s/tidemark.toml", folder);
	FILE *f = fopen(file, "w");
	assert_non_null(f);
	fputs("[[backend]]\ninterval = 2\noutput_dir = \"out\"\n", f);
	fclose(f);
	setenv("TIDEMARK_CONFIG", file, 1);
	setenv("TIDEMARK_INTERVAL", "3", 1);
	assert_int_equal(tide__config_load(NULL, NULL, &c, &err), TIDE_OK);
	assert_true(c.v[TIDE_CONFIG_interval].number == 3);
	assert_int_equal(c.v[TIDE_CONFIG_interval].from, TIDE_FROM_ENV);
	char want[128];
	snprintf(want, sizeof want, "%s/out", folder);
	assert_string_equal(c.v[TIDE_CONFIG_output_dir].text, want);
	setenv("TIDEMARK_INTERVAL", "often", 1);
	assert_int_equal(tide__config_load(NULL, NULL, &c, &err), TIDE_EUSAGE);
	assert_false(c.in_file);
	unsetenv("TIDEMARK_INTERVAL");
	remove(file);
	assert_int_equal(tide__config_load(NULL, NULL, &c, &err), TIDE_ENOTFOUND);
	unsetenv("TIDEMARK_CONFIG");
	remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_have_their_line),
		cmocka_unit_test(values_and_their_lines),
		cmocka_unit_test(files_of_other_programs),
		cmocka_unit_test(numbers),
		cmocka_unit_test(edits_leave_the_rest),
		cmocka_unit_test(paths_are_quoted),
		cmocka_unit_test(words_of_flags_and_variables),
		cmocka_unit_test(environment_over_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
