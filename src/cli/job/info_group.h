// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* info of several traces: recordings of one `tidemark run` form a group, identified by the run's
 * id, with children below their parents. Traces of no run come last. */
#ifndef TIDE_CLI_JOB_INFO_GROUP_H
#define TIDE_CLI_JOB_INFO_GROUP_H

#include "cli/cli.h"

/* Returns the exit status: 0, 1 if a trace could not be read, 2 for a wrong argument. */
int tide__cli_run_info_group(const tide_args *a);

#endif
