// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/torch/devices.h"

#include <stdio.h>
#include <string.h>

#include "capture/torch/c10.h"

tide_c10_device tide__c10_devices[TIDE_C10_TYPES][TIDE_C10_INDEXES];
static _Atomic(bool) silent[TIDE_C10_TYPES]; /* no event of this type is ever reported */

static unsigned place(const tide_c10_device *d)
{
	return (unsigned)(d - &tide__c10_devices[0][0]);
}

static unsigned type_of(const tide_c10_device *d)
{
	return place(d) / TIDE_C10_INDEXES;
}

static unsigned index_of(const tide_c10_device *d)
{
	return place(d) % TIDE_C10_INDEXES;
}

/* ---- types ---- */

/* The layout of a returned std::string in memory of the caller. A short text is stored inside, and
 * may have moved, so that `text` does not point to it. */
typedef struct cxx_string {
	char *text;
	size_t n;
	char here[16];
} cxx_string;
typedef cxx_string name_fn(int8_t, bool);
typedef bool valid_fn(int8_t);

/* c10/core/DeviceType.h; a device of another kind uses its name: from here, or torch's name
 * (privateuseone is named by its vendor). */
static const struct {
	const char *name;
	int kind;
} device_types[TIDE_C10_TYPES] = {
	{ "cpu", TIDE_DEVICE_HOST },
	{ "cuda", TIDE_DEVICE_CUDA },
	{ "mkldnn", 0 },
	{ "opengl", 0 },
	{ "opencl", 0 },
	{ "ideep", 0 },
	{ "hip", TIDE_DEVICE_HIP },
	{ "fpga", 0 },
	{ "maia", 0 },
	{ "xla", 0 },
	{ "vulkan", 0 },
	{ "metal", 0 },
	{ "xpu", TIDE_DEVICE_XPU },
	{ "mps", TIDE_DEVICE_MPS },
	{ "meta", 0 },
	{ "hpu", 0 },
	{ "ve", 0 },
	{ "lazy", 0 },
	{ "ipu", 0 },
	{ "mtia", TIDE_DEVICE_MTIA },
	{ "privateuseone", 0 },
};

enum { TYPE_TEXT = 32 };

/* Returns torch's name of a device type; NULL if it has no such type or no name. */
static const char *torch_name(unsigned type, char buf[TYPE_TEXT])
{
	name_fn *name = TIDE_C10(name_fn, TIDE_C10_TYPE_NAME);
	valid_fn *valid = TIDE_C10(valid_fn, TIDE_C10_TYPE_VALID);
	if (!name || !valid || !valid((int8_t)type)) /* torch's function throws for other types */
		return NULL;
	cxx_string s = name((int8_t)type, true);
	snprintf(buf, TYPE_TEXT, "%.*s", (int)(s.n < TYPE_TEXT ? s.n : TYPE_TEXT - 1),
		 s.n < sizeof s.here ? s.here : s.text); /* a long text is leaked: C cannot call
		                                          * operator delete */
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
	for (unsigned i = 0; i < TIDE_C10_TYPES; i++) {
		const char *here = type_name(i, buf);
		if (here && !strcmp(here, name))
			return (int)i;
	}
	return TIDE_C10_TYPES - 1;
}

/* ---- devices ---- */

static tide_device open_device(const tide_c10_device *d)
{
	char buf[TYPE_TEXT];
	unsigned type = type_of(d);
	int kind = device_types[type].kind;
	return tide_device_open(kind ? kind : TIDE_DEVICE_OTHER, (int)index_of(d),
				kind ? NULL : type_name(type, buf), 0);
}

tide_pool tide__device_open(tide_c10_device *d)
{
	bool host = type_of(d) == 0;
	tide_pool p = tide_pool_open(open_device(d), host ? TIDE_POOL_HEAP : TIDE_POOL_DRAM,
				     host ? "heap" : "DRAM", 0);
	atomic_store(&d->pool, (uint32_t)p + 1);
	return p;
}

tide_pool tide_torch_pool(unsigned type, unsigned index)
{
	bool none =
		type < TIDE_C10_TYPES && atomic_load_explicit(&silent[type], memory_order_relaxed);
	return none ? 0 : tide__device_pool(tide__device(type, index));
}

bool tide_torch_reports(unsigned type)
{
	bool any = false;
	for (unsigned i = 0; type < TIDE_C10_TYPES && i < TIDE_C10_INDEXES; i++)
		any |= atomic_load_explicit(&tide__c10_devices[type][i].reported,
					    memory_order_relaxed);
	return any;
}

void tide_torch_silence(unsigned type)
{
	if (type < TIDE_C10_TYPES)
		atomic_store_explicit(&silent[type], true, memory_order_relaxed);
}

/* ---- streams ---- */

static _Atomic(tide_torch_stream_fn *) ask_stream; /* ops.cpp's */

void tide_torch_streams_by(tide_torch_stream_fn *f)
{
	atomic_store(&ask_stream, f);
}

static tide_stream open_stream(tide_c10_device *d, int64_t number)
{
	tide_stream s = tide_stream_open(open_device(d), number, NULL);
	for (int i = 0; i < TIDE_C10_STREAMS; i++) {
		int64_t none = 0;
		if (!atomic_compare_exchange_strong(&d->streams[i].number, &none, number + 1))
			continue;
		atomic_store_explicit(&d->streams[i].stream, s, memory_order_release);
		break;
	}
	return s; /* beyond 8 streams: the recorder looks it up each time */
}

TIDE_HOT tide_stream tide__device_stream(tide_c10_device *d)
{
	tide_torch_stream_fn *ask = atomic_load_explicit(&ask_stream, memory_order_relaxed);
	int64_t number;
	if (!ask || !ask(type_of(d), index_of(d), &number))
		return 0;
	for (int i = 0; i < TIDE_C10_STREAMS; i++)
		if (atomic_load_explicit(&d->streams[i].number, memory_order_relaxed) ==
		    number + 1) {
			uint32_t s =
				atomic_load_explicit(&d->streams[i].stream, memory_order_acquire);
			return (tide_stream)s;
		}
	return open_stream(d, number);
}

/* ---- counters ---- */

/* torch.reserved_bytes.cuda:0: a counter for each device. */
enum { RESERVED, ALLOCATED, PEAK, AT_OOM, TOTAL, COUNTERS };
static tide_name counter_name(int what, const tide_c10_device *d)
{
	static const char *const names[] = { "reserved", "allocated", "peak", "oom_allocated",
					     "device" };
	static _Atomic(tide_name) all[COUNTERS][TIDE_C10_TYPES * TIDE_C10_INDEXES];
	_Atomic(tide_name) *at = &all[what][place(d)];
	tide_name id = atomic_load_explicit(at, memory_order_relaxed);
	if (!id) {
		char text[64], buf[TYPE_TEXT];
		const char *kind = type_name(type_of(d), buf);
		snprintf(text, sizeof text, "torch.%s_bytes.%s:%u", names[what],
			 kind ? kind : "other", index_of(d));
		id = tide_intern(text);
		atomic_store_explicit(at, id, memory_order_relaxed);
	}
	return id;
}

void tide__device_record_reserved(tide_c10_device *d, uint64_t total)
{
	if (type_of(d) == 0)
		return;
	atomic_store_explicit(&d->reserved, total + 1, memory_order_relaxed);
	tide_counter(counter_name(RESERVED, d), (double)total);
}

void tide__device_record_oom(tide_c10_device *d, uint64_t allocated, uint64_t total)
{
	if (type_of(d) == 0)
		return;
	tide_counter(counter_name(AT_OOM, d), (double)allocated);
	if (total)
		tide_counter(counter_name(TOTAL, d), (double)total);
}

static void sample(int what, unsigned type, unsigned index, uint64_t total)
{
	if (type >= TIDE_C10_TYPES || index >= TIDE_C10_INDEXES)
		return;
	tide_c10_device *d = tide__device(type, index);
	tide__device_pool(d); /* opens the device, also if all of its memory is cached */
	tide_counter(counter_name(what, d), (double)total);
}

void tide_torch_reserved(unsigned type, unsigned index, uint64_t total)
{
	sample(RESERVED, type, index, total);
}

void tide_torch_allocated(unsigned type, unsigned index, uint64_t total)
{
	sample(ALLOCATED, type, index, total);
}

void tide_torch_peak(unsigned type, unsigned index, uint64_t most)
{
	sample(PEAK, type, index, most);
}

/* ---- all of them ---- */

void tide__devices_forget(void)
{
	for (unsigned i = 0; i < TIDE_C10_TYPES * TIDE_C10_INDEXES; i++) {
		tide_c10_device *d = &tide__c10_devices[i / TIDE_C10_INDEXES][i % TIDE_C10_INDEXES];
		if (atomic_load(&d->usual))
			atomic_store(&d->usual, 0);
	}
}

void tide__devices_restart(void)
{
	for (unsigned i = 0; i < TIDE_C10_TYPES * TIDE_C10_INDEXES; i++) {
		tide_c10_device *d = &tide__c10_devices[i / TIDE_C10_INDEXES][i % TIDE_C10_INDEXES];
		if (atomic_load_explicit(&d->reserved, memory_order_relaxed))
			atomic_store_explicit(&d->reserved, 0, memory_order_relaxed);
	}
}
