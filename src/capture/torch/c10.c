// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/torch/c10.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static const struct {
	const char *library;
	const char *names[2]; /* newest spelling first; before torch 2.1 sizes were signed */
} symbols[TIDE_C10_N] = {
	[TIDE_C10_ALLOC] = { "libc10.so", { "_ZN3c109alloc_cpuEm" } },
	[TIDE_C10_FREE] = { "libc10.so", { "_ZN3c108free_cpuEPv" } },
	[TIDE_C10_REPORT] = { "libc10.so",
			      { "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
				"_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE" } },
	[TIDE_C10_OOM] = { "libc10.so",
			   { "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
			     "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE" } },
	[TIDE_C10_TYPE_NAME] = { "libc10.so",
				 { "_ZN3c1014DeviceTypeNameB5cxx11ENS_10DeviceTypeEb" } },
	[TIDE_C10_TYPE_VALID] = { "libc10.so", { "_ZN3c1017isValidDeviceTypeENS_10DeviceTypeE" } },
};

_Atomic(void *) tide__c10_found[TIDE_C10_N];

struct search {
	const char *library;
	void *handle;
};

/* Distributions add a version to a library's name. */
static int is_it(struct dl_phdr_info *info, size_t size, void *user)
{
	struct search *s = user;
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	if (!slash || strncmp(slash + 1, s->library, strlen(s->library)) != 0)
		return 0;
	s->handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
	return 1;
}

void *tide__c10_find(int which)
{
	struct search s = { symbols[which].library, NULL };
	void *p = NULL;
	s.handle = dlopen(s.library, RTLD_LAZY | RTLD_NOLOAD);
	if (!s.handle)
		dl_iterate_phdr(is_it, &s);
	for (int i = 0; s.handle && !p && i < 2 && symbols[which].names[i]; i++)
		p = dlsym(s.handle, symbols[which].names[i]);
	if (s.handle)
		dlclose(s.handle);
	atomic_store_explicit(&tide__c10_found[which], p, memory_order_release);
	return p;
}
