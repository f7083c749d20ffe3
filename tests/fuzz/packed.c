// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Fuzz packed input, gzip and zstd, of any trace: for any input, the expansion stays within its
 * limit, in pieces of any size, and loading gives an error or a model that holds all invariants. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/rewrite.h"
#include "import/import.h"
#include "import/source.h"
#include "import/tide/unpack.h"
#include "scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 20 };

/* The first byte says how large the pieces are. */
static void drain(const uint8_t *data, size_t size)
{
	static uint8_t buf[1 << 16];
	tide_source *s;
	size_t step = 1 + (size ? data[0] * (size_t)257 : 0), got = step, all = 0;
	if (tide__source_open_memory(data, size, MOST, &s, NULL) != TIDE_OK)
		return;
	bool packed = tide__source_is_packed(s);
	tide_code rc = TIDE_OK;
	while (rc == TIDE_OK && got == step) {
		rc = tide__source_read(s, buf, step, &got, NULL);
		all += got;
		if (got > step || (packed && all > MOST))
			abort();
	}
	if (rc != TIDE_OK && (tide__source_read(s, buf, step, &got, NULL) != rc || got))
		abort(); /* a failure stays */
	tide__source_close(s);
}

static void load(const uint8_t *data, size_t size)
{
	static char path[64];
	tide_load_options opt = { .max_expanded = MOST, .threads = 1, .single = true };
	tide_error err = { 0 };
	tide_model *m;
	scratch_path(path, sizeof path, "packed");
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f))
		abort();
	if (tide__load(path, &opt, &m, &err) == TIDE_OK) {
		if (tide__model_check(m, &err)) {
			fprintf(stderr, "%s\n", err.text);
			abort();
		}
		tide__model_free(m);
	}
	unlink(path);
}

/* recover and pack give an error with a text, or a file that loads. */
static void rewrite(const uint8_t *data, size_t size)
{
	static char path[64], out[80];
	tide_load_options opt = { .max_expanded = MOST, .threads = 1, .single = true };
	tide_error err = { 0 };
	tide_unpacked u;
	tide_rewrite w;
	tide_model *m;
	scratch_path(path, sizeof path, "rewrite");
	snprintf(out, sizeof out, "%s.out", path);
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f))
		abort();
	tide_code rc = tide__unpack(path, &opt, &u, &err);
	if (!rc) {
		tide_rewrite_from from = { u.fd < 0 ? path : u.path, NULL, u.stored, u.ends };
		rc = tide__rewrite(&from, out, size & 1 ? -1 : 1, &w, &err);
	}
	tide__unpacked_close(&u);
	if (rc && !*err.text)
		abort();
	if (!rc && tide__load(out, NULL, &m, &err) == TIDE_OK)
		tide__model_free(m);
	unlink(path);
	unlink(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	drain(data, size);
	load(data, size);
	rewrite(data, size);
	return 0;
}
