// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A run that was predicted without a device: its virtual allocations, and how PyTorch's caching
 * allocator would serve them on a device of a given capacity.
 *
 * The recording comes from `tidemark predict -- PROGRAM` (facts predicted.*). Live bytes come from
 * its allocations; reserved bytes and the point where memory runs out come from the allocator
 * simulator (allocator/sim). Definitions: docs/analyses/predict.md. */
#ifndef TIDE_ANALYZE_PREDICT_VIRTUAL_RUN_H
#define TIDE_ANALYZE_PREDICT_VIRTUAL_RUN_H

#include "analyze/memory/groups.h"
#include "analyze/live/live_set.h"
#include "analyze/memory/phases.h"
#include "analyze/predict/virtual_range.h"

typedef struct tide_virtual_run {
	uint32_t device;
	size_t scope;		  /* scope of the device's main memory in `phases` */
	uint64_t capacity;	  /* of the simulated device; 0 = unlimited */
	uint64_t allocated;	  /* peak of block bytes in use, in the simulator */
	uint64_t reserved;	  /* peak of bytes taken from the device */
	tide_virtual_range range; /* with other workspaces that cuDNN may choose */
	const char *unended;	  /* why the program did not end by itself, so that more may follow;
				* NULL = it did. Of the model, or set by the caller */
	bool out;		  /* it runs out of memory ... */
	uint32_t out_alloc;	  /* ... in this allocation ... */
	uint64_t out_event;	  /* ... at this memory event */
	uint64_t out_reserved;	  /* bytes reserved then */
	tide_phases phases;
	tide_live_set live; /* at the peak of live bytes */
	tide_groups roles, modules;
} tide_virtual_run;

/* Returns true if the model is a predicted run. */
bool tide__is_predicted(const tide_model *m);

/* Runs the prediction. `settings` may be NULL (PyTorch's defaults). Returns TIDE_ENOTFOUND
 * without allocations. Release with tide__virtual_run_free in any case. */
tide_code tide__virtual_run(const tide_model *m, uint32_t device, uint64_t capacity,
			    const tide_sim_config *settings, tide_virtual_run *out,
			    tide_error *err);
void tide__virtual_run_free(tide_virtual_run *r);

/* Returns the phase of memory event `i`; n = none. */
size_t tide__virtual_phase(const tide_virtual_run *r, uint64_t i);

#endif
