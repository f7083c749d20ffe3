// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Documents that only a command prints: rows of several ranks, a profile of a program, a changed
 * recording. They are described as reports are (report.h), so `tidemark schema` has them and tests
 * check them; no other door has them, and they have no find().
 *
 *     tide_document d;
 *     tide__document_begin(&d, a, &tide__document_profile);
 *     tide__json_kstr(&d.json, "recording", name);  ...
 *     return tide__document_end(&d, a); */
#ifndef TIDE_CLI_DOCUMENTS_H
#define TIDE_CLI_DOCUMENTS_H

#include "cli/cli.h"
#include "report/report.h"

/* NULL-terminated. */
extern const tide_report_type *const tide__documents[];

/* Finds a document by its name, or NULL. */
const tide_report_type *tide__document_named(const char *name);

struct tide_check;
typedef struct tide_document {
	tide_json json;
	struct tide_check *check; /* owned; NULL except in tests */
} tide_document;

/* Opens the document on a->out: brace, name, version. */
void tide__document_begin(tide_document *d, const tide_args *a, const tide_report_type *type);
/* Closes the brace. Returns the exit status. */
int tide__document_end(tide_document *d, const tide_args *a);
/* Frees a document that is not ended. */
void tide__document_drop(tide_document *d);
/* Prints a whole result: as CSV or Arrow, JSON or text, as the options say. Returns the exit
 * status. */
int tide__document_put(const tide_args *a, const tide_report_type *type, void *result);

#endif
