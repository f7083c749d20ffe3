// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Running somebody's program for a command that then reports on it (`compile`, `profile`). */
#ifndef TIDE_CLI_CHILD_H
#define TIDE_CLI_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tide_child {
	char **argv; /* NULL-terminated, borrowed. A first word that is a .py file is run by Python */
	const char *const *env; /* name, value, name, value, ..., NULL: set in the child */
	const char *hook;	/* folder put first in PYTHONPATH; NULL = none */
	int64_t limit_s; /* ended by SIGTERM, then SIGKILL, after so many seconds; 0 = never */
	/* results */
	int status;   /* as an exit status: the program's own, 128 + signal, 126 or 127 */
	bool started; /* false: it is not there or cannot be run; a line was printed */
	bool timed_out;
	int64_t wall_ns;
} tide_child;

/* Runs it to its end. What a terminal sends goes to it anyway; SIGTERM and SIGHUP are handed on.
 * False: fork failed. `command` names us in messages. */
bool tide__child_run(const char *command, tide_child *c);

/* The folder of Python hooks, in the build tree or installed. */
bool tide__hook_folder(char *out, size_t n);

#endif
