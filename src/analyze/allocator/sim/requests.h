// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The request stream of one device, taken from a trace: what the program asked of its caching
 * allocator, in order, and beside it what the allocator was seen to take from the device. */
#ifndef TIDE_ANALYZE_ALLOCATOR_SIM_REQUESTS_H
#define TIDE_ANALYZE_ALLOCATOR_SIM_REQUESTS_H

#include "analyze/allocator/sim/sim.h"
#include "model/model.h"

enum { /* tide_request.kind */
       TIDE_REQ_ALLOC,
       TIDE_REQ_FREE,
       TIDE_REQ_FREE_ASKED,
       TIDE_REQ_OOM,	   /* an allocation that failed when recorded; freed at once if it fits */
       TIDE_REQ_POOL_DONE, /* a private pool's segments may be released from now on */
};

typedef struct tide_request {
	uint64_t size; /* bytes asked for (ALLOC, OOM) */
	uint32_t id;   /* alloc row; mark row for OOM */
	uint32_t stream;
	uint32_t move; /* index in moves; for OOM: number of moves before it */
	uint16_t pool;
	uint8_t kind;
	bool waited; /* FREE: it had been asked for before, and waited for a stream */
} tide_request;

/* A segment (or mapped stretch) that was recorded as taken or given back. */
typedef struct tide_taken {
	uint64_t addr, size;
	uint32_t req; /* the request it happened for or just before; n = after all */
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
	uint64_t *addr; /* per request: where the recording put an allocation; else 0 */
	size_t n;
	tide_taken *taken;
	size_t n_taken;
	tide_before *before;
	size_t n_before;
	tide_sim_seed *blocks; /* in use before; by address */
	uint32_t *block_stream;
	uint16_t *block_pool;
	size_t n_blocks;
	size_t n_loose;	      /* blocks from before that lie in no known segment: the last ones */
	tide_pool_done *done; /* as releases show; by request, each pool once */
	size_t n_done;
	uint32_t *empty; /* requests before which empty_cache() was called; ascending */
	size_t n_empty;
	uint32_t n_ids;
	uint64_t reserved_max; /* highest recorded reserved bytes, 0 = no segments recorded */
	uint64_t limit; /* bytes the allocator could surely hold, as an out-of-memory event tells; 0
			   = unknown */
	uint64_t moves; /* recorded events of this device */
	tide_sim_config recorded;
	bool settings_known; /* the trace says what the settings were */
	tide_device_id device;
} tide_requests;

/* Extract the stream. *out is owned: tide__requests_free(). TIDE_ENOTFOUND when the device has no
 * allocations; TIDE_ELIMIT when it has more streams or pools than ids can hold. */
tide_code tide__requests_new(const tide_model *m, tide_device_id device, tide_requests **out,
			     tide_error *err);
void tide__requests_free(tide_requests *q);
/* Does request i ask for memory, whether or not it got any? */
bool tide__wants_memory(const tide_requests *q, size_t i);

/* Settings as the trace's facts give them; false when it says nothing (defaults then). */
bool tide__sim_recorded(const tide_model *m, tide_sim_config *c);

#endif
