// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Torch snapshots: any bytes give one line of error or a model that holds its invariants. */
#include <stdlib.h>

#include "import/torchsnap/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_error err = { 0 };
	tide_model *m = tide__model_new();
	if (!m)
		return 0;
	if (tide__snap_import(data, n, NULL, m, &err)) {
		if (!err.text[0])
			abort();
	} else if (tide__model_check(m, &err)) {
		abort();
	}
	tide__model_free(m);
	return 0;
}
