// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* How much memory is in use: per pool and per device, at a moment and over time.
 *
 * A moment is a number of moves: "cut" k means that moves [0, k) have happened. Live bytes at a cut
 * are the sizes of the allocs whose ALLOC is among them and whose end (tide__move_ends: the FREE,
 * or the FREE_ASKED where a stream held it back) is not; reserved bytes are those of reserved.h.
 * The peak is the highest live bytes over all cuts; where it is reached more than once, the first
 * counts. Definitions for readers: docs/analyses/memory.md. */
#ifndef TIDE_ANALYZE_MEMORY_USAGE_H
#define TIDE_ANALYZE_MEMORY_USAGE_H

#include "analyze/memory/reserved.h"

typedef struct tide_level { /* one pool, or all pools of one device */
	uint64_t bytes;	    /* live at the cut */
	uint64_t requested; /* what the program asked for of them */
	uint64_t count;	    /* live allocations at the cut */
	uint64_t reserved;  /* at the cut; here and below TIDE_RESERVED_NONE = not known */
	uint64_t peak;	    /* highest live bytes up to the cut */
	uint64_t peak_requested, peak_count, peak_reserved; /* the others at that moment */
	uint64_t peak_cut;	/* that moment: moves that had happened */
	int64_t peak_t;		/* its time, ns; 0 when nothing was ever live */
	uint64_t reserved_peak; /* highest reserved bytes up to the cut */
	uint64_t allocs, frees; /* how many up to the cut */
	uint64_t alloc_bytes, free_bytes;
	uint8_t source; /* of the reserved bytes: TIDE_RESERVED_* */
} tide_level;

typedef struct tide_usage {
	size_t n_pools, n_devices; /* rows below = rows of the model's tables; row 0 = "none" */
	tide_level *pools;	   /* by pool id */
	tide_level *devices;	   /* by device id */
	uint64_t cut;
	/* Over time, when asked for: per device `buckets` equal stretches of [0, t_end], the
	 * highest value that held in each (reserved: that is known to have, TIDE_RESERVED_NONE if
	 * none is). series[device * buckets + b] */
	size_t buckets;
	uint64_t *live_series, *reserved_series;
} tide_usage;

/* Sweep moves [0, cut), `cut` UINT64_MAX = all. O(moves + buckets × devices) time,
 * O(pools + devices × (1 + buckets)) memory. Release with tide__usage_free (also after failure). */
tide_code tide__find_usage(const tide_model *m, uint64_t cut, size_t buckets, tide_usage *out,
			   tide_error *err);
/* The same at time t, for what is sampled: reserved bytes are those at t, which may be later than
 * the last of the moves. tide__find_usage takes that one's time, and after all moves the trace's end. */
tide_code tide__usage_at(const tide_model *m, uint64_t cut, int64_t t, size_t buckets,
			 tide_usage *out, tide_error *err);
void tide__usage_free(tide_usage *u);

/* Device with the highest peak (the first of equals), 0 when nothing was ever live. */
uint32_t tide__usage_highest(const tide_usage *u);

/* Moves that had happened at time t: those with times <= t. O(log moves). */
uint64_t tide__cut_at(const tide_model *m, int64_t t);

#endif
