// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Devices of which a trace has no allocations, only what their own counter said now and then: the
 * bytes they had given out, torch.allocated_bytes.KIND:INDEX of a recording. Some also have a
 * counter of the most they had given out: torch.peak_bytes.KIND:INDEX, recorded where it was higher
 * than at the look before, hence of a moment since then.
 *
 * Sampled figures stand apart from those that are counted (usage.h): they are never added to them,
 * and a device that has them has no others. What was between two samples is not known but
 * for such a peak: it hides lower ones, and higher ones that the program reset it after. A counter
 * with a value that is no number of bytes, or whose samples are not in order of time, is not
 * believed at all. Definitions for readers: docs/analyses/memory.md. */
#ifndef TIDE_ANALYZE_MEMORY_SAMPLED_H
#define TIDE_ANALYZE_MEMORY_SAMPLED_H

#include "model/model.h"

#define TIDE_SAMPLED_NONE UINT64_MAX /* not known */

typedef struct tide_sampled_device {
	uint64_t n;	/* samples; 0: the device is not sampled, the rest says nothing */
	uint64_t bytes; /* the last one at or before the moment; TIDE_SAMPLED_NONE = none yet */
	uint64_t peak;	/* the highest of those at or before it; the first of equals */
	int64_t peak_t;
	/* The highest that its own counter of that told at or before the moment, the first of
	 * equals; TIDE_SAMPLED_NONE = none. It was reached after own_since, the last sample but one
	 * when it was told (0: the start, there is none), and by own_told. */
	uint64_t own_peak;
	int64_t own_since, own_told;
} tide_sampled_device;

/* The highest that is known: own_peak where it is above every sample. */
static inline bool tide__sampled_by_own(const tide_sampled_device *x)
{
	return x->own_peak != TIDE_SAMPLED_NONE &&
	       (x->peak == TIDE_SAMPLED_NONE || x->own_peak > x->peak);
}
static inline uint64_t tide__sampled_most(const tide_sampled_device *x)
{
	return tide__sampled_by_own(x) ? x->own_peak : x->peak;
}

typedef struct tide_sampled {
	tide_sampled_device *devices; /* owned; by device */
	size_t n_devices, any;	      /* any: how many are sampled */
	/* Over time, when asked for: per device `buckets` equal stretches of [0, t_end], the
	 * highest that is known to have held in each. series[device * buckets + b] */
	size_t buckets;
	uint64_t *series; /* owned */
} tide_sampled;

/* At time t (INT64_MAX: the end); the series is of the whole trace. O(counters × devices + samples
 * + devices × buckets). Release with tide__sampled_free (also after failure). */
tide_code tide__find_sampled(const tide_model *m, int64_t t, size_t buckets, tide_sampled *out,
			     tide_error *err);
void tide__sampled_free(tide_sampled *s);

#endif
