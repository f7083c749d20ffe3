// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Flight Recorder dumps: any bytes give one line of error with a position inside the input, or a model
 * that passes its check, on which a verdict is found. The input is a dump of rank 0 and one of rank 1,
 * so ops match and differ. */
#include <stdlib.h>
#include <string.h>

#include "analyze/hang/hang.h"
#include "base/mem.h"
#include "import/flightrec/flightrec.h"
#include "render/report/device/hang_reason.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool add(tide_hang *h, const uint8_t *data, size_t n, int64_t rank)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_model *m = tide__model_new();
	uint8_t *copy = tide__alloc(n ? n : 1, 1); /* exactly n are read: a sanitizer sees more */
	bool ok = false;
	if (!m || !copy)
		abort();
	memcpy(copy, data, n);
	m->format = tide__strndup("flightrec", 9);
	if (tide__flightrec_import(copy, n, rank, m, &err)) {
		if (!err.text[0] || (err.offset > n && err.offset != TIDE_NO_OFFSET))
			abort();
	} else if (tide__model_check(m, &err) || tide__hang_add(h, m, "x", &err)) {
		abort();
	} else {
		ok = true;
	}
	tide__free(copy);
	tide__model_free(m);
	return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_hang h = { 0 };
	tide_error err;
	char reason[1000];
	if (add(&h, data, n, 0))
		add(&h, data, n > 64 ? n / 2 : n, 1);
	if (tide__hang_finish(&h, 3, &err) || !*tide__hang_reason(&h, reason, sizeof reason))
		abort();
	tide__hang_free(&h);
	return 0;
}
