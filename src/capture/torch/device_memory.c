// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/torch/device_memory.h"

#include <dlfcn.h>
#include <stdint.h>

typedef int info_fn(size_t *, size_t *); /* of CUDA's driver and of HIP: 0 = success */

static info_fn *find(const char *library, const char *symbol)
{
	void *l = dlopen(library, RTLD_NOLOAD | RTLD_NOW);
	return l ? (info_fn *)(uintptr_t)dlsym(l, symbol) : NULL;
}

bool tide__device_memory(size_t *free_bytes, size_t *total_bytes)
{
	static const char *const drivers[][2] = { { "libcuda.so.1", "cuMemGetInfo_v2" },
						  { "libamdhip64.so", "hipMemGetInfo" } };
	for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
		info_fn *f = find(drivers[i][0], drivers[i][1]);
		if (f && f(free_bytes, total_bytes) == 0)
			return true;
	}
	return false;
}
