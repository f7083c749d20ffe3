// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* HTA's trace diff: rows of the first profiler step of each trace, counted and summed by name. */
#ifndef TIDE_ANALYZE_COMPAT_OPDIFF_H
#define TIDE_ANALYZE_COMPAT_OPDIFF_H

#include "analyze/compat/frame.h"

enum { TIDE_COMPAT_ALL, TIDE_COMPAT_CPU, TIDE_COMPAT_GPU };

typedef struct tide_opdiff_row {
	char *name;	   /* owned */
	uint64_t count[2]; /* control, test */
	int64_t sum[2];	   /* µs */
} tide_opdiff_row;

typedef struct tide_opdiff {
	int64_t step[2];    /* the compared steps, -1 = the trace has none */
	tide_opdiff_row *v; /* owned; by name */
	size_t n;
	uint64_t added, deleted, increased, decreased, unchanged; /* by count */
} tide_opdiff;

tide_code tide__find_op_diff(const tide_model *const m[2], const tide_compat_frame *const f[2],
			     int device, tide_opdiff *out, tide_error *err);
void tide__opdiff_free(tide_opdiff *d);

#endif
