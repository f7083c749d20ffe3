// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Compile logs: any bytes give one line of error, or a model that holds its invariants, and its
 * report. */
#include <stdlib.h>
#include <string.h>

#include "analyze/advice/compile_advice.h"
#include "base/mem.h"
#include "import/torchtrace/torchtrace_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_error err = { 0 };
	tide_compile_report r;
	tide_advice advice[TIDE_COMPILE_ADVICE_MAX];
	tide_model *m = tide__model_new();
	char *text = tide__alloc(n + 1, 1); /* exactly n are read: a sanitizer sees more */
	if (!m || !text)
		abort();
	memcpy(text, data, n);
	m->format = tide__strndup("torchtrace", 10);
	if (tide__torchtrace_import(text, n, "log_rank_3", m, &err)) {
		if (!err.text[0])
			abort();
	} else if (tide__model_check(m, &err) || tide__compile_report_find(m, &r, &err)) {
		abort();
	} else {
		if (tide__compile_advise(m, &r, advice) > TIDE_COMPILE_ADVICE_MAX)
			abort();
		tide__compile_report_free(&r);
	}
	tide__free(text);
	tide__model_free(m);
	return 0;
}
