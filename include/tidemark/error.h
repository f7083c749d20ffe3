// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Errors: one code, one line of text, one byte offset.
 *
 * Every fallible call of the library returns a tide_code and takes a `tide_error *` that may be
 * NULL. Numbers are pinned: they never change meaning and are never reused. The recorder's hot
 * path has no error path at all; it counts losses instead (see record.h). */
#ifndef TIDEMARK_ERROR_H
#define TIDEMARK_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_API __attribute__((visibility("default")))

#define TIDE_CODES(X)                                        \
	X(OK, 0, "ok")                                       \
	X(ENOMEM, 1, "out of memory")                        \
	X(EIO, 2, "input/output error")                      \
	X(EFORMAT, 3, "not an input this version can read")  \
	X(ETRUNC, 4, "input ends in the middle of a record") \
	X(ECORRUPT, 5, "input is damaged")                   \
	X(ELIMIT, 6, "a limit was reached")                  \
	X(EUSAGE, 7, "wrong usage")                          \
	X(EBUSY, 8, "already recording")                     \
	X(ENOTFOUND, 9, "not found")                         \
	X(EUNSUPPORTED, 10, "not supported here")

typedef enum tide_code {
#define X(name, number, text) TIDE_##name = number,
	TIDE_CODES(X)
#undef X
} tide_code;

typedef struct tide_error {
	tide_code code;	 /* TIDE_OK when nothing went wrong */
	int sys_errno;	 /* errno of the failing call, else 0 */
	uint64_t offset; /* byte in the input where it was noticed, or TIDE_NO_OFFSET */
	char text[240];	 /* one line, no newline, always terminated */
} tide_error;

#define TIDE_NO_OFFSET UINT64_MAX

/** The fixed text that belongs to a code ("ok", "out of memory" ...). Never NULL.
 *
 *      tide_code rc = TIDE_ETRUNC;
 *      fprintf(stderr, "code %d: %s\n", (int)rc, tide_code_text(rc)); */
TIDE_API const char *tide_code_text(tide_code code);

#ifdef __cplusplus
}
#endif
#endif
