// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Expands a recording that was compressed as a whole (run.tide.gz, run.tide.zst).
 *
 * A recording is read at random positions, so it is first expanded into an unnamed temporary file
 * ($TMPDIR, else /tmp). The expansion limit is that of every compressed input (source.h).
 * (`tidemark pack` compresses a recording so that it can be read directly.) */
#ifndef TIDE_IMPORT_TIDE_UNPACK_H
#define TIDE_IMPORT_TIDE_UNPACK_H

#include "import/import.h"

typedef struct tide_unpacked {
	int fd;		 /* -1: the file is not compressed, or it failed */
	char path[32];	 /* path to read it by, while fd is open */
	uint64_t stored; /* compressed bytes; 0 = unknown */
	tide_error ends; /* why the compressed data could not be read further; code TIDE_OK =
			  * complete */
} tide_unpacked;

/* Returns TIDE_OK for an uncompressed file as well; TIDE_ELIMIT, TIDE_EIO, TIDE_ENOMEM. Close
 * with tide__unpacked_close, also after failure. */
tide_code tide__unpack(const char *path, const tide_load_options *opt, tide_unpacked *out,
		       tide_error *err);
void tide__unpacked_close(tide_unpacked *u);

#endif
