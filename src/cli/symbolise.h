// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* After a run: native frames of its recordings get names, and the files are packed. */
#ifndef TIDE_CLI_SYMBOLISE_H
#define TIDE_CLI_SYMBOLISE_H

#include <stdbool.h>

#include <tidemark/error.h>

/* Rewrite the closed recording `path` with what its native frames mean (SYMBOL records), packed.
 * Files without native frames are left as they are; so are those that have been done. */
tide_code tide__symbolise(const char *path, tide_error *err);

#endif
