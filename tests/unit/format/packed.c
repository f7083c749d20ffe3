// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Packed chunks whose rings take turns: more of them than a reader holds open, so each is expanded
 * again and again. Every event is read, once, in its order; and a file that would be read for ever
 * is refused. */
#include <stdio.h>
#include <unistd.h>

#include "format/encode.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_taking_turns, teardown),
		cmocka_unit_test_teardown(test_for_ever, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
