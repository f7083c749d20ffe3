// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The native call stack of this thread, by unwind tables that are read once per call site.
 *
 * A table maps each return address seen so far to its row (cfi.h); a frame then costs one look-up
 * and two loads. Code without a table (made at run time) is left through its frame pointer. Every
 * load is inside the thread's stack, so a wrong row ends a walk and never the program; on a stack
 * that is not the thread's own (a coroutine's, a signal handler's) only the caller is told.
 * Allocates nothing through malloc. */
#ifndef TIDE_CAPTURE_HEAP_UNWIND_H
#define TIDE_CAPTURE_HEAP_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tide_stack_bounds {
	uintptr_t low, high; /* of the thread's stack; 0, 0 = not looked up yet */
} tide_stack_bounds;

/* Look up the calling thread's bounds. May call malloc inside libc. */
void tide__stack_bounds(tide_stack_bounds *b);

typedef struct tide_walk {
	uintptr_t pc, sp,
		fp; /* of the function that called us: return address, CFA, its frame pointer */
} tide_walk;

/* Where a function that was compiled with a frame pointer was called from. */
#define TIDE_WALK_HERE()                                                          \
	((tide_walk){ (uintptr_t)__builtin_return_address(0),                     \
		      (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(void *), \
		      *(uintptr_t *)__builtin_frame_address(0) })

/* Return addresses from `w` outwards, innermost first, at most `max`; returns how many. A walk ends
 * in front of the function that lies at [stop, stop_end) (0: none), and *stopped says so. */
size_t tide__unwind(tide_walk w, const tide_stack_bounds *b, uintptr_t *out, size_t max,
		    uintptr_t stop, uintptr_t stop_end, bool *stopped);

/* Code was unmapped: forget all rows. */
void tide__unwind_forget(void);

#endif
