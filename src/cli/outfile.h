// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A file that a command writes: beside its place, then renamed over it, so that a failure, a full
 * disk or Ctrl-C leaves the old file alone and nothing else behind. A link stays a link and leads
 * to the new file, the mode stays; a pipe or a device is written in place. */
#ifndef TIDE_CLI_OUTFILE_H
#define TIDE_CLI_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

#include <tidemark/error.h>

typedef struct tide_outfile {
	FILE *f;     /* to be written; tide__outfile_close closes it */
	char *place; /* owned: where it goes, links followed */
	char *temp;  /* owned: written first, then renamed; NULL = written in place */
} tide_outfile;

/* One at a time. TIDE_OK, or an error that names no file; nothing is left then. */
tide_code tide__outfile_open(tide_outfile *o, const char *path, tide_error *err);
/* `keep`: put it in its place, else it never was. A file that was not opened is fine. */
tide_code tide__outfile_close(tide_outfile *o, bool keep, tide_error *err);

#endif
