// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Opens and reads input files. */
#ifndef TIDE_BASE_INPUT_H
#define TIDE_BASE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens a file for reading, close-on-exec, with additional `flags` (O_NONBLOCK), and counts it as an
 * input of the memory budget (mem.h). Returns -1 and sets errno on failure. */
int tide__input_open(const char *path, int flags);

/* Makes opening a path through a symbolic link fail with ELOOP from now on, in the whole process.
 * For a server whose list of realpath'ed files may be out of date: a link that replaced a file or
 * folder is not followed. Names in /proc/self/fd are exempt. */
void tide__input_refuse_links(void);

/* Reads n bytes at `at`, or as many as the file has: *got, also on failure. Returns false and sets
 * errno if reading failed. */
bool tide__input_read_at(int fd, void *buf, size_t n, uint64_t at, size_t *got);

#endif
