// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Training steps, and the time window an analysis looks at. This is the only definition of a step;
 * step_boundaries.h divides memory at these steps.
 *
 * Steps come from the first source that the trace has:
 *   1. step marks (step_marks.h): a step lasts until the next mark. If the end of the last step is
 *      unknown, the last mark begins no step, unless it is the only one;
 *   2. ProfilerStep#N annotations on the host (category user_annotation, or op in old files; the
 *      copies that profilers put on the device side are not steps), from the earliest start to the
 *      latest end of a number;
 *   3. a user range inside no other one that repeats at least 3 times in a process and never
 *      overlaps itself there (of several, the one that begins first): from its start to its next
 *      start, the last to the end of the trace. Numbered from 0.
 * Device work belongs to the step in which its launch began: launch.t0 in [step.t0, step.t1). */
#ifndef TIDE_ANALYZE_COMMON_STEPS_H
#define TIDE_ANALYZE_COMMON_STEPS_H

#include "model/model.h"

typedef enum tide_step_source {
	TIDE_STEPS_NONE,
	TIDE_STEPS_MARKS,    /* marks of kind step */
	TIDE_STEPS_PROFILER, /* ranges named ProfilerStep#N */
	TIDE_STEPS_RANGES,   /* a repeating range: `name` */
	TIDE_STEPS_EVERY,    /* equal intervals, on request: step_boundaries.h */
} tide_step_source;

typedef struct tide_step {
	int64_t number, t0, t1;
} tide_step;

typedef struct tide_steps {
	tide_step *v; /* owned; sorted by (t0, number); profiler step numbers are distinct */
	size_t n;
	bool early;   /* the last step ends before all of its work is done (step_marks.h) */
	bool unended; /* a last step, which is not in v, has a mark at its beginning and no end */
	tide_step_source source;
	tide_str name; /* RANGES: name of the range */
} tide_steps;

tide_code tide__steps_find(const tide_model *m, tide_steps *out, tide_error *err);
/* The same, with ranges of one process only; 0 = of any. */
tide_code tide__steps_find_of_process(const tide_model *m, uint32_t process, tide_steps *out,
				      tide_error *err);
/* The same, but n = 0 unless the trace names its steps by marks or the profiler. */
tide_code tide__steps_find_named(const tide_model *m, tide_steps *out, tide_error *err);
void tide__steps_free(tide_steps *s);
/* Returns the median length of a step (the upper one of two), ns; -1 without steps or memory. */
int64_t tide__steps_median(const tide_steps *s);

/* Returns the index of the step that contains time t, or -1. */
int64_t tide__steps_at(const tide_steps *s, int64_t t);

enum { TIDE_WINDOW_ALL, TIDE_WINDOW_DROP_LAST, TIDE_WINDOW_STEPS };
typedef struct tide_window {
	int kind;
	int64_t first, last; /* STEPS: numbers, inclusive */
} tide_window;

/* The launches inside a window: ALL = every row, with or without a launch; else rows whose
 * launch began in [from, to). DROP_LAST with fewer than 2 steps is ALL. Returns TIDE_ENOTFOUND
 * if a STEPS window contains no step; the text lists the steps of the trace. */
typedef struct tide_span_window {
	bool all;
	int64_t from, to;
} tide_span_window;
tide_code tide__window_resolve(const tide_steps *s, const tide_window *w, tide_span_window *out,
			       tide_error *err);

#endif
