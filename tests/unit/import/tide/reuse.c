// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* 4 GB of addresses, each block of 64 KiB allocated and freed repeatedly, millions of times in
 * total: every free finds its own allocation, nothing overlaps, and the live bytes equal those of a
 * plain array. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/import.h"
#include "testing.h"
#include "tidefile.h"

enum { BLOCKS = 1 << 16, EVENTS = 3000000 };
static const uint64_t BLOCK = 1 << 16; /* bytes: BLOCKS of them are 4 GiB */

struct truth {
	uint32_t size[BLOCKS]; /* 0 = free */
	uint64_t live, peak, allocs, frees;
};

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static void write_events(tidefile *f, struct truth *t)
{
	uint64_t seed = 1;
	ev_lane(f, 1, 1, 1, 100);
	for (uint64_t i = 0; i < EVENTS; i++) {
		uint32_t b = (uint32_t)(next(&seed) % BLOCKS);
		uint64_t addr = b * BLOCK;
		if (t->size[b]) {
			ev_free(f, 1, 10 + i, 1, addr);
			t->live -= t->size[b];
			t->size[b] = 0;
			t->frees++;
		} else {
			t->size[b] = (uint32_t)(1 + next(&seed) % BLOCK);
			ev_alloc(f, 1, 10 + i, 1, addr, t->size[b]);
			t->live += t->size[b];
			t->peak = t->live > t->peak ? t->live : t->peak;
			t->allocs++;
		}
		if (i % 30000 == 29999)
			tidefile_flush(f, 1);
	}
}

/* Live bytes from the model's own log; the highest into *peak. */
static uint64_t sweep(const tide_model *m, uint64_t *peak)
{
	uint64_t live = 0;
	*peak = 0;
	for (size_t i = 0; i < m->memory_events.n; i++) {
		uint64_t size = m->allocs.size[m->memory_events.row[i]];
		live += m->memory_events.kind[i] == TIDE_MEMORY_ALLOC ? size : 0;
		live -= m->memory_events.kind[i] == TIDE_MEMORY_FREE ? size : 0;
		*peak = live > *peak ? live : *peak;
	}
	return live;
}

static void addresses_are_used_again(void **state)
{
	(void)state;
	static struct truth t;
	char path[] = "/tmp/tide-reuse-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	tidefile f;
	tidefile_start_full(&f);
	write_events(&f, &t);
	tidefile_end(&f);
	tidefile_save(&f, path);
	tidefile_free(&f);
	tide_model *m;
	tide_error err;
	assert_int_equal(tide__load(path, NULL, &m, &err), TIDE_OK);
	unlink(path);
	assert_int_equal(m->allocs.n - 1, t.allocs);
	assert_int_equal(m->memory_events.n, t.allocs + t.frees);
	uint64_t peak;
	assert_int_equal(sweep(m, &peak), t.live);
	assert_int_equal(peak, t.peak);
	for (size_t i = 0; i < m->facts.n; i++)
		assert_int_not_equal(strncmp(tide__text(m, m->facts.key[i], NULL), "loss.", 5), 0);
	assert_int_equal(tide__model_check(m, &err), TIDE_OK);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(addresses_are_used_again) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
