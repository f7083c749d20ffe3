// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Breaks a predicted peak down: the allocations alive at its moment in both recordings, by role
 * or by module, and each group's line. Groups add up to the prediction, to the byte.
 * Definitions: docs/analyses/predict.md. */
#ifndef TIDE_ANALYZE_PREDICT_PREDICTED_BREAKDOWN_H
#define TIDE_ANALYZE_PREDICT_PREDICTED_BREAKDOWN_H

#include "analyze/memory/groups.h"
#include "analyze/predict/predict.h"

typedef struct tide_part {
	uint64_t key;	    /* a group's (groups.h), in the model ... */
	size_t side;	    /* ... of the smaller (0) or the larger (1) recording */
	uint64_t at[2];	    /* bytes in both */
	uint64_t before[2]; /* of these, bytes that existed before the recordings */
	uint64_t squares;   /* bytes in the larger that grow with the square of the size */
	int64_t bytes;	    /* at the given size; negative if a line falls that low */
} tide_part;

typedef struct tide_predicted_breakdown {
	tide_part *v; /* owned; by bytes, descending */
	size_t n;
	int64_t bytes; /* their sum */
} tide_predicted_breakdown;

/* For the moment of l->v[line], at `size`. `by` is TIDE_BY_ROLE or TIDE_BY_MODULE. O(events +
 * allocs + spans) of both. Release with tide__predicted_breakdown_free in any case. */
tide_code tide__find_predicted_breakdown(const tide_model *const m[2], const uint32_t device[2],
					 const tide_lines *l, size_t line, uint64_t size,
					 tide_group_by by, tide_predicted_breakdown *out,
					 tide_error *err);
void tide__predicted_breakdown_free(tide_predicted_breakdown *p);

#endif
