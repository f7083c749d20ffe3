// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The commands that answer something, after a report that finds nothing in a recording: on standard
 * error, so that the report itself stays as it is. */
#ifndef TIDE_CLI_OUTPUT_NEXT_H
#define TIDE_CLI_OUTPUT_NEXT_H

#include "cli/cli.h"

/* Prints the commands that answer something about `file`, which holds this (analyze/overview/hints.h),
 * without that of the report. */
void tide__cli_tell_next(const char *report, const char *file, unsigned holds);
/* The same after a report on one trace: nothing if the report shows something of it. `failed`: it
 * could not be made. */
void tide__cli_tell_next_of(const tide_args *a, const tide_report_type *type, const char *file,
			    const tide_model *m, bool failed);

#endif
