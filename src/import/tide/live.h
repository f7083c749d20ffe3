// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Live allocations by address: pairs frees with allocations, and finds allocations that overlap.
 *
 * Addresses are kept in leaves of 64 places, a place being one grain of the address space (16 bytes
 * for blocks of malloc). Blocks that are made together lie together, so a few leaves serve most
 * calls, where a table of single addresses would cost a cache miss a call. A leaf has bits for the
 * places where something is alive, where a claim begins and where one ends. A claim is the range
 * that no other claim touches. It outlives its allocation: a program that allocates in a loop
 * reuses its places, and reusing one within its claim cannot overlap anything. Only a new or larger
 * claim is compared with its neighbours: by the bits of its leaf, then the leaf before, then an
 * ordered set of leaves per pool. Leaves where nothing is alive are removed when they are half of
 * all and the table is full, so memory depends on the number of live allocations.
 *
 * The grain divides all addresses seen so far. When an address needs a smaller one, all
 * leaves are made again: at most 9 times.
 *
 * An allocation that overlaps a live one of another address is reported (TIDE_ALLOC_OVERLAPS) and
 * claims nothing; it is still found by its own address. */
#ifndef TIDE_IMPORT_TIDE_LIVE_H
#define TIDE_IMPORT_TIDE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ordered.h"

enum { TIDE_LEAF = 64 };

typedef struct tide_leaf {
	uint64_t key;		/* address in grains, divided by TIDE_LEAF */
	uint64_t alive;		/* places with a live row */
	uint64_t claims;	/* places where a claim begins */
	uint64_t ends;		/* last places of claims that end in this leaf */
	uint64_t span;		/* bytes of the last claim, if it ends in a later leaf */
	uint32_t pool, ordered; /* ordered: it is in the pool's set */
	uint32_t row[TIDE_LEAF];
} tide_leaf;

typedef struct tide_live_slot {
	uint32_t leaf; /* 0 = free */
	uint32_t tag;  /* of the leaf's key and pool */
} tide_live_slot;

typedef struct tide_live {
	tide_live_slot *slots; /* open addressing, linear probing, at most half full */
	size_t mask;
	tide_leaf *leaves; /* leaf 0 is none */
	size_t n_leaves, cap_leaves;
	uint64_t factor; /* odd and secret (base/seed.h): multiplier of the hash */
	unsigned grain;	 /* log2 of its bytes */
	size_t n_alive;
	tide_ordered *pools; /* by pool: keys of the leaves in which claims begin -> leaf */
	size_t n_pools;
	const uint64_t *const *size; /* borrowed: column with the size of each row */
} tide_live;

/* Sizes are below this; larger ones count as this when checking overlaps. */
#define TIDE_EXTENT_MAX ((UINT64_C(1) << 48) - 1)

/* `size` points to the table's column pointer (it moves as the table grows). */
bool tide__live_init(tide_live *l, const uint64_t *const *size);
void tide__live_free(tide_live *l);

/* Neighbouring leaves have neighbouring slots: groups of 8, which fill one cache line. */
static inline uint64_t tide__live_hash(const tide_live *l, uint32_t pool, uint64_t key)
{
	return ((key >> 3) + (pool + UINT64_C(1)) * l->factor) * l->factor;
}
static inline size_t tide__live_home(const tide_live *l, uint64_t hash, uint64_t key)
{
	return (size_t)(((hash >> __builtin_clzll(l->mask)) & ~UINT64_C(7)) | (key & 7));
}
/* The rest of the hash: few other leaves have the same. */
static inline uint32_t tide__live_tag(uint64_t hash, uint64_t key)
{
	return (uint32_t)(hash >> 8) ^ (uint32_t)(key & 7);
}

/* Prefetch the memory that a call for this address will read: the slot, long before; then the
 * leaf. The second returns a row that is or was there, 0 if none is at hand. */
static inline void tide__live_prefetch(const tide_live *l, uint32_t pool, uint64_t addr)
{
	uint64_t key = addr >> l->grain >> 6;
	__builtin_prefetch(&l->slots[tide__live_home(l, tide__live_hash(l, pool, key), key)]);
}
static inline const tide_leaf *tide__live_near(const tide_live *l, uint32_t pool, uint64_t addr)
{
	uint64_t key = addr >> l->grain >> 6;
	return &l->leaves[l->slots[tide__live_home(l, tide__live_hash(l, pool, key), key)].leaf];
}
static inline void tide__live_prefetch_leaf(const tide_live *l, uint32_t pool, uint64_t addr)
{
	const tide_leaf *leaf = tide__live_near(l, pool, addr);
	__builtin_prefetch(leaf, 1);
	__builtin_prefetch(&leaf->row[addr >> l->grain & (TIDE_LEAF - 1)], 1);
}
static inline uint32_t tide__live_guess(const tide_live *l, uint32_t pool, uint64_t addr)
{
	return tide__live_near(l, pool, addr)->row[addr >> l->grain & (TIDE_LEAF - 1)];
}

/* Returns the row alive at the address, 0 if none. */
uint32_t tide__live_find(const tide_live *l, uint32_t pool, uint64_t addr);
/* Ends it. Returns the row, 0 if none was alive. */
uint32_t tide__live_take(tide_live *l, uint32_t pool, uint64_t addr);

typedef struct tide_claim {
	uint32_t before; /* row that was still alive at this address, ended now; 0 = none */
	bool overlaps;	 /* it overlaps a live one at another address */
} tide_claim;
/* Makes row `row` of `size` bytes live there. Its size in the column does not change while it is.
 * Returns false if memory runs out. */
bool tide__live_put(tide_live *l, uint32_t pool, uint64_t addr, uint64_t size, uint32_t row,
		    tide_claim *c);

/* Ends it and removes its claim at once. Returns the row, 0 if none was alive. For owners that
 * use the neighbours, whose search would otherwise step over unused claims. */
uint32_t tide__live_drop(tide_live *l, uint32_t pool, uint64_t addr);
/* Return the nearest live row of the pool that begins below addr, and the first that begins
 * above it; 0 if there is none. Rows that overlap others are not found. */
uint32_t tide__live_below(tide_live *l, uint32_t pool, uint64_t addr);
uint32_t tide__live_above(tide_live *l, uint32_t pool, uint64_t addr);

#endif
