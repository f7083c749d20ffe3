// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Runs a program of the Tenstorrent runtime and records its output. */
#ifndef TIDE_CLI_RUN_TT_CAPTURE_H
#define TIDE_CLI_RUN_TT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

#include <tidemark/error.h>

/* Creates BASE/NAME_YYYYMMDD_HHMMSS, a new folder: of two runs in one second the later gets the
 * next free second. Creates BASE if missing. */
tide_code tide__tt_create_folder(const char *base, const char *name, char *out, size_t n,
				 tide_error *err);

/* Runs argv with the runtime's logging on. Its output (both streams) goes to the descriptor `shown`
 * as it is received and into `log`; `times` gets a line "byte<TAB>Unix ns" for every piece
 * received. *status is the exit status, or 128 + the signal's number. Signals are forwarded. */
tide_code tide__tt_capture_run(char **argv, const char *log, const char *times, int shown,
			       int *status, tide_error *err);

#endif
