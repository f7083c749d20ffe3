// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Logs of the Tenstorrent runtime: any bytes give one line of error, or a model that holds its
 * invariants and whose live bytes equal those of the last states. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/tenstorrent/tt.h"
#include "import/tenstorrent/ttlog_impl.h"
#include "tt_totals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_error err = { 0 };
	tide_tt *t = NULL;
	tide_model *m = tide__model_new();
	if (!m)
		abort();
	if (tide__ttlog_import((const char *)data, n, m, &err)) {
		if (!err.text[0])
			abort();
	} else {
		if (tide__model_check(m, &err)) {
			fprintf(stderr, "%s\n", err.text);
			abort();
		}
		check_totals(m);
		if (tide__tt_find(m, NULL, &t, &err) == TIDE_OK) {
			uint32_t rows[8];
			for (size_t i = 0; i < t->n && i < 1000; i++)
				tide__tt_find_op_weights(t, i, rows, 8);
		}
		tide__tt_free(t);
	}
	tide__model_free(m);
	return 0;
}
