// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/torch/hooks.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <tidemark/detail/quick.h>

#include "capture/torch/c10.h"
#include "capture/torch/device_memory.h"
#include "capture/torch/devices.h"
#include "capture/torch/stacks.h"
#include "capture/torch/start.h"

/* ---- types of c10's functions ---- */

/* c10::Device travels as two bytes in one register: type, index. */
typedef uint32_t c10_device;
typedef void *alloc_fn(size_t);
typedef void free_fn(void *);
typedef void report_fn(void *, int64_t, size_t, size_t, c10_device);
typedef void oom_fn(int64_t, size_t, size_t, c10_device);

static tide_c10_device *device_of(c10_device d)
{
	return tide__device(d & 255, d >> 8 & 255);
}

/* ---- the hooks ---- */

/* PyTorch may report a CPU allocation right after alloc_cpu, and a free right before free_cpu (when
 * its own profiler is on): the same thread, the same pointer. Counted once. */
static __thread __attribute__((tls_model("initial-exec"))) void *just_allocated, *just_freed;

/* The thread's latest allocations. An op's result is described only if it is one of them, by the
 * first tensor that covers it, so that a view never describes its storage; and again if an outer
 * op returns the same shape and its requires_grad is known then. */
enum { FRESH = 8 };
static __thread __attribute__((tls_model("initial-exec"))) struct {
	uintptr_t addr;
	uint32_t shape; /* of its description, 0 = not described yet */
	tide_pool pool;
	bool grad;
} fresh[FRESH];
static __thread __attribute__((tls_model("initial-exec"))) unsigned n_fresh;

static _Atomic(bool) describes; /* op results are recorded with shape and dtype */
static _Atomic(bool) light;	/* every allocation with its Python stack, no ops */

void tide_torch_alloc_stacks(bool on)
{
	atomic_store(&light, on);
	if (on)
		tide__devices_forget();
}

static inline void put_alloc(tide_pool pool, void *p, uint64_t n, tide_stream stream)
{
	if (TIDE_LIKELY(!atomic_load_explicit(&light, memory_order_relaxed)))
		tide__memory(true, pool, (uintptr_t)p, n, stream);
	else
		tide_alloc_full(pool, (uintptr_t)p, n, stream, tide_torch_stack_now(), 0);
}

void tide_torch_describes(bool on)
{
	atomic_store(&describes, on);
	if (on)
		tide__devices_forget();
}

static void remember(tide_pool pool, void *p)
{
	unsigned i = n_fresh++ % FRESH;
	fresh[i].addr = (uintptr_t)p;
	fresh[i].shape = 0;
	fresh[i].pool = pool;
	fresh[i].grad = false;
}

static inline void keep_in_mind(tide_pool pool, void *p)
{
	if (atomic_load_explicit(&describes, memory_order_relaxed))
		remember(pool, p);
}

bool tide_torch_fresh(uint64_t addr, uint32_t shape, bool grad, tide_pool *pool)
{
	for (unsigned back = 1; back <= FRESH;
	     back++) { /* the latest allocation at an address is the live one */
		unsigned i = (n_fresh - back) % FRESH;
		if (fresh[i].addr != addr || !addr)
			continue;
		if (fresh[i].shape && (fresh[i].shape != shape || fresh[i].grad >= grad))
			return false;
		fresh[i].shape = shape ? shape : 1;
		fresh[i].grad = grad;
		*pool = fresh[i].pool;
		return true;
	}
	return false;
}

#define HOOK __attribute__((visibility("default")))

/* alloc_cpu fails by throwing. The exception passes through here as through any C function built
 * with -fexceptions, and runs the cleanup handler on its way: so it is noticed, but neither caught
 * nor delayed. On success `returned` is set, and the handler does nothing. */
struct request {
	size_t n;
	bool returned;
};

static __attribute__((noinline, cold)) void refused(size_t n)
{
	if (n <= PTRDIFF_MAX && tide__torch_recording()) /* a negative number is not a request */
		tide_oom(tide__device_pool(tide__device(0, 0)), n, -1);
}

static inline __attribute__((always_inline)) void settle(const struct request *r)
{
	if (!r->returned)
		refused(r->n);
}

static TIDE_HOT void *allocate(size_t n)
{
	alloc_fn *f = TIDE_C10(alloc_fn, TIDE_C10_ALLOC);
	__attribute__((cleanup(settle))) struct request r = { .n = n };
	void *p = f ? f(n) : NULL;
	r.returned = true;
	if (p && tide__torch_recording()) {
		tide_pool pool = tide__device_pool(tide__device(0, 0));
		keep_in_mind(pool, p);
		put_alloc(pool, p, n, 0);
		just_allocated = p;
	}
	return p;
}

HOOK void *_ZN3c109alloc_cpuEm(size_t n);
HOOK void *_ZN3c109alloc_cpuEm(size_t n)
{
	return allocate(n);
}

static TIDE_HOT void release(void *p)
{
	free_fn *f = TIDE_C10(free_fn, TIDE_C10_FREE);
	if (p && tide__torch_recording()) {
		if (p != just_freed)
			tide__memory(false, tide__device_pool(tide__device(0, 0)), (uintptr_t)p, 0,
				     0);
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

/* Records a device's reserved total if it changed. A block with a total that was never above 0
 * means that the allocator does not report it. */
static inline void note_reserved(tide_c10_device *d, uint64_t total, bool with_block)
{
	uint64_t last = atomic_load_explicit(&d->reserved, memory_order_relaxed);
	if (!TIDE_LIKELY(last == total + 1 || (!last && !total && with_block)))
		tide__device_record_reserved(d, total);
}

/* While hooks record and no descriptions are wanted, no other check is needed. */
static bool all_is_usual(void)
{
	return !atomic_load(&describes) && !atomic_load(&light) &&
	       atomic_load(&tide__torch_state) == TIDE_TORCH_DECIDED;
}

static void make_usual(tide_c10_device *d, tide_pool pool)
{
	if (pool > 4095 || !all_is_usual())
		return;
	atomic_store(&d->usual, (uint32_t)pool + 1);
	if (!all_is_usual()) /* another thread changed that meanwhile */
		atomic_store(&d->usual, 0);
}

static void record_report(void *p, int64_t size, size_t total_reserved, c10_device d)
{
	bool cpu = (d & 255) == 0;
	if (!p || !tide__torch_recording() || (cpu && size > 0 && p == just_allocated))
		return;
	tide_c10_device *at = device_of(d);
	tide_pool pool = tide__device_pool(at);
	if (!TIDE_LIKELY(atomic_load_explicit(&at->reported, memory_order_relaxed)))
		atomic_store_explicit(&at->reported, true, memory_order_relaxed);
	note_reserved(at, total_reserved, true); /* its segment existed before it */
	bool alloc = size >= 0;
	if (alloc)
		keep_in_mind(pool, p);
	if (alloc)
		put_alloc(pool, p, (uint64_t)size, cpu ? 0 : tide__device_stream(at));
	else
		tide__memory(false, pool, (uintptr_t)p, 0, 0);
	if (cpu)
		just_freed = size < 0 ? p : NULL;
	else
		make_usual(at, pool);
}

static __attribute__((noinline)) void report_otherwise(void *p, int64_t size, size_t allocated,
						       size_t total_reserved, c10_device d)
{
	record_report(p, size, total_reserved, d);
	report_fn *f = TIDE_C10(report_fn, TIDE_C10_REPORT);
	if (f)
		f(p, size, allocated, total_reserved, d);
}

static void report_alloc(void *p, int64_t size, size_t allocated, size_t total_reserved,
			 c10_device d);

/* The usual case: a device's block in existing segments. These cache lines hold only the free, the
 * following ones only the allocation. */
static TIDE_HOT void report(void *p, int64_t size, size_t allocated, size_t total_reserved,
			    c10_device d)
{
	tide_c10_device *at = device_of(d);
	uint32_t usual = atomic_load_explicit(&at->usual, memory_order_relaxed);
	uint64_t reserved = atomic_load_explicit(&at->reserved, memory_order_relaxed);
	report_fn *f = TIDE_C10_KNOWN(report_fn, TIDE_C10_REPORT);
	tide_quick *t = tide__self;
	if (!TIDE_LIKELY(p && usual && reserved == total_reserved + 1 && f && t)) {
		report_otherwise(p, size, allocated, total_reserved, d);
	} else if (size >= 0) {
		report_alloc(p, size, allocated, total_reserved, d);
	} else if (!TIDE_LIKELY(tide__enter(t))) {
		report_otherwise(p, size, allocated, total_reserved, d);
	} else {
		tide__store(t, tide__counter(), TIDE_SLOT_FREE, usual - 1, TIDE_GET(t->depth),
			    (uintptr_t)p, 0, 0);
		tide__leave(t);
		f(p, size, allocated, total_reserved, d);
	}
}

static TIDE_HOT __attribute__((noinline)) void report_alloc(void *p, int64_t size, size_t allocated,
							    size_t total_reserved, c10_device d)
{
	tide_c10_device *at = device_of(d);
	report_fn *f = TIDE_C10_KNOWN(report_fn, TIDE_C10_REPORT);
	tide__memory(true, tide__device_pool(at), (uintptr_t)p, (uint64_t)size,
		     tide__device_stream(at));
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
	oom_fn *f = TIDE_C10(oom_fn, TIDE_C10_OOM);
	if (tide__torch_recording()) {
		tide_c10_device *at = device_of(d);
		size_t left, total;
		bool known = (d & 255) != 0 && tide__device_memory(&left, &total);
		note_reserved(at, total_reserved, false);
		tide__device_record_oom(at, allocated, known ? total : 0);
		tide_oom(tide__device_pool(at), size > 0 ? (uint64_t)size : 0,
			 known ? (int64_t)left : -1);
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
const uintptr_t tide__torch_report_hook = (uintptr_t)report;

bool tide__torch_ready(void)
{
	tide__devices_restart();
	return tide__c10(TIDE_C10_ALLOC) && tide__c10(TIDE_C10_FREE);
}
