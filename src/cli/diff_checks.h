// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What `diff` says about the conditions of --fail-if, and its exit status. */
#ifndef TIDE_CLI_DIFF_CHECKS_H
#define TIDE_CLI_DIFF_CHECKS_H

#include "analyze/compare/checks.h"
#include "cli/cli.h"

/* Read them from the option's list. 0, or the exit status after a message. Free in any case. */
int tide__cli_checks(const tide_args *a, const tide_value *v, tide_diff_checks *c);
/* A line on stderr for each one that is crossed or cannot be decided; `where` is put before it. */
void tide__cli_checks_note(const tide_diff_checks *c, const char *where);
/* 0, 1 when one could not be decided, 3 when one was crossed. */
int tide__cli_checks_status(const tide_diff_checks *c);

#endif
