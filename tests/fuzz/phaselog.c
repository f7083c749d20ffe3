// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Logs with memory summaries: any bytes give one line of error, or summaries whose sizes can be
 * computed and drawn on. */
#include <stdlib.h>
#include <string.h>

#include "analyze/predict/training_sizes.h"
#include "render/report/memory/training_sizes.h"
#include "import/phaselog/phaselog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_phase_summaries all = { 0 };
	tide_source *s;
	if (tide__source_open_memory(data, n, 1 << 20, &s, &err) != TIDE_OK)
		return 0;
	if (tide__phaselog_read(s, &all, &err) != TIDE_OK && !err.text[0])
		abort();
	for (size_t i = 0; i < all.n; i++) {
		tide_training_sizes t;
		tide_sentence advice[TIDE_TRAINING_SENTENCES];
		tide_sizes_options o = { .capacity = 1 << 30 };
		size_t row;
		(void)tide__phase_summary_off(&all.v[i], &row);
		if (tide__training_sizes_find(&all.v[i], &o, &t, &err) == TIDE_OK)
			(void)tide__training_write_advice(&t, advice);
	}
	tide__phase_summaries_free(&all);
	tide__source_close(s);
	return 0;
}
