// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Analyses memory events with sizes but no addresses, as PyTorch's profiler wrote them in 2021.
 *
 * A free cannot be matched with its allocation, and the live bytes at the start are unknown. The
 * running sum of the sizes is known: live bytes relative to the start. Because live bytes are never
 * below 0, a sum that fell to −n shows that at least n bytes were alive at the start, so the peak
 * is at least the highest sum minus the lowest. Definitions: docs/analyses/memory.md. */
#ifndef TIDE_ANALYZE_LIVE_RELATIVE_H
#define TIDE_ANALYZE_LIVE_RELATIVE_H

#include "model/model.h"

/* The importer's counter of the running sum, one per device. */
#define TIDE_RELATIVE_COUNTER "Bytes since the trace's start"

typedef struct tide_relative_device {
	uint64_t events;   /* 0: the device has none; the other fields are undefined */
	int64_t now;	   /* sum at the moment */
	int64_t high, low; /* highest and lowest up to then; the start, 0, counts */
	int64_t high_t, low_t;
	uint64_t allocated, freed; /* bytes */
} tide_relative_device;

typedef struct tide_relative {
	tide_relative_device *devices; /* owned; by device */
	size_t n, any;		       /* any: devices that have such events */
} tide_relative;

/* Returns a lower bound of the bytes alive at the highest moment. */
static inline uint64_t tide__relative_least_peak(const tide_relative_device *x)
{
	return (uint64_t)x->high - (uint64_t)x->low;
}

/* Computes the sums up to time t (INT64_MAX: the end). O(counters + samples). Release with
 * tide__relative_free, also after failure. */
tide_code tide__relative_find(const tide_model *m, int64_t t, tide_relative *out, tide_error *err);
void tide__relative_free(tide_relative *r);

#endif
