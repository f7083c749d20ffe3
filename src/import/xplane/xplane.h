// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Imports .xplane.pb files of XLA's profiler (JAX, TensorFlow). docs/formats/xla.md defines the
 * result. */
#ifndef TIDE_IMPORT_XPLANE_XPLANE_H
#define TIDE_IMPORT_XPLANE_XPLANE_H

#include "import/import.h"

extern const tide_importer tide__import_xplane;

/* Fills a model from n bytes (expanded), borrowed for the call. An error's offset is in them. */
tide_code tide__xplane_import(const uint8_t *data, size_t n, tide_model *m, tide_error *err);

#endif
