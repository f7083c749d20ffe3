// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Graph captures: any bytes give one line of error with a byte inside the input, or a model that
 * holds its invariants. */
#include "import/ttgraph/ttgraph.h"
#include "text_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	return fuzz_text_import(data, n, tide__ttgraph_import);
}
