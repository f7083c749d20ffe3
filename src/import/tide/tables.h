// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A model as a .tide file: its tables, column by column.
 *
 * A recording has events; a trace that came from somewhere else (a runtime's log) has none. Its file
 * carries TIDE_FILE_TABLES in its head and TABLE chunks: the model as it is, so that every report of
 * the file equals that of the source. docs/formats/tide.md has the layout. */
#ifndef TIDE_IMPORT_TIDE_TABLES_H
#define TIDE_IMPORT_TIDE_TABLES_H

#include <stdio.h>

#include "format/read.h"
#include "model/model.h"

/* Writes all of `m` to `out`. TIDE_EIO, TIDE_ENOMEM. The model is not changed. */
tide_code tide__tables_write(const tide_model *m, FILE *out, tide_error *err);

/* Fills an empty model from a file with TIDE_FILE_TABLES and checks every invariant. Columns and
 * tables that this version does not know are skipped and counted as a loss. TIDE_ECORRUPT or
 * TIDE_ETRUNC with the byte of the chunk: half of a table is no trace. */
tide_code tide__tables_read(tide_reader *r, tide_model *m, tide_error *err);

#endif
