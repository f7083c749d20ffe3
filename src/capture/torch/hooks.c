// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/torch/hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tidemark/quick.h>

#include "capture/torch/start.h"

/* ---- the originals ---- */

/* c10::Device travels as two bytes in one register: type, index. */
typedef uint32_t c10_device;
typedef void *alloc_fn(size_t);
typedef void free_fn(void *);
typedef void report_fn(void *, int64_t, size_t, size_t, c10_device);
typedef void oom_fn(int64_t, size_t, size_t, c10_device);

/* A std::string as it is returned, in memory of the caller's; large enough to be so in C too. A
 * short text lies in it, and may have been moved from where `text` says. */
typedef struct cxx_string {
	char *text;
	size_t n;
	char here[16];
} cxx_string;
typedef cxx_string name_fn(int8_t, bool);
typedef bool valid_fn(int8_t);

enum { ALLOC, FREE, REPORT, OOM, TYPE_NAME, TYPE_VALID, N_SYMBOLS };
static const char *const symbols[N_SYMBOLS][2] = {
	/* newest spelling first; before torch 2.1 sizes were signed */
	[ALLOC] = { "_ZN3c109alloc_cpuEm", NULL },
	[FREE] = { "_ZN3c108free_cpuEPv", NULL },
	[REPORT] = { "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
		     "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE" },
	[OOM] = { "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
		  "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE" },
	[TYPE_NAME] = { "_ZN3c1014DeviceTypeNameB5cxx11ENS_10DeviceTypeEb", NULL },
	[TYPE_VALID] = { "_ZN3c1017isValidDeviceTypeENS_10DeviceTypeE", NULL },
};
static _Atomic(void *) originals[N_SYMBOLS];

/* Python loads libc10 privately: it is found by its name, not in the global scope. Distributions
 * add a version to the name. */
static int is_c10(struct dl_phdr_info *info, size_t size, void *out)
{
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	if (!slash || strncmp(slash, "/libc10.so", 10) != 0)
		return 0;
	*(void **)out = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
	return 1;
}

static void *find(int which)
{
	void *c10 = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD), *p = NULL;
	if (!c10)
		dl_iterate_phdr(is_c10, &c10);
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

/* ---- devices ---- */

enum { MAX_TYPE = 32, MAX_INDEX = 64, MAX_STREAMS = 8 };
static _Atomic(uint32_t) pools[MAX_TYPE][MAX_INDEX];	/* pool + 1; 0 = not opened yet */
static _Atomic(uint64_t) reserved[MAX_TYPE][MAX_INDEX]; /* last total told + 1; 0 = none yet */
static _Atomic(bool) reports[MAX_TYPE];			/* something of the type was reported */
static _Atomic(bool) silent[MAX_TYPE];			/* nothing ever is */

/* c10/core/DeviceType.h; a device of no kind of ours goes by its name: here, or as torch calls it
 * (privateuseone is named by whoever makes the device). */
static const struct {
	const char *name;
	int kind;
} device_types[MAX_TYPE] = {
	{ "cpu", TIDE_ON_HOST },
	{ "cuda", TIDE_ON_CUDA },
	{ "mkldnn", 0 },
	{ "opengl", 0 },
	{ "opencl", 0 },
	{ "ideep", 0 },
	{ "hip", TIDE_ON_HIP },
	{ "fpga", 0 },
	{ "maia", 0 },
	{ "xla", 0 },
	{ "vulkan", 0 },
	{ "metal", 0 },
	{ "xpu", TIDE_ON_XPU },
	{ "mps", TIDE_ON_MPS },
	{ "meta", 0 },
	{ "hpu", 0 },
	{ "ve", 0 },
	{ "lazy", 0 },
	{ "ipu", 0 },
	{ "mtia", TIDE_ON_MTIA },
	{ "privateuseone", 0 },
};

enum { TYPE_TEXT = 32 };

/* What torch calls a type of device; NULL: it has no such type, or does not say. */
static const char *torch_name(unsigned type, char buf[TYPE_TEXT])
{
	name_fn *name = ORIGINAL(name_fn, TYPE_NAME);
	valid_fn *valid = ORIGINAL(valid_fn, TYPE_VALID);
	if (!name || !valid || !valid((int8_t)type)) /* of others it throws */
		return NULL;
	cxx_string s = name((int8_t)type, true);
	snprintf(buf, TYPE_TEXT, "%.*s", (int)(s.n < TYPE_TEXT ? s.n : TYPE_TEXT - 1),
		 s.n < sizeof s.here ? s.here : s.text); /* a long one stays: C cannot delete */
	return *buf ? buf : NULL;
}

static const char *type_name(unsigned type, char buf[TYPE_TEXT])
{
	const char *told = device_types[type].kind ? NULL : torch_name(type, buf);
	return told ? told : device_types[type].name;
}

int tide_torch_device_type(const char *name)
{
	char buf[TYPE_TEXT];
	for (unsigned i = 0; i < MAX_TYPE; i++) {
		const char *here = type_name(i, buf);
		if (here && !strcmp(here, name))
			return (int)i;
	}
	return MAX_TYPE - 1;
}

static tide_device open_device(unsigned type, unsigned index)
{
	char buf[TYPE_TEXT];
	int kind = device_types[type].kind;
	return tide_device_open(kind ? kind : TIDE_ON_OTHER, type ? (int)index : 0,
				kind ? NULL : type_name(type, buf), 0);
}

static tide_pool open_pool(unsigned type, unsigned index)
{
	bool host = type == 0;
	tide_device d = open_device(type, index);
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

/* ---- streams: what ops.cpp says the thread's current one is ---- */

static _Atomic(tide_torch_stream_fn *) ask_stream;
static struct {
	_Atomic(int64_t) number; /* + 1; 0 = free */
	_Atomic(uint32_t) stream;
} streams[MAX_TYPE][MAX_INDEX][MAX_STREAMS];

void tide_torch_streams_by(tide_torch_stream_fn *f)
{
	atomic_store(&ask_stream, f);
}

static tide_stream open_stream(unsigned type, unsigned index, int64_t number)
{
	tide_stream s = tide_stream_open(open_device(type, index), number, NULL);
	for (int i = 0; i < MAX_STREAMS; i++) {
		int64_t none = 0;
		if (!atomic_compare_exchange_strong(&streams[type][index][i].number, &none,
						    number + 1))
			continue;
		atomic_store_explicit(&streams[type][index][i].stream, s, memory_order_release);
		break;
	}
	return s; /* beyond eight streams: asked of the recorder each time, which knows it */
}

/* The stream that an allocation made now is for; 0 = not known. */
static tide_stream stream_of(unsigned type, unsigned index)
{
	tide_torch_stream_fn *f = atomic_load_explicit(&ask_stream, memory_order_relaxed);
	int64_t number;
	if (!f || type >= MAX_TYPE || index >= MAX_INDEX || !f(type, index, &number))
		return 0;
	for (int i = 0; i < MAX_STREAMS; i++)
		if (atomic_load_explicit(&streams[type][index][i].number, memory_order_relaxed) ==
		    number + 1) {
			uint32_t s = atomic_load_explicit(&streams[type][index][i].stream,
							  memory_order_acquire);
			return (tide_stream)s;
		}
	return open_stream(type, index, number);
}

/* torch.reserved_bytes.cuda:0: a counter for each device. */
enum { RESERVED, ALLOCATED };
static tide_name counter_name(int what, unsigned type, unsigned index)
{
	static _Atomic(tide_name) all[2][MAX_TYPE][MAX_INDEX];
	_Atomic(tide_name) *at = &all[what][type][index];
	tide_name id = atomic_load_explicit(at, memory_order_relaxed);
	if (!id) {
		char text[64], buf[TYPE_TEXT];
		const char *kind = type_name(type, buf);
		snprintf(text, sizeof text, "torch.%s_bytes.%s:%u",
			 what == RESERVED ? "reserved" : "allocated", kind ? kind : "other", index);
		id = tide_intern(text);
		atomic_store_explicit(at, id, memory_order_relaxed);
	}
	return id;
}

/* A device's total in segments, when it changed. With a block and never more than 0 it is an
 * allocator that does not tell it. */
static void note_reserved(unsigned type, unsigned index, uint64_t total, bool with_block)
{
	if (type == 0 || type >= MAX_TYPE || index >= MAX_INDEX)
		return;
	uint64_t last = atomic_load_explicit(&reserved[type][index], memory_order_relaxed);
	if (last == total + 1 || (!last && !total && with_block))
		return;
	atomic_store_explicit(&reserved[type][index], total + 1, memory_order_relaxed);
	tide_counter(counter_name(RESERVED, type, index), (double)total);
}

/* ---- the hooks ---- */

/* PyTorch may report a CPU allocation right after alloc_cpu, and a free right before free_cpu (when
 * its own profiler is on): the same thread, the same pointer. Counted once. */
static __thread __attribute__((tls_model("initial-exec"))) void *just_allocated, *just_freed;

/* The thread's latest allocations: what an op returns is described only if it is one of them, by
 * the first tensor that covers it, so that a view never stands for the storage it looks into; and
 * once more where an outer op returns the same shape and then knows that it requires grad. */
enum { FRESH = 8 };
static __thread __attribute__((tls_model("initial-exec"))) struct {
	uintptr_t addr;
	uint32_t shape; /* of its description, 0 = not described yet */
	tide_pool pool;
	bool grad;
} fresh[FRESH];
static __thread __attribute__((tls_model("initial-exec"))) unsigned n_fresh;

static void took(tide_pool pool, void *p, size_t n, tide_stream stream)
{
	unsigned i = n_fresh++ % FRESH;
	fresh[i].addr = (uintptr_t)p;
	fresh[i].shape = 0;
	fresh[i].pool = pool;
	fresh[i].grad = false;
	tide__alloc(pool, (uintptr_t)p, n, stream);
}

bool tide_torch_fresh(uint64_t addr, uint32_t shape, bool grad, tide_pool *pool)
{
	for (unsigned back = 1; back <= FRESH;
	     back++) { /* the latest at an address is what is there */
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

/* alloc_cpu fails by throwing. The exception passes through here as it does through any C function
 * built with -fexceptions, and on its way runs what was asked for with cleanup: so it is seen, and
 * neither caught nor delayed. On the usual way `returned` is known, and nothing of this is left. */
struct request {
	size_t n;
	bool returned;
};

static __attribute__((noinline, cold)) void refused(size_t n)
{
	if (n <= PTRDIFF_MAX && tide__torch_recording()) /* a negative number is no request */
		tide_oom(pool_of(0, 0), n, -1);
}

static inline __attribute__((always_inline)) void settle(const struct request *r)
{
	if (!r->returned)
		refused(r->n);
}

static void *allocate(size_t n)
{
	alloc_fn *f = ORIGINAL(alloc_fn, ALLOC);
	__attribute__((cleanup(settle))) struct request r = { .n = n };
	void *p = f ? f(n) : NULL;
	r.returned = true;
	if (p && tide__torch_recording()) {
		took(pool_of(0, 0), p, n, 0);
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
		if (p != just_freed)
			tide__free_at(pool_of(0, 0), (uintptr_t)p);
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
	if (type < MAX_TYPE && !atomic_load_explicit(&reports[type], memory_order_relaxed))
		atomic_store_explicit(&reports[type], true, memory_order_relaxed);
	note_reserved(type, index, total_reserved, true); /* its segment was there before it */
	if (size >= 0)
		took(pool_of(type, index), p, (size_t)size, type ? stream_of(type, index) : 0);
	else
		tide__free_at(pool_of(type, index), (uintptr_t)p);
	if (type == 0)
		just_freed = size < 0 ? p : NULL;
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
		note_reserved(d & 255, d >> 8 & 255, total_reserved, false);
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
const uintptr_t tide__torch_report_hook = (uintptr_t)report;

bool tide__torch_ready(void)
{
	for (int i = 0; i < MAX_TYPE * MAX_INDEX; i++) /* another recording: tell them again */
		atomic_store_explicit(&reserved[i / MAX_INDEX][i % MAX_INDEX], 0,
				      memory_order_relaxed);
	return original(ALLOC) && original(FREE);
}

tide_pool tide_torch_pool(unsigned type, unsigned index)
{
	bool none = type < MAX_TYPE && atomic_load_explicit(&silent[type], memory_order_relaxed);
	return none ? 0 : pool_of(type, index);
}

static void sample(int what, unsigned type, unsigned index, uint64_t total)
{
	if (type >= MAX_TYPE || index >= MAX_INDEX)
		return;
	pool_of(type, index); /* the device is there, with all of it cached even */
	tide_counter(counter_name(what, type, index), (double)total);
}

void tide_torch_reserved(unsigned type, unsigned index, uint64_t total)
{
	sample(RESERVED, type, index, total);
}

void tide_torch_allocated(unsigned type, unsigned index, uint64_t total)
{
	sample(ALLOCATED, type, index, total);
}

bool tide_torch_reports(unsigned type)
{
	return type < MAX_TYPE && atomic_load_explicit(&reports[type], memory_order_relaxed);
}

void tide_torch_silence(unsigned type)
{
	if (type < MAX_TYPE)
		atomic_store_explicit(&silent[type], true, memory_order_relaxed);
}
