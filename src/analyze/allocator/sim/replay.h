// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Runs a request stream through the simulator: once against the recording, to check that the
 * simulator takes the same segments in the same order, then under any settings and capacity. */
#ifndef TIDE_ANALYZE_ALLOCATOR_SIM_REPLAY_H
#define TIDE_ANALYZE_ALLOCATOR_SIM_REPLAY_H

#include "analyze/allocator/sim/requests.h"

#define TIDE_SIM_TOP_ADDR 0x400000000000ull /* below the addresses that CUDA gives */

typedef enum tide_sim_before {
	TIDE_BEFORE_KEEP,  /* segments that existed before the recording are kept */
	TIDE_BEFORE_AGAIN, /* their blocks are requested again first, in address order */
} tide_sim_before;

typedef enum tide_sim_differs { /* what the replay does, unlike the recording; its figures */
				TIDE_SIM_TAKES_EXTRA, /* takes a segment of `size` where the recording took none */
				TIDE_SIM_TAKES_SIZE, /* ... where the recording took one of `recorded` bytes */
				TIDE_SIM_TAKES_PLACE, /* ... that the recording took for another pool or stream */
				TIDE_SIM_MAPS, /* maps `size` at `addr`, the recording `recorded` bytes */
				TIDE_SIM_RELEASES, /* releases `size` at `addr`, the recording `recorded` bytes */
				TIDE_SIM_PUTS, /* puts a block of `size` at `addr`, the recording at `recorded` */
				TIDE_SIM_RUNS_OUT, /* runs out of memory; no figures */
				TIDE_SIM_DOES_NOT_TAKE, /* does not take the segment of `size` at `addr` */
				TIDE_SIM_DOES_NOT_RELEASE,
} tide_sim_differs;

typedef struct tide_sim_result {
	tide_sim_config config;
	tide_sim_stats st;     /* at the end, or when it ran out of memory */
	uint64_t largest_free; /* at the same time */
	uint64_t inactive_split;
	bool out;	       /* a request that succeeded when recorded failed here */
	size_t out_req;	       /* index of that request; the number of requests: before the first */
	uint64_t out_free;     /* bytes free on the device at that request */
	uint64_t oom_seen;     /* recorded out-of-memory requests replayed ... */
	uint64_t oom_fit_mask; /* bit i: the i-th of the first 64 would have been served */
	uint64_t oom_fit;      /* ... and how many of them would have been served */
	uint64_t checked;      /* check only: recorded segment events reproduced in order ... */
	uint64_t followed;     /* ... and those followed because the simulator could not have
			        * known them */
	bool diverged;	       /* ... until a different event was seen */
	size_t diverged_req;
	struct {
		tide_sim_differs what;
		uint64_t size, addr, recorded;
	} difference;	    /* if diverged: the first one */
	size_t order;	    /* sweep only: position in the requested list */
	bool anew;	    /* blocks from before the recording were re-placed */
	bool same_settings; /* sweep only: equal to the recorded ones */
} tide_sim_result;

/* Replays under the recorded settings with the recorded addresses and refusals as results of the
 * device. Fills q->empty. Returns TIDE_OK even when the replay diverges; TIDE_ENOMEM. */
tide_code tide__sim_check(tide_requests *q, tide_sim_result *out);

/* Replays under `c`. Call tide__sim_check first, so that empty_cache() calls are known. */
tide_code tide__sim_run(const tide_requests *q, const tide_sim_config *c, tide_sim_before before,
			tide_sim_result *out);

/* Returns the address of a new segment below the older ones, as cudaMalloc places them: among equal
 * free blocks, that of the newest segment is then the lowest, which best fit prefers. *next: the
 * address of the segment before. */
uint64_t tide__sim_invent(uint64_t *next, uint64_t size);

#endif
