// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Walks the native call stack of this thread, with unwind tables that are read once per call site.
 *
 * A cache maps each return address seen so far to its row (cfi.h); a frame then costs one lookup
 * and two loads. Code without an unwind table (generated at run time) is unwound by its frame
 * pointer. Every load is inside the thread's stack, so a wrong row ends a walk and never crashes
 * the program; on another stack (a coroutine's, a signal handler's) only the caller is returned.
 * Allocates nothing through malloc. */
#ifndef TIDE_CAPTURE_HEAP_UNWIND_H
#define TIDE_CAPTURE_HEAP_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tide_stack_bounds {
	uintptr_t low, high; /* of the thread's stack; 0, 0 = not looked up yet */
} tide_stack_bounds;

#define TIDE_NO_BOUNDS \
	{              \
		16, 16 \
	} /* unknown: nothing is inside */

/* Finds the calling thread's bounds. May call malloc inside libc while libc holds the thread's
 * lock: do not call it inside pthread_getattr_np. */
void tide__stack_bounds_find(tide_stack_bounds *b);

typedef struct tide_walk {
	uintptr_t pc, sp, fp; /* of the calling function: return address, CFA, its frame pointer */
} tide_walk;

/* Returns the place from which a function compiled with a frame pointer was called. */
#define TIDE_WALK_HERE()                                                          \
	((tide_walk){ (uintptr_t)__builtin_return_address(0),                     \
		      (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(void *), \
		      *(uintptr_t *)__builtin_frame_address(0) })

typedef struct tide_walked {
	const uintptr_t
		*pc; /* return addresses, innermost first; borrowed until the thread's next walk */
	size_t n;
	bool stopped;  /* it ended before the function it had to stop at */
	uint64_t hash; /* of all of them */
} tide_walked;

/* A thread's latest walks. A walk depends only on where it starts and the words that it loads:
 * if those are unchanged, so is the result, and checking costs 1/5 of walking again. */
typedef struct tide_walks tide_walks;
tide_walks *tide__walks_new(void); /* mapped memory; NULL: none, and every walk is repeated */
void tide__walks_free(tide_walks *w);
/* Returns the buffer for the frames of a walk of this thread, and its capacity. */
uintptr_t *tide__walks_room(tide_walks *w, size_t *most);

/* Walks from `w` outwards into `room` (of `max` frames) unless `known` (may be NULL) has the walk.
 * The walk ends before the function at [stop, stop_end) (0: none). */
tide_walked tide__unwind(tide_walk w, const tide_stack_bounds *b, tide_walks *known,
			 uintptr_t *room, size_t max, uintptr_t stop, uintptr_t stop_end);

/* Call in a forked child: another thread of the parent may have held the lock. */
void tide__unwind_forked(void);
/* Call after code was unmapped: discards all rows. */
void tide__unwind_forget(void);

#endif
