// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Resolves addresses in programs and libraries to functions, files and lines. */
#ifndef TIDE_CLI_RUN_NATIVE_NAMES_H
#define TIDE_CLI_RUN_NATIVE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tide_native tide_native; /* one object file */

/* Opens the program or library at `path`; returns NULL if it is gone, or if this build has no
 * reader. Nothing is fetched from the network. */
tide_native *tide__native_open(const char *path);
void tide__native_close(tide_native *n); /* NULL is allowed */

/* One function at an address. Texts are borrowed for the call. */
typedef void tide_native_put(void *user, const char *function, const char *file, uint32_t line);
/* Calls `put` for the function at `addr` (as in the file) and those inlined there, outermost
 * first. Returns false if nothing is known. */
bool tide__native_find(tide_native *n, uint64_t addr, tide_native_put *put, void *user);

/* Returns true if this build has a reader. */
bool tide__native_available(void);

#endif
