// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The allocator's state over time: the totals of allocator_state.h after every move, kept at even distances.
 *
 * One sweep with the free blocks in two ordered sets (by address, by size): O(log free) a move. */
#ifndef TIDE_ANALYZE_ALLOCATOR_FRAGMENTATION_H
#define TIDE_ANALYZE_ALLOCATOR_FRAGMENTATION_H

#include "analyze/allocator/allocator_state.h"
#include "analyze/allocator/free_blocks.h"
#include "analyze/memory/reserved.h"

typedef struct tide_fragmentation {
	tide_fragmentation_point *p; /* owned; the state at the end of each stretch */
	size_t n;
	tide_fragmentation_point worst; /* where reserved - active was highest (first such) */
	uint64_t loose;			/* allocations that fitted into no known free block */
	bool known;			/* the trace has segments of this device */
	uint8_t source; /* of `reserved`: TIDE_RESERVED_*. From samples only for one device, with
			 * TIDE_RESERVED_NONE where it is not known; the other bytes want segments
			 */
} tide_fragmentation;

/* `points` stretches of equal time from 0 to the trace's end; device TIDE_ANY = all. */
tide_code tide__find_fragmentation(const tide_model *m, uint32_t device, size_t points,
				   tide_fragmentation *out, tide_error *err);
/* The same at even distances in moves instead of time, so that detail is where things happen: after
 * the last move of each of `points` stretches, or after every move where there are fewer. */
tide_code tide__fragmentation_by_moves(const tide_model *m, uint32_t device, size_t points,
				       tide_fragmentation *out, tide_error *err);
void tide__fragmentation_free(tide_fragmentation *f);

#endif
