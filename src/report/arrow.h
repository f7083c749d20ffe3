// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A table of a report as an Arrow IPC file, which pyarrow, polars, pandas and DuckDB read in place.
 *
 * Columns are those of rows.h: texts are utf8, integers int64 or uint64, real numbers float64, flags
 * bool, moments of the wall clock timestamp[ns, UTC], lists and tables utf8 with JSON. Unknown is
 * null. Metadata of the schema name the report, its version and the table; those of a column its kind
 * and meaning. Invalid UTF-8 is as in JSON: a byte 0xNN is the character U+00NN. */
#ifndef TIDE_REPORT_ARROW_H
#define TIDE_REPORT_ARROW_H

#include "report/report.h"

/* Writes a table; 0 is the main one. Returns TIDE_OK, TIDE_EIO or TIDE_ENOMEM. */
tide_code tide__arrow_write(const tide_report_type *type, void *result, size_t table, FILE *out);

#endif
