// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Runs the user's program: for `run`, `tt`, and commands that then report on it. */
#ifndef TIDE_CLI_RUN_CHILD_H
#define TIDE_CLI_RUN_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct tide_child {
	char **argv; /* NULL-terminated, borrowed. If the first word is a .py file, Python runs
		      * it */
	const char *const *env; /* name, value, name, value, ..., NULL: set in the child */
	const char *hook;	/* folder put first in PYTHONPATH; NULL = none */
	bool out_to_err; /* its standard output goes to standard error: ours has a document */
	int64_t limit_s; /* as of tide__child_wait_limit; 0 = never */
	/* results */
	int status;   /* as an exit status: the program's own, 128 + signal, 126 or 127 */
	bool started; /* false: it does not exist or cannot be run; a line was printed */
	bool timed_out;
	int64_t wall_ns;
} tide_child;

/* Runs the program to its end, started by tide__child_fork. Returns false if fork failed. `command`
 * is our name in messages. */
bool tide__child_run(const char *command, tide_child *c);

/* Forks. Signals from the terminal reach the child directly; those sent to us are forwarded to it
 * until it has been waited for. One child at a time. The child has the signal handlers from
 * before. */
pid_t tide__child_fork(void);
/* Waits for the child, stops forwarding, and returns the status of waitpid. */
int tide__child_wait(pid_t pid);
/* The same; after `limit_s` seconds (0 = never) it ends the child with SIGTERM, 5 s later with
 * SIGKILL, and kills every process that the child started and left behind. */
int tide__child_wait_limit(pid_t pid, int64_t limit_s, bool *timed_out);
/* Stops forwarding; for a child whose end was seen by another waitpid. */
void tide__child_gone(void);

/* Return whether a file's name ends in .py; the Python that runs such files (borrowed). */
bool tide__is_script(const char *name);
char *tide__python_name(void);

/* Returns the command line of `tidemark run -o FILE OPTION... -- PROGRAM ...`; Python runs a .py
 * file. `options` ends with NULL. Owned by the caller: free(); its words are borrowed. Returns NULL
 * if memory runs out or the path of this program is unknown. Set TIDE_RUN_ASKED in its
 * environment. */
#define TIDE_RUN_ASKED \
	"TIDEMARK_RUN_ASKED", "1" /* `run` lets the caller report what was recorded */
char **tide__child_make_command(char **program, const char *file, const char *const *options);

#endif
