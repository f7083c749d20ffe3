// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Replays the blocks of one device's caching allocator.
 *
 * A snapshot's events carry requested sizes; torch's counters count blocks. Blocks follow from four
 * rules of the allocator (docs/formats/torch-snapshot.md has them in full):
 *
 *   round   a request becomes a multiple of 512 bytes, or of a fraction of a power of two if
 *           roundup_power2_divisions is set
 *   take    the free block at the event's address serves it
 *   split   the remainder becomes a free block: in small pools and expandable segments if it is 512
 *           bytes or more; in large pools if it is over 1 MiB and the request below max_split_size;
 *           never for host memory
 *   merge   a freed block merges with its free neighbours of the same segment (of the same mapped
 *           range)
 *
 * Ranges are sorted by address and never overlap. Events that contradict the rules are counted in
 * `mismatches`, and the replay continues with the most plausible block. */
#ifndef TIDE_IMPORT_TORCHSNAP_REPLAY_GEOMETRY_H
#define TIDE_IMPORT_TORCHSNAP_REPLAY_GEOMETRY_H

#include "base/ordered.h"
#include "import/torchsnap/snapshot.h"

typedef struct tide_geo_area { /* where blocks may merge: a segment, or mapped ranges of one kind */
	tide_pool_id pool;
	tide_lane_id stream;
	bool small, expandable, host;
} tide_geo_area;

typedef struct tide_geo_block {
	uint64_t addr, size;
	uint32_t alloc; /* tide_alloc_id; 0 = free */
	uint32_t area;	/* index into areas; 0 = in no known segment (then never free) */
	bool soft;	/* older than the history and freed in it: its size is a lower bound */
} tide_geo_block;

typedef struct tide_geo {
	const tide_snap_settings *set;
	tide_ordered index; /* address -> slot in blocks */
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
	uint32_t grown;	    /* a soft alloc whose block turned out larger ... */
	uint64_t grown_by;  /* ... by this much */
	bool overlaps;	    /* overlaps other live ones */
} tide_geo_taken;

void tide__geo_init(tide_geo *g, const tide_snap_settings *set);
void tide__geo_free(tide_geo *g);

/* Returns the index of an area; 0 if memory runs out. Equal expandable areas are the same one. */
uint32_t tide__geo_add_area(tide_geo *g, const tide_geo_area *a);

/* Returns the expandable area that a range would continue, on either side; 0 = none. */
uint32_t tide__geo_beside(const tide_geo *g, uint64_t addr, uint64_t size);

/* Adds a range of an area as free memory. *added = false if it overlaps an existing one (a
 * mismatch). All of these return false only if memory runs out. */
bool tide__geo_add(tide_geo *g, uint64_t addr, uint64_t size, uint32_t area, bool *added);
/* Removes a range. Blocks still allocated in it stay, in no area (a mismatch). */
bool tide__geo_remove(tide_geo *g, uint64_t addr, uint64_t size);
/* Places `alloc`, which requested `requested` bytes and got `addr`. `known`: its block's size if
 * the final state has it, else 0. */
bool tide__geo_take(tide_geo *g, uint64_t addr, uint64_t requested, uint64_t known, uint32_t alloc,
		    tide_geo_taken *t);
/* Places an older allocation into free memory: `size` bytes anywhere inside a free range.
 * `at_least`: the size is the rounded request; the block may be larger (soft), and is if the
 * rules require it. `next` = address of the next older allocation (UINT64_MAX if none). */
bool tide__geo_place(tide_geo *g, uint64_t addr, uint64_t size, bool at_least, uint64_t next,
		     uint32_t alloc, tide_geo_taken *t);
/* Frees the allocation alive at addr; *alloc = its row, 0 if there is none. */
bool tide__geo_give(tide_geo *g, uint64_t addr, uint32_t *alloc);
/* Returns the alloc alive at exactly addr; 0 if none. */
uint32_t tide__geo_at(const tide_geo *g, uint64_t addr);

/* Returns the number of blocks that differ from the recorded final ones (address, size, free or
 * not), including blocks of g outside every segment. */
uint64_t tide__geo_compare(const tide_geo *g, const tide_snap *s, tide_snap_own own);

/* Returns the block size that a request is rounded up to. */
uint64_t tide__geo_round(const tide_snap_settings *set, uint64_t requested);

#endif
