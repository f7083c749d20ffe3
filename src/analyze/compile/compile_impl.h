// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals shared by the parts of the compile report. */
#ifndef TIDE_ANALYZE_COMPILE_COMPILE_IMPL_H
#define TIDE_ANALYZE_COMPILE_COMPILE_IMPL_H

#include "analyze/compile/compile_report.h"

#define TIDE_COMPILE_KEYS(X)     \
	X(compile_id)            \
	X(function)              \
	X(file)                  \
	X(line)                  \
	X(direction)             \
	X(total_us)              \
	X(backward_us)           \
	X(backend_us)            \
	X(inductor_us)           \
	X(codegen_us)            \
	X(triton_us)             \
	X(autotune_us)           \
	X(guards)                \
	X(graph_ops)             \
	X(restarts)              \
	X(ops)                   \
	X(kernels)               \
	X(launches)              \
	X(external)              \
	X(fail_type)             \
	X(fail_reason)           \
	X(recompile_reason)      \
	X(cudagraph_skip_reason) \
	X(reason)                \
	X(cache)                 \
	X(state)

typedef struct tide_compile_keys { /* ids of attribute names */
#define X(name) tide_str name;
	TIDE_COMPILE_KEYS(X)
#undef X
} tide_compile_keys;

/* Adds the break that a note describes; returns false if memory runs out. */
bool tide__break_add(const tide_model *m, const tide_compile_keys *k, uint32_t span,
		     tide_compile_report *r);
/* Sums the compile time of the functions that resume after breaks. O(breaks × units). */
void tide__breaks_add_resumed(const tide_model *m, tide_compile_report *r);

#endif
