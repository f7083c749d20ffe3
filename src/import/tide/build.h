// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Builds the model from events in time order: spans, allocations, segments, marks, samples,
 * tensors.
 *
 * For any events the model's invariants hold afterwards; repairs and omissions are counted here and
 * become facts of the model (docs/formats/tide.md, "Errors, repairs and facts"). */
#ifndef TIDE_IMPORT_TIDE_BUILD_H
#define TIDE_IMPORT_TIDE_BUILD_H

#include "import/tide/defs.h"
#include "import/tide/device_rows.h"
#include "import/tide/forward_backward.h"
#include "import/tide/live.h"
#include "import/tide/merge.h"

#define TIDE_BUILD_COUNTS(X) /* counter, fact, description */                                   \
	X(free_unknown, "loss.free_unknown", "frees of an address where nothing was allocated") \
	X(free_twice, "loss.free_twice", "frees of an address that was freed already")          \
	X(alloc_reused, "loss.alloc_reused", "allocations at an address that was still in use") \
	X(alloc_overlaps, "loss.alloc_overlaps", "allocations that overlap another live one")   \
	X(seg_free_unknown, "loss.segment_free_unknown", "segment frees that match no segment") \
	X(seg_reused, "loss.segment_reused", "segments at an address that was still in use")    \
	X(tensor_unknown, "loss.tensor_unknown",                                                \
	  "tensors at an address where nothing was allocated")                                  \
	X(view_outside, "loss.view_outside", "views that reach beyond their allocation")        \
	X(op_begin_lost, "loss.op_begin", "ops whose begin was lost")                           \
	X(op_end_unmatched, "loss.op_end", "ends without an op")                                \
	X(use_unknown, "uses.unknown", "uses of an address where nothing was allocated")        \
	X(heap_older, "heap.older_frees",                                                       \
	  "frees of heap blocks that are older than the recording")                             \
	X(undefined, "loss.undefined_ids", "uses of names, pools ... that are not defined")

struct tide_stray { /* a free that matched nothing */
	uint64_t addr;
	uint32_t pool;
	uint32_t before; /* number of allocs before it */
};

typedef struct tide_build {
	tide_model *m;	 /* borrowed */
	tide_defs *defs; /* borrowed */
	tide_live allocs, segments;
	tide_map tensors;	 /* alloc -> tensor */
	tide_strings *view_keys; /* (alloc, offset) -> row of views; NULL before the first */
	tide_map counters;	 /* name -> counter */
	tide_forward_backward joins;
	tide_device_rows device;
	struct tide_stray *strays;
	size_t n_strays, cap_strays;
	tide_str key_arg, key_sequence; /* "arg"; "sequence", 0 = not needed yet */
	uint32_t malloc_pool;		/* row of the pool of the host heap; 0 = none */
	double sample_mean;		/* bytes between its samples; 0 = it has every allocation */
	uint64_t events;		/* without LANE and DEPTH */
	size_t faulted_allocs, faulted_spans, faulted_events; /* rows whose pages are faulted in */
#define X(counter, fact, doc) uint64_t counter;
	TIDE_BUILD_COUNTS(X)
#undef X
} tide_build;

bool tide__build_init(tide_build *b, tide_model *m, tide_defs *defs);
/* Expects about this many events. Rows reserved now are never moved; unused ones cost address
 * space only, and tide__build_finish frees them. */
void tide__build_expect(tide_build *b, uint64_t events);
/* After the facts and definitions: finds the pool of the host heap and its sampling. */
void tide__build_heap(tide_build *b);
/* Adds n events of one ring, in order. Returns TIDE_ENOMEM, TIDE_ELIMIT (ids ran out). */
tide_code tide__build_run(tide_build *b, tide_ring *r, const tide_event *ev, size_t n,
			  tide_error *err);
/* Ends the trace: closes open spans, resolves stray frees, writes the counts as facts. */
tide_code tide__build_finish(tide_build *b, tide_merge *g, tide_error *err);
void tide__build_free(tide_build *b);

#endif
