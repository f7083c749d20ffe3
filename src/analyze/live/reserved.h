// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reserved bytes: memory an allocator has taken from a device. The source is chosen here once for
 * each device, so that no two views can disagree:
 *
 *   segments  the trace has segments of the device: bytes of those taken and not released. Exact
 *             after every memory event.
 *   samples   else it has a counter of the total: torch.reserved_bytes.KIND:INDEX of a recording,
 *             or Kineto's "Total Reserved". The last sample at or before a moment counts. Exact at
 *             each sample, unknown between samples and before the first.
 *   unknown   else. A counter with a value that is not a number of bytes is ignored completely.
 *
 * Either way the result is one log of steps, ordered among the model's memory events. Definitions:
 * docs/analyses/memory.md. */
#ifndef TIDE_ANALYZE_LIVE_RESERVED_H
#define TIDE_ANALYZE_LIVE_RESERVED_H

#include "model/model.h"

#define TIDE_RESERVED_NONE UINT64_MAX /* unknown reserved bytes */

enum { TIDE_RESERVED_UNKNOWN, TIDE_RESERVED_SEGMENTS, TIDE_RESERVED_SAMPLES };

typedef struct tide_reserved_step {
	int64_t t;
	uint64_t event; /* the segment's own memory event; for a sample, the first event at its
			 * time or later */
	uint64_t bytes; /* the device's reserved bytes from then on */
	int64_t change; /* difference to the value before (for the first sample: to 0) */
	uint32_t device;
	uint32_t pool; /* the pool whose reserved bytes change too; 0 = unknown */
} tide_reserved_step;

typedef struct tide_reserved {
	uint8_t *devices; /* owned; by device: its source, TIDE_RESERVED_* */
	uint8_t *pools;	  /* owned; by pool. A counter belongs to a device: known for its pool if
			 * it has only one */
	tide_reserved_step *steps; /* owned; neither `event` nor `t` ever decreases */
	size_t n;
} tide_reserved;

/* O(counters + samples × log events), and O(events) if there are segments. Release with
 * tide__reserved_free, also after failure. */
tide_code tide__find_reserved(const tide_model *m, tide_reserved *out, tide_error *err);
void tide__reserved_free(tide_reserved *r);

/* Returns a device's reserved bytes after memory events [0, position), at time t;
 * TIDE_RESERVED_NONE if unknown. O(steps). */
uint64_t tide__reserved_at(const tide_reserved *r, uint32_t device, uint64_t position, int64_t t);

/* Returns "segments" or "samples"; NULL for unknown. */
const char *tide__reserved_text(unsigned source);

/* Returns true if a sample's value is a number of bytes: an integer, exact as a double. */
static inline bool tide__is_bytes(double v)
{
	return v >= 0 && v <= 9007199254740992.0 && (double)(uint64_t)v == v;
}

#endif
