// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Shows the progress of work that takes over a second: one line on a terminal, removed at the
 * end. */
#ifndef TIDE_CLI_OUTPUT_PROGRESS_H
#define TIDE_CLI_OUTPUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tide_progress {
	const char *what; /* name of the input; borrowed */
	int64_t next_ms;  /* when the next line is due; 0 = never: standard error is not a
	                   * terminal */
	bool shown;
	bool aside; /* another program writes to the terminal: the line is at its right margin, and
	             * the cursor stays */
} tide_progress;

void tide__progress_begin(tide_progress *p, const char *what);
/* Shown if a line is due. */
void tide__progress_print(tide_progress *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* `progress` of tide_load_options, whose `user` is a tide_progress: "reading WHAT: 40 % (1.2
 * GiB)". */
void tide__progress_read(void *user, uint64_t done, uint64_t total);
void tide__progress_end(tide_progress *p);

#endif
