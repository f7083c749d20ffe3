// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One request stream under several settings, best first. */
#ifndef TIDE_ANALYZE_ALLOCATOR_SIM_SWEEP_H
#define TIDE_ANALYZE_ALLOCATOR_SIM_SWEEP_H

#include "analyze/allocator/sim/replay.h"

typedef struct tide_sweep {
	tide_sim_result *v; /* owned; ranked: those that do not run out first, then by lower
			     * reserved peak, fewer retries, fewer segments, order of asking */
	size_t n;
	tide_sim_result recorded; /* the recorded settings, replayed against the recording */
	bool recorded_known;	  /* segments were recorded: `recorded` says how well it matched */
} tide_sweep;

/* What is tried when nothing is asked for: texts as PYTORCH_CUDA_ALLOC_CONF, NULL at the end. */
extern const char *const tide__sim_standard[];

/* A device that gives `capacity` bytes (0 = what the recording tells, else without end) under each
 * of `n` settings. A setting equal to the recorded one keeps the segments from before the
 * recording; others place their blocks anew. garbage_collection_threshold needs a capacity: it
 * counts against all of it. Fills q->empty. Release with tide__sweep_free in any case. */
tide_code tide__sim_sweep(tide_requests *q, const tide_sim_config *c, size_t n, uint64_t capacity,
			  tide_sweep *out, tide_error *err);
void tide__sweep_free(tide_sweep *s);

#endif
