// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* `tidemark kernels --counters`: hardware counters of kernels, with the ops that launched them. */
#ifndef TIDE_CLI_CMD_KERNELS_COUNTERS_H
#define TIDE_CLI_CMD_KERNELS_COUNTERS_H

#include "cli/cli.h"

/* Reports on the first file. Returns the exit status. top 0 = all. */
int tide__cli_run_hwcounters(const tide_args *a, size_t top, bool json);

#endif
