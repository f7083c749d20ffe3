// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Imports tables of device ops: tt-metal's ops_perf_results.csv and tt-perf-report's --csv.
 * docs/formats/tt-perf.md defines the result. */
#ifndef TIDE_IMPORT_TTPERF_TTPERF_H
#define TIDE_IMPORT_TTPERF_TTPERF_H

#include "import/import.h"

extern const tide_importer tide__import_ttperf;

/* Fills a model from n bytes (expanded), borrowed for the call. An error's offset is in them. */
tide_code tide__ttperf_import(const char *text, size_t n, tide_model *m, tide_error *err);

#endif
