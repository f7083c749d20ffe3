// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Imports PyTorch's execution traces (ExecutionTraceObserver, Chakra schemas).
 * docs/formats/execution-trace.md defines the result. */
#ifndef TIDE_IMPORT_EXECTRACE_EXECTRACE_H
#define TIDE_IMPORT_EXECTRACE_EXECTRACE_H

#include "import/import.h"

extern const tide_importer tide__import_exectrace;

/* Fills a model from n bytes (expanded), borrowed for the call. An error's offset is in them. */
tide_code tide__exectrace_import(const char *text, size_t n, const tide_load_options *opt,
				 tide_model *m, tide_error *err);

#endif
