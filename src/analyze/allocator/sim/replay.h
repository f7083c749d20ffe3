// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Running a request stream through the simulator: once against what was recorded (does the
 * simulator take the same segments in the same order?), and then under any settings and capacity.
 */
#ifndef TIDE_ANALYZE_ALLOCATOR_SIM_REPLAY_H
#define TIDE_ANALYZE_ALLOCATOR_SIM_REPLAY_H

#include "analyze/allocator/sim/requests.h"

typedef enum tide_sim_before {
	TIDE_BEFORE_KEEP,  /* segments from before the recording stay as they were */
	TIDE_BEFORE_AGAIN, /* their blocks are requested anew first, in address order */
} tide_sim_before;

typedef struct tide_sim_result {
	tide_sim_config config;
	tide_sim_stats st;     /* at the end, or where it ran out */
	uint64_t largest_free; /* then */
	uint64_t inactive_split;
	bool out;	       /* a request that was served when recorded was not */
	size_t out_req;	       /* which */
	uint64_t out_free;     /* bytes the device still had then */
	uint64_t oom_seen;     /* recorded out-of-memory requests met ... */
	uint64_t oom_fit_mask; /* bit i: the i-th of the first 64 would have been served */
	uint64_t oom_fit;      /* ... of which these would have been served */
	uint64_t checked;      /* check only: recorded segment events met in order ... */
	uint64_t followed;     /* ... and these, though the simulator could not have told */
	bool diverged;	       /* ... until something else was seen */
	size_t diverged_req;
	size_t order;	    /* sweep only: position in what was asked for */
	bool anew;	    /* blocks from before the recording were placed anew */
	bool same_settings; /* sweep only: equal to the recorded ones */
	char why[200];	    /* one line about that */
} tide_sim_result;

/* Replay under the recorded settings with the recorded addresses and refusals as the device's
 * answers. Finds q->empty on the way. TIDE_OK even when it diverges; TIDE_ENOMEM. */
tide_code tide__sim_check(tide_requests *q, tide_sim_result *out);

/* Replay under `c`. Call tide__sim_check before, so that empty_cache() calls are known. */
tide_code tide__sim_run(const tide_requests *q, const tide_sim_config *c, tide_sim_before before,
			tide_sim_result *out);

#endif
