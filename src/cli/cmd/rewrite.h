// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Shared by recover and pack. */
#ifndef TIDE_CLI_CMD_REWRITE_H
#define TIDE_CLI_CMD_REWRITE_H

#include "cli/cli.h"

/* Writes a->files[0], which may be compressed as a whole (import/tide/unpack.h), with
 * tide__rewrite to `output`, or beside it with `ending` instead of ".tide" (".tide.gz"); prints the
 * result. With `names`, native frames get the names of this machine's libraries. With `tells`,
 * the exit status is 4 if the file is cut off or damaged. Returns the exit status. */
int tide__cli_rewrite(const tide_args *a, const tide_value *output, const char *ending, int level,
		      bool names, bool tells, bool json);

#endif
