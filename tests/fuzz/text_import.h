// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The body of a fuzz target of an importer that takes a whole document: any bytes give one line of
 * error with a position inside the input, or a model that passes its check. */
#ifndef TIDE_TESTS_FUZZ_TEXT_IMPORT_H
#define TIDE_TESTS_FUZZ_TEXT_IMPORT_H

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/tracker/tracker_impl.h"

static inline int fuzz_text_import(const uint8_t *data, size_t n, tide_text_import *import)
{
	tide_error err = { 0 };
	tide_model *m = tide__model_new();
	char *text = tide__alloc(n + JSONR_PAD, 1);
	if (!m || !text)
		abort();
	memcpy(text, data, n);
	memset(text + n, 0, JSONR_PAD);
	if (import(text, n, m, &err)) {
		if (!err.text[0] || err.offset > n)
			abort();
	} else if (tide__model_check(m, &err)) {
		abort();
	}
	tide__free(text);
	tide__model_free(m);
	return 0;
}

#endif
