// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/torch/hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/torch/start.h"

/* ---- the originals ---- */

/* c10::Device travels as two bytes in one register: type, index. */
typedef uint32_t c10_device;
typedef void *alloc_fn(size_t);
typedef void free_fn(void *);
typedef void report_fn(void *, int64_t, size_t, size_t, c10_device);
typedef void oom_fn(int64_t, size_t, size_t, c10_device);

enum { ALLOC, FREE, REPORT, OOM, N_SYMBOLS };
static const char *const symbols[N_SYMBOLS][2] = {
	/* newest spelling first; before torch 2.1 sizes were signed */
	[ALLOC] = { "_ZN3c109alloc_cpuEm", NULL },
	[FREE] = { "_ZN3c108free_cpuEPv", NULL },
	[REPORT] = { "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
		     "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE" },
	[OOM] = { "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
		  "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE" },
};
static _Atomic(void *) originals[N_SYMBOLS];
static _Atomic(uint64_t) seen[4]; /* cpu allocs, cpu frees, reports, ooms */

/* Python loads libc10 privately: it is found by its name, not in the global scope. */
static void *find(int which)
{
	void *c10 = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD), *p = NULL;
	for (int i = 0; c10 && !p && i < 2 && symbols[which][i]; i++)
		p = dlsym(c10, symbols[which][i]);
	if (c10)
		dlclose(c10);
	atomic_store_explicit(&originals[which], p, memory_order_release);
	return p;
}

static void *original(int which)
{
	void *p = atomic_load_explicit(&originals[which], memory_order_acquire);
	return __builtin_expect(p != NULL, 1) ? p : find(which);
}

/* POSIX lets dlsym's pointer be a function's; ISO C has no cast for it. */
#define ORIGINAL(type, which)       \
	((union {                   \
		 void *p;           \
		 type *f;           \
	 }){ .p = original(which) } \
		 .f)

static void count(int what)
{
	atomic_fetch_add_explicit(&seen[what], 1, memory_order_relaxed);
}

void tide_torch_seen_get(tide_torch_seen *out)
{
	out->cpu_allocs = atomic_load(&seen[0]);
	out->cpu_frees = atomic_load(&seen[1]);
	out->reports = atomic_load(&seen[2]);
	out->ooms = atomic_load(&seen[3]);
	out->found = 0;
	for (int i = 0; i < N_SYMBOLS; i++)
		out->found |= (atomic_load(&originals[i]) != NULL) << i;
}

/* ---- devices ---- */

enum { MAX_TYPE = 32, MAX_INDEX = 64 };
static _Atomic(uint32_t) pools[MAX_TYPE][MAX_INDEX];	/* pool + 1; 0 = not opened yet */
static _Atomic(uint64_t) reserved[MAX_TYPE][MAX_INDEX]; /* last total seen */

static int device_kind(unsigned type)
{
	switch (type) { /* c10/core/DeviceType.h */
	case 0:
		return TIDE_ON_HOST;
	case 1:
		return TIDE_ON_CUDA;
	case 6:
		return TIDE_ON_HIP;
	case 12:
		return TIDE_ON_XPU;
	case 13:
		return TIDE_ON_MPS;
	case 18:
		return TIDE_ON_MTIA;
	default:
		return TIDE_ON_OTHER;
	}
}

static tide_pool open_pool(unsigned type, unsigned index)
{
	bool host = type == 0;
	tide_device d = tide_device_open(device_kind(type), host ? 0 : (int)index, NULL, 0);
	tide_pool p =
		tide_pool_open(d, host ? TIDE_MEM_HEAP : TIDE_MEM_DRAM, host ? "heap" : "DRAM", 0);
	atomic_store(&pools[type][index], (uint32_t)p + 1);
	return p;
}

static tide_pool pool_of(unsigned type, unsigned index)
{
	type = type < MAX_TYPE ? type : MAX_TYPE - 1;
	index = index < MAX_INDEX ? index : 0; /* -1 on the host */
	uint32_t p = atomic_load_explicit(&pools[type][index], memory_order_relaxed);
	return __builtin_expect(p != 0, 1) ? (tide_pool)(p - 1) : open_pool(type, index);
}

/* A device's total in segments, when it changed. */
static void note_reserved(unsigned type, unsigned index, uint64_t total)
{
	if (type >= MAX_TYPE || index >= MAX_INDEX ||
	    atomic_load_explicit(&reserved[type][index], memory_order_relaxed) == total)
		return;
	atomic_store_explicit(&reserved[type][index], total, memory_order_relaxed);
	tide_counter(TIDE_NAME("torch.reserved_bytes"), (double)total);
}

/* ---- the hooks ---- */

/* PyTorch may report a CPU allocation right after alloc_cpu, and a free right before free_cpu (when
 * its own profiler is on): the same thread, the same pointer. Counted once. */
static __thread __attribute__((tls_model("initial-exec"))) void *just_allocated, *just_freed;

/* The thread's latest allocations that nothing has described yet: what an op returns is described
 * only if it is one of them, so that a view never stands for the storage it looks into. */
enum { FRESH = 8 };
static __thread __attribute__((tls_model("initial-exec"))) struct {
	uintptr_t addr;
	tide_pool pool;
} fresh[FRESH];
static __thread __attribute__((tls_model("initial-exec"))) unsigned n_fresh;

static void took(tide_pool pool, void *p, size_t n)
{
	unsigned i = n_fresh++ % FRESH;
	fresh[i].addr = (uintptr_t)p;
	fresh[i].pool = pool;
	tide_alloc(pool, (uintptr_t)p, n, 0);
}

bool tide_torch_fresh(uint64_t addr, tide_pool *pool)
{
	for (int i = 0; i < FRESH; i++)
		if (fresh[i].addr == addr && addr) {
			fresh[i].addr = 0;
			*pool = fresh[i].pool;
			return true;
		}
	return false;
}

#define HOOK __attribute__((visibility("default")))

static void *allocate(size_t n)
{
	alloc_fn *f = ORIGINAL(alloc_fn, ALLOC);
	void *p = f ? f(n) : NULL;
	if (p && tide__torch_recording()) {
		count(0);
		took(pool_of(0, 0), p, n);
		just_allocated = p;
	}
	return p;
}

HOOK void *_ZN3c109alloc_cpuEm(size_t n);
HOOK void *_ZN3c109alloc_cpuEm(size_t n)
{
	return allocate(n);
}

static void release(void *p)
{
	free_fn *f = ORIGINAL(free_fn, FREE);
	if (p && tide__torch_recording()) {
		count(1);
		if (p != just_freed)
			tide_free(pool_of(0, 0), (uintptr_t)p);
		just_freed = NULL;
	}
	if (f)
		f(p);
}

HOOK void _ZN3c108free_cpuEPv(void *p);
HOOK void _ZN3c108free_cpuEPv(void *p)
{
	release(p);
}

static void record_report(void *p, int64_t size, size_t total_reserved, c10_device d)
{
	unsigned type = d & 255, index = d >> 8 & 255;
	if (!p || !tide__torch_recording())
		return;
	if (type == 0 && size > 0 && p == just_allocated)
		return;
	count(2);
	if (size >= 0)
		took(pool_of(type, index), p, (size_t)size);
	else
		tide_free(pool_of(type, index), (uintptr_t)p);
	if (type == 0)
		just_freed = size < 0 ? p : NULL;
	else
		note_reserved(type, index, total_reserved);
}

static void report(void *p, int64_t size, size_t allocated, size_t total_reserved, c10_device d)
{
	report_fn *f = ORIGINAL(report_fn, REPORT);
	record_report(p, size, total_reserved, d);
	if (f)
		f(p, size, allocated, total_reserved, d);
}

HOOK void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *p, int64_t n, size_t a,
								size_t r, c10_device d);
HOOK void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *p, int64_t n, size_t a,
								size_t r, c10_device d)
{
	report(p, n, a, r, d);
}

HOOK void _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE(void *p, int64_t n, size_t a,
								size_t r, c10_device d);
HOOK void _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE(void *p, int64_t n, size_t a,
								size_t r, c10_device d)
{
	report(p, n, a, r, d);
}

static void out_of_memory(int64_t size, size_t allocated, size_t total_reserved, c10_device d)
{
	oom_fn *f = ORIGINAL(oom_fn, OOM);
	if (tide__torch_recording()) {
		count(3);
		tide_oom(pool_of(d & 255, d >> 8 & 255), size > 0 ? (uint64_t)size : 0, -1);
	}
	if (f)
		f(size, allocated, total_reserved, d);
}

HOOK void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t n, size_t a, size_t r,
							      c10_device d);
HOOK void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t n, size_t a, size_t r,
							      c10_device d)
{
	out_of_memory(n, a, r, d);
}

HOOK void _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE(int64_t n, size_t a, size_t r,
							      c10_device d);
HOOK void _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE(int64_t n, size_t a, size_t r,
							      c10_device d)
{
	out_of_memory(n, a, r, d);
}

/* ---- for got.c: by address, since our own exported names may resolve to the originals ---- */

const tide_torch_hook tide__torch_hooks[] = {
	{ "_ZN3c109alloc_cpuEm", (uintptr_t)allocate },
	{ "_ZN3c108free_cpuEPv", (uintptr_t)release },
	{ "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE", (uintptr_t)report },
	{ "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE", (uintptr_t)report },
	{ "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE", (uintptr_t)out_of_memory },
	{ "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE", (uintptr_t)out_of_memory },
	{ NULL, 0 },
};

bool tide__torch_ready(void)
{
	return original(ALLOC) && original(FREE);
}

tide_pool tide_torch_pool(unsigned type, unsigned index)
{
	return pool_of(type, index);
}
