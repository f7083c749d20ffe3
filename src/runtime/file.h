// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A file that stays ours although the program may close our descriptor under us.
 *
 * Daemons close every descriptor they do not know, and the number then names somebody else's file. The
 * writer thread has a descriptor table of its own against that (errand.h). Where it has none, a
 * descriptor is compared with the file it was opened for before each use (one fstat, per chunk or block,
 * not per event); if it is not that file any more, the file is opened again by its path. */
#ifndef TIDE_RUNTIME_FILE_H
#define TIDE_RUNTIME_FILE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tide_file {
	int fd; /* -1: closed */
	uint64_t dev, ino;
	const char *path; /* borrowed: where to find it again; NULL: nowhere */
} tide_file;

/* Create a file that must not exist. False: errno. `path` may be changed later (rename). */
bool tide__file_create(tide_file *f, const char *path);
/* Is f->fd the file it was opened for? Opened again if not; false (EBADF) when that fails as well.
 */
bool tide__file_ours(tide_file *f);
/* Is f->fd the file it was opened for? Nothing is opened. */
bool tide__file_still(const tide_file *f);
/* It has no name any more: somebody removed it, or put another in its place. */
bool tide__file_removed(const tide_file *f);
/* Its path still leads to it. */
bool tide__file_there(const tide_file *f);
/* Close, if it is ours. 0 or an errno. */
int tide__file_close(tide_file *f);

/* Allocate file space; 0 or an errno. Refuses what would raise SIGXFSZ. */
int tide__file_allocate(tide_file *f, uint64_t from, uint64_t n);

#endif
