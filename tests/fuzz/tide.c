// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Fuzz the .tide reader, the ring file and the builder.
 *
 * The input is two bytes (the length of the ring file in units of 256 bytes), the ring file, the
 * .tide file. Checksums are corrected first, because wrong ones would stop every input before the
 * code under test. For any input, loading gives an error or a model that holds all invariants, and
 * recover and pack give a file that loads. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/encode.h"
#include "format/read.h"
#include "format/rewrite.h"
#include "import/import.h"
#include "scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64], rings[80], out[80];

static void names(void)
{
	scratch_path(path, sizeof path, "fuzz");
	snprintf(rings, sizeof rings, "%s-rings", path);
	snprintf(out, sizeof out, "%s.out", path);
}

/* Magic, version and checksum of the head; the checksum of every chunk that lies inside the bytes.
 */
static void put_right(uint8_t *p, size_t n)
{
	tide_file_head h;
	if (n < sizeof h)
		return;
	memcpy(&h, p, sizeof h);
	memcpy(h.magic, TIDE_FILE_MAGIC, 8);
	h.major = TIDE_FORMAT_MAJOR;
	h.head_size = sizeof h;
	h.checksum = tide__file_head_sum(&h);
	memcpy(p, &h, sizeof h);
	for (size_t at = sizeof h; n - at >= sizeof(tide_chunk_head);) {
		tide_chunk_head c;
		memcpy(&c, p + at, sizeof c);
		if (c.magic != TIDE_CHUNK_MAGIC || c.stored > n - at - sizeof c)
			return;
		c.checksum = tide__chunk_checksum(&c, p + at + sizeof c);
		memcpy(p + at, &c, sizeof c);
		if (c.type == TIDE_CHUNK_PACKED && !c.flags) /* walk into it */
			at += sizeof c;
		else
			at += sizeof c + c.stored;
	}
}

static void save(const char *name, const uint8_t *p, size_t n)
{
	unlink(name);
	FILE *f = fopen(name, "wb");
	if (!f || fwrite(p, 1, n, f) != n || fclose(f))
		abort();
}

static void load(const char *name)
{
	tide_model *m;
	tide_error err = { 0 };
	tide_load_options opt = { .max_expanded = 16 << 20 };
	if (tide__load(name, &opt, &m, &err))
		return;
	if (tide__model_check(m, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	tide__model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	tide_rewrite w;
	if (size < 2)
		return 0;
	if (!*path)
		names();
	size_t n_rings = (data[0] | (size_t)data[1] << 8) * 256;
	data += 2;
	size -= 2;
	if (n_rings > size)
		n_rings = size;
	uint8_t *copy = malloc(size + 1);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	put_right(copy + n_rings, size - n_rings);
	save(path, copy + n_rings, size - n_rings);
	unlink(rings);
	if (n_rings >= 4096) {
		if (size - n_rings >= 32) /* the same recording */
			memcpy(copy + 16, copy + n_rings + 16, 16);
		save(rings, copy, n_rings);
	}
	free(copy);
	load(path);
	for (int pack = 0; pack < 2; pack++)
		if (!(pack ? tide__pack(path, out, 1, &w, NULL)
			   : tide__recover(path, out, &w, NULL)))
			load(out);
	unlink(path);
	unlink(rings);
	unlink(out);
	return 0;
}
