// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Is a recording being written at this moment, and by whom? And which name may a process take
 * beside it?
 *
 * The process that the file's head names has the ring file beside it mapped for as long as it
 * records. Asked of /proc, so a number that was given to another process since does not fool us; a
 * process that cannot be seen from here (another host, another container) is not there. Allocates
 * nothing: the recorder asks too. */
#ifndef TIDE_FORMAT_WRITTEN_H
#define TIDE_FORMAT_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Does the process have this file mapped? 1 yes, 0 no, -1 cannot be told. */
int tide__has_mapped(uint64_t pid, const struct stat *file);

/* The process that records into `path` now; 0: none that can be seen. */
uint64_t tide__written_by(const char *path);

/* When the recording at `path` began: ns of Unix time; 0: there is none, or it does not say. */
int64_t tide__begun(const char *path);

/* The id of the recording at `path`; false, and `id` stays: there is none. */
bool tide__recording_id(const char *path, uint8_t id[16]);

/* The file of this process beside `base` (run.tide): run.PID.tide. One that was begun at `since` or
 * later is left alone, then it is run.PID.2.tide, run.PID.3.tide: a process's number comes back in
 * a long run, and a program may replace itself by another. */
void tide__childs_name(char *out, size_t n, const char *base, int64_t since);

#endif
