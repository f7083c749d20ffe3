// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A recording that somebody compressed as a whole (run.tide.gz, run.tide.zst).
 *
 * A recording is read here and there, so it is first expanded into a temporary file without a name
 * ($TMPDIR, else /tmp). What it may become is limited as of every packed input (source.h). (`tidemark pack`
 * compresses a recording so that it can be read as it is.) */
#ifndef TIDE_IMPORT_TIDE_UNPACK_H
#define TIDE_IMPORT_TIDE_UNPACK_H

#include "import/import.h"

typedef struct tide_unpacked {
	int fd;		 /* -1: the file is plain, or it failed */
	char path[32];	 /* where to read it, for as long as fd is open */
	uint64_t stored; /* bytes it had before; 0 = unknown */
	tide_error ends; /* code: the packed data cannot be read beyond what is there, and why */
} tide_unpacked;

/* TIDE_OK for a plain file as well. TIDE_ELIMIT, TIDE_EIO, TIDE_ENOMEM. Close with tide__unpacked_close, also
 * after failure. */
tide_code tide__unpack(const char *path, const tide_load_options *opt, tide_unpacked *out,
		       tide_error *err);
void tide__unpacked_close(tide_unpacked *u);

#endif
