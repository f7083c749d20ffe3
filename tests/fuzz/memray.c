// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* memray's captures: any bytes give one line of error with a byte inside the input, or a model that
 * holds its invariants. */
#include <stdlib.h>

#include "import/memray/memray.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_error err = { 0 };
	tide_model *m = tide__model_new();
	if (!m)
		abort();
	tide__import_memray.sniff(data, n);
	if (tide__memray_import(data, n, m, &err)) {
		if (!err.text[0] || (err.offset > n && data[0] == 'm'))
			abort();
	} else if (tide__model_check(m, &err)) {
		abort();
	}
	tide__model_free(m);
	return 0;
}
