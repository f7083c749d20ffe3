// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The recorder's threads must not keep a process alive.
 *
 * A process ends in one of 3 ways. `exit` and `exit_group` end every thread: nothing is needed. The
 * last pthread that ends (pthread_exit, also of main) calls exit(0); libc counts threads to know
 * which is the last, so the recorder's threads are taken out of that count. A thread that ends by
 * the system call `exit` alone (a child of clone(), seccomp's strict mode) is not counted by
 * anybody: the writer thread asks the kernel from time to time whether others are left. */
#ifndef TIDE_RUNTIME_LAST_THREAD_H
#define TIDE_RUNTIME_LAST_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include <tidemark/record.h>

/* Looks for that count. Call when the recorder is loaded, not later: dlsym cannot be called inside
 * free, where a recording of a forked child may start. */
void tide__threads_init(void);
/* Takes the thread that was just created out of libc's count of threads. Does nothing if this libc
 * has no such count. */
TIDE_API void tide__thread_uncount(void);
/* Puts it back: call before the thread returns. */
TIDE_API void tide__thread_recount(void);

/* Writer thread, with a descriptor table of its own: opens what tide__program_gone reads. */
void tide__program_watch(void);
/* Writer thread: returns true if every thread of the program has ended. Asks the kernel 50 times a
 * second at most. */
bool tide__program_gone(uint64_t now_ns);
/* Writer thread, after tide__program_gone returned true: ends the process with the status that it
 * would have without the recorder. */
_Noreturn void tide__program_end(void);
/* In a forked child: forgets the parent's threads. */
void tide__program_forget(void);

#endif
