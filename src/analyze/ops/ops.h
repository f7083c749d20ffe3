// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Ops with their counts, times and memory: the op tree or a table by name.
 *
 * Definitions: docs/analyses/ops.md. */
#ifndef TIDE_ANALYZE_OPS_OPS_H
#define TIDE_ANALYZE_OPS_OPS_H

#include "analyze/ops/op_tree.h"

typedef struct tide_ops_query {
	uint32_t device; /* memory of this one; TIDE_ANY = all */
	bool streams;	 /* also rows of devices: kernels, copies, waits */
	bool flat;	 /* also build the table by name */
} tide_ops_query;

typedef struct tide_ops {
	const tide_model *m; /* borrowed */
	uint32_t device;
	bool has_flat;
	bool memory; /* false: the trace does not record it: bytes, counts and peaks are unknown */
	tide_optree tree;
	tide_op_flat flat; /* empty unless requested */
} tide_ops;

/* `m` is borrowed until tide__ops_free, which must be called even after a failure. */
tide_code tide__ops_find(const tide_model *m, const tide_ops_query *q, tide_ops *out,
			 tide_error *err);
void tide__ops_free(tide_ops *x);

#endif
