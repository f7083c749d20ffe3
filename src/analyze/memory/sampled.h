// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Devices without recorded allocations, known only from samples of their own counter of allocated
 * bytes: torch.allocated_bytes.KIND:INDEX of a recording. Some also have a counter of their peak:
 * torch.peak_bytes.KIND:INDEX, recorded when it rose since the previous sample, so the peak lies
 * between the two.
 *
 * Sampled figures are separate from counted ones (usage.h): they are never added to them, and a
 * device with samples has no others. Between two samples only such a peak is known: it hides lower
 * peaks, and higher ones before a reset by the program. A counter with a value that is not a number
 * of bytes, or with samples out of time order, is ignored completely. Definitions:
 * docs/analyses/memory.md. */
#ifndef TIDE_ANALYZE_MEMORY_SAMPLED_H
#define TIDE_ANALYZE_MEMORY_SAMPLED_H

#include "model/model.h"

#define TIDE_SAMPLED_NONE UINT64_MAX /* unknown */

typedef struct tide_sampled_device {
	uint64_t n;	/* samples; 0: not sampled, the other fields are undefined */
	uint64_t bytes; /* the last one at or before the moment; TIDE_SAMPLED_NONE = none yet */
	uint64_t peak;	/* the highest of those at or before it; the first of equals */
	int64_t peak_t;
	/* The highest value of its own peak counter at or before the moment, the first of
	 * equals; TIDE_SAMPLED_NONE = none. It was reached after own_since, the sample before
	 * the one that reported it (0: the start, if there is none), and by own_told. */
	uint64_t own_peak;
	int64_t own_since, own_told;
} tide_sampled_device;

/* Returns true if own_peak is above every sample, and so is the highest known value. */
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
	size_t n_devices, any;	      /* any: number of sampled devices */
	/* Over time, if requested: per device `buckets` equal intervals of [0, t_end], the
	 * highest known value in each. series[device * buckets + b] */
	size_t buckets;
	uint64_t *series; /* owned */
} tide_sampled;

/* Finds the figures at time t (INT64_MAX: the end); the series covers the whole trace. O(counters ×
 * devices + samples + devices × buckets). Release with tide__sampled_free, also after failure. */
tide_code tide__find_sampled(const tide_model *m, int64_t t, size_t buckets, tide_sampled *out,
			     tide_error *err);
void tide__sampled_free(tide_sampled *s);

#endif
