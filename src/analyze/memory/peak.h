// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Allocations alive at the memory peak, in groups.
 *
 * Definitions: docs/analyses/peak.md. */
#ifndef TIDE_ANALYZE_MEMORY_PEAK_H
#define TIDE_ANALYZE_MEMORY_PEAK_H

#include "analyze/memory/groups.h"
#include "analyze/memory/moment.h"
#include "analyze/memory/peak_savings.h"
#include "analyze/memory/roles.h"
#include "analyze/live/usage.h"

typedef struct tide_peak_query {
	uint32_t device; /* TIDE_ANY = the device with the highest peak */
	const char
		*pool;	/* name: only this pool, of several the highest; NULL = all of the device */
	tide_moment at; /* chosen and not at_peak: that moment instead of the peak */
	int by;		/* tide_group_by, or TIDE_PEAK_BEST */
	tide_group_names names;
} tide_peak_query;

/* Groups by the property that most bytes have: op, else stack, else size. */
#define TIDE_PEAK_BEST (-1)

typedef struct tide_peak {
	const tide_model *m; /* borrowed */
	tide_usage usage;
	uint32_t device;
	uint32_t pool;		 /* row in pools; 0 = all of the device (tide__pool_in_device) */
	const tide_level *level; /* in usage: of the pool or the device */
	tide_moment at;
	uint64_t position;
	tide_live_set alive;
	tide_groups groups;
	uint64_t bytes, requested; /* of everything alive */
	uint64_t reserved;	   /* at that moment; TIDE_RESERVED_NONE = unknown */
	tide_roles roles;	   /* when grouped by role */
	tide_peak_saving *savings; /* of the first n_savings groups; NULL if not at the peak */
	size_t n_savings;
	uint64_t never_used; /* bytes at the peak that are never used again (stale.h); UINT64_MAX =
			      * unknown, or not at the peak of a device */
	bool known;	     /* false: the trace records no allocations, the peak is unknown */
	bool only_sizes;     /* the trace has sizes of memory events, but no addresses */
} tide_peak;

/* O(events). `m` is borrowed until tide__peak_free, which must be called even after a
 * failure. */
tide_code tide__peak_find(const tide_model *m, const tide_peak_query *q, tide_peak *out,
			  tide_error *err);
void tide__peak_free(tide_peak *x);

#endif
