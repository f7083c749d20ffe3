// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What a program that `tidemark run` started has left behind: found, closed and told.
 *
 * Every recording of a run carries the run's id as the fact "process.run" (from TIDEMARK_RUN), so
 * that the files of another run under the same name, at the same time or before, are not taken for
 * this one's. */
#ifndef TIDE_CLI_RUN_RECORDINGS_H
#define TIDE_CLI_RUN_RECORDINGS_H

#include <stdbool.h>
#include <sys/types.h>

enum { TIDE_RUN_ID = 48 };

/* The id of a run that begins now, of this process: when, then its number. */
void tide__run_id(char id[TIDE_RUN_ID]);

/* The program, process `child` of run `id`, has ended: close what it and its children left open,
 * and say on stderr where their recordings are and what to ask next; `failed`: it may have run out
 * of memory; `heap`: its heap was recorded. `file` is where it was to record: absolute. */
void tide__run_tell(const char *file, const char *id, pid_t child, bool failed, bool heap);

#endif
