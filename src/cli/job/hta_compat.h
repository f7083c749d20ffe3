// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* `tidemark hta --hta-compat`: analyses the files of a command by HTA's rules. */
#ifndef TIDE_CLI_JOB_HTA_COMPAT_H
#define TIDE_CLI_JOB_HTA_COMPAT_H

#include "cli/cli.h"

/* Returns the exit status. keep_last: keep the last profiler step. */
int tide__cli_run_hta_compat(const tide_args *a, bool keep_last);

#endif
