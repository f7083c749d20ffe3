// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Imports a torch memory snapshot from memory (tests, fuzzing). */
#ifndef TIDE_IMPORT_TORCHSNAP_LOAD_H
#define TIDE_IMPORT_TORCHSNAP_LOAD_H

#include "import/import.h"

/* Imports n bytes of uncompressed pickle into an empty model. opt may be NULL. */
tide_code tide__snap_import(const uint8_t *data, size_t n, const tide_load_options *opt,
			    tide_model *m, tide_error *err);
/* The same, with lists of events divided among threads in slices of `stretch` bytes, 0 = no
 * threads. */
tide_code tide__snap_import_by(const uint8_t *data, size_t n, const tide_load_options *opt,
			       size_t stretch, tide_model *m, tide_error *err);

extern const tide_importer tide__import_torchsnap;

#endif
