// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Predicts memory at another size of the work (batch, sequence length) from recordings of the same
 * program at two sizes.
 *
 * Each spot (moment_profile.h) of both recordings gives a line through the bytes the two held
 * there; the predicted peak at a size is the highest of these lines. The peak itself is not a line:
 * which moment is highest changes with the size. If one recording makes more allocations than the
 * other at a place (one per sample, say), they form one spot: the highest of them. A moment that
 * only the larger recording has is compared with the highest moment of the nearest enclosing place
 * that both have, or else with the peak; what existed before a recording began does not grow; a moment that only the smaller has does not grow. So every
 * moment of both is under some line, and at the two recorded sizes the prediction equals the
 * recording. Integers throughout; predictions are rounded up. Definitions:
 * docs/analyses/predict.md. */
#ifndef TIDE_ANALYZE_PREDICT_PREDICT_H
#define TIDE_ANALYZE_PREDICT_PREDICT_H

#include "analyze/predict/moment_profile.h"

enum { TIDE_MOST_SIZE = 1000000000 }; /* of the work: products stay within 128 bits */

#define TIDE_LINE_KINDS(X)                                              \
	X(MOMENT, "moment") /* the same allocation in both */           \
	X(GROUP, "group")   /* more of them in one than in the other */ \
	X(AROUND, "around") /* made in only one: matched by the enclosing place */

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
	bool per_size;		/* GROUP: the number grows with the size */
	uint32_t count[2];	/* GROUP: their number in an interval of both recordings */
	bool bent;		/* MOMENT: `mid` is not on the line */
	bool below;		/* MOMENT: `mid` is below the line, but not by more than rounding */
	uint64_t mid;		/* bytes the middle recording held then */
	uint64_t curve;		/* bytes then in the larger recording beyond linear growth */
	uint64_t steep;		/* the same, at most */
	uint32_t spot, n_spots; /* spots of the larger recording it covers: the first, their
				 * number */
} tide_line;

typedef struct tide_lines {
	uint64_t size[2];
	uint64_t more[2]; /* bytes added to every line: what an allocator reserves beyond live
			   * bytes */
	tide_line *v;	  /* owned */
	size_t n;
	uint64_t moments[TIDE_LINE_KINDS_N]; /* of both recordings, by kind of line */
	uint64_t per_size;		     /* of those in groups, the ones that grow with the
					      * size */
	uint64_t mid;			     /* size of a recording in between; 0 = none */
	uint64_t bent;			     /* lines that are bent */
	uint64_t stepped; /* lines with different bytes from before each recording */
	uint64_t curved;  /* lines with allocations that grow with the square
					      * of the size (squares.h) */
	bool *squares;	  /* owned; per allocation of the larger recording:
					      * is one of those. NULL = not looked for */
} tide_lines;

/* a->size < b->size; each has a moment. O(places + spots). Release with tide__lines_free in any
 * case. */
tide_code tide__find_lines(const tide_moment_profile *a, const tide_moment_profile *b,
			   tide_lines *out, tide_error *err);
void tide__lines_free(tide_lines *l);
/* Adds a third recording of a size in between. Moments of all three that are more than
 * BEND_LEAST of the bytes held, and more than `slack` bytes (an allocator's rounding), off their
 * line are bent. Above the line (growth that slows down) the three are joined by two lines, and
 * the line through the outer two is used beyond them; below it (growth that quickens, such as
 * attention with the sequence length) the parabola through the three is used everywhere. `b` is
 * the larger recording of the lines. On TIDE_ENOMEM the lines stay straight. */
tide_code tide__lines_add_middle(tide_lines *l, const tide_moment_profile *mid,
				 const tide_moment_profile *b, uint64_t slack, tide_error *err);

/* Returns the highest bytes at `size`. `at` (may be NULL): the first line that reaches it. */
uint64_t tide__predict(const tide_lines *l, uint64_t size, size_t *at);
/* Returns an upper bound if a line represents several moments: if each of them grows linearly,
 * none grows faster than from the lowest of one recording to the highest of the other. */
uint64_t tide__predict_most(const tide_lines *l, uint64_t size);
/* Returns the value at `size` on the line through (size[0], a) and (size[1], b), rounded up. */
int64_t tide__on_line(const tide_lines *l, uint64_t a, uint64_t b, uint64_t size);
/* The same for sums with a part `before` that existed before each recording. It does not grow with
 * the size: it is that of the nearer recording beyond both, and on a line between them. */
int64_t tide__on_step(const tide_lines *l, const uint64_t at[2], const uint64_t before[2],
		      uint64_t size);
/* Returns what `excess` bytes beyond linear growth in the larger recording (squares.h) add to their
 * line at `size`: 0 at both recorded sizes, negative between them, rounded up. */
int64_t tide__beyond_line(const tide_lines *l, uint64_t excess, uint64_t size);

/* Returns the largest size whose prediction is at most `capacity`: 0 = not even 1 fits,
 * TIDE_MOST_SIZE = at least that, or memory does not grow with size. */
uint64_t tide__predict_fits(const tide_lines *l, uint64_t capacity);

#endif
