// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reserved bytes: what an allocator has taken from a device, from whatever the trace has. Decided
 * here once for each device, so that no two views can disagree:
 *   segments  the trace has segments of the device: bytes of those taken and not given back. Exact
 *             after every move.
 *   samples   else it has a counter of the total: torch.reserved_bytes.KIND:INDEX of a recording,
 * or Kineto's "Total Reserved". The last sample at or before a moment counts. Exact at the samples;
 * what was between two is not known, and before the first nothing is. unknown   else. A counter
 * with a value that is no number of bytes is not believed at all.
 *
 * Either way the answer is one log of steps, in the order in which they take their place among the
 * model's moves. Definitions for readers: docs/analyses/memory.md. */
#ifndef TIDE_ANALYZE_MEMORY_RESERVED_H
#define TIDE_ANALYZE_MEMORY_RESERVED_H

#include "model/model.h"

#define TIDE_RESERVED_NONE UINT64_MAX /* reserved bytes that are not known */

enum { TIDE_RESERVED_UNKNOWN, TIDE_RESERVED_SEGMENTS, TIDE_RESERVED_SAMPLES };

typedef struct tide_reserved_step {
	int64_t t;
	uint64_t move;	/* the segment's own move; a sample: the first move at its time or later */
	uint64_t bytes; /* what the device has reserved from then on */
	int64_t change; /* by how much that is more than before (the first sample: than 0) */
	uint32_t device;
	uint32_t pool; /* whose reserved bytes change too; 0 = not known which */
} tide_reserved_step;

typedef struct tide_reserved {
	uint8_t *devices; /* owned; by device: its source, TIDE_RESERVED_* */
	uint8_t *pools; /* owned; by pool. A counter is of a device: known of its pool if it has one
			 */
	tide_reserved_step *steps; /* owned; neither `move` nor `t` ever decreases */
	size_t n;
} tide_reserved;

/* O(counters + samples × log moves), and O(moves) where there are segments. Release with
 * tide__reserved_free (also after failure). */
tide_code tide__find_reserved(const tide_model *m, tide_reserved *out, tide_error *err);
void tide__reserved_free(tide_reserved *r);

/* A device's reserved bytes at a moment: after moves [0, cut), at time t. TIDE_RESERVED_NONE where
 * they are not known. O(steps). */
uint64_t tide__reserved_at(const tide_reserved *r, uint32_t device, uint64_t cut, int64_t t);

/* "segments", "samples"; NULL for unknown. */
const char *tide__reserved_text(unsigned source);

/* A sample's value that is a number of bytes: whole, and exact as a double. */
static inline bool tide__is_bytes(double v)
{
	return v >= 0 && v <= 9007199254740992.0 && (double)(uint64_t)v == v;
}

#endif
