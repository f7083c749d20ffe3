// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Read-only SQL over traces, by SQLite.
 *
 * The tables of the model and of every report are virtual tables over the columns: nothing is copied
 * and nothing is written. docs/guide/sql.md is the manual for users.
 *
 *     tide_sql *s;
 *     tide_sql_result *r;
 *     if (tide__sql_open(&in, &s, &err) == TIDE_OK &&
 *         tide__sql_run(s, "select count(*) from spans", NULL, NULL, &r, &err) == TIDE_OK)
 *             tide__csv_write(tide__sql_type(r), r, 0, out);
 *
 * A connection belongs to one thread. Queries are hostile: an authorizer refuses everything that does
 * not read, limits end what does not end, and SQLite opens no file.
 *
 *   sql.c       the connection: what SQLite may do, running a query
 *   tables.c    tables of the model      order.c     rows in the order of a column, intervals
 *   reports.c   tables of reports        functions.c stack, path, overlap, live_at
 *   result.c    the rows of a query, as a report
 *   catalog.c   .tables and .schema */
#ifndef TIDE_SQL_SQL_H
#define TIDE_SQL_SQL_H

#include "report/report.h"

typedef struct tide_sql tide_sql;
typedef struct tide_sql_result tide_sql_result;

typedef struct tide_sql_limits {
	int64_t ms;		  /* time of a query; 0 = no limit */
	size_t rows;		  /* rows of the result that are kept; 0 = all. More are counted */
	size_t bytes;		  /* of the result and of SQLite; 0 = no limit */
	const volatile int *stop; /* not 0: the query ends; may be NULL */
} tide_sql_limits;

/* Opens a connection over one trace or more. Column `trace_id` has the number of a row's trace, from 1.
 * Models are borrowed until tide__sql_close. Fails with TIDE_ENOMEM, or TIDE_EUNSUPPORTED in a build
 * without SQLite. */
tide_code tide__sql_open(const tide_report_traces *in, tide_sql **out, tide_error *err);
void tide__sql_close(tide_sql *s); /* NULL is allowed */

/* Runs the first statement of a text and keeps its rows. *rest (may be NULL) receives what follows
 * it. A text without a statement has no result: *out = NULL. `limits` may be NULL. Fails with
 * TIDE_EUSAGE (SQLite's message), TIDE_ELIMIT, TIDE_ENOMEM. */
tide_code tide__sql_run(tide_sql *s, const char *query, const tide_sql_limits *limits,
			const char **rest, tide_sql_result **out, tide_error *err);
void tide__sql_result_free(tide_sql_result *r); /* NULL is allowed */

/* Returns the description of a result: a report "sql" with one table, "rows". Borrowed from r. All
 * that writes reports writes it: csv.h, arrow.h, text.h, tide__report_write. */
const tide_report_type *tide__sql_type(const tide_sql_result *r);
size_t tide__sql_rows(const tide_sql_result *r);
/* Returns rows that the limit left out. */
uint64_t tide__sql_left_out(const tide_sql_result *r);

/* A value of a result. */
typedef struct tide_sql_cell {
	enum { TIDE_SQL_NULL, TIDE_SQL_INT, TIDE_SQL_REAL, TIDE_SQL_TEXT } type;
	int64_t i;
	double d;
	const char *text; /* borrowed from the result; any bytes */
	size_t n;
} tide_sql_cell;

size_t tide__sql_columns(const tide_sql_result *r);
/* Returns the value, as the kind of its column: PLAIN, REAL or TEXT. Numbers in a column of texts are
 * written to buf. */
tide_sql_cell tide__sql_cell(const tide_sql_result *r, size_t row, size_t column, char buf[40]);
/* Returns a column: its name and its kind. */
const tide_member *tide__sql_column(const tide_sql_result *r, size_t column);

/* Prints the names of all tables with what they hold; the schema of one table, NULL = of all, with
 * the meaning of each column. Returns false if there is no such table. */
void tide__sql_print_tables(const tide_sql *s, FILE *out);
bool tide__sql_print_schema(const tide_sql *s, const char *table, FILE *out);

/* Returns true if the text ends a statement: it has a semicolon outside texts and comments. */
bool tide__sql_complete(const char *text);

#endif
