// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Names of the counters that PyTorch's memory reports fill: "torch.reserved_bytes.cuda:0". */
#ifndef TIDE_MODEL_DEVICE_COUNTER_H
#define TIDE_MODEL_DEVICE_COUNTER_H

#include "model/model.h"

/* Returns the text id of the counter of `what` ("reserved", "allocated") on a device: its kind, or
 * the name of a device whose kind has no number, and its index. 0 = the trace has no such
 * text. */
uint32_t tide__device_counter_name(const tide_model *m, const char *what, uint32_t device);
/* Returns that counter, 0 = the trace has none. */
uint32_t tide__device_counter(const tide_model *m, const char *what, uint32_t device);

#endif
