// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Imports Perfetto's .pftrace: slices, instants, counters, flows. docs/formats/perfetto.md defines
 * the result. */
#ifndef TIDE_IMPORT_PERFETTO_PERFETTO_H
#define TIDE_IMPORT_PERFETTO_PERFETTO_H

#include "import/import.h"

extern const tide_importer tide__import_perfetto;

/* Fills a model from n bytes (expanded), borrowed for the call. An error's offset is in them. */
tide_code tide__perfetto_import(const uint8_t *data, size_t n, const tide_load_options *opt,
				tide_model *m, tide_error *err);

#endif
