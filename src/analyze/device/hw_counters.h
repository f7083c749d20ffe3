// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Hardware counters of kernels (cuda_profiler_range rows), with the ops that launched them.
 *
 * Such rows carry one value per metric and no correlation: they are matched with the kernel
 * launches in time order, which is valid only if there are as many rows as launches. Pure; O(rows
 * log rows). */
#ifndef TIDE_ANALYZE_DEVICE_HW_COUNTERS_H
#define TIDE_ANALYZE_DEVICE_HW_COUNTERS_H

#include "model/model.h"

typedef struct tide_hwcounter {
	tide_span_id range;  /* the row; its metrics are its attributes */
	tide_span_id launch; /* none if the numbers differ */
} tide_hwcounter;

typedef struct tide_hwcounters {
	tide_hwcounter *v; /* owned; by time */
	size_t n;
	size_t launches; /* kernel launches in the trace */
} tide_hwcounters;

tide_code tide__find_counters(const tide_model *m, tide_hwcounters *out, tide_error *err);
void tide__hwcounters_free(tide_hwcounters *h);

#endif
