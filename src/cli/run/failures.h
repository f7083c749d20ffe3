// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Collects the reasons why processes of a run could not be recorded (runtime/failure.h sends
 * them). */
#ifndef TIDE_CLI_RUN_FAILURES_H
#define TIDE_CLI_RUN_FAILURES_H

#include "cli/run/process_state.h"
#include "format/run_socket.h"

typedef struct tide_failures {
	int fd; /* -1: no socket, nothing will be heard */
	tide_pids processes;
	char first[TIDE_RUN_MESSAGE]; /* text of the first message */
	long pid;		      /* its process */
} tide_failures;

/* Listens for messages of the run `id`. */
void tide__failures_open(tide_failures *f, const char *id);

/* Takes all messages that have arrived. */
void tide__failures_read(tide_failures *f);

void tide__failures_close(tide_failures *f);

#endif
