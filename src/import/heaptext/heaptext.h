// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Imports heap profiles as text: tcmalloc, gperftools, jemalloc, Go's debug=1. docs/formats/pprof.md
 * defines the result. */
#ifndef TIDE_IMPORT_HEAPTEXT_HEAPTEXT_H
#define TIDE_IMPORT_HEAPTEXT_HEAPTEXT_H

#include "import/import.h"

extern const tide_importer tide__import_heaptext;

/* Fills a model from n bytes (expanded), borrowed for the call. An error's offset is in them. */
tide_code tide__heaptext_import(const char *text, size_t n, tide_model *m, tide_error *err);

#endif
