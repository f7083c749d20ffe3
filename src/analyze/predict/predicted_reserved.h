// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Predicts the bytes that PyTorch's caching allocator would reserve at another size of the work:
 * replays the requests of the larger recording in order, each scaled by a line through both
 * recordings, in the allocator simulator (sim/). Definitions: docs/analyses/predict.md. */
#ifndef TIDE_ANALYZE_PREDICT_PREDICTED_RESERVED_H
#define TIDE_ANALYZE_PREDICT_PREDICTED_RESERVED_H

#include "analyze/predict/predict.h"
#include "analyze/allocator/sim/replay.h"

typedef struct tide_predicted_reserved {
	tide_requests *q; /* owned; of the larger recording */
	uint64_t *was;	  /* owned; per request: bytes requested there */
	uint64_t *from;	  /* owned; per request: in the smaller one */
	uint64_t size[2];
	const bool *squares; /* borrowed from the lines; per allocation: grows with the square */
	bool exact;	     /* the recording has requested sizes, not only block sizes */
} tide_predicted_reserved;

/* Returns TIDE_ENOTFOUND, with the reason, if the device's allocator cannot be simulated, or if
 * allocations of the larger recording have no counterpart in the smaller. Release with
 * tide__predicted_reserved_free in any case. */
tide_code tide__find_predicted_reserved(const tide_model *m, uint32_t device,
					const tide_moment_profile *b, const tide_lines *l,
					tide_predicted_reserved *out, tide_error *err);
void tide__predicted_reserved_free(tide_predicted_reserved *r);

/* Replays at `size` on a device of `capacity` bytes (0 = unlimited). O(requests × log). */
tide_code tide__predicted_reserved_run(tide_predicted_reserved *r, uint64_t size, uint64_t capacity,
				       tide_sim_result *out);
/* Finds by bisection a size up to `most` that fits `capacity` while the next one does not;
 * reserved memory need not grow monotonically. 0 = not even 1 fits. */
tide_code tide__predicted_reserved_fits(tide_predicted_reserved *r, uint64_t most,
					uint64_t capacity, uint64_t *out);

#endif
