// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Logs of the Tenstorrent runtime: any bytes give one line of error, or a model that holds its
 * invariants and whose live bytes equal those of the last states. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/tenstorrent/tt.h"
#include "import/tenstorrent/ttlog_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Live bytes of every pool at the end against its last state. */
static void check_totals(const tide_model *m)
{
	for (uint32_t p = 1; p < m->pools.n; p++) {
		uint64_t live = 0, last = 0;
		for (size_t i = 1; i < m->allocs.n; i++)
			if (m->allocs.pool[i].i == p && m->allocs.died[i] == TIDE_T_NEVER)
				live += m->allocs.size[i];
		for (size_t i = 0; i < m->pool_states.n; i++)
			if (m->pool_states.pool[i].i == p)
				last = m->pool_states.allocated[i] * m->pools.banks[p];
		if (live != last)
			abort();
	}
}

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
