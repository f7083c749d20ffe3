// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Names of counters and facts of one device: "torch.reserved_bytes.cuda:0" (PyTorch's memory
 * reports), "nvml.cuda:0.used_bytes" (the driver), "gpu.uuid.cuda:0". */
#ifndef TIDE_MODEL_DEVICE_COUNTER_H
#define TIDE_MODEL_DEVICE_COUNTER_H

#include "model/model.h"

/* Returns the text id of the counter of `what` ("reserved", "allocated") on a device: its kind, or
 * the name of a device whose kind has no number, and its index. 0 = the trace has no such
 * text. */
uint32_t tide__device_counter_name(const tide_model *m, const char *what, uint32_t device);
/* Returns that counter, 0 = the trace has none. */
uint32_t tide__device_counter(const tide_model *m, const char *what, uint32_t device);

/* Returns the fact "WHAT.cuda:N" of a GPU ("allocator.fraction"), -1 = the trace has none. */
int64_t tide__device_fact(const tide_model *m, const char *what, uint32_t device);

/* Returns the counter "SOURCE.cuda:N.WHAT" of a GPU ("nvml", "used_bytes"), 0 = the trace has
 * none. */
uint32_t tide__gpu_counter(const tide_model *m, const char *source, const char *what,
			   uint32_t device);
/* Writes a text that identifies a GPU across recordings: its UUID, else "HOST:INDEX". Returns
 * buf. */
char *tide__gpu_identity(const tide_model *m, uint32_t device, char *buf, size_t n);

#endif
