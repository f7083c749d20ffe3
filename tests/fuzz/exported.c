// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reports that tidemark.profiling exported, from any bytes: an error with a byte inside the input,
 * or a document whose members can be looked up. */
#include <stdlib.h>

#include "import/exported/exported.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_exported e;
	double x;
	tide_code rc = tide__exported_read((const char *)data, n, &e, &err);
	if (rc == TIDE_OK) {
		(void)tide__exported_figures(&e);
		if (e.kind >= TIDE_EXPORTED_N || e.doc.type != '{')
			abort();
		jsonr_node v = tide__exported_get(&e, "performance", "speedup");
		if (e.kind == TIDE_EXPORTED_COMPILE && tide__exported_number(v, &x) && !(x >= 0))
			abort();
	} else if (!err.text[0] || err.offset > n) {
		abort();
	}
	tide__exported_free(&e);
	return 0;
}
