// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A run that was predicted without a device: its virtual allocations, and what PyTorch's caching
 * allocator would make of them on a device of a given capacity.
 *
 * The recording is one of `tidemark predict -- PROGRAM` (facts predicted.*). Live bytes come from
 * its allocations; reserved bytes from the allocator's simulator (allocator/sim), and so does the
 * place where it runs out. docs/analyses/predict.md has the definitions. */
#ifndef TIDE_ANALYZE_PREDICT_VIRTUAL_RUN_H
#define TIDE_ANALYZE_PREDICT_VIRTUAL_RUN_H

#include "analyze/allocator/sim/replay.h"
#include "analyze/memory/groups.h"
#include "analyze/memory/live_set.h"
#include "analyze/memory/phases.h"

typedef struct tide_virtual_run {
	uint32_t device;
	size_t scope;	    /* of the device's main memory in `phases` */
	uint64_t capacity;  /* that it was run on; 0 = without end */
	uint64_t allocated; /* peak of block bytes in use, as the simulator has them */
	uint64_t reserved;  /* peak of bytes taken from the device, `range` included */
	/* part of it that may be less: workspaces that cuDNN chooses on the device */
	uint64_t range;
	bool out;	       /* it runs out of memory ... */
	uint32_t out_alloc;    /* ... in this allocation ... */
	uint64_t out_move;     /* ... which is this move */
	uint64_t out_reserved; /* bytes reserved then */
	tide_phases phases;
	tide_live_set live; /* at the peak of live bytes */
	tide_groups roles, modules;
} tide_virtual_run;

/* Is the model one that was predicted? */
bool tide__is_predicted(const tide_model *m);

/* Find all of it. `settings` may be NULL (PyTorch's defaults). TIDE_ENOTFOUND without allocations.
 * Release with tide__virtual_run_free in any case. */
tide_code tide__virtual_run(const tide_model *m, uint32_t device, uint64_t capacity,
			    const tide_sim_config *settings, tide_virtual_run *out,
			    tide_error *err);
void tide__virtual_run_free(tide_virtual_run *r);

/* The phase that move `i` is in; n = none. */
size_t tide__virtual_phase(const tide_virtual_run *r, uint64_t i);

#endif
