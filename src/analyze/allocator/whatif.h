// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The recorded requests under other allocator settings or on a smaller device.
 *
 * Definitions: docs/analyses/whatif.md. */
#ifndef TIDE_ANALYZE_ALLOCATOR_WHATIF_H
#define TIDE_ANALYZE_ALLOCATOR_WHATIF_H

#include "analyze/allocator/sim/sweep.h"
#include "analyze/live/usage.h"

enum { TIDE_WHATIF_TRIES = 64 };

typedef struct tide_whatif_query {
	uint32_t device;
	uint64_t capacity;	/* 0 = as recorded in the trace */
	const char *const *set; /* "NAME=VALUE", applied together as one try; borrowed */
	size_t n_set;
	bool standard; /* also try the standard settings */
} tide_whatif_query;

typedef struct tide_whatif {
	const tide_model *m; /* borrowed */
	uint32_t device;
	tide_requests *q; /* NULL = nothing to replay */
	tide_sim_config tries[TIDE_WHATIF_TRIES];
	size_t n;
	tide_sweep sweep;
	uint64_t capacity; /* as given, or as recorded in the trace; 0 = unlimited */
	bool gc_left_out;  /* garbage_collection_threshold was not tried: the capacity is unknown */
	uint64_t reserved; /* recorded peak; TIDE_RESERVED_NONE = unknown */
	uint8_t source;	   /* of it: TIDE_RESERVED_* */
} tide_whatif;

/* Returns TIDE_OK, with x->q NULL if the trace has no allocations of a caching allocator;
 * TIDE_EUSAGE if a setting of q->set is wrong: `err` names it. Release with tide__whatif_free in
 * any case. */
tide_code tide__whatif_find(const tide_model *m, const tide_whatif_query *q, tide_whatif *out,
			    tide_error *err);
void tide__whatif_free(tide_whatif *x);
/* Returns the time of a recorded request, ns. */
int64_t tide__whatif_time(const tide_whatif *x, const tide_request *r);

#endif
