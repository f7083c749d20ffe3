// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Results of `tidemark objects`: how each member is read, and damage. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "import/objects/objects.h"
#include "testing.h"

#define HEAD "{\"format\":\"tidemark-objects\",\"version\":1,"

static tide_code read(const char *text, tide_objects *o, tide_error *err)
{
	*o = (tide_objects){ 0 };
	*err = (tide_error){ .offset = TIDE_NO_OFFSET };
	return tide__objects_read(text, strlen(text), o, err);
}

static void reads_every_member(void **state)
{
	(void)state;
	tide_objects o;
	tide_error err;
	assert_int_equal(
		read(HEAD "\"program\":\"a \\\"b\\\"\",\"new\":[1,{}],\"snapshots\":[{\"at\":\"x\","
			  "\"objects\":3,\"total_bytes\":9007199254740993,\"rows\":{\"owners\":7},"
			  "\"owners\":[{\"name\":\"m.a\",\"type\":\"T\",\"exclusive_bytes\":5,"
			  "\"shared_bytes\":6}],\"shared\":[{\"what\":\"buffer\",\"bytes\":8,"
			  "\"owners\":[\"m.a\",\"m.b\"],\"owner_count\":2}],"
			  "\"modules\":[{\"module\":\"m\",\"own\":true}],"
			  "\"recommendations\":[\"r\\u00e9\"]}]}",
		     &o, &err),
		TIDE_OK);
	const tide_objects_snapshot *s = &o.v[0];
	assert_string_equal(o.program, "a \"b\"");
	assert_null(o.python);
	assert_string_equal(s->at, "x");
	assert_int_equal(s->total, 9007199254740993);
	assert_int_equal(s->table[TIDE_OBJECTS_OWNERS].all, 7);
	assert_int_equal(s->table[TIDE_OBJECTS_OWNERS].v[0].bytes, 5);
	assert_int_equal(s->table[TIDE_OBJECTS_OWNERS].v[0].shared, 6);
	assert_string_equal(s->table[TIDE_OBJECTS_SHARED].v[0].owners[1], "m.b");
	assert_true(s->table[TIDE_OBJECTS_MODULES].v[0].own);
	assert_string_equal(s->recommendations.v[0], "r\xc3\xa9");
	tide__objects_free(&o);
}

/* Lines as a measured program appends them; if it is killed in the middle of a write, the last line
 * is truncated. */
static void reads_lines(void **state)
{
	(void)state;
	static const struct {
		const char *rest;
		size_t n;
		bool cut;
	} rows[] = {
		{ "{\"at\":\"a\"}\n{\"at\":\"b\",\"objects\":2}\n", 2, false },
		{ "{\"at\":\"a\"}\n{\"at\":\"b\",\"obj", 1, true },
		{ "{\"at\":\"a\"}\n{\"at\":\"b\"}", 1, true },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[200];
		tide_objects o;
		tide_error err;
		snprintf(text, sizeof text, "%s\n%s", HEAD "\"snapshots\":[]}", rows[i].rest);
		assert_int_equal(read(text, &o, &err), TIDE_OK);
		if (o.n != rows[i].n || o.cut != rows[i].cut)
			fail_msg("%s: %zu snapshots, cut %d", rows[i].rest, o.n, o.cut);
		assert_string_equal(o.v[0].at, "a");
		tide__objects_free(&o);
	}
}

static void names_are_unique(void **state)
{
	(void)state;
	static const char *const names[] = { "a", "mark", "a #2", "a #3", "mark #2", "a #2 #2" };
	tide_objects o;
	tide_error err;
	assert_int_equal(
		read(HEAD
		     "\"snapshots\":[{\"at\":\"a\"},{\"at\":\"\"},{\"at\":\"a\"},{\"at\":\"a\"},"
		     "{\"at\":\"\"},{\"at\":\"a #2\"}]}",
		     &o, &err),
		TIDE_OK);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_string_equal(o.v[i].at, names[i]);
	tide__objects_free(&o);
}

static void damage_has_a_place(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		tide_code code;
	} rows[] = {
		{ "", TIDE_EFORMAT },
		{ "[]", TIDE_EFORMAT },
		{ "{\"format\":\"other\"}", TIDE_EFORMAT },
		{ HEAD "\"snapshots\":[]}", TIDE_EFORMAT },
		{ HEAD "\"snapshots\":[1]}", TIDE_ECORRUPT },
		{ HEAD "\"snapshots\":[{\"objects\":\"many\"}]}", TIDE_ECORRUPT },
		{ HEAD "\"snapshots\":[{\"types\":{}}]}", TIDE_ECORRUPT },
		{ HEAD "\"snapshots\":[{\"types\":[5]}]}", TIDE_ECORRUPT },
		{ HEAD "\"snapshots\":[{\"at\" 5}]}", TIDE_ECORRUPT },
		{ HEAD "\"snapshots\":[{}", TIDE_EFORMAT },
		{ HEAD "\"snapshots\":[]}\n{\"at\":\"cut", TIDE_EFORMAT },
		{ HEAD "\"snapshots\":[]}\n{\"at\"\n{}\n", TIDE_ECORRUPT },
		{ HEAD "\"snapshots\":[]}\n{}\n5\n", TIDE_ECORRUPT },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		tide_objects o;
		tide_error err;
		tide_code code = read(rows[i].text, &o, &err);
		if (code != rows[i].code || err.offset > strlen(rows[i].text))
			fail_msg("%s: %d at %llu", rows[i].text, code,
				 (unsigned long long)err.offset);
		tide__objects_free(&o);
	}
}

static void survives_exhaustion(void **state)
{
	(void)state;
	static const char text[] =
		HEAD "\"program\":\"p\",\"snapshots\":[{\"types\":[{\"type\":\"t\"}],"
		     "\"shared\":[{\"owners\":[\"a\"]}],\"problems\":[\"x\"]}]}\n{\"at\":\"\"}\n";
	for (uint64_t n = 1;; n++) {
		tide_objects o;
		tide_error err;
		tide__mem_fail_at(n);
		tide_code code = read(text, &o, &err);
		tide__mem_fail_at(0);
		tide__objects_free(&o);
		if (code == TIDE_OK)
			return;
		assert_int_equal(code, TIDE_ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_member),  cmocka_unit_test(reads_lines),
		cmocka_unit_test(names_are_unique),    cmocka_unit_test(damage_has_a_place),
		cmocka_unit_test(survives_exhaustion),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
