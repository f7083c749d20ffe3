// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Calls, host time and device time of each op by the shapes, dtypes and strides of its inputs.
 *
 * An op's device rows are those whose launch began in it (innermost_op.h). Time in nested ops counts
 * for the ops around them, too; an op inside one with the same arguments (PyTorch dispatched one
 * call twice) is neither counted nor timed again. Definitions: docs/analyses/ops.md. */
#ifndef TIDE_ANALYZE_OPS_OP_SHAPES_H
#define TIDE_ANALYZE_OPS_OP_SHAPES_H

#include "analyze/ops/op_arguments.h"

typedef struct tide_op_shape {
	tide_argument_set a;
	uint64_t calls;
	int64_t wall_ns;	/* on the host */
	uint64_t rows;		/* device rows launched in it, not in an op in it */
	int64_t device_self_ns; /* of these */
	int64_t device_ns;	/* also those launched in ops in it */
} tide_op_shape;

typedef struct tide_op_shapes {
	tide_op_shape *v; /* owned; in order of first appearance */
	size_t n;
	bool device;	    /* false: the trace has no device rows: their times are unknown */
	int64_t outside_ns; /* device time launched outside any op, or from an unknown place */
	int64_t device_ns;  /* of all device rows */
} tide_op_shapes;

/* Needs a model loaded with TIDE_WANT_SHAPES. O(spans + attrs). Release with tide__op_shapes_free in
 * any case. */
tide_code tide__find_op_shapes(const tide_model *m, tide_op_shapes *out, tide_error *err);
void tide__op_shapes_free(tide_op_shapes *x);

#endif
