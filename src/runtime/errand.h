// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Errands: whatever the recorder does with descriptors, its writer thread does.
 *
 * A program may close descriptors it does not know at any moment (daemons do, with close_range) and open
 * files of its own under their numbers. A recorder that shares the program's table then writes into the
 * program's file, or closes it, however closely it looks before. So the writer thread has a descriptor
 * table of its own, which the program cannot reach and which no child inherits, and other threads send it
 * on errands.
 *
 * Where the kernel refuses a table of its own (before Linux 2.6.16, or a sandbox), the table is shared and
 * file.h's checks are what remains. */
#ifndef TIDE_RUNTIME_ERRAND_H
#define TIDE_RUNTIME_ERRAND_H

#include <stdbool.h>
#include <stdint.h>

/* The writer thread, first of all: take a table of its own, empty. */
void tide__errand_home(void);
/* Whether the writer thread has a table of its own. */
bool tide__errand_private(void);

/* Have the writer thread call what(arg), and wait until it has. At once where this is the writer thread.
 * In a slow section, between the writer's start and tide_stop. */
void tide__errand(void (*what)(void *arg), void *arg);
/* The writer thread: do what is asked for, if anything is. */
void tide__errand_look(void);
/* In a forked child: there is no writer any more. */
void tide__errand_forget(void);

/* The writer thread's bell: wait (timeout_us 0: for ever) unless it rang since it read `seen`. */
uint32_t tide__bell(void);
void tide__bell_wait(uint32_t seen, uint64_t timeout_us);
void tide__bell_ring(void);

#endif
