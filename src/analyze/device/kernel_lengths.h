// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Device rows by their length, and the short ones by the op that launched them: many short kernels
 * cost more in launches than they compute. docs/analyses/kernels.md defines the figures. */
#ifndef TIDE_ANALYZE_DEVICE_KERNEL_LENGTHS_H
#define TIDE_ANALYZE_DEVICE_KERNEL_LENGTHS_H

#include "analyze/common/statistics.h"
#include "analyze/device/gpu_rows.h"

enum { TIDE_LENGTHS = 16 };
/* Lower ends of the classes, ns: 0, 1 us, 2 us, 5 us ... 50 ms. */
extern const int64_t tide__length_from[TIDE_LENGTHS];

typedef struct tide_short_kernel { /* short rows of one op and one name */
	tide_str op, kernel;	   /* op: none = outside any */
	tide_stat dur;
} tide_short_kernel;

typedef struct tide_kernel_lengths {
	uint64_t count[TIDE_LENGTHS];
	int64_t ns[TIDE_LENGTHS];
	uint64_t rows; /* of all classes */
	int64_t all_ns;
	tide_short_kernel *v; /* owned; most rows first */
	size_t n, cap;
} tide_kernel_lengths;

/* Adds the rows of the index up; rows below `short_ns` are short. O(spans). Release with
 * tide__kernel_lengths_free in any case. */
tide_code tide__find_kernel_lengths(const tide_model *m, const tide_gpu_rows *rows,
				    int64_t short_ns, tide_kernel_lengths *out, tide_error *err);
void tide__kernel_lengths_free(tide_kernel_lengths *x);

#endif
