// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Decides which files the SQLite file of the index may be, before SQLite opens it, and moves others
 * out of the way.
 *
 * A folder of recordings may come from a stranger. SQLite follows what it finds beside a database: it
 * applies a journal, deletes a file that a journal names, maps a write-ahead log's index and waits
 * for a pipe. Files that we write need none of that, so a file that has it is not ours. */
#ifndef TIDE_SERVE_STORE_RUN_FILE_CHECK_H
#define TIDE_SERVE_STORE_RUN_FILE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Returns false if the path is a link, a folder or no regular file, and writes that to `why`, n
 * bytes: it stays where it is. */
bool tide__run_file_is_regular(const char *path, char *why, size_t n);
/* Returns NULL if the file, or no file, and what is beside it can be ours; else the reason why not. */
const char *tide__run_file_find_fault(const char *path);
/* Renames the file and what is beside it to PATH.refused-1, -2, ... and returns that number; 0 if it
 * cannot be renamed, or there are 99 already. Never replaces a file. */
unsigned tide__run_file_set_aside(const char *path);

#endif
