// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Running a program of the Tenstorrent runtime and keeping what it prints. */
#ifndef TIDE_CLI_TT_CAPTURE_H
#define TIDE_CLI_TT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

#include <tidemark/error.h>

/* Make BASE/NAME_YYYYMMDD_HHMMSS, a folder that was not there: of two runs in one second the later
 * gets the next free second. BASE is made where it is missing. */
tide_code tide__tt_folder(const char *base, const char *name, char *out, size_t n, tide_error *err);

/* Run argv with the runtime's logging on. What it prints (both streams) goes to standard output as it
 * comes and into `log`; `times` gets a line "byte<TAB>Unix ns" for every piece received. *status is
 * the exit status, 128 + the signal's number where one ended it. Signals are handed on. */
tide_code tide__tt_capture(char **argv, const char *log, const char *times, int *status,
			   tide_error *err);

#endif
