// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Modules: what each took in time and memory, forward and backward.
 *
 * A module's calls are spans named "nn.Module: NAME". A backward op (the target of a FWD_BWD flow,
 * with the autograd engine's span around it) belongs where its forward op ran, so its time and
 * allocations count for the modules around that. A call inside a backward op is recomputation
 * (activation checkpointing) and counted apart, not in forward or backward. Definitions: docs/analyses/modules.md. */
#ifndef TIDE_ANALYZE_OPS_MODULES_H
#define TIDE_ANALYZE_OPS_MODULES_H

#include "model/model.h"

typedef struct tide_module_row {
	tide_str name;		     /* of the span, "nn.Module: " included */
	uint64_t calls, again_calls; /* forward; recomputed while the backward runs */
	int64_t forward_ns, backward_ns, again_ns;
	uint64_t forward_bytes, backward_bytes, again_bytes; /* allocated */
	uint64_t backward_ops;
} tide_module_row;

typedef struct tide_modules {
	tide_module_row *rows; /* in order of first call */
	size_t n, cap;
	tide_str *of; /* per span: the innermost module it is part of, forward or backward; none */
	bool any;     /* false: no span is part of one */
	tide_map index; /* name -> row + 1 */
} tide_modules;

/* O(spans + allocs + flows). Release with tide__modules_free in any case. */
tide_code tide__find_modules(const tide_model *m, tide_modules *out, tide_error *err);
/* Only `of`. */
tide_code tide__modules_of(const tide_model *m, tide_modules *out, tide_error *err);
void tide__modules_free(tide_modules *x);

/* A module's name without "nn.Module: ". Borrowed. */
const char *tide__module_text(const tide_model *m, tide_str name);

#endif
