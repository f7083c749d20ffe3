// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tables of device ops: any bytes give one line of error with a byte inside the input, or a model that
 * holds its invariants. */
#include <stdlib.h>

#include "import/ttperf/ttperf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_error err = { 0 };
	tide_model *m = tide__model_new();
	if (!m)
		abort();
	tide__import_ttperf.sniff(data, n);
	if (tide__ttperf_import((const char *)data, n, m, &err)) {
		if (!err.text[0] || (err.offset > n && err.offset != TIDE_NO_OFFSET))
			abort();
	} else if (tide__model_check(m, &err)) {
		abort();
	}
	tide__model_free(m);
	return 0;
}
