// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Device time by what launched it: the op with its shapes, the module, the kind of work, the stack.
 *
 * Each device row belongs to one group, so the groups add up to the sum of all device rows. Rows
 * launched outside any op (module, stack), and rows whose launch is not in the trace, are groups
 * of their own. Definitions: docs/analyses/kernels.md. */
#ifndef TIDE_ANALYZE_OPS_DEVICE_TIME_H
#define TIDE_ANALYZE_OPS_DEVICE_TIME_H

#include "analyze/common/paths.h"
#include "analyze/common/statistics.h"
#include "analyze/device/gpu_rows.h"
#include "analyze/ops/modules.h"

typedef enum tide_device_by {
	TIDE_DEVICE_BY_SHAPE,	 /* needs TIDE_WANT_SHAPES */
	TIDE_DEVICE_BY_MODULE,	 /* needs TIDE_WANT_FLOWS, for the backward pass */
	TIDE_DEVICE_BY_CATEGORY, /* the same */
	TIDE_DEVICE_BY_STACK,
} tide_device_by;

enum { TIDE_LAUNCHED_IN, TIDE_LAUNCHED_OUTSIDE, TIDE_LAUNCH_UNKNOWN }; /* `place` of a group */

typedef struct tide_device_group {
	uint8_t place;		       /* TIDE_LAUNCH*: outside = in no op, module or stack */
	uint8_t category;	       /* CATEGORY: TIDE_OPS_OF_* (op_category.h) */
	tide_str name;		       /* SHAPE: the op; MODULE: the module's span */
	tide_str dims, types, strides; /* SHAPE; none = unknown */
	uint32_t node;		       /* STACK: a node of `paths`; 0 = `stack` */
	tide_stack_id stack;	       /* STACK: the recorded call stack */
	uint64_t calls;		       /* SHAPE: ops that launched these rows */
	tide_stat dur;		       /* of the rows */
	int64_t pass_ns[TIDE_PASSES];  /* MODULE, CATEGORY: parts of the sum */
} tide_device_group;

typedef struct tide_device_time {
	tide_device_by by;
	tide_device_group *v; /* owned; most time first */
	size_t n, cap;
	tide_paths paths;
	uint64_t rows;
	int64_t ns; /* of all rows */
} tide_device_time;

/* Groups the rows of the index. O(spans + attrs). Release with tide__device_time_free in any
 * case. */
tide_code tide__find_device_time(const tide_model *m, const tide_gpu_rows *rows, tide_device_by by,
				 tide_device_time *out, tide_error *err);
void tide__device_time_free(tide_device_time *x);

#endif
