// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* PyTorch's devices as the recorder's: pools, streams, and counters of what allocators hold.
 *
 * A device is opened with the first that is heard of it, and kept for the process's life.
 * Everything here may run under an allocator's lock and without the GIL. */
#ifndef TIDE_CAPTURE_TORCH_DEVICES_H
#define TIDE_CAPTURE_TORCH_DEVICES_H

#include <stdatomic.h>

#include <tidemark/record.h>

/** The pool that allocations of a c10 device (type, index) are recorded in; 0: of no such device
 *  any are (tide_torch_silence). */
TIDE_API tide_pool tide_torch_pool(unsigned type, unsigned index);

/** What an allocator has taken from a device in all, as told at this moment. */
TIDE_API void tide_torch_reserved(unsigned type, unsigned index, uint64_t total);

/* ---- devices whose allocator tells c10 nothing (python/hook/tidemark_devices.py) ---- */

/** Has an allocator of this type of device reported anything in this process? */
TIDE_API bool tide_torch_reports(unsigned type);
/** Its allocations are not recorded: no pool is given out any more for what is said of them. */
TIDE_API void tide_torch_silence(unsigned type);
/** What such a device has given out in all, as its own counter says at this moment: a sample. */
TIDE_API void tide_torch_allocated(unsigned type, unsigned index, uint64_t total);
/** The most that it had given out, as its own counter of that says: one that has risen since the
 *  look before, which a sample of this recording or its beginning stands for. */
TIDE_API void tide_torch_peak(unsigned type, unsigned index, uint64_t most);

/** c10's number of a device type ("cuda"); of one it does not know, the last. */
TIDE_API int tide_torch_device_type(const char *name);

/** Whom to ask for the number of the calling thread's current stream on a device; false: not known.
 *  NULL: nobody. Called under the allocator's lock. */
typedef bool tide_torch_stream_fn(unsigned type, unsigned index, int64_t *number);
TIDE_API void tide_torch_streams_by(tide_torch_stream_fn *f);

/* ---- for hooks.c ---- */

/* One after another, on lines of their own: a busy program finds none of them near. */
#define TIDE_HOT __attribute__((hot, aligned(64)))

/* All that an allocation needs of its device, in a line of cache. */
enum { TIDE_C10_TYPES = 32, TIDE_C10_INDEXES = 128, TIDE_C10_STREAMS = 8 };
typedef struct tide_c10_device {
	_Atomic(uint32_t) pool;	    /* + 1; 0 = not opened yet */
	_Atomic(uint32_t) usual;    /* the same, once nothing else is to be asked about a report */
	_Atomic(bool) reported;	    /* something was */
	_Atomic(uint64_t) reserved; /* last total told + 1; 0 = none yet */
	struct {
		_Atomic(int64_t) number; /* + 1; 0 = free */
		_Atomic(uint32_t) stream;
	} streams[TIDE_C10_STREAMS];
} __attribute__((aligned(64))) tide_c10_device;
extern tide_c10_device tide__c10_devices[TIDE_C10_TYPES][TIDE_C10_INDEXES]
	__attribute__((visibility("hidden")));

/* Every device's next report is looked at as if it were the first. */
void tide__devices_unusual(void);

/* Another recording: what allocators hold is to be told again. */
void tide__devices_anew(void);

tide_pool tide__device_open(tide_c10_device *d);
tide_stream tide__device_stream(tide_c10_device *d); /* the calling thread's; 0 = not known */
void tide__device_reserved(tide_c10_device *d, uint64_t total);

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
