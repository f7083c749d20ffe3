// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* PyTorch's devices as recorder devices: pools, streams, and counters of reserved bytes.
 *
 * A device is opened at its first event and kept for the process's life. Everything here may run
 * under an allocator's lock and without the GIL. */
#ifndef TIDE_CAPTURE_TORCH_DEVICES_H
#define TIDE_CAPTURE_TORCH_DEVICES_H

#include <stdatomic.h>

#include <tidemark/record.h>

/** The pool that allocations of a c10 device (type, index) are recorded in; 0 if none are
 * recorded for it (tide_torch_silence). */
TIDE_API tide_pool tide_torch_pool(unsigned type, unsigned index);

/** Records the total that an allocator has reserved on a device at this moment. */
TIDE_API void tide_torch_reserved(unsigned type, unsigned index, uint64_t total);

/* ---- devices whose allocator does not report to c10 (python/hook/tidemark_devices.py) ---- */

/** Returns true if an allocator of this device type has reported anything in this process. */
TIDE_API bool tide_torch_reports(unsigned type);
/** Stops recording its allocations: no pool is returned for them from now on. */
TIDE_API void tide_torch_silence(unsigned type);
/** Records the allocated bytes of such a device, from its own counter: a sample. */
TIDE_API void tide_torch_allocated(unsigned type, unsigned index, uint64_t total);
/** Records its peak of allocated bytes, from its own counter, if it rose since the previous
 * sample (or the start of the recording). */
TIDE_API void tide_torch_peak(unsigned type, unsigned index, uint64_t most);

/** c10's number of a device type ("cuda"); the last number for an unknown one. */
TIDE_API int tide_torch_device_type(const char *name);

/** Sets the callback that returns the calling thread's current stream number on a device; it
 * returns false if unknown. NULL: none. Called under the allocator's lock. */
typedef bool tide_torch_stream_fn(unsigned type, unsigned index, int64_t *number);
TIDE_API void tide_torch_streams_by(tide_torch_stream_fn *f);

/* ---- for hooks.c ---- */

/* Consecutive functions on separate cache lines: in a busy program none of them is cached
 * nearby. */
#define TIDE_HOT __attribute__((hot, aligned(64)))

/* Everything an allocation needs to know about its device, in one cache line. */
enum { TIDE_C10_TYPES = 32, TIDE_C10_INDEXES = 128, TIDE_C10_STREAMS = 8 };
typedef struct tide_c10_device {
	_Atomic(uint32_t) pool;	    /* + 1; 0 = not opened yet */
	_Atomic(uint32_t) usual;    /* the same, set once reports need no further check */
	_Atomic(bool) reported;	    /* at least one event was reported */
	_Atomic(uint64_t) reserved; /* last reported total + 1; 0 = none yet */
	struct {
		_Atomic(int64_t) number; /* + 1; 0 = free */
		_Atomic(uint32_t) stream;
	} streams[TIDE_C10_STREAMS];
} __attribute__((aligned(64))) tide_c10_device;
extern tide_c10_device tide__c10_devices[TIDE_C10_TYPES][TIDE_C10_INDEXES]
	__attribute__((visibility("hidden")));

/* Treats every device's next report as its first. */
void tide__devices_forget(void);

/* New recording: reserved totals must be reported again. */
void tide__devices_restart(void);

tide_pool tide__device_open(tide_c10_device *d);
tide_stream tide__device_stream(tide_c10_device *d); /* of the calling thread; 0 = unknown */
void tide__device_record_reserved(tide_c10_device *d, uint64_t total);
/* Records what a failed request found: allocated bytes, and the device's size (0 = unknown). */
void tide__device_record_oom(tide_c10_device *d, uint64_t allocated, uint64_t total);

static inline tide_c10_device *tide__device(unsigned type, unsigned index)
{
	type = type < TIDE_C10_TYPES ? type : TIDE_C10_TYPES - 1;
	index = index < TIDE_C10_INDEXES ? index : 0; /* -1 on the host */
	return &tide__c10_devices[type][index];
}

static inline tide_pool tide__device_pool(tide_c10_device *d)
{
	uint32_t p = atomic_load_explicit(&d->pool, memory_order_relaxed);
	return __builtin_expect(p != 0, 1) ? (tide_pool)(p - 1) : tide__device_open(d);
}

#endif
