// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What recover and pack share. */
#ifndef TIDE_CLI_REWRITE_H
#define TIDE_CLI_REWRITE_H

#include "cli/cli.h"

/* Write a->files[0], which may be compressed as a whole (import/tide/unpack.h), as tide__rewrite does, to
 * `output`, or beside it with `ending` for ".tide" (".tide.gz"); tell what was done. The exit status. */
int tide__cli_rewrite(const tide_args *a, const tide_value *output, const char *ending, int level,
		      bool json);

#endif
