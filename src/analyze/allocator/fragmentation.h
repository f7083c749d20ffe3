// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The allocator's state over time: the totals of allocator_state.h, computed after every memory
 * event and kept at equal intervals.
 *
 * One sweep with the free blocks in two ordered sets (by address, by size): O(log free) per
 * event. */
#ifndef TIDE_ANALYZE_ALLOCATOR_FRAGMENTATION_H
#define TIDE_ANALYZE_ALLOCATOR_FRAGMENTATION_H

#include "analyze/allocator/allocator_state.h"
#include "analyze/allocator/free_blocks.h"
#include "analyze/live/reserved.h"

typedef struct tide_fragmentation {
	tide_fragmentation_point *p; /* owned; the state at the end of each interval */
	size_t n;
	tide_fragmentation_point worst; /* where reserved - active was highest, the first of
	                                 * equals */
	uint64_t loose;			/* allocations that fit into no known free block */
	bool known;			/* the trace has segments of this device */
	uint8_t source; /* of `reserved`: TIDE_RESERVED_*. From samples only for one device, and
			 * TIDE_RESERVED_NONE if unknown; the other figures need segments */
} tide_fragmentation;

/* Uses `points` equal time intervals from 0 to the trace's end; device TIDE_ANY = all. */
tide_code tide__find_fragmentation(const tide_model *m, uint32_t device, size_t points,
				   tide_fragmentation *out, tide_error *err);
/* The same at equal numbers of memory events instead of equal times, so that busy periods get
 * more detail: after the last event of each of `points` parts, or after every event if there are
 * fewer. */
tide_code tide__fragmentation_find_by_events(const tide_model *m, uint32_t device, size_t points,
					     tide_fragmentation *out, tide_error *err);
void tide__fragmentation_free(tide_fragmentation *f);

#endif
