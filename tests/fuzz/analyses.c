// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Analyses, renderers and exporters on any file that a reader accepts: in a fuzzer one of them, over
 * the kept corpus all. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "everything.h"
#include "import/import.h"
#include "scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64];
	tide_model *m;
	tide_error err = { 0 };
	tide_load_options opt = { .what = ~(unsigned)TIDE_WANT_RAW,
				  .max_expanded = 1 << 20,
				  .threads = 1,
				  .single = true };
	if (!*path) {
		scratch_memory(path, sizeof path, "fuzz-any");
		tide__mem_set_budget(256 << 20);
	}
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f))
		abort();
	tide__mem_forgive();
	if (tide__load(path, &opt, &m, &err) == TIDE_OK) {
		if (tide__model_check(m, &err)) {
			fprintf(stderr, "%s\n", err.text);
			abort();
		}
		ask_by(m, data, size);
		tide__model_free(m);
	}
	return 0;
}
