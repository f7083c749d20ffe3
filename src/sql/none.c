// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A build without SQLite. */
#include "base/error.h"
#include "sql/sql.h"

tide_code tide__sql_open(const tide_report_traces *in, tide_sql **out, tide_error *err)
{
	(void)in;
	*out = NULL;
	return tide__fail(err, TIDE_EUNSUPPORTED, TIDE_NO_OFFSET, "this build has no SQLite");
}

void tide__sql_close(tide_sql *s)
{
	(void)s;
}

tide_code tide__sql_run(tide_sql *s, const char *query, const tide_sql_limits *limits,
			const char **rest, tide_sql_result **out, tide_error *err)
{
	(void)s, (void)query, (void)limits, (void)rest;
	*out = NULL;
	return tide__fail(err, TIDE_EUNSUPPORTED, TIDE_NO_OFFSET, "this build has no SQLite");
}

void tide__sql_result_free(tide_sql_result *r)
{
	(void)r;
}

const tide_report_type *tide__sql_type(const tide_sql_result *r)
{
	(void)r;
	return NULL;
}

size_t tide__sql_rows(const tide_sql_result *r)
{
	(void)r;
	return 0;
}

uint64_t tide__sql_left_out(const tide_sql_result *r)
{
	(void)r;
	return 0;
}

void tide__sql_print_tables(const tide_sql *s, FILE *out)
{
	(void)s, (void)out;
}

bool tide__sql_print_schema(const tide_sql *s, const char *table, FILE *out)
{
	(void)s, (void)table, (void)out;
	return false;
}

bool tide__sql_complete(const char *text)
{
	(void)text;
	return true;
}

size_t tide__sql_columns(const tide_sql_result *r)
{
	(void)r;
	return 0;
}

tide_sql_cell tide__sql_cell(const tide_sql_result *r, size_t row, size_t column, char buf[40])
{
	(void)r, (void)row, (void)column, (void)buf;
	return (tide_sql_cell){ .type = TIDE_SQL_NULL };
}

const tide_member *tide__sql_column(const tide_sql_result *r, size_t column)
{
	(void)r, (void)column;
	return NULL;
}
