// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The memory of a GPU as its driver counts it, of the calling thread's current device: what
 * PyTorch's allocator asks when a request fails. The driver is only asked if the program has loaded
 * it. */
#ifndef TIDE_CAPTURE_TORCH_DEVICE_MEMORY_H
#define TIDE_CAPTURE_TORCH_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Returns false if there is no driver or no current device. */
bool tide__device_memory(size_t *free_bytes, size_t *total_bytes);

#endif
