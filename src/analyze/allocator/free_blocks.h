// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The free blocks of an allocator followed move by move: what allocator_state.h says of a moment, kept up to
 * date in O(log free) a move instead of put together anew.
 *
 * The two agree while the recording does not contradict itself: no two segments overlap, nothing
 * in use overlaps anything else or the edge of a segment, and no segment goes while in use. From
 * the first contradiction on `odd` is set and what is said of free blocks is not to be believed. */
#ifndef TIDE_ANALYZE_ALLOCATOR_FREE_BLOCKS_H
#define TIDE_ANALYZE_ALLOCATOR_FREE_BLOCKS_H

#include "analyze/allocator/sim/ordset.h"
#include "model/model.h"

typedef struct tide_fragmentation_point {
	int64_t t;    /* end of its stretch of time */
	uint64_t cut; /* moves until then */
	uint64_t reserved, active, allocated, requested;
	uint64_t cached, inactive_split, expandable_free;
	uint64_t largest_free;
	bool odd; /* the recording contradicted itself before: the last two lines are not known */
} tide_fragmentation_point;

/* What is kept of each row; one for any number of allocators that share no row. */
typedef struct tide_gap_rows {
	uint64_t *used;	 /* per segment: block bytes in use (plain ones) */
	uint32_t *owner; /* per segment: whose its free blocks are */
	uint32_t *home;	 /* per alloc: owner + 1; 0 = in no segment */
	uint8_t *asked;	 /* per alloc: its free was asked for */
	uint8_t *has;	 /* per device: it has segments */
} tide_gap_rows;

typedef struct tide_free_blocks {
	const tide_model *m;
	tide_gap_rows *rows;	      /* borrowed */
	tide_ordset by_addr, by_size; /* free blocks: (address, size), (size, address) -> owner */
	tide_ordset segments, loose;  /* alive: (address, size). Loose: in use in no segment */
	tide_fragmentation_point now; /* but for largest_free, t and cut */
	uint64_t n_loose;	      /* bytes that went into no known free block, ever */
	size_t kept;	  /* parts of a segment just dropped that the next moves take again */
	bool has;	  /* segments, at any time */
	bool odd, failed; /* failed: memory ran out */
} tide_free_blocks;

/* False on exhaustion; release with tide__gap_rows_free in any case. */
bool tide__gap_rows_init(tide_gap_rows *r, const tide_model *m);
void tide__gap_rows_free(tide_gap_rows *r);

/* An allocator before the first move. `has`: it will have segments. */
static inline tide_free_blocks tide__free_blocks_begin(const tide_model *m, tide_gap_rows *rows,
						       bool has)
{
	return (tide_free_blocks){ .m = m, .rows = rows, .has = has };
}
/* Move i, which is this allocator's (tide__free_blocks_device says whose). Moves come in order. */
void tide__free_blocks_apply(tide_free_blocks *g, size_t i);
uint32_t tide__free_blocks_device(const tide_model *m, size_t i);
uint64_t tide__free_blocks_largest(const tide_free_blocks *g);
void tide__free_blocks_free(tide_free_blocks *g);

#endif
