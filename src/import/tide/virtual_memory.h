// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Physical memory of cuMemCreate: alive while it has a handle or a mapping.
 *
 * cuMemCreate gives a handle, cuMemRetainAllocationHandle another reference to it, cuMemRelease
 * drops one; cuMemMap holds the memory too, until cuMemUnmap, which may cover several mappings.
 * Handles of other processes (imported ones) are not this process's memory. */
#ifndef TIDE_IMPORT_TIDE_VIRTUAL_MEMORY_H
#define TIDE_IMPORT_TIDE_VIRTUAL_MEMORY_H

#include "import/tide/device_memory.h"

struct tide_virtual_call {
	int64_t t; /* Unix ns */
	uint64_t handle, addr, bytes, correlation;
	uint32_t device, source, number; /* number: its place among the calls */
	uint8_t operation;		 /* TIDE_VIRTUAL_* */
	bool host;
};

/* Sorts n calls and writes the resulting allocations and frees into out (room for 2 * n). Returns
 * their number, SIZE_MAX if memory runs out. */
size_t tide__virtual_memory_resolve(struct tide_virtual_call *v, size_t n,
				    struct tide_device_memory *out);

#endif
