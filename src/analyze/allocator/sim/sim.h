// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Simulates PyTorch's CUDA caching allocator: requests in, decisions out.
 *
 * The simulator keeps blocks in segments exactly as the allocator does (rounding, small and large
 * pools, best fit by size then address, splitting, merging, garbage collection by age, release of
 * cached segments when the device refuses, expandable segments, private pools, streams) but owns no
 * memory: a tide_sim_device acts as the device. One thread at a time.
 *
 *     tide_sim *s = tide__sim_new(&config, &device, n_ids);
 *     tide__sim_allocate(s, id, bytes, stream, pool);  tide__sim_free(s, id);
 *     const tide_sim_stats *now = tide__sim_stats(s);
 *
 * Streams are dense numbers 0.. in the order of the stream handles' values (that order decides
 * which cached segment is released first); pools are dense numbers, 0 = the default pool. */
#ifndef TIDE_ANALYZE_ALLOCATOR_SIM_SIM_H
#define TIDE_ANALYZE_ALLOCATOR_SIM_SIM_H

#include "analyze/allocator/sim/config.h"

typedef struct tide_sim tide_sim;

typedef struct tide_sim_where {
	uint32_t pool, stream;
	bool small;
} tide_sim_where;

/* The device's callbacks. `where` names the pool and stream. All members must be set; `user` is
 * passed back. */
typedef struct tide_sim_device {
	void *user;
	/* Takes a segment of `size` bytes; returns its address, 0 = out of memory. */
	uint64_t (*take)(void *user, tide_sim_where where, uint64_t size);
	/* Reserves `size` bytes of address space for an expandable segment; cannot fail. */
	uint64_t (*range)(void *user, tide_sim_where where, uint64_t size);
	/* Maps memory at [addr, addr + size) of such a range; returns false if out of memory. */
	bool (*map)(void *user, tide_sim_where where, uint64_t addr, uint64_t size);
	/* Releases a segment, or unmaps memory. */
	void (*give)(void *user, tide_sim_where where, uint64_t addr, uint64_t size);
} tide_sim_device;

typedef struct tide_sim_stats {
	uint64_t reserved;  /* bytes taken from the device */
	uint64_t active;    /* block bytes in use, including frees that wait for a stream */
	uint64_t allocated; /* the same without those frees (torch's allocated_bytes) */
	uint64_t requested; /* bytes requested, of the active blocks */
	uint64_t segments;  /* current segments; an expandable one counts while it has memory */
	uint64_t reserved_peak, active_peak, allocated_peak;
	uint64_t active_at_peak; /* active bytes when reserved was highest (the highest such) */
	uint64_t segments_peak;
	uint64_t n_seg_alloc, n_seg_free; /* segments or mapped parts taken and released */
	uint64_t retries;  /* requests that needed the whole cache released (num_alloc_retries) */
	uint64_t gc_bytes; /* released by garbage collection */
	uint64_t ooms;	   /* requests that failed */
} tide_sim_stats;

/* Returns NULL if memory runs out. Ids passed to alloc and free must be below n_ids. `d` is
 * copied. */
tide_sim *tide__sim_new(const tide_sim_config *c, const tide_sim_device *d, uint32_t n_ids);
void tide__sim_free_all(tide_sim *s);

/* Returns TIDE_OK; TIDE_ELIMIT when device memory runs out; TIDE_EUSAGE when the id is in use or
 * out of range; TIDE_ENOMEM when the simulator itself runs out (it is then unusable). */
tide_code tide__sim_allocate(tide_sim *s, uint32_t id, uint64_t size, uint32_t stream,
			     uint32_t pool);
/* Frees the block. Unknown ids are ignored. */
tide_code tide__sim_free(tide_sim *s, uint32_t id);
/* Requests a free while a stream still uses the block, until tide__sim_free (or a full release). */
void tide__sim_free_asked(tide_sim *s, uint32_t id);
/* Simulates torch.cuda.empty_cache(). */
tide_code tide__sim_empty_cache(tide_sim *s);
/* Marks a private pool whose graphs are gone: its segments may be released from now on. */
tide_code tide__sim_end_pool(tide_sim *s, uint32_t pool);

/* Gets address and size of the block of a live id; returns false if it is not live. */
bool tide__sim_block(const tide_sim *s, uint32_t id, uint64_t *addr, uint64_t *size);

/* Returns true if the id's free was requested and still waits. */
bool tide__sim_is_pending(const tide_sim *s, uint32_t id);

const tide_sim_stats *tide__sim_stats(const tide_sim *s);

/* Gets the largest free block, and the bytes of free blocks in segments partly in use
 * (inactive_split; expandable segments do not count, as in torch). Walks the free blocks. */
void tide__sim_free_blocks(const tide_sim *s, uint64_t *largest, uint64_t *inactive_split);

/* A block of a segment, or of a mapped part of an expandable one. */
typedef struct tide_sim_piece {
	uint64_t addr, size;
	uint32_t id;	 /* of a block in use */
	bool used;	 /* also while its free waits for a stream */
	bool begins;	 /* a segment or mapped part begins here */
	bool expandable; /* of an expandable segment */
} tide_sim_piece;
/* Lists all blocks, segment by segment (in any order), in address order inside each. `out` has space
 * for tide__sim_count_blocks. Returns their number. */
size_t tide__sim_list_blocks(const tide_sim *s, tide_sim_piece *out);
size_t tide__sim_count_blocks(const tide_sim *s);

/* Releases whole free plain segments in the order of the listed addresses, and stops at the
 * first address without one. Returns how many. O(free blocks + n). */
size_t tide__sim_release_listed(tide_sim *s, const uint64_t *addr, size_t n);

/* Makes an independent copy on device `d`, NULL if memory runs out; returns the bytes a
 * simulator occupies. */
tide_sim *tide__sim_copy(const tide_sim *s, const tide_sim_device *d);
size_t tide__sim_bytes(const tide_sim *s);

/* The initial state, added segment by segment with its blocks in use, which are sorted by address,
 * disjoint and inside it. Expandable: one mapped part; parts of one range come in address order.
 * Returns TIDE_ECORRUPT if they do not. */
typedef struct tide_sim_seed {
	uint64_t addr, size, requested;
	uint32_t id;
} tide_sim_seed;
/* Sets where an expandable range begins, if below its first part; call before its parts. */
tide_code tide__sim_seed_range(tide_sim *s, tide_sim_where where, uint64_t addr);
tide_code tide__sim_seed_segment(tide_sim *s, tide_sim_where where, uint64_t addr, uint64_t size,
				 bool expandable, const tide_sim_seed *blocks, size_t n);

/* Checks every internal invariant (tests). Returns NULL, or a sentence naming the violated one. */
const char *tide__sim_check_state(const tide_sim *s);

#endif
