// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The memory of a device at the end of a trace, by holder: the answer about running out of it that a
 * snapshot without a failed request still has. Definitions: docs/analyses/oom.md. */
#ifndef TIDE_ANALYZE_ALLOCATOR_STANDING_H
#define TIDE_ANALYZE_ALLOCATOR_STANDING_H

#include "analyze/allocator/allocator_state.h"
#include "analyze/memory/peak.h"

typedef struct tide_standing {
	bool known;	  /* false: nothing is alive, or the trace has no segments */
	bool history;	  /* memory events led to it, not only a final state */
	uint32_t device;  /* the one given, else the one with the highest peak */
	tide_state state; /* segments and blocks */
	tide_peak alive;  /* live allocations in groups */
} tide_standing;

/* `device`: TIDE_ANY = the one with the highest peak. `m` is borrowed until tide__standing_free, which
 * must be called even after a failure. O(events). */
tide_code tide__standing_find(const tide_model *m, uint32_t device, tide_group_by by,
			      tide_standing *out, tide_error *err);
void tide__standing_free(tide_standing *x);

#endif
