// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/torch/c10.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <string.h>

static const char library[] = "libc10.so";
static const char *const symbols[TIDE_C10_N][2] = {
	/* newest spelling first; before torch 2.1 sizes were signed */
	[TIDE_C10_ALLOC] = { "_ZN3c109alloc_cpuEm" },
	[TIDE_C10_FREE] = { "_ZN3c108free_cpuEPv" },
	[TIDE_C10_REPORT] = { "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
			      "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE" },
	[TIDE_C10_OOM] = { "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
			   "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE" },
	[TIDE_C10_TYPE_NAME] = { "_ZN3c1014DeviceTypeNameB5cxx11ENS_10DeviceTypeEb" },
	[TIDE_C10_TYPE_VALID] = { "_ZN3c1017isValidDeviceTypeENS_10DeviceTypeE" },
};

_Atomic(void *) tide__c10_found[TIDE_C10_N];

/* Matches a library's name with an optional version suffix. Only its path is copied: iterating over
 * loaded libraries holds a lock, and another thread may wait for it while holding the lock that
 * dlopen needs. */
static int is_it(struct dl_phdr_info *info, size_t size, void *user)
{
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	if (!slash || strncmp(slash + 1, library, strlen(library)) != 0 ||
	    strlen(info->dlpi_name) >= PATH_MAX)
		return 0;
	strcpy(user, info->dlpi_name);
	return 1;
}

/* Returns NULL if there is none; PyTorch may be built into one library of any name. */
static void *open_loaded(void)
{
	char path[PATH_MAX];
	void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle && dl_iterate_phdr(is_it, path))
		handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	return handle;
}

static void *look_for(void *handle, const char *const names[2])
{
	void *p = NULL;
	for (int i = 0; !p && i < 2 && names[i]; i++)
		p = dlsym(handle ? handle : RTLD_NEXT, names[i]);
	return p;
}

void *tide__c10_find(int which)
{
	void *handle = open_loaded();
	for (int i = 0; i < TIDE_C10_N; i++)
		if (!atomic_load_explicit(&tide__c10_found[i], memory_order_relaxed))
			atomic_store_explicit(&tide__c10_found[i], look_for(handle, symbols[i]),
					      memory_order_release);
	if (handle)
		dlclose(handle);
	return atomic_load_explicit(&tide__c10_found[which], memory_order_relaxed);
}

bool tide__c10_is(uintptr_t f)
{
	for (int i = 0; i < TIDE_C10_N; i++)
		if ((uintptr_t)atomic_load_explicit(&tide__c10_found[i], memory_order_relaxed) == f)
			return true;
	return false;
}
