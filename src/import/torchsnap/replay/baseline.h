// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds the state before the history began: undoes every event from the final state, last to first.
 *
 * Undoing an alloc removes its block, undoing a completed free restores one; the same for segments
 * and mapped ranges. Blocks and segments left at the first event existed before it. Blocks in the
 * final state are known to the byte; blocks freed during the history are known by their requested
 * size. */
#ifndef TIDE_IMPORT_TORCHSNAP_REPLAY_BASELINE_H
#define TIDE_IMPORT_TORCHSNAP_REPLAY_BASELINE_H

#include "import/torchsnap/snapshot.h"

#define TIDE_BASE_NO_EVENT UINT32_MAX

typedef struct tide_base_segment {
	uint64_t addr, size;
	uint32_t final; /* index into snap.segments + 1, 0 = released before the end */
	uint32_t event; /* index of the event that ended it (final == 0) */
	bool mapped;	/* a mapped part of an expandable segment */
} tide_base_segment;

typedef struct tide_base_block {
	uint64_t addr;
	uint32_t final; /* index into snap.blocks + 1, 0 = freed in the history */
	uint32_t event; /* its free_completed (final == 0) */
	bool asked;	/* its free was requested before the history began */
} tide_base_block;

typedef struct tide_baseline {
	TIDE_SNAP_VEC(tide_base_segment) segments; /* sorted by address, disjoint */
	TIDE_SNAP_VEC(tide_base_block) blocks;	   /* sorted by address */
	bool never_asks; /* the source has no free_requested events (only completed frees) */
	tide_map known;	 /* event index + 1 of an alloc alive at the end -> index into snap.blocks +
			    1 */
	tide_map stay;	 /* event index + 1 of a segment_alloc there at the end -> index into
			    snap.segments + 1 */
} tide_baseline;

/* Computes the state before the history for one device from its trace and segments.
 * `segment_events`: false if there are none (saves a pass). *b must be zeroed; free it in any case.
 * Returns false if memory runs out. */
bool tide__find_baseline(const tide_snap *s, const tide_snap_trace *t, tide_snap_own own,
			 bool segment_events, tide_baseline *b);
void tide__baseline_free(tide_baseline *b);

#endif
