// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Imports rocprofv3's JSON. docs/formats/rocpd.md defines the result. */
#ifndef TIDE_IMPORT_ROCPROF_ROCPROF_H
#define TIDE_IMPORT_ROCPROF_ROCPROF_H

#include "import/import.h"

extern const tide_importer tide__import_rocprof;

/* Fills a model from n bytes (expanded), borrowed for the call. An error's offset is in them. */
tide_code tide__rocprof_import(const char *text, size_t n, const tide_load_options *opt,
			       tide_model *m, tide_error *err);

#endif
