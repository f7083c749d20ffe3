// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A model as a .tide file: its tables, column by column.
 *
 * A recording has events; a trace from another source (a runtime's log) has none. Its file carries
 * TIDE_FILE_TABLES in its head and TABLE chunks with the whole model, so that every report of the
 * file equals that of the source. docs/formats/tide.md has the layout. */
#ifndef TIDE_IMPORT_TIDE_TABLES_H
#define TIDE_IMPORT_TIDE_TABLES_H

#include <stdio.h>

#include "format/read.h"
#include "model/model.h"

/* Writes all of `m` to `out`. Returns TIDE_EIO or TIDE_ENOMEM on failure. The model is not
 * changed. */
tide_code tide__tables_write(const tide_model *m, FILE *out, tide_error *err);

/* Fills an empty model from a file with TIDE_FILE_TABLES and checks every invariant. Unknown
 * columns and tables are skipped and counted as a loss. Returns TIDE_ECORRUPT or TIDE_ETRUNC with
 * the byte of the chunk if a table is incomplete. */
tide_code tide__tables_read(tide_reader *r, tide_model *m, tide_error *err);

#endif
