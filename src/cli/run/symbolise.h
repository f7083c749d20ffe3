// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Adds names to the native frames of a recording and packs the file: after a run, and by `pack`. */
#ifndef TIDE_CLI_RUN_SYMBOLISE_H
#define TIDE_CLI_RUN_SYMBOLISE_H

#include <stdbool.h>
#include <stddef.h>

#include <tidemark/error.h>

#include "cli/run/native_names.h"

/* Programs and libraries that stay open between recordings: reading the debug information of one may
 * take longer than a recording. Zero-initialised: empty. */
enum { TIDE_OBJECTS_KEPT = 64 };
typedef struct tide_objects {
	struct {
		char *path;	     /* owned */
		tide_native *object; /* owned; NULL = it cannot be read */
	} v[TIDE_OBJECTS_KEPT];	     /* when all are taken, the last one makes room */
	size_t n;
	bool unnamed; /* native frames stayed addresses: this build has no libdw */
} tide_objects;

/* Returns what the user can do about `unnamed`. */
const char *tide__unnamed_advice(void);
void tide__objects_close(tide_objects *o);

/* Rewrites the closed recording `path` with the meaning of its native frames (SYMBOL records),
 * packed with this level of zstd (0: the default). The names are those of the libraries that are
 * on this machine now. Files without native frames, or already symbolised, are left unchanged. */
tide_code tide__symbolise(const char *path, int level, tide_objects *objects, tide_error *err);

#endif
