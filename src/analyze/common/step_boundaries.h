// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The steps of a run, from the best source the trace has: step marks (step_marks.h), else
 * ProfilerStep ranges, else a range or annotation that comes back at least three times and never
 * overlaps itself. Each step ends where the next begins; the last range ends with the trace. What
 * follows the last mark is no step: a program that has done its last one frees everything there. */
#ifndef TIDE_ANALYZE_COMMON_STEP_BOUNDARIES_H
#define TIDE_ANALYZE_COMMON_STEP_BOUNDARIES_H

#include "model/model.h"

typedef enum tide_beat_source {
	TIDE_BEATS_NONE,
	TIDE_BEATS_MARKS,    /* marks of kind step */
	TIDE_BEATS_PROFILER, /* ranges named ProfilerStep#N */
	TIDE_BEATS_RANGES,   /* a repeating range or annotation: `name` */
	TIDE_BEATS_EVERY,    /* even distances, as asked */
} tide_beat_source;

typedef struct tide_beats {
	int64_t *t; /* owned: n + 1 boundaries, ascending; step i is [t[i], t[i + 1]) */
	size_t n;
	size_t unlike; /* there is one more, of which is not known what it leaves behind */
	tide_beat_source source;
	tide_str name;
} tide_beats;

/* every_ns > 0: ignore the trace's own steps and cut at even distances, up to the last allocation;
 * the first of more than three is left out, because a program makes its model there.
 * No steps is TIDE_OK, n = 0. */
tide_code tide__beats(const tide_model *m, int64_t every_ns, tide_beats *out);
void tide__beats_free(tide_beats *s);
const char *tide__beat_source_text(tide_beat_source s);

#endif
