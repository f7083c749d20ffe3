// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads reports that the Python classes of tidemark.profiling exported as JSON: documents whose
 * first member is "format": "tidemark-profiling". What is opened was checked: the whole text is
 * JSON, and every member that an answer uses has its type and a figure that can be. */
#ifndef TIDE_IMPORT_EXPORTED_EXPORTED_H
#define TIDE_IMPORT_EXPORTED_EXPORTED_H

#include <tidemark/error.h>

#include "import/json/node.h"

typedef enum tide_exported_kind {
	TIDE_EXPORTED_HTA,
	TIDE_EXPORTED_COMPILE,
	TIDE_EXPORTED_MEMORY,
	TIDE_EXPORTED_SESSION,
	TIDE_EXPORTED_N
} tide_exported_kind;

typedef struct tide_exported {
	tide_exported_kind kind;
	jsonr json; /* owned; `doc` points at it, so this is not copied */
	jsonr_node doc;
} tide_exported;

/* Returns "hta", "compile", "memory" or "session", as in the document. */
const char *tide__exported_text(tide_exported_kind kind);

/* Returns whether a file begins as these documents do. Reads a few bytes. */
bool tide__exported_begins(const char *path);
/* Opens a document; tide__exported_free frees *e, also after a failure. Returns TIDE_EFORMAT for
 * other files, TIDE_ECORRUPT with the offset of damage, TIDE_ELIMIT above 64 MiB. */
tide_code tide__exported_load(const char *path, tide_exported *e, tide_error *err);
/* The same for n bytes in memory. */
tide_code tide__exported_read(const char *text, size_t n, tide_exported *e, tide_error *err);
void tide__exported_free(tide_exported *e);

/* Returns the member `key` of the member `part`; type 0 = there is none. */
jsonr_node tide__exported_get(const tide_exported *e, const char *part, const char *key);
/* Returns whether a document has any figure that is known, or a row. */
bool tide__exported_figures(const tide_exported *e);
/* Gets a number of a document. Returns false for null and other values. */
bool tide__exported_number(jsonr_node v, double *out);

#endif
