// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Records PyTorch's allocations, in pure C: hooks c10's report and allocation functions and
 * forwards the calls.
 *
 * The library defines the C++ symbols that PyTorch's libraries call through their PLT; preloaded
 * (tidemark run), it is found first. Every call is recorded and forwarded to the original, so that
 * PyTorch and torch.profiler work as usual. No torch header is needed: the symbols are plain
 * functions.
 *
 *   c10::alloc_cpu, c10::free_cpu     CPU tensors
 *   c10::reportMemoryUsageToProfiler  the caching allocators (CUDA, HIP, XPU, ...), shared memory
 *   c10::reportOutOfMemoryToProfiler  out of memory
 *
 * Recording starts at the first such call, or op, in a process with the variable TIDEMARK_RECORD
 * (start.h), so a shell or a compiler that the program starts makes no file.
 * Everything here may run under an allocator's lock and without the GIL: it takes no lock, and
 * never fails the program. */
#ifndef TIDE_CAPTURE_TORCH_HOOKS_H
#define TIDE_CAPTURE_TORCH_HOOKS_H

#include <stdint.h>

#include <tidemark/record.h>

/** Enables or disables descriptions of op results; while enabled, the latest allocations are kept
 * for tide_torch_fresh. */
TIDE_API void tide_torch_describes(bool on);

/** Enables or disables Python stacks for every allocation, for recordings without ops.
 * tide_torch_frames_learn must have succeeded (frames.h). */
TIDE_API void tide_torch_alloc_stacks(bool on);

/** Returns true, and its pool, if the tensor at `addr`, with this shape hash and grad, should be
 * described: its memory is one of this thread's latest allocations and has no description yet. */
TIDE_API bool tide_torch_fresh(uint64_t addr, uint32_t shape, bool grad, tide_pool *pool);

/* The hooks by the symbol they replace; the last row has no name. */
typedef struct tide_torch_hook {
	const char *name;
	uintptr_t address;
} tide_torch_hook;
extern const tide_torch_hook tide__torch_hooks[];
extern const uintptr_t tide__torch_report_hook; /* the hook of the memory report */
/* Returns true if the originals can be found; nothing may be hooked before. Resets counters. */
bool tide__torch_ready(void);

#endif
