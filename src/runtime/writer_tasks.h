// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Runs all work that needs file descriptors on the writer thread.
 *
 * A program may close descriptors it does not know at any moment (daemons do, with close_range) and
 * open files of its own under their numbers. A recorder that shares the program's descriptor table
 * would then write into the program's file, or close it, however carefully it checks. So the writer
 * thread has a descriptor table of its own, which the program cannot reach and no child inherits, and
 * other threads ask it to run such work.
 *
 * If the kernel refuses a separate table (before Linux 2.6.16, or in a sandbox), the table is shared
 * and only file.h's checks remain. */
#ifndef TIDE_RUNTIME_WRITER_TASKS_H
#define TIDE_RUNTIME_WRITER_TASKS_H

#include <stdbool.h>
#include <stdint.h>

/* Writer thread, at its start: creates its own, empty descriptor table. */
void tide__errand_unshare(void);
/* Returns true if the writer thread has its own descriptor table. */
bool tide__errand_private(void);

/* Makes the writer thread call what(arg) and waits for it. On the writer thread, calls it directly.
 * In a slow section, between the writer's start and tide_stop. */
void tide__errand_run(void (*what)(void *arg), void *arg);
/* Writer thread: runs a pending request, if any. */
void tide__errand_look(void);
/* In a forked child: forgets the writer thread, which does not exist there. */
void tide__errand_forget(void);

/* Wakes the writer thread: waits (timeout_us 0: forever) unless it was woken since `seen` was
 * read. */
uint32_t tide__bell(void);
void tide__bell_wait(uint32_t seen, uint64_t timeout_us);
void tide__bell_wake(void);

#endif
