// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Checks the two files of a run: the nth element of both must be the same operation. */
#ifndef TIDE_CLI_CMD_TT_CHECK_H
#define TIDE_CLI_CMD_TT_CHECK_H

#include <stddef.h>

#include <tidemark/error.h>

/* Compares number, index and location. *n: operations; *no_shapes: those without any shape.
 * Returns TIDE_OK, TIDE_EIO, TIDE_ENOMEM, or TIDE_ECORRUPT with the first element that differs. */
tide_code tide__tt_check(const char *memory, const char *operations, size_t *n, size_t *no_shapes,
			 tide_error *err);

#endif
