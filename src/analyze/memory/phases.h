// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory per phase.
 *
 * A PHASE mark ends a phase and names it: the memory events since the previous mark (or the trace's
 * start). CHECKPOINT marks do so if the trace has no PHASE. The events after the last mark are the
 * tail, a phase without a name; a trace without marks is one such phase. Figures are kept per
 * scope: each pool, the main memory of each device, its L1 circular buffers, its other L1 buffers,
 * its whole L1, and all main memory together.
 *
 * For a scope and phases N = 0, 1, ... (current[-1] = peak[-1] = 0), exactly, in bytes:
 *     change[N]  = allocs[N] - frees[N]
 *     current[N] = current[N-1] + change[N]
 *     peak[N]    = max(peak[N-1], current[N-1] + segment_peak[N])
 * Definitions for readers: docs/analyses/phases.md. */
#ifndef TIDE_ANALYZE_MEMORY_PHASES_H
#define TIDE_ANALYZE_MEMORY_PHASES_H

#include "model/model.h"

typedef enum tide_scope_kind {
	TIDE_SCOPE_POOL,      /* one pool */
	TIDE_SCOPE_MAIN,      /* a device's pools that are not L1 */
	TIDE_SCOPE_L1_CB,     /* a device's L1 circular buffers: L1 pools named "CB" or "L1_CB" */
	TIDE_SCOPE_L1_BUFFER, /* its other L1 pools, except those named "SCRATCH" */
	TIDE_SCOPE_L1,	      /* all of its L1 */
	TIDE_SCOPE_TOTAL,     /* main memory of all devices */
} tide_scope_kind;

typedef struct tide_scope {
	tide_scope_kind kind;
	uint32_t device, pool; /* 0 where it does not apply */
	uint32_t pools;	       /* number of pools in it */
} tide_scope;

enum { TIDE_SCOPES_A_POOL = 3 }; /* itself, its device's part, that device's L1 or the total */

typedef struct tide_phase_level { /* one scope in one phase */
	uint64_t alloc_bytes, free_bytes;
	uint64_t allocs, frees;
	uint64_t before_bytes; /* part of alloc_bytes from before the recording */
	uint64_t segment_peak; /* highest use above the phase's start; >= 0 */
	int64_t change;
	uint64_t peak;	  /* highest use since the trace's start */
	uint64_t current; /* in use at the phase's end */
	uint64_t top;	  /* highest use within the phase, including bytes live at its start */
} tide_phase_level;

typedef struct tide_phase {
	uint32_t mark; /* the mark that ends it; 0 = the tail, or a phase by annotation */
	tide_str name; /* none = the tail, or between annotations */
	int64_t t0, t1;
	uint64_t event0, event1; /* its memory events: [event0, event1) */
	uint64_t count;		 /* number of phases in the sum; 1 unless summed */
} tide_phase;

typedef struct tide_phases {
	size_t n, n_scopes;
	bool summed; /* one phase per name */
	size_t last; /* if summed: the phase with the trace's end */
	tide_phase *phases;
	tide_scope *scopes;		    /* pools in order of id, then devices, then the total */
	tide_phase_level *levels;	    /* [phase * n_scopes + scope] */
	uint32_t (*of)[TIDE_SCOPES_A_POOL]; /* by pool: scopes it counts in, + 1; 0 = none */
} tide_phases;

/* Only pools with memory events have scopes. There is a tail if any event follows the last mark
 * or if there is no mark. O(events + phases × scopes). Release with tide__phases_free. */
tide_code tide__find_phases(const tide_model *m, tide_phases *out, tide_error *err);
/* The same with the user's ranges (record_function, NVTX: spans of category user_annotation
 * inside no other such span) as phases, in order of their starts; the time between them is a
 * phase without a name. If ranges of several threads overlap, the earlier one counts. Returns
 * TIDE_ENOTFOUND if there is none. */
tide_code tide__phases_find_by_annotation(const tide_model *m, tide_phases *out, tide_error *err);
/* Joins phases of one name, in order of first appearance. Allocations, frees and changes are summed;
 * peaks are the highest; `current` is that of the last; it reaches from the first start to the last end.
 * Returns false if memory runs out; `p` is then unchanged. */
bool tide__phases_join(tide_phases *p);
void tide__phases_free(tide_phases *p);

/* Name of the mark that a tracker's capture makes when it begins in a running recording. */
#define TIDE_BEFORE_CAPTURE "(before the capture)"
/* Returns the last phase with that name, where the last capture begins; 0 = none, or summed. */
size_t tide__phases_capture(const tide_model *m, const tide_phases *p);

/* Returns true if `pool` counts in scope `s`. */
bool tide__scope_has(const tide_model *m, const tide_scope *s, uint32_t pool);
/* Returns the capacity of a scope in bytes; 0 = unknown, also if only a part is known. */
uint64_t tide__scope_limit(const tide_model *m, const tide_scope *s);

/* Returns how many memory events of a phase begin or end an allocation's life; those of
 * allocations with drop[row] != 0 do not count (NULL = all count). O(events of the phase). */
uint64_t tide__phase_life_events(const tide_model *m, const tide_phase *p, const uint8_t *drop);

#endif
