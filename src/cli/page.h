// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Pages from the command line: `report` writes all views, `COMMAND ... -o x.html` that of one. */
#ifndef TIDE_CLI_PAGE_H
#define TIDE_CLI_PAGE_H

#include "analyze/device/hta_job.h"
#include "cli/cli.h"

/* Does -o name a page, and does the command know one? --json always means JSON. */
bool tide__cli_is_page(const tide_args *a);
/* Does it name one although the command has none? */
bool tide__cli_no_page(const tide_args *a);

/* The ending of -o's name where the command writes no such file, else NULL. Names without an ending,
 * with a numeric one and devices are fine, and so is every name where a command writes bytes. */
const char *tide__cli_bad_ending(const tide_args *a);
/* Does -o name a page? Whether the command has one does not matter. */
bool tide__cli_named_page(const tide_args *a);

/* Write the page of the trace in a->files[0]: of `view` alone, NULL = everything. */
int tide__cli_page(const tide_args *a, const char *view);
/* The same of a trace that is loaded. */
int tide__cli_page_of(const tide_args *a, const tide_model *m, const char *view);

/* What a page wants loaded: shapes are worth their memory unless the input is very large. */
unsigned tide__cli_page_wants(const char *file);

/* False, with a message, when this build has no front end. */
bool tide__cli_page_built(const tide_args *a);

/* The sections of one trace, the page's `number`-th, with what they need computed here. `h` is
 * taken over; NULL = it is analyzed here if the view shows it. */
tide_code tide__cli_trace(const tide_args *a, const char *file, const tide_model *m, tide_hta *h,
			  unsigned number, const char *view, tide_error *err);

#endif
