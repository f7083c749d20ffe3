// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Types of this folder. */
#ifndef TIDE_SQL_INTERNAL_H
#define TIDE_SQL_INTERNAL_H

#include <sqlite3.h>

#include "analyze/common/paths.h"
#include "model/kind_names.h"
#include "report/rows.h"
#include "sql/order.h"
#include "sql/sql.h"

enum { SQL_COLUMNS = 24, SQL_NAME = 64 };

/* How a column of the model is shown. */
typedef enum sql_form {
	SQL_NUMBER,
	SQL_REAL,
	SQL_ROW,    /* a row of another table: 0 is NULL */
	SQL_TEXT,   /* an interned text: none is NULL */
	SQL_WORD,   /* the text of a kind */
	SQL_DEVICE, /* a row of devices, by its name: cuda:0 */
} sql_form;

typedef struct sql_column {
	const char *name, *doc;
	sql_form form;
	uint8_t size, is_signed;
	bool has_null;
	int64_t null;					    /* the value that means unknown */
	int64_t (*derive)(const tide_model *m, size_t row); /* NULL = a column of the model */
	tide_kind_names words;
	bool hidden;
} sql_column;

/* A column of one trace. */
typedef struct sql_data {
	const void *v; /* borrowed; NULL = derived */
	const tide_model *m;
	const sql_column *c;
	tide_order *order; /* owned; NULL = not needed yet */
} sql_data;

typedef struct sql_table {
	tide_sql *sql;
	const char *name, *doc;
	size_t first; /* 1 if row 0 means none */
	sql_column columns[SQL_COLUMNS];
	size_t n_columns;
	size_t start, end; /* columns of the interval of a row; SIZE_MAX = it has none */
	size_t during; /* column of the beginning of the asked interval, then of its end; SIZE_MAX */
	size_t trace;  /* column of the number of the file: the last */
	sql_data (*data)[SQL_COLUMNS]; /* owned; by trace */
	size_t *rows;		       /* owned; by trace */
	tide_intervals **intervals;    /* owned; by trace */
} sql_table;

/* A table of a report. */
typedef struct sql_report {
	tide_sql *sql;
	const tide_report_type *type;
	size_t table;
	char name[SQL_NAME];
	bool each; /* rows of every trace, with its number */
} sql_report;

/* Live bytes at every 64th memory event of one device, or of all. */
typedef struct sql_live {
	uint32_t device;
	uint64_t *sums; /* owned */
	struct sql_live *next;
} sql_live;

typedef struct sql_trace {
	tide_paths paths;
	bool has_paths;
	sql_live *live; /* owned */
} sql_trace;

struct sql_found;

struct tide_sql {
	sqlite3 *db;
	tide_report_traces in;
	sql_table *tables; /* owned */
	size_t n_tables;
	sql_report *reports; /* owned */
	size_t n_reports;
	sql_trace *traces;	       /* owned */
	struct sql_found *found;       /* owned; answers of reports, the newest first */
	const tide_sql_limits *limits; /* of the query that runs */
	int64_t until_ms;
	size_t kept;	 /* bytes of its result */
	const char *why; /* it was ended; NULL = it was not */
};

/* Register tables and functions. Return an error of SQLite. */
int tide__sql_add_tables(tide_sql *s);
int tide__sql_add_reports(tide_sql *s);
int tide__sql_add_functions(tide_sql *s);
void tide__sql_free_tables(tide_sql *s);
void tide__sql_free_reports(tide_sql *s);
void tide__sql_free_functions(tide_sql *s);

/* Makes a table with this module. Returns an error of SQLite. */
int tide__sql_create(tide_sql *s, const char *name, const sqlite3_module *module, void *aux);

/* Sets the message of a virtual table. Returns SQLITE_ERROR. */
int tide__sql_vtab_fail(sqlite3_vtab *t, const char *text);

/* Writes the name of a column of a report in SQL: "total_bytes". */
void tide__sql_name(const char *key, char *out, size_t n);

/* Makes the result of a statement. */
tide_code tide__sql_collect(tide_sql *s, sqlite3_stmt *q, tide_sql_result **out, tide_error *err);

#endif
