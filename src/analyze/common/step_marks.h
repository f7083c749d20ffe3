// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Step beginnings from the marks of a trace: the program's own, else those of its optimizers.
 *
 * Optimizer marks are named TIDE_OPTIMIZERS_MARK: one when a model first runs, one after each
 * optimizer step (python/hook/tidemark_model.py). They are ignored if the program marks its own
 * steps.
 *
 * A program marks each iteration of its loop at the beginning or, like torch.profiler, at the end.
 * The optimizer decides which (by its marks, or ranges named Optimizer.step#...):
 *   - an optimizer step after the last mark: marks are beginnings, and the last iteration ends
 *     where the optimizer's last step does;
 *   - else an optimizer step, or a model run (an optimizer need not step in every iteration),
 *     before the first mark: marks are ends. The first iteration begins with the model's first run,
 *     else with the trace; each interval has the number of the mark at its end.
 * Without an optimizer, marks are beginnings and the end of the last iteration is unknown. */
#ifndef TIDE_ANALYZE_COMMON_STEP_MARKS_H
#define TIDE_ANALYZE_COMMON_STEP_MARKS_H

#include "model/model.h"

#define TIDE_OPTIMIZERS_MARK "optimizer.step"

typedef struct tide_step_mark {
	int64_t t, number;
} tide_step_mark;

typedef struct tide_step_marks {
	tide_step_mark *v; /* owned; in the order of marks */
	size_t n;
	bool ended; /* the last mark ends the step before it: none begins there */
	bool early; /* that end is earlier than in other steps: the work after the optimizer's
		     * step is missing */
} tide_step_marks;

/* Returns TIDE_OK or TIDE_ENOMEM. Without marks n = 0. */
tide_code tide__step_marks_find(const tide_model *m, tide_step_marks *out);
void tide__step_marks_free(tide_step_marks *s);

#endif
