// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes pages from the command line: `report` writes all views, `COMMAND ... -o x.html` that of
 * one. */
#ifndef TIDE_CLI_OUTPUT_PAGE_H
#define TIDE_CLI_OUTPUT_PAGE_H

#include "analyze/device/hta_job.h"
#include "render/page/page.h"
#include "cli/cli.h"

/* Returns true if -o names a page and the command has one, without --json. */
bool tide__cli_is_page(const tide_args *a);
/* Returns true if -o names a page and the command has none. */
bool tide__cli_no_page(const tide_args *a);

/* Returns the ending of -o's name if the command does not write such a file, else NULL. Names
 * without an ending, numeric endings and devices are accepted, and any name if a command writes
 * bytes. */
const char *tide__cli_bad_ending(const tide_args *a);
/* Returns the ending of -o's name if --json was given and it names a page or a picture, else NULL. */
const char *tide__cli_not_json(const tide_args *a);
/* A name of -o that ends in .json or .csv requests that form: sets --json or --csv of a command
 * that has it. */
void tide__cli_imply_json(const tide_args *a);
/* Returns true if -o names a page, whether or not the command has one. */
bool tide__cli_named_page(const tide_args *a);

/* Writes the page of the trace in a->files[0]: only `view`, NULL = everything. */
int tide__cli_write_page(const tide_args *a, const char *view);
/* The same for a loaded trace. */
int tide__cli_write_page_of(const tide_args *a, const tide_model *m, const char *view);

/* The same with a view and what options change in it. */
int tide__cli_write_page_with(const tide_args *a, const tide_model *m,
			      const tide_page_options *opt);

/* Writes the page of a loaded trace, with everything, into a file beside the command's output. */
int tide__cli_write_page_file(const tide_args *a, const tide_model *m, const char *path);

/* Returns the data that a page needs loaded: shapes, unless the input is very large. */
unsigned tide__cli_page_wants(const char *file);

/* Returns false, with a message, if this build has no front end. */
bool tide__cli_page_built(const tide_args *a);

/* Writes the sections of the page's `number`-th trace, computing what they need. Takes ownership
 * of `h`; NULL = it is computed here if the view shows it. */
tide_code tide__cli_write_trace(const tide_args *a, const char *file, const tide_model *m,
				tide_hta *h, unsigned number, const char *view, tide_error *err);

#endif
