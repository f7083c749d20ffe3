// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The allocator's state at a moment: every segment with its blocks, used and free, and their
 * totals. Derived from the recorded addresses alone; no allocator is simulated.
 *
 * Adjacent mapped parts of expandable segments are one segment here. docs/analyses/allocator.md
 * defines the figures; bytes add up: reserved = active - loose + free, and
 * free = cached + inactive_split + expandable_free. */
#ifndef TIDE_ANALYZE_ALLOCATOR_ALLOCATOR_STATE_H
#define TIDE_ANALYZE_ALLOCATOR_ALLOCATOR_STATE_H

#include "analyze/live/live_set.h"

typedef struct tide_state_block {
	uint64_t addr, size;
	uint32_t alloc; /* row; 0 = free */
	bool pending;	/* its free was requested and waits for a stream */
} tide_state_block;

typedef struct tide_state_segment {
	uint64_t addr, size;
	uint64_t used;	    /* block bytes in use */
	uint32_t segment;   /* its first row in segments */
	uint32_t stretches; /* rows it consists of: 1, or more if expandable */
	size_t first, n;    /* its blocks, in address order: no gaps, no overlaps */
	size_t n_used;
} tide_state_segment;

typedef struct tide_state_totals {
	uint64_t reserved;	  /* bytes of all segments */
	uint64_t active;	  /* block bytes in use, pending frees included */
	uint64_t allocated;	  /* pending frees not included */
	uint64_t requested;	  /* bytes requested, of the active blocks */
	uint64_t waste;		  /* active - requested: lost to rounding and unsplit remainders */
	uint64_t free;		  /* bytes of free blocks */
	uint64_t cached;	  /* part of free: completely free plain segments, which can be
				   * released */
	uint64_t inactive_split;  /* part of free: in plain segments partly in use, which cannot */
	uint64_t expandable_free; /* part of free: in expandable segments, which can release
				   * whole pages */
	uint64_t largest_free;	  /* largest free block */
	uint64_t loose;		  /* active bytes outside every known segment */
	uint64_t n_segments, n_blocks, n_free;
} tide_state_totals;

typedef struct tide_state {
	tide_state_segment *segments; /* owned; by address */
	tide_state_block *blocks;     /* owned */
	size_t n_segments, n_blocks;
	tide_state_totals total;
	bool known;	   /* the trace has segments of this device */
	int64_t t;	   /* time of the last memory event */
	uint64_t position; /* number of memory events before this state */
} tide_state;

/* Finds the state of `device` (TIDE_ANY = all) at `position`: after memory events [0, position).
 * Release with tide__state_free. */
tide_code tide__state_find_at(const tide_model *m, uint64_t position, uint32_t device,
			      tide_state *out, tide_error *err);
void tide__state_free(tide_state *s);

/* Returns 1 - largest_free / free: 0 = all free bytes in one block (or none free), near 1 = many
 * small blocks. */
double tide__fragmentation_ratio(const tide_state_totals *t);

#endif
