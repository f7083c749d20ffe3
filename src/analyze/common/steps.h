// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Training steps, and the part of a trace an analysis looks at.
 *
 * A step is a ProfilerStep#N annotation on the host (category user_annotation, or op in old files;
 * the copies that profilers put on the device side are not steps), from its earliest start to its
 * latest end. A trace without them may have step marks (step_marks.h): a step then lasts until the
 * next mark.
 * Device work belongs to the step its launch began in: launch.t0 in [step.t0, step.t1). */
#ifndef TIDE_ANALYZE_COMMON_STEPS_H
#define TIDE_ANALYZE_COMMON_STEPS_H

#include "model/model.h"

typedef struct tide_step {
	int64_t number, t0, t1;
} tide_step;

typedef struct tide_steps {
	tide_step *v; /* owned; sorted by (t0, number), numbers distinct */
	size_t n;
} tide_steps;

tide_code tide__steps_find(const tide_model *m, tide_steps *out, tide_error *err);
void tide__steps_free(tide_steps *s);

/* Index of the step that holds moment t, or -1. */
int64_t tide__steps_at(const tide_steps *s, int64_t t);

enum { TIDE_WINDOW_ALL, TIDE_WINDOW_DROP_LAST, TIDE_WINDOW_STEPS };
typedef struct tide_window {
	int kind;
	int64_t first, last; /* STEPS: numbers, inclusive */
} tide_window;

/* The launches a window lets in: ALL = every row, launch or not; else rows whose launch began in
 * [from, to). DROP_LAST with fewer than two steps is ALL. TIDE_ENOTFOUND when no step is in a
 * STEPS window; the text names the steps there are. */
typedef struct tide_span_window {
	bool all;
	int64_t from, to;
} tide_span_window;
tide_code tide__window_of(const tide_steps *s, const tide_window *w, tide_span_window *out,
			  tide_error *err);

#endif
