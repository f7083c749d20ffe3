// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The range of a predicted run's peaks: what they may be if each workspace whose size is unknown
 * has another of its possible sizes, and segments are at other addresses. Definitions: docs/analyses/predict.md, "Range". */
#ifndef TIDE_ANALYZE_PREDICT_VIRTUAL_RANGE_H
#define TIDE_ANALYZE_PREDICT_VIRTUAL_RANGE_H

#include "analyze/allocator/sim/replay.h"

typedef struct tide_virtual_range {
	uint64_t least_allocated, most_allocated;
	uint64_t least_reserved, most_reserved;
	size_t unknown; /* workspaces of unknown size */
	/* Why the peak may be lower or higher than any bound: the program's notes name memory of
	 * unknown size. NULL = the bound holds. Of the model. */
	const char *no_least, *no_most;
} tide_virtual_range;

/* Finds the range around the peaks `allocated` and `reserved` of the likely sizes. The device has
 * unlimited memory. Leaves the sizes of the requests changed. Returns TIDE_OK or TIDE_ENOMEM. */
tide_code tide__virtual_range(const tide_model *m, tide_requests *q, tide_sim_config c,
			      uint64_t allocated, uint64_t reserved, tide_virtual_range *out);

#endif
