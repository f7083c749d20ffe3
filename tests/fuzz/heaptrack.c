// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* heaptrack's recordings: any bytes give one line of error with a byte inside the input, or a model
 * that holds its invariants. */
#include <stdlib.h>

#include "import/heaptrack/heaptrack.h"
#include "import/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_error err = { 0 };
	tide_model *m = tide__model_new();
	tide_source *src;
	if (!m || tide__source_open_memory(data, n, 1 << 24, &src, &err))
		abort();
	tide__import_heaptrack.sniff(data, n);
	if (tide__heaptrack_import(src, m, &err)) {
		if (!err.text[0])
			abort();
	} else if (tide__model_check(m, &err)) {
		abort();
	}
	tide__source_close(src);
	tide__model_free(m);
	return 0;
}
