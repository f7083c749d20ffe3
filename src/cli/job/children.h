// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Recordings that processes of a run wrote beside the name it was given.
 *
 * `tidemark run -o run.tide -- torchrun ...` writes run.rank0.tide, run.rank1.tide ... and no
 * run.tide, because the launcher itself records nothing. A user continues with the name that was
 * typed: commands that take ranks read all of them, others name one. */
#ifndef TIDE_CLI_JOB_CHILDREN_H
#define TIDE_CLI_JOB_CHILDREN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"

/* Returns true for names that processes of a run give their files: `stem` (n bytes, "run") with a
 * rank, any numbers, or both, such as run.PID.tide, run.rank3.tide, run.rank3.PID.tide;
 * run.PID.2.PID.tide is a fork of the second program that a process became by exec. */
bool tide__is_childs(const char *name, const char *stem, size_t n);

typedef struct tide_children {
	size_t n;	      /* files */
	bool ranked;	      /* all files have a rank in their names */
	char first[PATH_MAX]; /* the lowest rank's, else the first in order */
	char last[PATH_MAX];
	char pattern[2 * PATH_MAX]; /* matches these files, escaped for glob() */
} tide_children;

/* Finds the recordings of child processes of the missing `file`. Returns false if `file` exists, does
 * not end in .tide, or has none. If some have a rank in their names, the others are left out. */
bool tide__children_find(const char *file, tide_children *out);

/* Replaces missing inputs of a command by the recordings of child processes, with a note. Returns 0,
 * or 1 with a message if the command reads one trace and there are several. */
int tide__children_use(tide_args *a);

#endif
