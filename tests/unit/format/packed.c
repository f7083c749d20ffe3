// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Packed chunks whose rings alternate: more of them than a reader keeps open, so each is expanded
 * repeatedly. Every event is read, once, in its order; and a file that would be read for ever is
 * refused. */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/encode.h"
#include "format/newfile.h"
#include "format/rewrite.h"
#include "import/import.h"
#include "testing.h"
#include "tidefile.h"

enum { RINGS = 70, EACH = 20 };
static char path[64];

static int teardown(void **state)
{
	unlink(path);
	return 0;
}

/* A mark with its number as value, alone in a chunk. */
static void add_mark(bytes *to, uint32_t ring, uint64_t i)
{
	uint8_t rec[32], *p = rec;
	uint64_t when = i * RINGS + ring;
	*p++ = TIDE_REC_MARK;
	p = tide__put_v(p, 0);
	p = tide__put_v(p, 1);
	p = tide__put_v(p, 1);
	p = tide__put_z(p, (int64_t)when);
	tide_chunk_head h = { .type = TIDE_CHUNK_EVENTS,
			      .ring = ring,
			      .first = i,
			      .slots = 1,
			      .count = 1,
			      .ticks = 1000 + when };
	tide__chunk_seal(&h, rec, (uint32_t)(p - rec));
	bytes_add(to, &h, sizeof h);
	bytes_add(to, rec, (size_t)(p - rec));
}

/* Every ring alone in a packed chunk, all of them at the same time. */
static void write_file(void)
{
	tidefile f;
	tidefile_start_full(&f);
	for (uint32_t ring = 1; ring <= RINGS; ring++) {
		bytes inside = { 0 };
		for (uint64_t i = 0; i < EACH; i++)
			add_mark(&inside, ring, i);
		tidefile_chunk(&f, (tide_chunk_head){ .type = TIDE_CHUNK_PACKED }, inside.p,
			       inside.n);
		bytes_free(&inside);
	}
	f.events = RINGS * EACH;
	tidefile_end(&f);
	snprintf(path, sizeof path, "/tmp/tide-packed-%d.tide", (int)getpid());
	tidefile_save(&f, path);
	tidefile_free(&f);
}

static void test_taking_turns(void **state)
{
	tide_model *m;
	tide_error err = { 0 };
	write_file();
	if (tide__load(path, NULL, &m, &err) || tide__model_check(m, &err))
		fail_msg("%s", err.text);
	assert_int_equal(m->marks.n, RINGS * EACH + 1);
	for (size_t i = 1; i < m->marks.n; i++)
		assert_int_equal(m->marks.value[i], i);
	tide__model_free(m);
}

static void test_for_ever(void **state)
{
	tide_load_options opt = { .max_expanded = 10000 };
	tide_model *m;
	tide_error err = { 0 };
	write_file();
	assert_int_equal(tide__load(path, &opt, &m, &err), TIDE_ELIMIT);
	assert_null(m);
	assert_true(err.offset > 128 && err.text[0]);
}

/* Reads at most `cap` bytes of a file. */
static size_t content(const char *name, char *out, size_t cap)
{
	FILE *f = fopen(name, "rb");
	size_t n = f ? fread(out, 1, cap, f) : 0;
	if (f)
		fclose(f);
	return n;
}

/* Temporary files: a link planted under a formerly used name is not followed, nothing is left over,
 * and if two write to one place, the later one gets an error. */
static void test_planted_and_disturbed(void **state)
{
	char out[80], part[96], victim[80], got[16];
	tide_rewrite w;
	tide_error err = { 0 };
	write_file();
	snprintf(out, sizeof out, "%s.out", path);
	snprintf(part, sizeof part, "%s.part", out);
	snprintf(victim, sizeof victim, "%s.victim", path);
	FILE *f = fopen(victim, "wb");
	fputs("precious", f);
	fclose(f);
	assert_int_equal(symlink(victim, part), 0);
	assert_int_equal(tide__pack(path, out, 0, &w, &err), TIDE_OK);
	assert_int_equal(content(victim, got, sizeof got), 8);
	assert_memory_equal(got, "precious", 8);
	for (int gone = 0; gone < 2; gone++) {
		tide_newfile first, second;
		assert_int_equal(tide__newfile_open(&first, out, &err), TIDE_OK);
		assert_int_equal(tide__newfile_open(&second, out, &err), TIDE_OK);
		assert_int_equal(write(first.fd, "first", 5), 5);
		assert_int_equal(write(second.fd, "second", 6), 6);
		assert_int_equal(tide__newfile_keep(&second, &err), TIDE_OK);
		assert_int_equal(tide__newfile_keep(&first, &err), TIDE_EBUSY);
		assert_non_null(strstr(err.text, "another process wrote"));
		assert_int_equal(content(out, got, sizeof got), 6);
		assert_memory_equal(got, "second", 6);
		if (!gone)
			unlink(out);
	}
	char pattern[96];
	glob_t left;
	snprintf(pattern, sizeof pattern, "%s.*.part", out);
	assert_int_equal(glob(pattern, 0, NULL, &left), GLOB_NOMATCH);
	unlink(out);
	unlink(part);
	unlink(victim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_taking_turns, teardown),
		cmocka_unit_test_teardown(test_for_ever, teardown),
		cmocka_unit_test_teardown(test_planted_and_disturbed, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
