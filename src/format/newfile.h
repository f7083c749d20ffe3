// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes a file under a temporary name and moves it into place at the end.
 *
 *     tide_newfile f;
 *     rc = tide__newfile_open(&f, place, err);     write to f.fd
 *     rc = tide__newfile_keep(&f, err);            or tide__newfile_drop(&f)
 *
 * Until the end it has no name if the file system supports that (O_TMPFILE), else an unused one: no
 * planted link is followed, and two processes that write to one place do not disturb each other. The
 * one that finishes last finds that the place has changed and fails with TIDE_EBUSY. */
#ifndef TIDE_FORMAT_NEWFILE_H
#define TIDE_FORMAT_NEWFILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include <tidemark/error.h>

typedef struct tide_newfile {
	int fd; /* -1: none */
	bool named, existed;
	struct stat before; /* the file that was at `place`, if any */
	char *place, *part; /* owned */
} tide_newfile;

/* Opens the new file. Returns TIDE_EIO or TIDE_ENOMEM and leaves nothing behind. `place` must not
 * be a link. */
tide_code tide__newfile_open(tide_newfile *f, const char *place, tide_error *err);
/* Closes the file and moves it into place. Returns TIDE_EBUSY if another file appeared there
 * meanwhile; that file stays. */
tide_code tide__newfile_keep(tide_newfile *f, tide_error *err);
/* Closes and removes the file. Safe after keep. */
void tide__newfile_drop(tide_newfile *f);

#endif
