// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The state of another process: it runs, is stopped or has ended. */
#ifndef TIDE_CLI_RUN_PROCESS_STATE_H
#define TIDE_CLI_RUN_PROCESS_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef enum tide_process_state {
	TIDE_PROCESS_RUNS,
	TIDE_PROCESS_STOPPED, /* by SIGSTOP, Ctrl-Z or a debugger */
	TIDE_PROCESS_ENDED,
} tide_process_state;

/* Returns the state of process `pid`. A zombie has ended: in containers the first process often
 * reaps no orphans. A process whose first thread has ended but others run is not a zombie. */
tide_process_state tide__process_state_read(pid_t pid);

/* Distinct processes: one may make several files, because it becomes another program by exec. */
typedef struct tide_pids {
	size_t n;
	long v[1024];
} tide_pids;

/* Adds a process if it is not in the set. If the set is full, every process counts as another. */
void tide__pids_add(tide_pids *s, long pid);

#endif
