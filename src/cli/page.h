// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Pages from the command line: `report` writes all views, `COMMAND ... -o x.html` that of one. */
#ifndef TIDE_CLI_PAGE_H
#define TIDE_CLI_PAGE_H

#include "cli/cli.h"

/* Does -o name a page, and does the command know one? --json always means JSON. */
bool tide__cli_is_page(const tide_args *a);

/* Write the page of the trace in a->files[0]: of `view` alone, NULL = everything. */
int tide__cli_page(const tide_args *a, const char *view);
/* The same of a trace that is loaded. */
int tide__cli_page_of(const tide_args *a, const tide_model *m, const char *view);

#endif
