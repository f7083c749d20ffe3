// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The two files of a run, read back: is the nth element of both the same operation? */
#ifndef TIDE_CLI_TT_CHECK_H
#define TIDE_CLI_TT_CHECK_H

#include <stddef.h>

#include <tidemark/error.h>

/* Compares number, index and location. *n: operations; *no_shapes: those without any shape. TIDE_OK,
 * TIDE_EIO, or TIDE_ECORRUPT with the first element that differs. Reads files as `tidemark tt` writes
 * them: indented by two, a member a line. */
tide_code tide__tt_check(const char *memory, const char *operations, size_t *n, size_t *no_shapes,
			 tide_error *err);

#endif
