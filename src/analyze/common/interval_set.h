// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Classifies spans as CPU or GPU work, and computes unions of time intervals.
 *
 * An interval set is a union of intervals, kept as sorted, disjoint, non-touching pieces. Spans of
 * a model are sorted by start, so a set grows at its end and costs O(1) per span. Exact in ns. */
#ifndef TIDE_ANALYZE_COMMON_INTERVAL_SET_H
#define TIDE_ANALYZE_COMMON_INTERVAL_SET_H

#include "model/model.h"

/* The side of a span, by its category alone, never by its name:
 *   GPU    kernels, copies, fills: work that runs on a device
 *   CPU    ops, Python functions, runtime and driver calls, and anything else on a host lane
 *   NONE   not work: user ranges, sync rows, the profiler's own overhead, counter ranges */
typedef enum tide_side { TIDE_SIDE_NONE, TIDE_SIDE_CPU, TIDE_SIDE_GPU } tide_side;
extern const uint8_t tide__sides[]; /* by category; on a stream, CPU counts as NONE */
static inline tide_side tide__side(const tide_model *m, size_t span)
{
	unsigned cat = m->spans.cat[span];
	tide_side side = cat <= TIDE_CAT_OTHER ? (tide_side)tide__sides[cat] : TIDE_SIDE_CPU;
	bool stream = m->lanes.kind[m->spans.lane[span].i] == TIDE_LANE_STREAM;
	return side == TIDE_SIDE_CPU && stream ? TIDE_SIDE_NONE : side;
}

/* Returns the end of a span, at most the trace's end; never before its start. */
static inline int64_t tide__span_end(const tide_model *m, size_t span)
{
	int64_t t1 = m->spans.t1[span], t0 = m->spans.t0[span];
	if (t1 == TIDE_T_NEVER)
		t1 = m->t_end;
	return t1 < t0 ? t0 : t1;
}

typedef struct tide_interval_set {
	int64_t *t0, *t1; /* owned: piece i is [t0[i], t1[i]) */
	size_t n, cap;
} tide_interval_set;

/* Adds [t0, t1); t0 must not be less than in the previous call. Returns false if memory runs
 * out. */
static inline bool tide__interval_set_add(tide_interval_set *c, int64_t t0, int64_t t1);
void tide__interval_set_free(tide_interval_set *c);

/* Return the length of the union; of the intersection of two unions; of the part inside [t0,
 * t1). */
int64_t tide__interval_set_ns(const tide_interval_set *c);
int64_t tide__interval_set_both_ns(const tide_interval_set *a, const tide_interval_set *b);
int64_t tide__interval_set_inside_ns(const tide_interval_set *c, int64_t t0, int64_t t1);
/* Prefix sums for many queries: sums[i] is the length of pieces [0, i), n + 1 of them
 * (tide__free; NULL if memory runs out). tide__interval_set_before_ns uses them to return the
 * length before t in O(log n). */
int64_t *tide__interval_set_sums(const tide_interval_set *c);
int64_t tide__interval_set_before_ns(const tide_interval_set *c, const int64_t *sums, int64_t t);
/* Returns the length of the intersection of a with b, given the prefix sums of b: O(a log b), for
 * many small sets a. */
int64_t tide__interval_set_with_ns(const tide_interval_set *a, const tide_interval_set *b,
				   const int64_t *sums);

/* Writes the covered millionths of each of n equal intervals of [0, t_end). O(pieces + n). */
void tide__interval_set_shares(const tide_interval_set *c, int64_t t_end, size_t n, int64_t *out);

bool tide__interval_set_push(tide_interval_set *c, int64_t t0,
			     int64_t t1); /* appends a separate piece */
static inline bool tide__interval_set_add(tide_interval_set *c, int64_t t0, int64_t t1)
{
	if (t1 <= t0)
		return true;
	if (!c->n || t0 > c->t1[c->n - 1])
		return tide__interval_set_push(c, t0, t1);
	if (t1 > c->t1[c->n - 1])
		c->t1[c->n - 1] = t1;
	return true;
}

#endif
