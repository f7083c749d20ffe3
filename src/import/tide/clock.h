// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Converts clock ticks to nanoseconds of the trace, by linear interpolation between calibration
 * points.
 *
 * With points (k0, n0), (k1, n1) around a reading k:
 *     t = n0 + floor((k - k0) * (n1 - n0) / (k1 - k0))
 * in exact integers, so t never decreases with k and meets every point exactly. Before the first
 * and after the last point the nearest interval is extended. */
#ifndef TIDE_IMPORT_TIDE_CLOCK_H
#define TIDE_IMPORT_TIDE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wide.h"

typedef struct tide_event_slice { /* between two calibration points */
	uint64_t k0, dk;	  /* ticks: first, distance (> 0) */
	int64_t n0;		  /* ns at k0 */
	uint64_t dn;		  /* ns that dk ticks take */
	uint64_t scale;		  /* floor(dn * 2^48 / dk) */
} tide_event_slice;

typedef struct tide_timebase {
	tide_event_slice *s;
	size_t n, cap;
	size_t at;	  /* interval of the last reading: readings come nearly in order */
	uint64_t dropped; /* points that go backwards, or imply a rate 65,535 times too fast */
	uint64_t last_k;  /* the last point accepted */
	int64_t last_n;
	bool any;
} tide_timebase;

#define TIDE_TIME_MAX (INT64_MAX / 2)

/* Adds a point; points come in order. Returns false if memory runs out. */
bool tide__timebase_add(tide_timebase *tb, uint64_t ticks, int64_t ns);
/* With fewer than two points: one tick is `dn`/`dk` ns from the only point on (or from tick 0). */
bool tide__timebase_close(tide_timebase *tb, uint64_t dk, uint64_t dn);
void tide__timebase_free(tide_timebase *tb);

/* Returns the nanoseconds of a reading, in 0 .. TIDE_TIME_MAX. The timebase must be closed. */
int64_t tide__timebase_slow(tide_timebase *tb, uint64_t ticks);

static inline int64_t tide__timebase_ns(tide_timebase *tb, uint64_t ticks)
{
	const tide_event_slice *s = &tb->s[tb->at];
	uint64_t d = ticks - s->k0;
	if (__builtin_expect(d >= s->dk || d >> 48, 0)) /* outside this interval */
		return tide__timebase_slow(tb, ticks);
	uint64_t q = (uint64_t)((tide_u128)d * s->scale >> 48); /* the floor, or one less */
	q += d * s->dn - q * s->dk >= s->dk;
	int64_t t = s->n0 + (int64_t)q;
	return t < 0 ? 0 : t;
}

#endif
