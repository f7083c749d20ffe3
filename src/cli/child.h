// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Runs the user's program for a command that then reports on it (`compile`, `profile`). */
#ifndef TIDE_CLI_CHILD_H
#define TIDE_CLI_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tide_child {
	char **argv; /* NULL-terminated, borrowed. If the first word is a .py file, Python runs
		      * it */
	const char *const *env; /* name, value, name, value, ..., NULL: set in the child */
	const char *hook;	/* folder put first in PYTHONPATH; NULL = none */
	int64_t limit_s; /* ended by SIGTERM, then SIGKILL, after this many seconds; 0 = never */
	/* results */
	int status;   /* as an exit status: the program's own, 128 + signal, 126 or 127 */
	bool started; /* false: it does not exist or cannot be run; a line was printed */
	bool timed_out;
	int64_t wall_ns;
} tide_child;

/* Runs the program to its end. Signals from the terminal reach it directly; SIGTERM and SIGHUP
 * are forwarded. Returns false if fork failed. `command` is our name in messages. */
bool tide__child_run(const char *command, tide_child *c);

/* The folder of Python hooks, in the build tree or installed. */
bool tide__hook_folder(char *out, size_t n);

#endif
