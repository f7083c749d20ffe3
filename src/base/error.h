// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sets a tide_error in one line: `return tide__fail(err, TIDE_ETRUNC, at, "chunk %u ends early",
 * n)`. */
#ifndef TIDE_BASE_ERROR_H
#define TIDE_BASE_ERROR_H

#include <tidemark/error.h>

/* Fill *err (may be NULL) and return `code`. `offset` may be TIDE_NO_OFFSET. */
tide_code tide__fail(tide_error *err, tide_code code, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The same for a failed system call: appends strerror(errno) and keeps errno in sys_errno. */
tide_code tide__fail_errno(tide_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Reports "out of memory" without allocating. */
tide_code tide__nomem(tide_error *err);

#endif
