// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The tables of a report, row by row: for CSV, Arrow and other formats of tables.
 *
 * Columns come from the description, so they are the same for every trace. Members of a nested
 * object are columns of their own, "total.bytes"; a nested list or table is one column of JSON. The
 * report writes its document into a sink, which keeps one row at a time. */
#ifndef TIDE_REPORT_ROWS_H
#define TIDE_REPORT_ROWS_H

#include "render/text/json.h"
#include "report/report.h"

enum { TIDE_ROWS_COLUMNS = 128, TIDE_ROWS_NAME = 160 };

typedef struct tide_rows_column {
	char name[TIDE_ROWS_NAME]; /* "total.bytes" */
	const tide_member *member;
	bool nested;   /* its values are JSON */
	bool may_null; /* it or an object around it may be unknown or absent */
} tide_rows_column;

/* A value of a row. */
typedef struct tide_rows_cell {
	int kind;   /* of tide_json_item: TEXT, INT, UINT, REAL, BOOL; NULL = unknown or absent */
	char *text; /* owned; TEXT: any bytes; of a nested column: JSON */
	size_t n, cap;
	int64_t i;
	uint64_t u; /* BOOL, too */
	double d;
} tide_rows_cell;

/* A table of a report. */
typedef struct tide_rows {
	const tide_report_type *type;
	const tide_member *table; /* NULL: the single values of the report, one row */
	tide_rows_column columns[TIDE_ROWS_COLUMNS];
	size_t n_columns;
} tide_rows;

/* Receives a row: n_columns cells, borrowed for the call. Returns false to stop. */
typedef bool tide_rows_put(void *user, const tide_rows_cell *cells);

/* Returns the number of tables: those of the description, and the single values. */
size_t tide__rows_count(const tide_report_type *type);
/* Fills `r` with the columns of a table; 0 is the main one, the last has the single values. */
void tide__rows_begin(tide_rows *r, const tide_report_type *type, size_t table);
/* Returns the name of a table: its key; of the single values "values". */
const char *tide__rows_name(const tide_rows *r);
/* Gives every row to `put`. Returns false if memory ran out or put() stopped. */
bool tide__rows_walk(const tide_rows *r, void *result, tide_rows_put *put, void *user);

#endif
