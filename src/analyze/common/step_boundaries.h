// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Where memory is cut at the steps of a run (steps.h says what a step is): each ends where the next
 * begins, the last range with the trace. What follows the last mark is no step: a program that has
 * done its last one frees everything there. */
#ifndef TIDE_ANALYZE_COMMON_STEP_BOUNDARIES_H
#define TIDE_ANALYZE_COMMON_STEP_BOUNDARIES_H

#include "analyze/common/steps.h"

typedef struct tide_step_boundaries {
	int64_t *t; /* owned: n + 1 boundaries, ascending; step i is [t[i], t[i + 1]) */
	size_t n;
	size_t unlike; /* 1 if the last step was left out, because it ends early */
	tide_step_source source;
	tide_str name;
} tide_step_boundaries;

/* every_ns > 0: ignore the trace's own steps and cut at even distances, up to the last allocation;
 * the first of more than three is left out, because a program makes its model there.
 * No steps is TIDE_OK, n = 0. */
tide_code tide__find_step_boundaries(const tide_model *m, int64_t every_ns,
				     tide_step_boundaries *out);
void tide__step_boundaries_free(tide_step_boundaries *s);
const char *tide__beat_source_text(tide_step_source s);

#endif
