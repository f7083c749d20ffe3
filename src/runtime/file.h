// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A file that stays the recorder's even if the program closes the recorder's descriptor.
 *
 * Daemons close every descriptor they do not know, and the number may then refer to another file. The
 * writer thread has its own descriptor table for that reason (writer_tasks.h). If it has none, a descriptor
 * is compared with the file it was opened for before and after each use (an fstat per chunk or block,
 * not per event): if it differs before, the file is opened again by its path; if it differs after, a
 * file of the program may have been written to instead, and the recording says so when it stops. */
#ifndef TIDE_RUNTIME_FILE_H
#define TIDE_RUNTIME_FILE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tide_file {
	int fd; /* -1: closed */
	uint64_t dev, ino;
	const char *path; /* borrowed: path to reopen it by; NULL: it cannot be reopened */
	bool misled;	  /* a file of the program may have been changed instead */
} tide_file;

/* Creates a file that must not exist. Returns false and sets errno on failure. `path` may be
 * changed later (rename). */
bool tide__file_create(tide_file *f, const char *path);
/* Returns true if f->fd is the file it was opened for, reopening it if necessary; false (EBADF) if
 * that fails. */
bool tide__file_ours(tide_file *f);
/* After using f->fd: returns true if it still is the file, so that it was the file that was used;
 * otherwise (EBADF) notes that another one may have been. */
bool tide__file_did(tide_file *f);
/* Returns true if f->fd is the file it was opened for. Opens nothing. */
bool tide__file_still(const tide_file *f);
/* Returns true if the file was removed or replaced. */
bool tide__file_removed(const tide_file *f);
/* Returns true if its path still leads to it. */
bool tide__file_there(const tide_file *f);
/* Closes the descriptor if it is still this file. Returns 0 or an errno. */
int tide__file_close(tide_file *f);

/* Allocates file space. Returns 0 or an errno. Refuses sizes that would raise SIGXFSZ. */
int tide__file_allocate(tide_file *f, uint64_t from, uint64_t n);

/* Sets the file's size. Returns 0 or an errno. In a shared descriptor table goes by the path, because
 * cutting a file of the program could not be mended. */
int tide__file_truncate(tide_file *f, uint64_t n);

#endif
