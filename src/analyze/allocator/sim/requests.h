// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The request stream of one device, extracted from a trace: the program's requests to its caching
 * allocator, in order, and the recorded segments that the allocator took from the device. */
#ifndef TIDE_ANALYZE_ALLOCATOR_SIM_REQUESTS_H
#define TIDE_ANALYZE_ALLOCATOR_SIM_REQUESTS_H

#include "analyze/allocator/sim/sim.h"
#include "model/model.h"

enum { /* tide_request.kind */
       TIDE_REQ_ALLOC,
       TIDE_REQ_FREE,
       TIDE_REQ_FREE_ASKED,
       TIDE_REQ_OOM,	   /* an allocation that failed when recorded; freed at once if it
			    * succeeds */
       TIDE_REQ_POOL_DONE, /* a private pool's segments may be released from now on */
};

typedef struct tide_request {
	uint64_t size; /* bytes requested (ALLOC, OOM) */
	uint32_t id;   /* alloc row; mark row for OOM */
	uint32_t stream;
	uint32_t event; /* row of memory_events; for OOM: number of earlier memory events */
	uint16_t pool;
	uint8_t kind;
	bool waited; /* FREE: it was requested before and waited for a stream */
} tide_request;

/* A segment (or mapped part) recorded as taken or released. */
typedef struct tide_taken {
	uint64_t addr, size;
	uint32_t req; /* the request it was taken for, or the next one; n = after all */
	uint32_t stream;
	uint16_t pool;
	bool freed, small, expandable;
} tide_taken;

typedef struct tide_pool_done { /* a private pool's segments may be released from request req on */
	uint32_t req;
	uint16_t pool;
} tide_pool_done;

typedef struct tide_before { /* a segment from before the recording */
	uint64_t addr, size;
	uint32_t stream;
	uint16_t pool;
	bool small, expandable;
	size_t first, n; /* its blocks in `blocks` */
} tide_before;

typedef struct tide_requests {
	tide_request *r;
	uint64_t *addr; /* per request: recorded address of an allocation, else 0 */
	size_t n;
	tide_taken *taken;
	size_t n_taken;
	tide_before *before;
	size_t n_before;
	tide_sim_seed *blocks; /* in use before; by address */
	uint32_t *block_stream;
	uint16_t *block_pool;
	size_t n_blocks;
	size_t n_loose;	      /* blocks from before outside every known segment: the last ones */
	tide_pool_done *done; /* derived from releases; by request, each pool once */
	size_t n_done;
	uint32_t *empty; /* requests before which empty_cache() was called; ascending */
	size_t n_empty;
	uint64_t scatter; /* not 0: made-up segments are at random addresses, by this seed */
	uint32_t n_ids;
	uint64_t reserved_max; /* highest recorded reserved bytes, 0 = no segments recorded */
	uint64_t sampled_max;  /* the same of samples, in a recording without segments */
	uint64_t limit; /* bytes the allocator certainly could hold, known from an out-of-memory
			 * event; 0 = unknown */
	uint64_t memory_events; /* recorded events of this device */
	tide_sim_config recorded;
	bool settings_known; /* the trace records the settings */
	tide_device_id device;
} tide_requests;

/* Extracts the stream. *out is owned by the caller: tide__requests_free(). Returns
 * TIDE_ENOTFOUND if the device has no allocations; TIDE_ELIMIT if it has too many streams or
 * pools. */
tide_code tide__requests_new(const tide_model *m, tide_device_id device, tide_requests **out,
			     tide_error *err);
void tide__requests_free(tide_requests *q);
/* Returns true if request i requests memory, successfully or not. */
bool tide__wants_memory(const tide_requests *q, size_t i);

/* Reads the settings from the trace's facts; returns false and sets the defaults if there are
 * none. */
bool tide__sim_read_recorded(const tide_model *m, tide_sim_config *c);

#endif
