// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tables of a report as CSV (RFC 4180): a line of keys, then one line per row.
 *
 * Columns come from the description, so they are the same for every trace, and a table without rows
 * has its header. An unknown value is an empty field. Members of a nested object are columns of
 * their own, "total.bytes"; a nested list or table is a field of JSON. Control characters and
 * invalid UTF-8 are escaped as \xNN. */
#ifndef TIDE_REPORT_CSV_H
#define TIDE_REPORT_CSV_H

#include "report/report.h"

/* Returns the number of tables: those of the description, and the single values. */
size_t tide__csv_count(const tide_report_type *type);
/* Returns the name of a table: its key; for the single values, the last table, the report's name. */
const char *tide__csv_name(const tide_report_type *type, size_t table);
/* Writes a table; 0 is the one that --csv prints. Returns TIDE_OK, TIDE_EIO or TIDE_ENOMEM. */
tide_code tide__csv_write(const tide_report_type *type, void *result, size_t table, FILE *out);

#endif
