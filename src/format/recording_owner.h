// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Detects whether a recording is being written and by which process, and which file name another
 * process may use.
 *
 * The process named in the file's head keeps the ring file mapped while it records. /proc shows
 * that, so a process id that was reused by another process is not mistaken for the writer. A
 * process that cannot be seen from here (another host or container) counts as absent. Allocates
 * nothing: the recorder calls this too. */
#ifndef TIDE_FORMAT_RECORDING_OWNER_H
#define TIDE_FORMAT_RECORDING_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Returns whether the process has this file mapped: 1 yes, 0 no, -1 unknown. */
int tide__has_mapped(uint64_t pid, const struct stat *file);

/* Returns the process that records into `path` now; 0 if none can be seen. */
uint64_t tide__written_by(const char *path);

/* Returns when the recording at `path` began, ns of Unix time; 0 if there is none or it does not
 * say. */
int64_t tide__recording_began(const char *path);

/* Gets the id of the recording at `path`. Returns false, with `id` unchanged, if there is none. */
bool tide__recording_id(const char *path, uint8_t id[16]);

/* Writes the name of this process's file beside `base` (run.tide): run.PID.tide. If that file was
 * begun at `since` or later, the name is run.PID.2.tide, run.PID.3.tide ...: process ids are reused
 * in a long run, and a program may replace itself by exec. */
void tide__child_make_name(char *out, size_t n, const char *base, int64_t since);

/* The same for a process that may be a rank of a job (a launcher has set its rank, launcher.h, and
 * `tidemark run` itself was not started with that rank): run.rank3.tide. Processes that a rank
 * starts inherit its rank; the rank's file is there before theirs, so they get a number. */
void tide__ranks_make_name(char *out, size_t n, const char *base, int64_t since);

#endif
