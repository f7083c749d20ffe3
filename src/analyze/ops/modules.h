// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Time and memory of each module, forward and backward.
 *
 * A module's calls are spans named "nn.Module: NAME". A backward op (the target of a FWD_BWD flow,
 * with the autograd engine's span around it) belongs to the place where its forward op ran, so its
 * time and allocations count for the modules around that op. A call inside a backward op is
 * recomputation (activation checkpointing) and counted separately, not in forward or backward.
 * Definitions: docs/analyses/modules.md. */
#ifndef TIDE_ANALYZE_OPS_MODULES_H
#define TIDE_ANALYZE_OPS_MODULES_H

#include "model/model.h"

typedef struct tide_module_row {
	tide_str name;		     /* of the span, including "nn.Module: " */
	uint64_t calls, again_calls; /* forward; recomputed during backward */
	int64_t forward_ns, backward_ns, again_ns;
	/* of the device rows launched in these times */
	int64_t forward_device_ns, backward_device_ns, again_device_ns;
	uint64_t forward_bytes, backward_bytes, again_bytes; /* allocated */
	uint64_t backward_ops;
} tide_module_row;

/* The pass that a span runs in. */
enum { TIDE_PASS_FORWARD, TIDE_PASS_BACKWARD, TIDE_PASS_RECOMPUTE, TIDE_PASSES };

typedef struct tide_modules {
	tide_module_row *rows; /* in order of first call */
	size_t n, cap;
	tide_str *of;	/* per span: its innermost module, forward or backward; or none */
	uint8_t *pass;	/* per span: TIDE_PASS_*; NULL unless requested */
	bool device;	/* false: the trace has no device rows: their times are unknown */
	bool any;	/* false: no span is in a module */
	bool memory;	/* false: the trace does not record it: bytes are unknown */
	bool ops;	/* false: no op was recorded: backward figures are unknown */
	tide_map index; /* name -> row + 1 */
} tide_modules;

/* O(spans + allocs + flows). Release with tide__modules_free in any case. */
tide_code tide__find_modules(const tide_model *m, tide_modules *out, tide_error *err);
/* The same, filling `of` only. */
tide_code tide__modules_find_of_spans(const tide_model *m, tide_modules *out, tide_error *err);
/* The same, filling `of` and `pass`, also where the trace has no modules. */
tide_code tide__modules_find_passes(const tide_model *m, tide_modules *out, tide_error *err);
void tide__modules_free(tide_modules *x);

/* Returns a module's name without "nn.Module: ". Borrowed. */
const char *tide__module_text(const tide_model *m, tide_str name);

#endif
