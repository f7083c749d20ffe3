// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The check of results: each row writes one document against the same description. */
#include "report/check.h"

#include <stdlib.h>
#include <string.h>

#include "testing.h"

static const tide_member frame[] = {
	{ "line", NULL, TIDE_KIND_PLAIN, .may = TIDE_MAY_BE_NULL, .meaning = "line" },
	{ 0 },
};
static const tide_member row[] = {
	{ "key", "Key", TIDE_KIND_TEXT, .meaning = "name" },
	{ "bytes", "Bytes", TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL, .meaning = "size" },
	{ "stack", NULL, TIDE_KIND_TABLE, .may = TIDE_MAY_BE_ABSENT, .members = frame,
	  .meaning = "frames" },
	{ 0 },
};
static const tide_member number = { "", NULL, TIDE_KIND_COUNT, .meaning = "how many" };
static const tide_member members[] = {
	{ "source", NULL, TIDE_KIND_WORD, .words = "segments,samples", .meaning = "source" },
	{ "rows", NULL, TIDE_KIND_TABLE, .members = row, .meaning = "rows" },
	{ "losses", NULL, TIDE_KIND_MAP, .members = &number, .meaning = "losses" },
	{ "points", NULL, TIDE_KIND_LIST, .members = &number, .meaning = "points" },
	{ "args", NULL, TIDE_KIND_ANY, .may = TIDE_MAY_BE_ABSENT, .meaning = "arguments" },
	{ 0 },
};

/* Documents as words: { } [ ], "k:" a key, "'t" a text, integers, "r" a real, "n" null. */
static void write_words(tide_json *j, const char *text)
{
	char *copy = strdup(text), *save = NULL;
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		size_t n = strlen(w);
		if (*w == '{')
			tide__json_object(j);
		else if (*w == '}')
			tide__json_object_end(j);
		else if (*w == '[')
			tide__json_array(j);
		else if (*w == ']')
			tide__json_array_end(j);
		else if (w[n - 1] == ':')
			w[n - 1] = 0, tide__json_key(j, w);
		else if (*w == '\'')
			tide__json_str(j, w + 1);
		else if (*w == 'n')
			tide__json_null(j);
		else if (*w == 'r')
			tide__json_double(j, 1.5);
		else
			tide__json_int(j, atoi(w));
	}
	free(copy);
}

static const struct {
	const char *name, *words, *fault; /* "" = none */
} rows[] = {
	{ "everything",
	  "{ source: 'segments rows: [ { key: 'a bytes: 1 stack: [ { line: n } ] } ] "
	  "losses: { x: 1 } points: [ 1 2 ] args: { any: [ r n ] } }",
	  "" },
	{ "order does not matter",
	  "{ points: [ ] losses: { } rows: [ { bytes: n key: 'a } ] source: 'samples }", "" },
	{ "a member is missing", "{ source: 'segments rows: [ ] losses: { } }", "points: missing" },
	{ "a member of a row is missing", "{ rows: [ { key: 'a bytes: 1 } { key: 'a } ] }",
	  "rows[1].bytes: missing" },
	{ "a member is not described", "{ rows: [ { kye: 'a } ] }",
	  "rows[0].?: not described: kye" },
	{ "a member is written twice", "{ source: 'samples source: 'samples }",
	  "source: written twice" },
	{ "null where a value is known", "{ rows: [ { key: n } ] }",
	  "rows[0].key: null where this is described: TEXT" },
	{ "a text where bytes are described", "{ rows: [ { key: 'a bytes: 'b } ] }",
	  "rows[0].bytes: a text where this is described: BYTES" },
	{ "negative bytes", "{ rows: [ { bytes: -1 } ] }",
	  "rows[0].bytes: a negative integer where this is described: BYTES" },
	{ "a row that is no object", "{ rows: [ 1 ] }",
	  "rows[0]: an integer where this is described: OBJECT" },
	{ "a word that is not in the list", "{ source: 'guess }",
	  "source: not a word of its list: guess" },
	{ "a text in a list of numbers", "{ points: [ 1 'b ] }",
	  "points[1]: a text where this is described: COUNT" },
	{ "a real number in a map of counts", "{ losses: { x: r } }",
	  "losses[0]: a real number where this is described: COUNT" },
	{ "a list instead of the report", "[ ]", ": an array where this is described: OBJECT" },
};

static void documents_are_checked(void **state)
{
	(void)state;
	tide_check *c = malloc(sizeof *c);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_json j;
		tide__check_begin(c, members);
		tide__json_begin_sink(&j, tide__check_put, c);
		write_words(&j, rows[i].words);
		bool whole = tide__json_end(&j);
		if (strcmp(c->text, rows[i].fault) != 0)
			fail_msg("%s: \"%s\", not \"%s\"", rows[i].name, c->text, rows[i].fault);
		assert_int_equal(whole, !*rows[i].fault);
	}
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(documents_are_checked) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
