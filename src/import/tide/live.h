// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Who is alive at an address: pairs frees with allocations, and finds allocations that overlap.
 *
 * A place is an address in a pool with an extent: bytes from there that no other place touches.
 * Places outlive their allocations: a program that allocates in a loop takes the same places again
 * and again, and taking one again with no more than its extent needs one look-up and cannot overlap
 * anything. Only a new or larger place is compared with its neighbours (an ordered set of addresses
 * a pool). Places of the dead are forgotten when they are half of all and the table is full, so
 * memory follows the number of live allocations.
 *
 * An allocation that overlaps a live one of another address is told so (TIDE_ALLOC_OVERLAPS) and
 * claims no extent; it is still found by its own address. */
#ifndef TIDE_IMPORT_TIDE_LIVE_H
#define TIDE_IMPORT_TIDE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/ordered.h"

typedef struct tide_place {
	uint64_t addr;
	uint64_t extent : 48; /* 0: claims nothing, and is not in the ordered set */
	uint64_t pool : 16;
	uint32_t row; /* 0 = free slot of the table */
	uint32_t alive;
} tide_place;

typedef struct tide_live {
	tide_place *slots; /* open addressing, linear probing, at most half full */
	size_t mask, n;	   /* n: places, dead ones included */
	uint64_t factor;   /* odd, and unknown to the input (base/seed.h): of the hash */
	size_t n_alive;
	tide_ordered *pools; /* by pool: addresses of places with an extent */
	size_t n_pools;
	const uint64_t *const *size; /* borrowed: column with the size of each row */
} tide_live;

/* Sizes are below this; larger ones count as this when looking for overlaps. */
#define TIDE_EXTENT_MAX ((UINT64_C(1) << 48) - 1)

/* `size` points to the table's column pointer (it moves as the table grows). */
bool tide__live_init(tide_live *l, const uint64_t *const *size);
void tide__live_free(tide_live *l);

static inline size_t tide__live_slot(const tide_live *l, uint32_t pool, uint64_t addr)
{
	return (size_t)((addr + pool * l->factor) * l->factor >> __builtin_clzll(l->mask));
}

/* Fetch what a call for this address will look at. */
static inline void tide__live_prefetch(const tide_live *l, uint32_t pool, uint64_t addr)
{
	__builtin_prefetch(&l->slots[tide__live_slot(l, pool, addr)]);
}

/* Row alive at the address, 0 if none. */
uint32_t tide__live_find(const tide_live *l, uint32_t pool, uint64_t addr);
/* It ends; the row, 0 if none was alive. */
uint32_t tide__live_take(tide_live *l, uint32_t pool, uint64_t addr);

typedef struct tide_claim {
	uint32_t before; /* row that was still alive at this very address: it has ended now; 0 =
			    none */
	bool overlaps;	 /* it overlaps a live one of another address */
} tide_claim;
/* Row `row` of `size` bytes lives there from now on. False on exhaustion. */
bool tide__live_put(tide_live *l, uint32_t pool, uint64_t addr, uint64_t size, uint32_t row,
		    tide_claim *c);

/* It ends, and its place is forgotten at once; the row, 0 if none was alive. For owners that need
 * the neighbours, whose search would otherwise step over the dead. */
uint32_t tide__live_drop(tide_live *l, uint32_t pool, uint64_t addr);
/* The live row of the pool that begins below addr and is nearest to it, and the first that begins
 * above it; 0 if there is none. Rows that overlap others are not seen. */
uint32_t tide__live_below(const tide_live *l, uint32_t pool, uint64_t addr);
uint32_t tide__live_above(const tide_live *l, uint32_t pool, uint64_t addr);

#endif
