// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* PyTorch's CUDA caching allocator, simulated: requests in, decisions out.
 *
 * The simulator keeps blocks in segments exactly as the allocator does (rounding, small and large
 * pools, best fit by size then address, splitting, merging, garbage collection by age, release of
 * cached segments when the device refuses, expandable segments, private pools, streams) but owns no
 * memory: a tide_sim_device answers for the device. One thread at a time.
 *
 *     tide_sim *s = tide__sim_new(&config, &device, n_ids);
 *     tide__sim_alloc(s, id, bytes, stream, pool);  tide__sim_free(s, id);
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

/* The device's side. `where` is for whom. All members set; `user` is passed back. */
typedef struct tide_sim_device {
	void *user;
	/* A segment of `size` bytes: its address, 0 = out of memory. */
	uint64_t (*take)(void *user, tide_sim_where where, uint64_t size);
	/* `size` bytes of address space for an expandable segment; cannot fail. */
	uint64_t (*range)(void *user, tide_sim_where where, uint64_t size);
	/* Memory at [addr, addr + size) of such a range; false = out of memory. */
	bool (*map)(void *user, tide_sim_where where, uint64_t addr, uint64_t size);
	/* A segment, or mapped memory, is given back. */
	void (*give)(void *user, tide_sim_where where, uint64_t addr, uint64_t size);
} tide_sim_device;

typedef struct tide_sim_stats {
	uint64_t reserved;  /* bytes taken from the device */
	uint64_t active;    /* block bytes in use, frees that wait for a stream included */
	uint64_t allocated; /* block bytes in use, those not included (torch's allocated_bytes) */
	uint64_t requested; /* bytes asked for, of the active blocks */
	uint64_t segments;  /* segments held; an expandable one counts while it has memory */
	uint64_t reserved_peak, active_peak, allocated_peak;
	uint64_t active_at_peak; /* active when reserved was highest (the highest such) */
	uint64_t segments_peak;
	uint64_t n_seg_alloc, n_seg_free; /* segments or stretches taken and given back */
	uint64_t retries;  /* requests that needed the whole cache released (num_alloc_retries) */
	uint64_t gc_bytes; /* given back by garbage collection */
	uint64_t ooms;	   /* requests that failed */
} tide_sim_stats;

/* NULL on exhaustion. Ids given to alloc and free are below n_ids. `d` is copied. */
tide_sim *tide__sim_new(const tide_sim_config *c, const tide_sim_device *d, uint32_t n_ids);
void tide__sim_free_all(tide_sim *s);

/* TIDE_OK; TIDE_ELIMIT when it runs out of device memory; TIDE_EUSAGE when the id is in use or out
 * of range; TIDE_ENOMEM when the simulator itself runs out (it is then of no further use). */
tide_code tide__sim_alloc(tide_sim *s, uint32_t id, uint64_t size, uint32_t stream, uint32_t pool);
/* The block is free again. An id that is not in use is ignored. */
tide_code tide__sim_free(tide_sim *s, uint32_t id);
/* Free asked for, but a stream still uses the block until tide__sim_free (or a full release). */
void tide__sim_free_asked(tide_sim *s, uint32_t id);
/* torch.cuda.empty_cache(). */
tide_code tide__sim_empty_cache(tide_sim *s);
/* A private pool whose graphs are gone: a release of the cache may take its segments from now on.
 */
tide_code tide__sim_pool_done(tide_sim *s, uint32_t pool);

/* Address and size of the block of a live id; false if it is not live. */
bool tide__sim_block(const tide_sim *s, uint32_t id, uint64_t *addr, uint64_t *size);

/* Is the id's free asked for and still waiting? */
bool tide__sim_is_pending(const tide_sim *s, uint32_t id);

const tide_sim_stats *tide__sim_stats(const tide_sim *s);

/* The largest free block, and bytes of free blocks in segments that are partly in use
 * (inactive_split; expandable segments do not count, as in torch). Walks the free blocks. */
void tide__sim_free_blocks(const tide_sim *s, uint64_t *largest, uint64_t *inactive_split);

/* Give whole free plain segments back, in the order of their addresses in the list, until there is
 * none at one; how many. O(free blocks + n). */
size_t tide__sim_release_listed(tide_sim *s, const uint64_t *addr, size_t n);

/* A copy that goes on by itself, against device `d`; NULL on exhaustion. And the bytes it takes. */
tide_sim *tide__sim_copy(const tide_sim *s, const tide_sim_device *d);
size_t tide__sim_bytes(const tide_sim *s);

/* State from before: a segment and the blocks in use in it, sorted by address, inside it, disjoint.
 * Expandable: one mapped stretch; stretches of one range come in address order.
 * TIDE_ECORRUPT if they are not. */
typedef struct tide_sim_seed {
	uint64_t addr, size, requested;
	uint32_t id;
} tide_sim_seed;
/* Where an expandable range begins, when that is below its first stretch; before its stretches. */
tide_code tide__sim_seed_range(tide_sim *s, tide_sim_where where, uint64_t addr);
tide_code tide__sim_seed_segment(tide_sim *s, tide_sim_where where, uint64_t addr, uint64_t size,
				 bool expandable, const tide_sim_seed *blocks, size_t n);

/* Check every internal rule (tests): NULL, or a sentence naming the one that is broken. */
const char *tide__sim_check_state(const tide_sim *s);

#endif
