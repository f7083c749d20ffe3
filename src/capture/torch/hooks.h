// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* PyTorch's allocations, in pure C: c10's own report and allocation functions, taken over and
 * passed on.
 *
 * The library defines the C++ symbols that PyTorch's libraries call through their PLT; preloaded
 * (tidemark run), it is found first. Every call is recorded and forwarded to the original, so that
 * PyTorch, and torch.profiler, see what they always see. No torch header is needed: the symbols are
 * plain functions.
 *
 *   c10::alloc_cpu, c10::free_cpu             CPU tensors
 *   c10::reportMemoryUsageToProfiler          the caching allocators (CUDA, HIP, XPU, ...) and
 * shared memory c10::reportOutOfMemoryToProfiler          out of memory
 *
 * Recording starts at the first such call in a process that was told where to record
 * (TIDEMARK_RECORD), so a shell or a compiler that the program starts makes no file. Everything
 * here may run under an allocator's lock and without the GIL: it takes no lock, and never fails the
 * program. */
#ifndef TIDE_CAPTURE_TORCH_HOOKS_H
#define TIDE_CAPTURE_TORCH_HOOKS_H

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

/** c10's number of a device type ("cuda"); of one it does not know, the last. */
TIDE_API int tide_torch_device_type(const char *name);

/** Is the tensor at `addr`, with a shape (any hash of it) and grad as given, to be described? So it
 * is when its memory is one of this thread's latest allocations and nobody has done so: then its
 * pool. */
TIDE_API bool tide_torch_fresh(uint64_t addr, uint32_t shape, bool grad, tide_pool *pool);

/** Whom to ask for the number of the calling thread's current stream on a device; false: not known.
 *  NULL: nobody. Called under the allocator's lock. */
typedef bool tide_torch_stream_fn(unsigned type, unsigned index, int64_t *number);
TIDE_API void tide_torch_streams_by(tide_torch_stream_fn *f);

/* The hooks by the symbol they stand for; the last row has no name. */
typedef struct tide_torch_hook {
	const char *name;
	uintptr_t address;
} tide_torch_hook;
extern const tide_torch_hook tide__torch_hooks[];
extern const uintptr_t tide__torch_report_hook; /* the one for the report of memory */
/* Are the originals to be found? Nothing may be taken over before. Counters begin anew. */
bool tide__torch_ready(void);

#endif
