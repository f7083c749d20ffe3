// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Figures of a live recording at a failed request, where a snapshot has segments: PyTorch's own
 * totals, the driver's, and the limit that the program had set. */
#ifndef TIDE_ANALYZE_ALLOCATOR_OOM_RECORDED_H
#define TIDE_ANALYZE_ALLOCATOR_OOM_RECORDED_H

#include "model/model.h"

#define TIDE_RECORDED_NOTHING UINT64_MAX

/* Returns the bytes that PyTorch had allocated on the device at time t, the time of a failed
 * request; TIDE_RECORDED_NOTHING if the recording does not have them. O(log samples + samples of other
 * counters just before). */
uint64_t tide__recorded_allocated(const tide_model *m, uint32_t device, int64_t t);
/* Returns the bytes that set_per_process_memory_fraction allows the process on the device, by the
 * device's size at time t; TIDE_RECORDED_NOTHING = no limit is known. */
uint64_t tide__recorded_limit(const tide_model *m, uint32_t device, int64_t t);

#endif
