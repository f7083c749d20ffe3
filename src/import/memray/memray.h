// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Imports captures of memray. docs/formats/memray.md defines the result. */
#ifndef TIDE_IMPORT_MEMRAY_MEMRAY_H
#define TIDE_IMPORT_MEMRAY_MEMRAY_H

#include "import/import.h"

extern const tide_importer tide__import_memray;

/* Fills a model from n bytes, LZ4 or plain, borrowed for the call. An error's offset is in the
 * expanded bytes. */
tide_code tide__memray_import(const uint8_t *data, size_t n, tide_model *m, tide_error *err);

/* Expands LZ4 frames, at most `most` bytes. *out is owned by the caller: tide__free. Returns
 * TIDE_ETRUNC if the input ends early (what was expanded is kept), TIDE_ECORRUPT, TIDE_ELIMIT,
 * TIDE_ENOMEM. */
tide_code tide__lz4_expand(const uint8_t *in, size_t n, size_t most, uint8_t **out, size_t *n_out,
			   tide_error *err);

/* Returns the line of an instruction of a Python code object; 0 = unknown. `version` is
 * PY_VERSION_HEX of the Python that made the table. */
uint32_t tide__python_line(uint32_t version, const uint8_t *table, size_t n, int64_t first,
			   int64_t instruction);

#endif
