// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Databases of ROCm: any bytes give one line of error, or a model that holds its invariants. Nothing of a
 * file may take longer than its size allows. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/rocpd/rocpd_impl.h"
#include "model/want.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const tide_load_options opt = { .what = TIDE_WANT_SPANS | TIDE_WANT_MEMORY |
						       TIDE_WANT_FLOWS | TIDE_WANT_RAW |
						       TIDE_WANT_LAUNCH };
	tide_error err = { 0 };
	tide_db *db;
	tide_model *m = tide__model_new();
	if (!m)
		abort();
	tide_code rc = tide__db_open_memory(data, n, &db, &err);
	if (rc == TIDE_OK) {
		rc = tide__rocpd_import(db, &opt, m, &err);
		tide__db_close(db);
	}
	if (rc ? !err.text[0] : tide__model_check(m, &err) != TIDE_OK)
		abort();
	tide__model_free(m);
	return 0;
}
