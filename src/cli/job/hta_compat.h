// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* `tidemark hta --hta-compat`: the files of a command by HTA's rules. */
#ifndef TIDE_CLI_JOB_HTA_COMPAT_H
#define TIDE_CLI_JOB_HTA_COMPAT_H

#include "cli/cli.h"

/* Exit status. keep_last: the last profiler step stays. */
int tide__cli_hta_compat(const tide_args *a, bool keep_last, bool json);

#endif
