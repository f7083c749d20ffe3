// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* An output file that is written under a temporary name and then renamed, so that a failure, a
 * full disk or Ctrl-C leaves the old file unchanged and no other file behind. A link stays a link
 * to the new file, and the mode is kept; a pipe or a device is written in place. */
#ifndef TIDE_CLI_OUTPUT_OUTFILE_H
#define TIDE_CLI_OUTPUT_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

#include <tidemark/error.h>

typedef struct tide_outfile {
	FILE *f;     /* stream to write to; tide__outfile_close closes it */
	char *place; /* owned: final path, links resolved */
	char *temp;  /* owned: written first, then renamed; NULL = written in place */
} tide_outfile;

enum { TIDE_OUTFILES = 2 }; /* open at a time: the output, and a page beside it */

/* Opens the file. Returns TIDE_OK, or an error without a file name; nothing is
 * left behind then. */
tide_code tide__outfile_open(tide_outfile *o, const char *path, tide_error *err);
/* Moves the file into place if `keep`, else discards it. Accepts a file that was not opened. */
tide_code tide__outfile_close(tide_outfile *o, bool keep, tide_error *err);

#endif
