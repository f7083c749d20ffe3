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
 * Recording starts at the first such call, or op, in a process that was told where to record
 * (TIDEMARK_RECORD; start.h), so a shell or a compiler that the program starts makes no file. Everything
 * here may run under an allocator's lock and without the GIL: it takes no lock, and never fails the
 * program. */
#ifndef TIDE_CAPTURE_TORCH_HOOKS_H
#define TIDE_CAPTURE_TORCH_HOOKS_H

#include <stdint.h>

#include <tidemark/record.h>

/** Ops describe what they return from now on, or no more: the latest allocations are kept for
 * tide_torch_fresh. */
TIDE_API void tide_torch_describes(bool on);

/** Every allocation gets the Python stack of its thread from now on, or no more: for recordings
 * without ops. Frames must have been learnt (frames.h). */
TIDE_API void tide_torch_alloc_stacks(bool on);

/** Is the tensor at `addr`, with a shape (any hash of it) and grad as given, to be described? So it
 * is when its memory is one of this thread's latest allocations and nobody has done so: then its
 * pool. */
TIDE_API bool tide_torch_fresh(uint64_t addr, uint32_t shape, bool grad, tide_pool *pool);

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
