// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Unions of the device rows by type: the input of temporal breakdown, overlap and collectives. */
#ifndef TIDE_ANALYZE_DEVICE_BREAKDOWN_H
#define TIDE_ANALYZE_DEVICE_BREAKDOWN_H

#include "analyze/common/interval_set.h"
#include "analyze/device/gpu_rows.h"

/* Computes the unions by type. types[TIDE_GPU_TYPES] must be zeroed by the caller; free each.
 * Returns false if memory runs out. */
bool tide__gpu_unions_find(const tide_model *m, const tide_gpu_rows *rows,
			   tide_interval_set *types);

#endif
