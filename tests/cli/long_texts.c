// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes a small recording in which very many rows share a few long texts: names of ops (nested and
 * not), functions and files of frames, tensors, marks, counters, devices, pools, streams, threads.
 * Usage: cli_long_texts LENGTH ROWS FILE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidefile.h"

#define U(x) ((uint64_t)(x))

enum { OP = 1, FUNCTION, SOURCE, MODEL };

static void definitions(tidefile *f, size_t length, uint64_t rows)
{
	static const char first[] = { 0, 'o', 'f', 's', 'm' };
	char *text = malloc(length + 1);
	bytes r = { 0 };
	if (!text)
		abort();
	memset(text, 'x', length);
	text[length] = 0;
	for (uint64_t i = OP; i <= MODEL; i++) {
		text[0] = first[i];
		record_add(&r, TIDE_REC_NAME, i, text);
	}
	free(text);
	for (uint64_t i = 1; i <= rows; i++) {
		char name[32];
		snprintf(name, sizeof name, "op %llu", (unsigned long long)i);
		record_add(&r, TIDE_REC_NAME, MODEL + i, name);
	}
	for (uint64_t i = 1; i <= rows; i++) {
		record_add(&r, TIDE_REC_FRAME, i, U(FUNCTION), U(SOURCE), i);
		record_add(&r, TIDE_REC_STACK, i, i % 16 == 1 ? U(0) : i - 1, i);
	}
	for (uint64_t i = 1; i <= 16; i++) {
		record_add(&r, TIDE_REC_DEVICE, i, U(2), i - 1, U(MODEL), U(1) << 34);
		record_add(&r, TIDE_REC_POOL, i, i, U(1), U(MODEL), U(1) << 33, U(0));
		record_add(&r, TIDE_REC_STREAM, i, i, i, U(MODEL));
		record_add(&r, TIDE_REC_THREAD, i, 100 + i, U(MODEL));
	}
	tidefile_records(f, TIDE_CHUNK_DEFS, &r);
}

static uint64_t row(tidefile *f, uint64_t i, uint64_t t)
{
	unsigned ring = 1 + (unsigned)(i % 16), pool = ring;
	uint64_t shape[] = { i % 64 + 1, 2 };
	ev_begin_full(f, ring, t++, OP, 0, (uint32_t)i, 0);
	ev_begin(f, ring, t++, (uint32_t)(MODEL + i));
	ev_begin(f, ring, t++, OP);
	ev_alloc_full(f, ring, t++, pool, i << 20, 4096, ring, (uint32_t)i, 4000);
	ev_tensor(f, ring, t++, pool, i << 20, MODEL, 1, 1, 2, shape);
	ev_sample(f, ring, t++, MODEL, (double)i);
	ev_mark(f, ring, t++, 1 + i % 3, MODEL, (int64_t)i);
	if (i % 64 == 0)
		ev_oom(f, ring, t++, pool, U(1) << 40, 1 << 20);
	ev_end(f, ring, t++);
	ev_end(f, ring, t++);
	ev_end(f, ring, t++);
	return t;
}

int main(int argc, char **argv)
{
	tidefile f;
	if (argc != 4)
		return 2;
	uint64_t rows = strtoull(argv[2], NULL, 10), t = 1;
	tidefile_start(&f, TIDE_CLOCK_NS, 0);
	definitions(&f, strtoull(argv[1], NULL, 10), rows);
	for (unsigned ring = 1; ring <= 16; ring++)
		ev_lane(&f, ring, 0, ring, 100 + ring);
	for (uint64_t i = 1; i <= rows; i++)
		t = row(&f, i, t);
	tidefile_end(&f);
	tidefile_save(&f, argv[3]);
	tidefile_free(&f);
	return 0;
}
