// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Long texts in an output: complete at first, truncated when they are repeated often. */
#include <stdlib.h>
#include <string.h>

#include "render/text/grid.h"
#include "render/text/long_text.h"
#include "testing.h"

enum { MiB = 1 << 20 };

/* Adds a text of n bytes whose last character has three bytes. */
static uint32_t add(tide_strings *s, char first, size_t n)
{
	char *text = malloc(n);
	memset(text, first, n);
	for (size_t i = TIDE_LONG_KEEP - 2; i + 3 <= n; i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	uint32_t id = tide__strings_add(s, text, n);
	free(text);
	return id;
}

static void short_ones(void **state)
{
	tide_strings *s = tide__strings_new();
	tide_long l = { 0 };
	size_t n;
	uint32_t id = add(s, 'a', TIDE_LONG);
	for (int i = 0; i < 3 * TIDE_LONG_AGAIN / TIDE_LONG; i++) {
		tide__long_get(&l, s, id, &n);
		assert_int_equal(n, TIDE_LONG);
	}
	assert_int_equal(l.cut, 0);
	assert_string_equal(tide__long_get(&l, s, 0, &n), "");
	tide__long_free(&l);
	tide__strings_free(s);
}

static void again_and_again(void **state)
{
	tide_strings *s = tide__strings_new(), *other = tide__strings_new();
	tide_long l = { 0 };
	size_t n;
	uint32_t a = add(s, 'a', MiB), b = add(s, 'b', MiB), c = add(other, 'c', MiB);
	for (size_t i = 0; i <= TIDE_LONG_AGAIN / MiB; i++) {
		tide__long_get(&l, s, a, &n);
		assert_int_equal(n, MiB);
	}
	const char *cut = tide__long_get(&l, s, a, &n);
	assert_int_equal(n, strlen(cut));
	assert_string_equal(cut + TIDE_LONG_KEEP - 2, "... (text 1, 1048576 bytes)");
	assert_int_equal(cut[0], 'a');
	tide__long_get(&l, s, b, &n); /* for the first time */
	assert_int_equal(n, MiB);
	tide__long_get(&l, s, b, &n);
	assert_true(n < 2 * TIDE_LONG_KEEP);
	tide__long_get(&l, other, c, &n); /* not known to be the first time */
	assert_true(n < 2 * TIDE_LONG_KEEP);
	assert_int_equal(l.cut, 3);
	tide__long_free(&l);
	tide__long_get(&l, other, c, &n);
	assert_int_equal(n, MiB);
	tide__long_free(&l);
	tide__strings_free(s);
	tide__strings_free(other);
}

static void brief(void **state)
{
	tide_strings *s = tide__strings_new();
	tide_long l = { .brief = true };
	size_t n;
	tide__long_get(&l, s, add(s, 'a', MiB), &n);
	assert_true(n < 2 * TIDE_LONG_KEEP);
	tide__long_get(&l, s, add(s, 'b', TIDE_LONG), &n);
	assert_int_equal(n, TIDE_LONG);
	tide__strings_free(s);
}

/* A grid and a document count the truncated texts. */
static void counted(void **state)
{
	static const tide_grid_col cols[] = { { "name", "Name", TIDE_CELL_TEXT } };
	tide_strings *s = tide__strings_new();
	uint32_t id = add(s, 'a', MiB);
	tide_grid *g = tide__grid_new(cols, 1);
	for (int i = 0; i < 20; i++)
		tide__grid_name(g, s, id);
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	tide__grid_print(g, f, &(tide_style){ 0 }, 0);
	fclose(f);
	assert_non_null(strstr(text, "(3 long texts are cut; each is complete at its first use)"));
	free(text);
	f = open_memstream(&text, &n);
	tide_json j;
	tide__json_begin(&j, f, false);
	tide__json_array(&j);
	tide__grid_json(g, &j);
	for (int i = 0; i < 20; i++)
		tide__json_text(&j, s, id);
	tide__json_array_end(&j);
	assert_true(tide__json_end(&j));
	fclose(f);
	assert_int_equal(j.cut, 6);
	assert_true(n < 40 * MiB);
	free(text);
	tide__grid_free(g);
	tide__strings_free(s);
}

/* Paths are complete until they have taken TIDE_LONG_PATHS bytes, then they keep their inner end. */
static void paths(void **state)
{
	tide_model *m = tide__model_new();
	tide_paths p;
	tide_long l = { 0 };
	uint32_t node = 0;
	assert_true(tide__paths_init(&p));
	for (int i = 0; i < 100; i++)
		node = tide__paths_add_child(&p, node,
					     tide__intern(m, i < 99 ? "0123456789" : "last"));
	char buf[4096];
	tide__long_path(&l, &p, m, node, buf, sizeof buf);
	assert_int_equal(strlen(buf), 99 * 11 + 4);
	l.paths = TIDE_LONG_PATHS;
	tide__long_path(&l, &p, m, node, buf, sizeof buf);
	assert_int_equal(strlen(buf), 99 * 11 + 4);
	assert_int_equal(l.cut, 0);
	tide__long_path(&l, &p, m, node, buf, sizeof buf);
	assert_true(strlen(buf) < TIDE_LONG_KEEP);
	assert_memory_equal(buf, ".../0123", 8);
	assert_string_equal(buf + strlen(buf) - 5, "/last");
	assert_int_equal(l.cut, 1);
	tide__paths_free(&p);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_ones), cmocka_unit_test(again_and_again),
		cmocka_unit_test(brief),      cmocka_unit_test(paths),
		cmocka_unit_test(counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
