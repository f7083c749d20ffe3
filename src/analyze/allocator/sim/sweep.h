// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Replays one request stream under several settings, best first. */
#ifndef TIDE_ANALYZE_ALLOCATOR_SIM_SWEEP_H
#define TIDE_ANALYZE_ALLOCATOR_SIM_SWEEP_H

#include "analyze/allocator/sim/replay.h"

typedef struct tide_sweep {
	tide_sim_result *v; /* owned; ranked: those that do not run out first, then by lower
			     * reserved peak, fewer retries, fewer segments, requested order */
	size_t n;
	tide_sim_result recorded; /* the recorded settings, replayed against the recording */
	bool recorded_known;	  /* segments were recorded: `recorded` reports how well it
				   * matched */
} tide_sweep;

/* The settings tried by default: texts as in PYTORCH_CUDA_ALLOC_CONF, NULL-terminated. */
extern const char *const tide__sim_standard[];

/* Replays on a device of `capacity` bytes (0 = as recorded, else unlimited) under each of `n`
 * settings. A setting equal to the recorded one keeps the segments from before the recording;
 * others re-place their blocks. garbage_collection_threshold needs a capacity: it is relative to
 * all of it. Fills q->empty. Release with tide__sweep_free in any case. */
tide_code tide__sim_sweep(tide_requests *q, const tide_sim_config *c, size_t n, uint64_t capacity,
			  tide_sweep *out, tide_error *err);
/* Replays under the recorded settings and all standard ones on the recorded device; those with
 * garbage_collection_threshold only if its capacity is known. Otherwise as tide__sim_sweep. */
tide_code tide__sim_sweep_standard(tide_requests *q, tide_sweep *out, tide_error *err);
void tide__sweep_free(tide_sweep *s);

#endif
