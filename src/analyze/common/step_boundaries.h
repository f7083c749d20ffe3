// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Step boundaries for memory analyses (steps.h defines steps): each step ends where the next
 * begins; the last range ends with the trace. The time after the last mark is not a step: a program
 * frees its memory there. */
#ifndef TIDE_ANALYZE_COMMON_STEP_BOUNDARIES_H
#define TIDE_ANALYZE_COMMON_STEP_BOUNDARIES_H

#include "analyze/common/steps.h"

typedef struct tide_step_boundaries {
	int64_t *t; /* owned: n + 1 boundaries, ascending; step i is [t[i], t[i + 1]) */
	size_t n;
	size_t unlike; /* 1 if the last step was dropped because it ends early */
	tide_step_source source;
	tide_str name;
} tide_step_boundaries;

/* every_ns > 0: ignores the trace's own steps and uses boundaries at equal intervals, up to the
 * last allocation; the first of more than 3 intervals is dropped, because a program creates its
 * model there. If `device` belongs to one process, only ranges of that process are steps; 0 = any.
 * A trace without steps gives TIDE_OK and n = 0. */
tide_code tide__find_step_boundaries(const tide_model *m, uint32_t device, int64_t every_ns,
				     tide_step_boundaries *out);
void tide__step_boundaries_free(tide_step_boundaries *s);
const char *tide__step_source_text(tide_step_source s);

#endif
