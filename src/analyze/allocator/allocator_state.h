// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The allocator's state at a moment: every segment with its blocks, used and free, and what can be
 * said of them. From the recorded addresses alone; no allocator is simulated.
 *
 * Mapped stretches of expandable segments that touch are one segment here. Numbers are defined in
 * docs/analyses/allocator.md; bytes add up: reserved = active - loose + free, and
 * free = cached + inactive_split + expandable_free. */
#ifndef TIDE_ANALYZE_ALLOCATOR_ALLOCATOR_STATE_H
#define TIDE_ANALYZE_ALLOCATOR_ALLOCATOR_STATE_H

#include "analyze/memory/live_set.h"

typedef struct tide_state_block {
	uint64_t addr, size;
	uint32_t alloc; /* row; 0 = free */
	bool pending;	/* its free was asked for and waits for a stream */
} tide_state_block;

typedef struct tide_state_segment {
	uint64_t addr, size;
	uint64_t used;	    /* block bytes in use */
	uint32_t segment;   /* its first row in segments */
	uint32_t stretches; /* rows it is made of: 1, or more when expandable */
	size_t first, n;    /* its blocks, in address order: no gaps, no overlaps */
	size_t n_used;
} tide_state_segment;

typedef struct tide_state_totals {
	uint64_t reserved;	  /* bytes of all segments */
	uint64_t active;	  /* block bytes in use, pending frees included */
	uint64_t allocated;	  /* pending frees not included */
	uint64_t requested;	  /* bytes asked for, of the active blocks */
	uint64_t waste;		  /* active - requested: lost to rounding and unsplit rests */
	uint64_t free;		  /* bytes of free blocks */
	uint64_t cached;	  /* of which whole plain segments: can go back to the device */
	uint64_t inactive_split;  /* of which in plain segments partly in use: cannot */
	uint64_t expandable_free; /* of which in expandable segments: whole pages can */
	uint64_t largest_free;	  /* largest free block */
	uint64_t loose;		  /* active bytes that lie in no known segment */
	uint64_t n_segments, n_blocks, n_free;
} tide_state_totals;

typedef struct tide_state {
	tide_state_segment *segments; /* owned; by address */
	tide_state_block *blocks;     /* owned */
	size_t n_segments, n_blocks;
	tide_state_totals total;
	bool known;   /* the trace has segments of this device */
	int64_t t;    /* time of the last move */
	uint64_t cut; /* moves that had happened */
} tide_state;

/* State of `device` (TIDE_ANY = all) at a cut: after moves [0, cut). Release with tide__state_free.
 */
tide_code tide__state_at(const tide_model *m, uint64_t cut, uint32_t device, tide_state *out,
			 tide_error *err);
void tide__state_free(tide_state *s);

/* 1 - largest_free / free: 0 = all free bytes in one block (or none free), towards 1 = crumbs. */
double tide__fragmentation_ratio(const tide_state_totals *t);

#endif
