// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The words that decide whether anything is recorded, and the recorder's one lock.
 *
 * They live in a page that the kernel wipes in every forked child, raw clone included
 * (MADV_WIPEONFORK). In a child the generation is 0, which no thread has, so the first call takes the
 * slow path, sees `alive` 0 and forgets everything inherited. The lock is in that page too: if
 * another thread held it at the fork, it is free in the child.
 *
 * Slow sections (start, stop, a thread's first event, a new name) hold the lock with all signals
 * but SIGBUS (ring_sigbus.h) blocked and cancellation off, so no signal handler can run in a slow section,
 * leave it by longjmp, or deadlock on the lock. A call made inside a slow section of its own thread
 * comes from the recorder itself (for example through an interposed malloc) and is ignored. */
#ifndef TIDE_RUNTIME_GUARD_H
#define TIDE_RUNTIME_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tidemark/detail/quick.h>
#include <tidemark/record.h>

_Static_assert(sizeof(tide_guard) == TIDE_PAGE, "guard page");
enum { TIDE_ALIVE = 1, TIDE_FOLLOWER };

/* ---- a program that forbids itself system calls ----
 *
 * From the moment at which a thread of this process requests a seccomp filter or strict mode, threads
 * other than the recorder's make no system call for the recorder, since a filter may end the program
 * for it: signals are not blocked, waits spin, and the writer thread finds requests in its next round
 * instead of being woken. A handler that leaves a slow section by longjmp then stops the recording
 * of all threads that need the lock; a wait for the lock is bounded. */
extern _Atomic bool tide__no_calls __attribute__((visibility("hidden")));
TIDE_API void tide__calls_forbid(void);
TIDE_API bool tide__calls_forbidden(void);
/* Pauses for a moment between two looks at a word: lets another thread run, if calls are allowed. */
void tide__pause(void);
/* Returns the calling thread's number. Makes no system call if they are forbidden. */
uint64_t tide__thread_number(void);

typedef struct tide_slow_section {
	bool blocked;  /* signals are blocked, */
	uint64_t mask; /* as the kernel has it */
	int saved_errno, cancel;
} tide_slow_section;

/* Blocks all signals but SIGBUS, and but the 2 that libc uses itself; returns what was blocked
 * before. tide__signals_restore takes that back. Not pthread_sigmask, which unblocks those 2 where
 * libc has blocked them (its thread for timers then dies of one), and which a sanitizer replaces by
 * a function that does not work before its own start. */
TIDE_API uint64_t tide__signals_block(void);
TIDE_API void tide__signals_restore(uint64_t before);

/* Begins a slow section. Returns false if this thread is in one already. Initialises the recorder
 * (first call, or forked child) when needed. */
bool tide__slow_enter(tide_slow_section *s);
void tide__slow_leave(tide_slow_section *s);
/* Marks this thread as the recorder's own: nothing it does is recorded. */
void tide__slow_mark_own_thread(void);
/* Marks the thread on this stack as the recorder's own, before it runs: a sanitizer, which replaces
 * pthread_create, allocates on the new thread before that thread calls our function. */
void tide__slow_own_stack(const void *low, size_t bytes);

/* Releases the lock inside a slow section, and takes it again. Returns false, without the lock, if
 * another thread keeps it while system calls are forbidden. */
bool tide__lock(void);
void tide__unlock(void);

/* Asks the kernel to wipe the page in children. Returns false if unsupported; fork handlers must do
 * it then. */
bool tide__guard_init(void);

/* Futex wait and wake on a word of this process. timeout_us 0: forever. */
void tide__wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_us);
void tide__wake(_Atomic uint32_t *word);

/* Returns zeroed anonymous pages, never from malloc; NULL on failure. */
void *tide__pages_map(size_t bytes);

#endif
