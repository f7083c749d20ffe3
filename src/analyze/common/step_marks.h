// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Where steps begin, from the marks of a trace: the program's own, else those of its optimizers.
 *
 * Optimizers' marks are called TIDE_OPTIMIZERS_MARK: one where a model first runs, one after each
 * step that an optimizer has made (python/hook/tidemark_model.py). Where the program says itself
 * where its steps are they do not count.
 *
 * A program says so at the beginning of each turn of its loop, or, as torch.profiler has it, at the
 * end. Which, the optimizer tells (by its marks, or ranges called Optimizer.step#...):
 *   - it made a step after the last mark: marks are beginnings, and the last turn ends where the
 *     optimizer's last step does;
 *   - else it made one, or a model ran (an optimizer need not step in every turn), before the first
 *     mark: marks are ends. The first turn begins with the model's first run, else with the trace;
 *     each stretch has the number of the mark at its end.
 * Without an optimizer marks are beginnings, and where the last turn ends is not known. */
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
	bool ended; /* the last is the end of the step before it: none begins there */
	bool early; /* and is not where others end: what a turn does after the optimizer's step,
		       it has not done yet */
} tide_step_marks;

/* TIDE_OK or TIDE_ENOMEM. No marks: n = 0. */
tide_code tide__step_marks(const tide_model *m, tide_step_marks *out);
void tide__step_marks_free(tide_step_marks *s);

#endif
