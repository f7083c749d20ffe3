// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The blocks of one device's caching allocator, replayed.
 *
 * A snapshot's events carry what programs asked for; torch's counters count the blocks they got.
 * Blocks follow from four rules of the allocator (docs/formats/torch-snapshot.md has them in
 * full):
 *
 *   round   a request becomes a multiple of 512 bytes, or of a fraction of a power of two where
 *           roundup_power2_divisions says so
 *   take    the free block that starts at the event's address serves it
 *   split   what is left becomes a free block: small pools and expandable segments, if it is 512
 * bytes or more; large pools, if it is over 1 MiB and the request below max_split_size; host never
 *   merge   a freed block joins its free neighbours of the same segment (of the same mapped
 * stretch)
 *
 * Stretches lie sorted by address and never overlap. What contradicts the rules is counted in
 * `mismatches` and goes on with the least wrong answer. */
#ifndef TIDE_IMPORT_TORCHSNAP_REPLAY_GEOMETRY_H
#define TIDE_IMPORT_TORCHSNAP_REPLAY_GEOMETRY_H

#include "base/sorted.h"
#include "import/torchsnap/snapshot.h"

typedef struct tide_geo_area { /* where blocks may merge: a segment, or mapped stretches of one kind
				*/
	tide_pool_id pool;
	tide_lane_id stream;
	bool small, expandable, host;
} tide_geo_area;

typedef struct tide_geo_block {
	uint64_t addr, size;
	uint32_t alloc; /* tide_alloc_id; 0 = free */
	uint32_t area;	/* index into areas; 0 = in no known segment (never free then) */
	bool soft; /* older than the history and freed in it: its size is the least it can be */
} tide_geo_block;

typedef struct tide_geo {
	const tide_snap_settings *set;
	tide_sorted index; /* address -> slot in blocks */
	TIDE_SNAP_VEC(tide_geo_block) blocks;
	TIDE_SNAP_VEC(uint32_t) spare; /* unused slots */
	TIDE_SNAP_VEC(tide_geo_area) areas;
	TIDE_SNAP_VEC(uint32_t) mapped; /* areas that are expandable */
	tide_map odd;	     /* address -> alloc: alive but overlapping, not in the index */
	uint64_t mismatches; /* times the events contradicted the rules */
} tide_geo;

typedef struct tide_geo_taken { /* result of tide__geo_take */
	uint64_t size;		/* of the block */
	uint32_t area;		/* 0 = unknown */
	uint32_t displaced; /* an alloc that was alive at this address: it must have been freed */
	uint32_t grown;	    /* a soft alloc whose block turned out longer ... */
	uint64_t grown_by;  /* ... by this much */
	bool overlaps;	    /* overlaps other live ones */
} tide_geo_taken;

void tide__geo_init(tide_geo *g, const tide_snap_settings *set);
void tide__geo_free(tide_geo *g);

/* Index of an area; 0 on exhaustion. Expandable areas with equal contents are the same one. */
uint32_t tide__geo_area(tide_geo *g, const tide_geo_area *a);

/* The expandable area that a stretch would continue, to either side; 0 = none. */
uint32_t tide__geo_beside(const tide_geo *g, uint64_t addr, uint64_t size);

/* A stretch of an area becomes free memory. *added = false if it overlaps what is there already (a
 * mismatch). All of these return false only when out of memory. */
bool tide__geo_add(tide_geo *g, uint64_t addr, uint64_t size, uint32_t area, bool *added);
/* It is gone again. What is still allocated in it stays, in no area (a mismatch). */
bool tide__geo_remove(tide_geo *g, uint64_t addr, uint64_t size);
/* `alloc` asked for `requested` bytes and got `addr`. `known`: its block's size where the final
 * state says it, else 0. */
bool tide__geo_take(tide_geo *g, uint64_t addr, uint64_t requested, uint64_t known, uint32_t alloc,
		    tide_geo_taken *t);
/* Put an older allocation into free memory: `size` bytes anywhere inside a free stretch.
 * `at_least`: the size is the rounded request; the block may be longer (soft), and is where the
 * rules leave no other way. `next` = address of the next older allocation (UINT64_MAX if none). */
bool tide__geo_place(tide_geo *g, uint64_t addr, uint64_t size, bool at_least, uint64_t next,
		     uint32_t alloc, tide_geo_taken *t);
/* What is alive at addr is freed; *alloc = which, 0 if nothing is. */
bool tide__geo_give(tide_geo *g, uint64_t addr, uint32_t *alloc);
/* Which alloc is alive at exactly addr; 0 if none. */
uint32_t tide__geo_at(const tide_geo *g, uint64_t addr);

/* Blocks that differ from the recorded final ones (address, size, free or not). Orphans of g that
 * no segment holds count too. */
uint64_t tide__geo_compare(const tide_geo *g, const tide_snap *s, tide_snap_own own);

/* The block size that a request is rounded up to. */
uint64_t tide__geo_round(const tide_snap_settings *set, uint64_t requested);

#endif
