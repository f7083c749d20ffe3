// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* `tidemark diff A B --hta-compat`: HTA's trace diff. */
#ifndef TIDE_CLI_CMD_DIFF_COMPAT_H
#define TIDE_CLI_CMD_DIFF_COMPAT_H

#include "cli/cli.h"

/* Returns the exit status. device: TIDE_COMPAT_*. */
int tide__cli_run_diff_compat(const tide_args *a, int device, size_t top);

#endif
