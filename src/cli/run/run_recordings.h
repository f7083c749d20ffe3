// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds and closes the recordings of a program that `tidemark run` started, and lists them.
 *
 * Every recording of a run carries the run's id as the fact "process.run" (from TIDEMARK_RUN), so
 * that files of another run under the same name, at the same time or before, are not mistaken for
 * this one's. */
#ifndef TIDE_CLI_RUN_RUN_RECORDINGS_H
#define TIDE_CLI_RUN_RUN_RECORDINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/run/failures.h"

enum { TIDE_RUN_ID = 48 };

/* Writes the id of a run that begins now, of this process: its time, then its process number. */
void tide__run_id(char id[TIDE_RUN_ID]);

/* A run whose program has ended. */
typedef struct tide_run_end {
	const char *file; /* the absolute path it had to record into */
	const char *id;
	pid_t child; /* the program's process */
	int64_t replaced; /* when the recording that was in `file` before began, ns of Unix time; 0 = none */
	bool failed;	/* it may have run out of memory */
	bool heap, gpu; /* its heap, its GPU work was recorded */
} tide_run_end;

/* Closes recordings that the program and its children left open, and prints on stderr where they are
 * and the next commands; `failures`: processes that could not be recorded. */
void tide__run_tell(const tide_run_end *end, const tide_failures *failures);

#endif
