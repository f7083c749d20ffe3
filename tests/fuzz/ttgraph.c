// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Graph captures: any bytes give one line of error with a byte inside the input, or a model that
 * holds its invariants. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/kineto/kineto_impl.h"
#include "import/ttgraph/ttgraph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_error err = { 0 };
	tide_model *m = tide__model_new();
	char *text = tide__alloc(n + KIN_PAD, 1);
	if (!m || !text)
		abort();
	memcpy(text, data, n);
	memset(text + n, 0, KIN_PAD);
	if (tide__ttgraph_import(text, n, m, &err)) {
		if (!err.text[0] || err.offset > n)
			abort();
	} else if (tide__model_check(m, &err)) {
		abort();
	}
	tide__free(text);
	tide__model_free(m);
	return 0;
}
