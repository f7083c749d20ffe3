// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tables of a report as CSV (RFC 4180): a line of names, then one line per row; rows.h says what the
 * columns are. An unknown value is an empty field. Control characters and invalid UTF-8 are escaped
 * as \xNN. */
#ifndef TIDE_REPORT_CSV_H
#define TIDE_REPORT_CSV_H

#include "report/report.h"

/* Writes a table; 0 is the one that --csv prints. Returns TIDE_OK, TIDE_EIO or TIDE_ENOMEM. */
tide_code tide__csv_write(const tide_report_type *type, void *result, size_t table, FILE *out);

#endif
