// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals of the simulator: shared by sim.c (requests, plain segments), release.c (releasing
 * memory), expand.c (expandable segments) and check.c.
 *
 * A block is a row of `blocks`; 0 = none. Neighbours in the same segment are linked by prev/next in
 * address order. Every free block is in its bin's `free` set under (size, addr), every unmapped one
 * in `unmapped` under its address; blocks in use are in neither. Two neighbours are never both free
 * and mapped, nor both unmapped: they are merged. */
#ifndef TIDE_ANALYZE_ALLOCATOR_SIM_IMPL_H
#define TIDE_ANALYZE_ALLOCATOR_SIM_IMPL_H

#include "analyze/allocator/sim/sim.h"
#include "base/map.h"
#include "base/ordered.h"

enum { BLOCK_SPARE, BLOCK_FREE, BLOCK_USED, BLOCK_PENDING, BLOCK_UNMAPPED };

typedef struct block {
	uint64_t addr, size, requested;
	uint64_t gc_base;    /* its pool's search count when it became free */
	uint32_t prev, next; /* neighbours; `next` links spare rows */
	uint32_t bin;
	uint32_t range;	     /* expandable range + 1; 0 = plain segment */
	uint32_t pending_at; /* index in `pending` while BLOCK_PENDING */
	uint32_t id;
	uint8_t state;
} block;

/* Free blocks of one (pool, small or large, stream). */
typedef struct bin {
	tide_ordered free, unmapped;
	uint32_t stream, bpool;
} bin;

/* One pool's small or large half: bins in stream order. */
typedef struct bpool {
	uint32_t *bins;
	uint32_t n;
	size_t cap;
	uint64_t searches; /* get_free_block calls while garbage collection is on */
} bpool;

typedef struct range { /* of an expandable segment */
	uint64_t addr, size, page;
	uint64_t mapped; /* bytes; 0 = holds nothing */
} range;

struct tide_sim {
	tide_sim_config c;
	tide_sim_device d;
	block *blocks;
	uint32_t n_blocks, spare;
	bin *bins;
	uint32_t n_bins;
	bpool *bpools; /* [2 * pool + large] */
	uint8_t *done; /* per pool: its segments may be released */
	uint32_t n_pools;
	range *ranges;
	uint32_t n_ranges;
	tide_map bin_of; /* (bpool << 32 | stream) + 1 -> bin + 1 */
	uint64_t last_key;
	uint32_t last_bin;
	uint32_t *of; /* id -> block */
	uint32_t n_ids;
	uint32_t *pending; /* blocks whose free waits for a stream */
	uint32_t n_pending;
	size_t cap_blocks, cap_bins, cap_ranges, cap_pending;
	tide_sim_stats st;
	bool released; /* the cache has been released completely and nothing became free since */
	bool failed;   /* ran out of memory itself */
};

/* Returns true if the block is its whole segment. */
static inline bool tide__sim_whole(const block *k)
{
	return !k->prev && !k->next;
}

uint32_t tide__sim_new_block(tide_sim *s, uint32_t b, uint64_t addr, uint64_t size);
void tide__sim_drop_block(tide_sim *s, uint32_t i);
void tide__sim_put_free(tide_sim *s, uint32_t i);  /* sets the state and adds it to the set */
void tide__sim_take_free(tide_sim *s, uint32_t i); /* removes it from the set */
/* Links `i` between its new neighbours. */
void tide__sim_link(tide_sim *s, uint32_t prev, uint32_t i, uint32_t next);
/* Merges neighbour `other` into `i` if both are free (or both unmapped); `i` itself is in no
 * set. */
void tide__sim_merge(tide_sim *s, uint32_t i, uint32_t other);
uint32_t tide__sim_get_bin(tide_sim *s, uint32_t bp,
			   uint32_t stream); /* index + 1; 0 = out of memory */
void tide__sim_count_reserved(tide_sim *s, uint64_t more);
bool tide__sim_is_small(const tide_sim *s, uint32_t b);
tide_sim_where tide__sim_where_of(const tide_sim *s, uint32_t b);

/* release.c: releases everything the cache can release. */
void tide__sim_release_all(tide_sim *s);
/* Releases oversize blocks of a bin until `size` bytes are available; returns false if they are
 * not. */
bool tide__sim_release_oversize(tide_sim *s, uint32_t b, uint64_t size);
/* Releases the large segments unused for longest, down to the threshold. */
void tide__sim_collect_garbage(tide_sim *s);

/* expand.c: returns a block of at least `size` bytes from an expandable segment, in no set; 0 =
 * none. */
uint32_t tide__sim_expand(tide_sim *s, uint32_t b, uint64_t size);
/* Unmaps every whole page of the free blocks of a pool's half. */
void tide__sim_unmap_pool(tide_sim *s, bpool *p);
/* Notes that a block of an expandable segment became free or unmapped: the run around it grew. */
void tide__sim_room_grew(tide_sim *s, uint32_t i);
/* Creates the range that a mapped part belongs to; seed.c uses it. */
uint32_t tide__sim_new_range(tide_sim *s, uint32_t b, uint64_t addr);

#endif
