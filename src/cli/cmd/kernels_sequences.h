// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* `tidemark kernels --sequences OP`: the kernel sequences that ops launch most often. */
#ifndef TIDE_CLI_CMD_KERNELS_SEQUENCES_H
#define TIDE_CLI_CMD_KERNELS_SEQUENCES_H

#include "analyze/common/steps.h"
#include "cli/cli.h"

/* Reports on the first file. Returns the exit status. top 0 = all. */
int tide__cli_run_sequences(const tide_args *a, const char *op, const tide_window *window,
			    size_t min_kernels, size_t top, bool json);

#endif
