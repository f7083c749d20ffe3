// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Fuzz .tide files of tables. The input is payloads of TABLE chunks, each after two bytes with its
 * length; the target adds heads and checksums. For any input, loading gives one line of error, or a
 * model that holds all invariants, that every analysis accepts, and that loads again after it was
 * written. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/tenstorrent/tt.h"
#include "everything.h"
#include "format/encode.h"
#include "import/import.h"
#include "import/tide/tables.h"
#include "scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char path[64], again[80];

static void chunk(FILE *f, unsigned type, const uint8_t *p, uint32_t n)
{
	tide_chunk_head h = { .type = (uint16_t)type, .count = 1 };
	tide__chunk_seal(&h, p, n);
	fwrite(&h, sizeof h, 1, f);
	fwrite(p, 1, n, f);
}

static void put_file(const uint8_t *data, size_t n)
{
	uint8_t schema[TIDE_SCHEMA_MAX], end[4] = { TIDE_REC_TOTAL, 0, 0, 0 };
	uint32_t count;
	tide_file_head h = { .major = TIDE_FORMAT_MAJOR,
			     .minor = TIDE_FORMAT_MINOR_TABLES,
			     .head_size = sizeof h,
			     .flags = TIDE_FILE_TABLES };
	FILE *f = fopen(path, "wb");
	if (!f)
		abort();
	memcpy(h.magic, TIDE_FILE_MAGIC, sizeof h.magic);
	h.checksum = tide__file_head_sum(&h);
	fwrite(&h, sizeof h, 1, f);
	size_t k = tide__encode_schema(schema, &count);
	chunk(f, TIDE_CHUNK_SCHEMA, schema, (uint32_t)k);
	while (n > 2) {
		size_t len = data[0] | (size_t)data[1] << 8;
		data += 2;
		n -= 2;
		len = len < n ? len : n;
		chunk(f, TIDE_CHUNK_TABLE, data, (uint32_t)len);
		data += len;
		n -= len;
	}
	chunk(f, TIDE_CHUNK_END, end, sizeof end);
	if (fclose(f))
		abort();
}

static void ask(tide_model *m, const uint8_t *data, size_t n)
{
	tide_error err = { 0 };
	tide_tt *t = NULL;
	if (tide__model_check(m, &err))
		abort();
	if (tide__tt_find(m, NULL, &t, &err) == TIDE_OK) {
		uint32_t rows[8];
		for (size_t i = 0; i < t->n && i < 1000; i++)
			tide__tt_find_op_weights(t, i, rows, 8);
	}
	tide__tt_free(t);
	ask_by(m, data, n);
}

/* Written and read once more, it has the same rows. */
static void write_again(const tide_model *m)
{
	tide_error err = { 0 };
	tide_model *back;
	FILE *f = fopen(again, "wb");
	if (!f || tide__tables_write(m, f, &err) || fclose(f))
		abort();
	if (tide__load(again, NULL, &back, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	if (back->spans.n != m->spans.n || back->allocs.n != m->allocs.n || back->t_end != m->t_end)
		abort();
	tide__model_free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_error err = { 0 };
	tide_model *m;
	if (!*path) {
		scratch_path(path, sizeof path, "tables");
		snprintf(again, sizeof again, "%s.again", path);
	}
	put_file(data, n);
	if (tide__load(path, NULL, &m, &err)) {
		if (!err.text[0])
			abort();
	} else {
		ask(m, data, n);
		write_again(m);
		tide__model_free(m);
	}
	unlink(path);
	unlink(again);
	return 0;
}
