// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* After a run: adds names to the native frames of its recordings and packs the files. */
#ifndef TIDE_CLI_RUN_SYMBOLISE_H
#define TIDE_CLI_RUN_SYMBOLISE_H

#include <stdbool.h>

#include <tidemark/error.h>

/* Rewrites the closed recording `path` with the meaning of its native frames (SYMBOL records),
 * packed. Files without native frames, or already symbolised, are left unchanged. */
tide_code tide__symbolise(const char *path, tide_error *err);

#endif
