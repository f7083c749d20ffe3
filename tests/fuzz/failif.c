// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Conditions of `diff --fail-if` on any text: parsed, or refused with a place inside the text; what
 * is parsed can be decided, and its opposite decides the other way. */
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/thresholds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static tide_diff d;
	tide_failif f;
	tide_error err = { 0 };
	char *text = malloc(n + 1);
	memcpy(text, data, n);
	text[n] = 0;
	if (tide__failif_parse(text, &f, &err) != TIDE_OK) {
		if (err.code != TIDE_EUSAGE || err.offset > strlen(text) || !err.text[0])
			abort();
		free(text);
		return 0;
	}
	for (unsigned k = 0; k < TIDE_N_METRICS; k++) {
		d.known[k][0] = d.known[k][1] = true;
		d.metric[k][0] = UINT64_MAX - k * n;
		d.metric[k][1] = n << (k * 4);
	}
	bool crossed = tide__failif_check(&f, &d).crossed;
	f.less = !f.less;
	f.or_equal = !f.or_equal;
	if (tide__failif_check(&f, &d).crossed == crossed)
		abort();
	free(text);
	return 0;
}
