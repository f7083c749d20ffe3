// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tracks the free blocks of an allocator event by event: keeps the totals of allocator_state.h up
 * to date in O(log free) per memory event instead of rebuilding them.
 *
 * The two agree while the recording is consistent: no two segments overlap, no block in use
 * overlaps another block or the edge of a segment, and no segment is released while in use. From
 * the first contradiction on, `odd` is set and the figures about free blocks are unreliable. */
#ifndef TIDE_ANALYZE_ALLOCATOR_FREE_BLOCKS_H
#define TIDE_ANALYZE_ALLOCATOR_FREE_BLOCKS_H

#include "base/ordered.h"
#include "model/model.h"

typedef struct tide_fragmentation_point {
	int64_t t;	   /* end of its time interval */
	uint64_t position; /* memory events up to then */
	uint64_t reserved, active, allocated, requested;
	uint64_t cached, inactive_split, expandable_free;
	uint64_t largest_free;
	bool odd; /* the recording contradicted itself before: the last two figures are unknown */
} tide_fragmentation_point;

/* Per-row state, shared by any number of allocators that have no row in common. */
typedef struct tide_gap_rows {
	uint64_t *used;	 /* per segment: block bytes in use (plain ones) */
	uint32_t *owner; /* per segment: owner of its free blocks */
	uint32_t *home;	 /* per alloc: owner + 1; 0 = in no segment */
	uint8_t *asked;	 /* per alloc: its free was requested */
	uint8_t *has;	 /* per device: it has segments */
} tide_gap_rows;

typedef struct tide_free_blocks {
	const tide_model *m;
	tide_gap_rows *rows;	       /* borrowed */
	tide_ordered by_addr, by_size; /* free blocks: (address, size), (size, address) -> owner */
	tide_ordered segments, loose;  /* live segments: (address, size); loose: blocks in use
				       * outside any segment */
	tide_fragmentation_point now;  /* except largest_free, t and position */
	uint64_t n_loose;	       /* bytes placed outside every known free block, in total */
	size_t kept;	  /* parts of a segment just released that the next events take again */
	bool has;	  /* segments, at any time */
	bool odd, failed; /* failed: memory ran out */
} tide_free_blocks;

/* Returns false if memory runs out; release with tide__gap_rows_free in any case. */
bool tide__gap_rows_init(tide_gap_rows *r, const tide_model *m);
void tide__gap_rows_free(tide_gap_rows *r);

/* Starts an allocator before the first memory event. `has`: it will have segments. */
static inline tide_free_blocks tide__free_blocks_begin(const tide_model *m, tide_gap_rows *rows,
						       bool has)
{
	return (tide_free_blocks){ .m = m, .rows = rows, .has = has };
}
/* Applies memory event i, which must be this allocator's (tide__free_blocks_device returns whose
 * it is). Events come in order. */
void tide__free_blocks_apply(tide_free_blocks *g, size_t i);
uint32_t tide__free_blocks_device(const tide_model *m, size_t i);
uint64_t tide__free_blocks_largest(const tide_free_blocks *g);
void tide__free_blocks_free(tide_free_blocks *g);

#endif
