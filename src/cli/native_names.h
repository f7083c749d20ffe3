// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What an address in a program or library means: functions, files, lines. */
#ifndef TIDE_CLI_NATIVE_NAMES_H
#define TIDE_CLI_NATIVE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tide_native tide_native; /* one object file */

/* Open the program or library at `path`; NULL: it is gone, or no reader of them was built in. Nothing
 * is fetched from the network. */
tide_native *tide__native_open(const char *path);
void tide__native_close(tide_native *n); /* NULL is fine */

/* One function at an address. Texts are borrowed for the call. */
typedef void tide_native_put(void *user, const char *function, const char *file, uint32_t line);
/* Call `put` for the function at `addr` (as in the file) and those inlined in it there, outermost
 * first. False: nothing is known of it. */
bool tide__native_find(tide_native *n, uint64_t addr, tide_native_put *put, void *user);

/* Is a reader built in? */
bool tide__native_available(void);

#endif
