// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory in use over time, per device and pool, and the largest allocations.
 *
 * Definitions: docs/analyses/memory.md. */
#ifndef TIDE_ANALYZE_MEMORY_MEMORY_H
#define TIDE_ANALYZE_MEMORY_MEMORY_H

#include "analyze/live/live_set.h"
#include "analyze/memory/moment.h"
#include "analyze/live/relative.h"
#include "analyze/memory/sampled.h"
#include "analyze/live/usage.h"

typedef struct tide_memory_query {
	uint32_t device; /* TIDE_ANY = all */
	tide_moment at;
	size_t buckets; /* points of the series over time */
	size_t top;	/* largest allocations to find */
} tide_memory_query;

typedef struct tide_memory {
	const tide_model *m;	/* borrowed */
	uint32_t device;	/* TIDE_ANY = all */
	tide_moment at;		/* at_peak: position and t are those of the peak */
	tide_usage usage;	/* up to the moment */
	tide_usage whole;	/* the whole trace, with the series */
	tide_sampled sampled;	/* devices with samples only; with the series */
	tide_relative relative; /* devices whose memory events have no addresses */
	tide_live_set largest;	/* of those alive at the moment, if one was chosen */
} tide_memory;

/* `m` is borrowed until tide__memory_free, which must be called even after a failure. */
tide_code tide__memory_find(const tide_model *m, const tide_memory_query *q, tide_memory *out,
			    tide_error *err);
void tide__memory_free(tide_memory *x);
/* Returns true if a device has allocations, segments, samples or sizes. */
bool tide__memory_has(const tide_memory *x, uint32_t device);
/* Returns true if a device's live bytes are known: false with samples only, or with sizes
 * without addresses. */
bool tide__memory_counted(const tide_memory *x, uint32_t device);

#endif
