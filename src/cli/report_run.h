// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Makes a command of a report's description. */
#ifndef TIDE_CLI_REPORT_RUN_H
#define TIDE_CLI_REPORT_RUN_H

#include "cli/cli.h"
#include "report/report.h"

enum { TIDE_REPORT_MAX_OPTIONS = 24 };

typedef struct tide_report_command {
	tide_command command; /* borrows the other members */
	tide_option options[TIDE_REPORT_MAX_OPTIONS + 3];
	char usage[600];
} tide_report_command;

void tide__report_command_make(const tide_report_type *type, tide_report_command *out);

/* tide_command.run of every report. */
int tide__cli_run_report(const tide_args *a);

#endif
