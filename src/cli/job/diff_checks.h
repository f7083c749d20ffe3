// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Messages of `diff` about the conditions of --fail-if, and its exit status. */
#ifndef TIDE_CLI_JOB_DIFF_CHECKS_H
#define TIDE_CLI_JOB_DIFF_CHECKS_H

#include "analyze/compare/checks.h"
#include "cli/cli.h"

/* Parses them from the option's list. Returns 0, or the exit status after a message. Free in any
 * case. */
int tide__cli_parse_checks(const tide_args *a, const tide_value *v, tide_diff_checks *c);
/* Prints a line to stderr for each condition that is crossed or undecided, prefixed by `where`. */
void tide__cli_print_checks(const tide_diff_checks *c, const char *where);
/* Returns 0, 1 if one is undecided, 3 if one was crossed. */
int tide__cli_checks_status(const tide_diff_checks *c);

#endif
