// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The live set: allocations alive at a position in the memory events (see usage.h); and the
 * largest allocations. */
#ifndef TIDE_ANALYZE_LIVE_LIVE_SET_H
#define TIDE_ANALYZE_LIVE_LIVE_SET_H

#include "model/model.h"

#define TIDE_ANY UINT32_MAX /* no restriction to a device or pool; 0 is the "none" row */

typedef struct tide_live_set {
	uint32_t *rows; /* rows of allocs, ascending */
	size_t n;
} tide_live_set;

/* Finds everything alive after memory events [0, position) on `device` and `pool` (TIDE_ANY = all;
 * of a device: the pools that count in its figures, tide__pool_in_device).
 * O(position + allocs) time; one bit per alloc of scratch. Release with tide__live_set_free. */
tide_code tide__live_set_at(const tide_model *m, uint64_t position, uint32_t device, uint32_t pool,
			    tide_live_set *out, tide_error *err);
void tide__live_set_free(tide_live_set *a);

/* Finds the `top` largest of `in` (NULL = of all allocs on `device`), by size, then by row. O(n
 * log top). */
tide_code tide__live_set_find_largest(const tide_model *m, const tide_live_set *in, uint32_t device,
				      size_t top, tide_live_set *out, tide_error *err);

/* Returns true if the trace records allocations of that device (TIDE_ANY: of any): it has one, or a
 * pool there whose memory events have addresses. Otherwise allocated bytes are unknown, not 0.
 * O(pools + counters). */
bool tide__memory_known(const tide_model *m, uint32_t device);

#endif
