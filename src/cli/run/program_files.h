// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Locates the program's own files, and sets variables for a child that needs them. */
#ifndef TIDE_CLI_RUN_PROGRAM_FILES_H
#define TIDE_CLI_RUN_PROGRAM_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include <tidemark/trace.h>

#include "places.h" /* of the build: TIDE_LIBDIR, TIDE_DATADIR, ... */

/* Finds a file of the build beside the program, else the installed one. Relative paths begin at the
 * program's folder; those of installed files are relative in a Python package. Returns false if
 * neither exists. */
bool tide__program_file_find(char *out, size_t n, const char *in_build, const char *installed);
/* The same for a file of the source tree, whose path is relative to it, if the program is in a build
 * folder of that tree. */
bool tide__source_file_find(char *out, size_t n, const char *in_tree, const char *installed);

/* Finds the folder of Python hooks. */
static inline bool tide__hook_folder_find(char *out, size_t n)
{
	return tide__source_file_find(out, n, "python/hook", TIDE_DATADIR "/tidemark/hook");
}

/* Returns true if a file can be written there, without changing an existing file; a pipe or a
 * device is not tried. */
bool tide__may_write(const char *file, tide_error *err);
/* The same for a recording, which replaces a regular file: an existing one must be empty or a
 * recording. */
bool tide__may_record(const char *file, tide_error *err);

/* Returns why a program cannot be run, before it is tried; NULL if nothing is known against it. A
 * .py file is to be readable, a name without a slash is searched in PATH. `status` gets 126 or 127,
 * as a shell would exit. The text is static or strerror's. */
const char *tide__program_problem(const char *name, int *status);

/* Prepends `value` to the variable, separated by `between`; sets it if empty. */
void tide__prepend(const char *name, const char *value, char between);

#endif
