// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory at another size of the work (batch, sequence length), from recordings of the same program
 * at two sizes.
 *
 * Each spot (moment_profile.h) that both recordings have gives a line through what the two held there, and
 * the peak at a size is the highest of these lines there. It is no line itself: which moment is the
 * highest changes with the size. Allocations that one recording makes more often than the other at
 * a place (one for each sample) are one spot together: the highest of them. What only the larger
 * recording does is compared with the highest of the nearest place around it that both have, in the
 * end with the peak; what only the smaller does, does not grow. So every moment of both is under
 * some line, and at the two sizes the prediction is what was recorded. Integers throughout; a
 * prediction is rounded up. Definitions for readers: docs/analyses/predict.md. */
#ifndef TIDE_ANALYZE_PREDICT_PREDICT_H
#define TIDE_ANALYZE_PREDICT_PREDICT_H

#include "analyze/predict/moment_profile.h"

enum { TIDE_MOST_SIZE = 1000000000 }; /* of the work: products stay far within 128 bits */

#define TIDE_LINE_KINDS(X)                                              \
	X(MOMENT, "moment") /* the same allocation in both */           \
	X(GROUP, "group")   /* more of them in one than in the other */ \
	X(AROUND, "around") /* made in one alone: what is around it */

typedef enum tide_line_kind {
#define X(name, text) TIDE_LINE_##name,
	TIDE_LINE_KINDS(X)
#undef X
		TIDE_LINE_KINDS_N
} tide_line_kind;
const char *tide__line_text(tide_line_kind k);

typedef struct tide_line {
	tide_spot at[2]; /* in the smaller and the larger recording */
	tide_line_kind kind;
	bool per_size;		/* GROUP: as many more as the size is larger */
	bool bent;		/* MOMENT: `mid` is not on the line */
	uint64_t mid;		/* what the recording in between held then */
	uint32_t spot, n_spots; /* of the larger recording that it is of: the first, how many */
} tide_line;

typedef struct tide_lines {
	uint64_t size[2];
	uint64_t more[2]; /* bytes on top of every line: what an allocator keeps besides */
	tide_line *v;	  /* owned */
	size_t n;
	uint64_t moments[TIDE_LINE_KINDS_N]; /* of both recordings, by the kind they are under */
	uint64_t per_size;		     /* of those in groups */
	uint64_t mid;			     /* size of a recording in between; 0 = none */
	uint64_t bent;			     /* lines that are bent */
} tide_lines;

/* a->size < b->size; each has a moment. O(places + spots). Release with tide__lines_free in any
 * case. */
tide_code tide__find_lines(const tide_moment_profile *a, const tide_moment_profile *b,
			   tide_lines *out, tide_error *err);
void tide__lines_free(tide_lines *l);
/* A third recording of a size in between: moments of all three that are more than BEND_LEAST of what
 * was held, and more than `slack` bytes (what an allocator may round up), away from their line are
 * bent. Above the line (growth that slows down) the three are joined by two lines, and the line through the
 * outer two stands for what is beyond them; below it (growth that quickens, such as attention with
 * the length of a sequence) the curve of second degree through the three is taken everywhere. `b` is
 * the larger recording of the lines. TIDE_ENOMEM: the lines stay straight. */
tide_code tide__lines_bend(tide_lines *l, const tide_moment_profile *mid,
			   const tide_moment_profile *b, uint64_t slack, tide_error *err);

/* Highest bytes at `size`. `at` (may be NULL): the first line that is as high. */
uint64_t tide__predict(const tide_lines *l, uint64_t size, size_t *at);
/* The most that it could be, where a line stands for several moments: if each of these grows
 * evenly, none grows faster than from the lowest of one recording to the highest of the other. */
uint64_t tide__predict_most(const tide_lines *l, uint64_t size);
/* Between (a at size[0]) and (b at size[1]) on a line, rounded up. */
int64_t tide__on_line(const tide_lines *l, uint64_t a, uint64_t b, uint64_t size);

/* The largest size whose prediction is at most `capacity`: 0 = not even 1 is, TIDE_MOST_SIZE = as
 * large as that, or memory does not grow with it. */
uint64_t tide__predict_fits(const tide_lines *l, uint64_t capacity);

#endif
