// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Torch snapshots: any bytes give one line of error or a model that holds its invariants; decoded
 * in slices they give the same as decoded sequentially. */
#include <stdlib.h>
#include <string.h>

#include "import/torchsnap/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static tide_code import(const uint8_t *data, size_t n, size_t stretch, tide_error *err,
			size_t rows[3])
{
	const tide_load_options opt = { .threads = 1 };
	tide_model *m = tide__model_new();
	if (!m)
		return TIDE_ENOMEM;
	tide_code rc = tide__snap_import_by(data, n, &opt, stretch, m, err);
	if (rc ? !err->text[0] : tide__model_check(m, err) != TIDE_OK)
		abort();
	rows[0] = m->allocs.n;
	rows[1] = m->memory_events.n;
	rows[2] = m->stacks.n;
	tide__model_free(m);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_error turn = { 0 }, parts = { 0 };
	size_t rows[2][3];
	tide_code rc = import(data, n, 0, &turn, rows[0]);
	if (!memmem(data, n, "\x95", 1)) /* no frames, no slices */
		return 0;
	if (rc != import(data, n, 64, &parts, rows[1]))
		abort();
	if (rc ? strcmp(turn.text, parts.text) != 0 : memcmp(rows[0], rows[1], sizeof rows[0]) != 0)
		abort();
	return 0;
}
