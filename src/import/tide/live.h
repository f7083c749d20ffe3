// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Live allocations by address: pairs frees with allocations, and finds allocations that overlap.
 *
 * A place is an address in a pool with an extent: the bytes from there that no other place touches.
 * Places outlive their allocations: a program that allocates in a loop reuses the same places, and
 * reusing one within its extent needs one lookup and cannot overlap anything. Only a new or larger
 * place is compared with its neighbours (an ordered set of addresses per pool). Places without a
 * live allocation are removed when they are half of all and the table is full, so memory depends on
 * the number of live allocations.
 *
 * An allocation that overlaps a live one of another address is reported (TIDE_ALLOC_OVERLAPS) and
 * gets no extent; it is still found by its own address. */
#ifndef TIDE_IMPORT_TIDE_LIVE_H
#define TIDE_IMPORT_TIDE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/ordered.h"

typedef struct tide_place {
	uint64_t addr;
	uint64_t extent : 48; /* 0: no extent, and not in the ordered set */
	uint64_t pool : 16;
	uint32_t row; /* 0 = free slot of the table */
	uint32_t alive;
} tide_place;

typedef struct tide_live {
	tide_place *slots; /* open addressing, linear probing, at most half full */
	size_t mask, n;	   /* n: places, including unused ones */
	uint64_t factor;   /* odd and secret (base/seed.h): multiplier of the hash */
	size_t n_alive;
	tide_ordered *pools; /* by pool: addresses of places with an extent */
	size_t n_pools;
	const uint64_t *const *size; /* borrowed: column with the size of each row */
} tide_live;

/* Sizes are below this; larger ones count as this when checking overlaps. */
#define TIDE_EXTENT_MAX ((UINT64_C(1) << 48) - 1)

/* `size` points to the table's column pointer (it moves as the table grows). */
bool tide__live_init(tide_live *l, const uint64_t *const *size);
void tide__live_free(tide_live *l);

static inline size_t tide__live_slot(const tide_live *l, uint32_t pool, uint64_t addr)
{
	return (size_t)((addr + pool * l->factor) * l->factor >> __builtin_clzll(l->mask));
}

/* Prefetches the memory that a call for this address will read. */
static inline void tide__live_prefetch(const tide_live *l, uint32_t pool, uint64_t addr)
{
	__builtin_prefetch(&l->slots[tide__live_slot(l, pool, addr)]);
}

/* Returns the row alive at the address, 0 if none. */
uint32_t tide__live_find(const tide_live *l, uint32_t pool, uint64_t addr);
/* Ends it. Returns the row, 0 if none was alive. */
uint32_t tide__live_take(tide_live *l, uint32_t pool, uint64_t addr);

typedef struct tide_claim {
	uint32_t before; /* row that was still alive at this address, ended now; 0 = none */
	bool overlaps;	 /* it overlaps a live one at another address */
} tide_claim;
/* Makes row `row` of `size` bytes live there. Returns false if memory runs out. */
bool tide__live_put(tide_live *l, uint32_t pool, uint64_t addr, uint64_t size, uint32_t row,
		    tide_claim *c);

/* Ends it and removes its place at once. Returns the row, 0 if none was alive. For owners that
 * use the neighbours, whose search would otherwise step over unused places. */
uint32_t tide__live_drop(tide_live *l, uint32_t pool, uint64_t addr);
/* Return the nearest live row of the pool that begins below addr, and the first that begins
 * above it; 0 if there is none. Rows that overlap others are not found. */
uint32_t tide__live_below(const tide_live *l, uint32_t pool, uint64_t addr);
uint32_t tide__live_above(const tide_live *l, uint32_t pool, uint64_t addr);

#endif
