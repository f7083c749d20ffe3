// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Unions of the device rows by type: what temporal breakdown, overlap and collectives start from.
 */
#ifndef TIDE_ANALYZE_BREAKDOWN_H
#define TIDE_ANALYZE_BREAKDOWN_H

#include "analyze/cover.h"
#include "analyze/gpurows.h"

/* types[TIDE_GPU_TYPES], zeroed by the caller; free each. False on exhaustion. */
bool tide__gpu_unions(const tide_model *m, const tide_gpu_rows *rows, tide_cover *types);

/* Time during which exactly the lists in the mask run, for each of the 2^k masks of k <= 8 lists;
 * out[0] is the time between first start and last end when none runs. O(k x pieces). */
void tide__cover_sets(const tide_cover *lists, unsigned k, int64_t *out);

#endif
