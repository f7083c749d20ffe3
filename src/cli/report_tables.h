// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tables of a report as files: CSV, or Arrow IPC. */
#ifndef TIDE_CLI_REPORT_TABLES_H
#define TIDE_CLI_REPORT_TABLES_H

#include "cli/cli.h"

/* Returns the folder that --output names if --csv writes every table into it: one that exists, or a
 * name that ends with a slash. NULL = none. */
const char *tide__report_folder(const tide_args *a);

/* Writes the main table to a->out, as Arrow if its name ends in .arrow; or every table into the
 * folder. Returns the exit status. */
int tide__report_put_tables(const tide_args *a, const tide_report_type *type, void *result);

#endif
