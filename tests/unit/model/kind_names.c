// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Names of kinds: every column of kinds has names, and no two numbers share one. */
#include <string.h>

#include "model/model.h"
#include "model/kind_names.h"
#include "testing.h"

static const tide_table_desc *const tables[] = {
#define T(st, member, COLUMNS, none, doc) &st##_desc,
	TIDE_TABLES(T)
#undef T
};

/* Columns of kinds are the bytes whose comment names a list of words (flags are bits). */
static bool has_kinds(const tide_column *c)
{
	return c->size == 1 && strcmp(c->name, "flags") && !strncmp(c->doc, "TIDE_", 5);
}

static void test_every_column_of_kinds(void **state)
{
	size_t found = 0;
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
		for (size_t k = 0; k < tables[t]->n_columns; k++) {
			const tide_column *c = &tables[t]->columns[k];
			tide_kind_names words = tide__kind_names_of(tables[t]->name, c->name);
			if (!words != !has_kinds(c))
				fail_msg("%s.%s", tables[t]->name, c->name);
			found += words != NULL;
		}
	assert_int_equal(found, 15);
	assert_null(tide__kind_names_of("allocs", "nothing"));
	assert_null(tide__kind_names_of("nothing", "kind"));
}

static void test_no_word_twice(void **state)
{
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
		for (size_t k = 0; k < tables[t]->n_columns; k++) {
			tide_kind_names words =
				tide__kind_names_of(tables[t]->name, tables[t]->columns[k].name);
			unsigned n = words ? tide__kind_names_count(words) : 0;
			for (unsigned i = 0; i < n; i++)
				for (unsigned j = 0; j < i; j++)
					assert_string_not_equal(words(i), words(j));
		}
	assert_int_equal(tide__kind_names_count(tide__role_text), TIDE_ROLE_WORKSPACE + 1);
	assert_int_equal(tide__kind_names_count(tide__memory_event_text), TIDE_MEMORY_SEG_FREE + 1);
}

/* Files of tables have their own names for a table and a column. */
static void test_stored(void **state)
{
	assert_string_equal(tide__stored_name("memory_events", NULL), "moves");
	assert_string_equal(tide__stored_name("memory_events", "row"), "row");
	assert_string_equal(tide__stored_name("marks", NULL), "marks");
	assert_string_equal(tide__stored_name("marks", "position"), "move");
	assert_string_equal(tide__stored_name("allocs", "position"), "position");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_column_of_kinds),
		cmocka_unit_test(test_no_word_twice),
		cmocka_unit_test(test_stored),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
