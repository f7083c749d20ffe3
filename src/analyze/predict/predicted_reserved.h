// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What PyTorch's caching allocator would reserve at another size of the work: the requests of the
 * larger recording, in their order, each as large as a line through both recordings tells, through
 * the allocator's simulator (sim/). Definitions: docs/analyses/predict.md. */
#ifndef TIDE_ANALYZE_PREDICT_PREDICTED_RESERVED_H
#define TIDE_ANALYZE_PREDICT_PREDICTED_RESERVED_H

#include "analyze/predict/predict.h"
#include "analyze/allocator/sim/replay.h"

typedef struct tide_predicted_reserved {
	tide_requests *q; /* owned; of the larger recording */
	uint64_t *was;	  /* owned; per request: bytes asked for there */
	uint64_t *from;	  /* owned; per request: in the smaller one */
	uint64_t size[2];
	bool exact; /* the recording tells what was asked for, not only what was given */
} tide_predicted_reserved;

/* TIDE_ENOTFOUND, with the reason, where the device's allocator is not one that is simulated, or
 * the larger recording makes allocations that the smaller does not make alike. Release with
 * tide__predicted_reserved_free in any case. */
tide_code tide__find_predicted_reserved(const tide_model *m, uint32_t device,
					const tide_moment_profile *b, const tide_lines *l,
					tide_predicted_reserved *out, tide_error *err);
void tide__predicted_reserved_free(tide_predicted_reserved *r);

/* At `size`, on a device that gives `capacity` bytes (0 = without end). O(requests × log). */
tide_code tide__predicted_reserved_run(tide_predicted_reserved *r, uint64_t size, uint64_t capacity,
				       tide_sim_result *out);
/* A size up to `most` that does not run out of `capacity` while the next one does, found by
 * halving: memory that is reserved need not always grow. 0 = not even 1. */
tide_code tide__predicted_reserved_fits(tide_predicted_reserved *r, uint64_t most,
					uint64_t capacity, uint64_t *out);

#endif
