// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Training steps, and the part of a trace an analysis looks at. This is the one definition of a
 * step; step_boundaries.h cuts memory at these steps.
 *
 * Steps are those of the first source that the trace has:
 *   1. step marks (step_marks.h): a step lasts until the next mark; of marks that nothing says the
 *      end of, the last begins no step, unless it is the only one;
 *   2. ProfilerStep#N annotations on the host (category user_annotation, or op in old files; the
 *      copies that profilers put on the device side are not steps), from the earliest start to the
 *      latest end of a number;
 *   3. a user range that lies in no other one, comes back at least three times and never overlaps
 *      itself (of several the one that begins first): from its begin to its next one, the last to
 *      the end of the trace. Numbered from 0.
 * Device work belongs to the step its launch began in: launch.t0 in [step.t0, step.t1). */
#ifndef TIDE_ANALYZE_COMMON_STEPS_H
#define TIDE_ANALYZE_COMMON_STEPS_H

#include "model/model.h"

typedef enum tide_step_source {
	TIDE_STEPS_NONE,
	TIDE_STEPS_MARKS,    /* marks of kind step */
	TIDE_STEPS_PROFILER, /* ranges named ProfilerStep#N */
	TIDE_STEPS_RANGES,   /* a range that comes back: `name` */
	TIDE_STEPS_EVERY,    /* even distances, as asked: step_boundaries.h */
} tide_step_source;

typedef struct tide_step {
	int64_t number, t0, t1;
} tide_step;

typedef struct tide_steps {
	tide_step *v; /* owned; sorted by (t0, number); of profiler's steps numbers are distinct */
	size_t n;
	bool early; /* the last ends before all that a turn does is done (step_marks.h) */
	tide_step_source source;
	tide_str name; /* RANGES: theirs */
} tide_steps;

tide_code tide__steps_find(const tide_model *m, tide_steps *out, tide_error *err);
/* The same where the trace says its steps, by marks or the profiler; n = 0 where they are a guess. */
tide_code tide__steps_said(const tide_model *m, tide_steps *out, tide_error *err);
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
