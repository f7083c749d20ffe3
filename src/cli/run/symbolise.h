// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Adds names to the native frames of a recording and packs the file: after a run, and by `pack`. */
#ifndef TIDE_CLI_RUN_SYMBOLISE_H
#define TIDE_CLI_RUN_SYMBOLISE_H

#include <stdbool.h>

#include <tidemark/error.h>

/* Rewrites the closed recording `path` with the meaning of its native frames (SYMBOL records),
 * packed with this level of zstd (0: the default). The names are those of the libraries that are
 * on this machine now. Files without native frames, or already symbolised, are left unchanged. */
tide_code tide__symbolise(const char *path, int level, tide_error *err);

#endif
