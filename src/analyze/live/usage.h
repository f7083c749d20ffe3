// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory in use per pool and per device, at a moment and over time.
 *
 * A moment is a position in the memory events: position k is after events [0, k). Live bytes at a
 * position are the sizes of the allocs whose ALLOC is before it and whose end is not
 * (tide__memory_event_ends: the FREE, or the FREE_ASKED if a stream still used it). reserved.h
 * defines reserved bytes. The peak is the highest live bytes over all positions, the first of
 * equals. Definitions: docs/analyses/memory.md. */
#ifndef TIDE_ANALYZE_LIVE_USAGE_H
#define TIDE_ANALYZE_LIVE_USAGE_H

#include "analyze/live/reserved.h"

typedef struct tide_level { /* one pool, or all of one device (tide__pool_in_device) */
	uint64_t bytes;	    /* live at the position */
	uint64_t requested; /* bytes requested by the program, of these */
	uint64_t count;	    /* live allocations at the position */
	uint64_t reserved;  /* at the position; here and below TIDE_RESERVED_NONE = unknown */
	uint64_t peak;	    /* highest live bytes up to the position */
	uint64_t peak_requested, peak_count, peak_reserved; /* the others at that moment */
	uint64_t peak_position; /* position of the peak: number of memory events before it */
	int64_t peak_t;		/* its time, ns; 0 when nothing was ever live */
	uint64_t reserved_peak; /* highest reserved bytes up to the position */
	uint64_t allocs, frees; /* counts up to the position */
	uint64_t alloc_bytes, free_bytes;
	uint8_t source; /* of the reserved bytes: TIDE_RESERVED_* */
} tide_level;

typedef struct tide_usage {
	size_t n_pools, n_devices; /* rows below = rows of the model's tables; row 0 = "none" */
	tide_level *pools;	   /* by pool id */
	tide_level *devices;	   /* by device id */
	uint64_t position;
	/* Over time, if requested: per device `buckets` equal intervals of [0, t_end], the
	 * highest value in each (reserved: the highest known value, TIDE_RESERVED_NONE if none).
	 * series[device * buckets + b] */
	size_t buckets;
	uint64_t *live_series, *reserved_series;
} tide_usage;

/* Sweeps memory events [0, position), UINT64_MAX = all. O(events + buckets × devices) time, O(pools
 * + devices × (1 + buckets)) memory. Release with tide__usage_free, also after failure. */
tide_code tide__find_usage(const tide_model *m, uint64_t position, size_t buckets, tide_usage *out,
			   tide_error *err);
/* The same at time t, for sampled values: reserved bytes are those at t, which may be later than
 * the last event. tide__find_usage uses the time of that event or, after all events, the trace's
 * end. */
tide_code tide__usage_find_at(const tide_model *m, uint64_t position, int64_t t, size_t buckets,
			      tide_usage *out, tide_error *err);
void tide__usage_free(tide_usage *u);

/* Returns the device with the highest peak (the first of equals), 0 if nothing was ever live. */
uint32_t tide__usage_highest(const tide_usage *u);

/* Returns the position of time t: the number of memory events with times <= t. O(log events). */
uint64_t tide__position_at(const tide_model *m, int64_t t);

#endif
