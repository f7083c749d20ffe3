// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A file that is written beside its place and put there whole at the end.
 *
 *     tide_newfile f;
 *     rc = tide__newfile_open(&f, place, err);     write to f.fd
 *     rc = tide__newfile_keep(&f, err);            or tide__newfile_drop(&f)
 *
 * Until the end it has no name, where the file system can do that (O_TMPFILE), else one that is not in
 * use: no link that somebody planted is followed, and two processes that write to one place do not
 * disturb each other. The one that is done last finds that the place is not as it was and is told. */
#ifndef TIDE_FORMAT_NEWFILE_H
#define TIDE_FORMAT_NEWFILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include <tidemark/error.h>

typedef struct tide_newfile {
	int fd; /* -1: none */
	bool named, existed;
	struct stat before; /* of what was there, if something was */
	char *place, *part; /* owned */
} tide_newfile;

/* TIDE_EIO, TIDE_ENOMEM; then nothing is left. `place` is no link. */
tide_code tide__newfile_open(tide_newfile *f, const char *place, tide_error *err);
/* Close it and put it in its place. TIDE_EBUSY: another file came there meanwhile, and stays. */
tide_code tide__newfile_keep(tide_newfile *f, tide_error *err);
/* Close it and forget it. Safe after keep. */
void tide__newfile_drop(tide_newfile *f);

#endif
