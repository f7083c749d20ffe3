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

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <tidemark/detail/quick.h>

_Static_assert(sizeof(tide_guard) == TIDE_PAGE, "guard page");
enum { TIDE_ALIVE = 1, TIDE_FOLLOWER };

typedef struct tide_slow_section {
	sigset_t mask;
	int saved_errno, cancel;
} tide_slow_section;

/* Begins a slow section. Returns false if this thread is in one already. Initialises the recorder
 * (first call, or forked child) when needed. */
bool tide__slow_enter(tide_slow_section *s);
void tide__slow_leave(tide_slow_section *s);
/* Marks this thread as the recorder's own: nothing it does is recorded. */
void tide__slow_mark_own_thread(void);

/* Releases the lock inside a slow section, and takes it again. */
void tide__lock(void);
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
