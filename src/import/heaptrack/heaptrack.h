// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Imports recordings of heaptrack. docs/formats/heaptrack.md defines the result. */
#ifndef TIDE_IMPORT_HEAPTRACK_HEAPTRACK_H
#define TIDE_IMPORT_HEAPTRACK_HEAPTRACK_H

#include "import/import.h"

extern const tide_importer tide__import_heaptrack;

struct tide_source;
/* Fills a model from an open source, borrowed. */
tide_code tide__heaptrack_import(struct tide_source *src, tide_model *m, tide_error *err);

#endif
