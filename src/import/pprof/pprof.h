// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Imports heap profiles in pprof's protobuf: Go, tcmalloc, jemalloc, JAX's device memory, our own
 * export. docs/formats/pprof.md defines the result. */
#ifndef TIDE_IMPORT_PPROF_PPROF_H
#define TIDE_IMPORT_PPROF_PPROF_H

#include "import/import.h"

extern const tide_importer tide__import_pprof;

/* Fills a model from n bytes (expanded), borrowed for the call. An error's offset is in them. */
tide_code tide__pprof_import(const uint8_t *data, size_t n, tide_model *m, tide_error *err);

#endif
