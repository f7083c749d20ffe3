// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* JSON files of Tenstorrent runs: the memory file, a NUL, the operations file, a NUL, the modules'
 * file. Any bytes give one line of error, or a model that holds its invariants and whose live bytes
 * equal those of the last states. */
#include <stdlib.h>
#include <string.h>

#include "analyze/tenstorrent/tt.h"
#include "import/tenstorrent/ttlog_impl.h"
#include "tt_totals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void part(const char **text, size_t *n, const uint8_t **data, size_t *left)
{
	const uint8_t *nul = memchr(*data, 0, *left);
	*text = (const char *)*data;
	*n = nul ? (size_t)(nul - *data) : *left;
	*left -= nul ? *n + 1 : *left;
	*data += nul ? *n + 1 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_error err = { 0 };
	tide_tt *t = NULL;
	tt_results in = { 0 };
	tide_model *m = tide__model_new();
	if (!m)
		abort();
	part(&in.main, &in.n_main, &data, &n);
	part(&in.operations, &in.n_operations, &data, &n);
	part(&in.ir, &in.n_ir, &data, &n);
	if (tide__ttresults_import(&in, m, &err)) {
		if (!err.text[0])
			abort();
	} else {
		if (tide__model_check(m, &err))
			abort();
		check_totals(m);
		(void)tide__tt_find(m, NULL, &t, &err);
		tide__tt_free(t);
	}
	tide__model_free(m);
	return 0;
}
