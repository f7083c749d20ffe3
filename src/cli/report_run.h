// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Makes a command of a report's description. */
#ifndef TIDE_CLI_REPORT_RUN_H
#define TIDE_CLI_REPORT_RUN_H

#include "cli/cli.h"
#include "report/report.h"

enum { TIDE_REPORT_MAX_OPTIONS = 32 };

typedef struct tide_report_command {
	tide_command command; /* borrows the other members */
	tide_option options[TIDE_REPORT_MAX_OPTIONS + 3];
	char usage[600];
} tide_report_command;

/* `more` (may be NULL): a command that takes more than the traces of its report. Its options follow
 * the report's; its run(), number of files, page and endings apply; usage and help, if it has
 * them. */
void tide__report_command_make(const tide_report_type *type, const tide_command *more,
			       tide_report_command *out);
/* The values of its further options. */
static inline const tide_value *tide__cli_more(const tide_args *a)
{
	return a->opt + a->cmd->report->n_options;
}

/* Returns true if --json or --csv is given: the report has everything. */
bool tide__cli_is_document(const tide_args *a);

/* tide_command.run of every other report. */
int tide__cli_run_report(const tide_args *a);
/* Finds the report of a->cmd on loaded traces and prints it. Returns the exit status. With 0, *out
 * (`out` may be NULL) receives the report. */
int tide__cli_answer(const tide_args *a, const tide_report_traces *in, tide_report **out);
/* The same on n files, each loaded. Without `sizes`: NULL. The report in *out is for its own data
 * alone: its traces are closed. */
int tide__cli_answer_all(const tide_args *a, char **files, const uint64_t *sizes, size_t n,
			 tide_report **out);

#endif
