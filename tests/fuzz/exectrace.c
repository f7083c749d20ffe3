// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Execution traces: any bytes give one line of error with a byte inside the input, or a model that
 * holds its invariants. */
#include <stdlib.h>

#include "import/exectrace/exectrace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_error err = { 0 };
	const tide_load_options opt = { .threads = 1, .single = true };
	tide_model *m = tide__model_new();
	if (!m)
		abort();
	tide__import_exectrace.sniff(data, n);
	if (tide__exectrace_import((const char *)data, n, &opt, m, &err)) {
		if (!err.text[0] || (err.offset > n && err.offset != TIDE_NO_OFFSET))
			abort();
	} else if (tide__model_check(m, &err)) {
		abort();
	}
	tide__model_free(m);
	return 0;
}
