// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The rows of a query as a report, so that everything that writes reports writes them. A column whose
 * values are all integers is one of integers, of numbers one of numbers, else one of texts. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "sql/internal.h"

enum { COLUMN_NAME = 100 };

struct cell {
	uint8_t type; /* SQLITE_INTEGER ... */
	uint32_t n;
	union {
		int64_t i;
		double d;
		char *text; /* owned */
	};
};

struct tide_sql_result {
	tide_report_type type;
	tide_member table[4], *columns; /* owned */
	char (*names)[COLUMN_NAME];	/* owned */
	size_t n_columns;
	struct cell *cells; /* owned */
	size_t n, cap;
	uint64_t left_out;
};

/* ---- as a report ---- */

static const char *number_text(const struct cell *c, char *buf, size_t n)
{
	if (c->type == SQLITE_INTEGER)
		snprintf(buf, n, "%lld", (long long)c->i);
	else
		snprintf(buf, n, "%.15g", c->d);
	return buf;
}

tide_sql_cell tide__sql_cell(const tide_sql_result *r, size_t row, size_t column, char buf[40])
{
	const struct cell *c = &r->cells[row * r->n_columns + column];
	tide_kind kind = r->columns[column].kind;
	if (c->type == SQLITE_NULL)
		return (tide_sql_cell){ .type = TIDE_SQL_NULL };
	if (c->type == SQLITE_TEXT || c->type == SQLITE_BLOB)
		return (tide_sql_cell){ .type = TIDE_SQL_TEXT, .text = c->text, .n = c->n };
	if (kind == TIDE_KIND_TEXT) {
		number_text(c, buf, 40);
		return (tide_sql_cell){ .type = TIDE_SQL_TEXT, .text = buf, .n = strlen(buf) };
	}
	if (kind == TIDE_KIND_REAL)
		return (tide_sql_cell){ .type = TIDE_SQL_REAL,
					.d = c->type == SQLITE_INTEGER ? (double)c->i : c->d };
	return (tide_sql_cell){ .type = TIDE_SQL_INT, .i = c->i };
}

size_t tide__sql_columns(const tide_sql_result *r)
{
	return r->n_columns;
}

const tide_member *tide__sql_column(const tide_sql_result *r, size_t column)
{
	return &r->columns[column];
}

static void put_cell(const tide_sql_result *r, size_t row, size_t column, tide_json *j)
{
	char buf[40];
	tide_sql_cell c = tide__sql_cell(r, row, column, buf);
	if (c.type == TIDE_SQL_TEXT)
		tide__json_strn(j, c.text, c.n);
	else if (c.type == TIDE_SQL_REAL)
		tide__json_double(j, c.d);
	else if (c.type == TIDE_SQL_INT)
		tide__json_int(j, c.i);
	else
		tide__json_null(j);
}

static void put_in_grid(tide_grid *g, tide_kind kind, const struct cell *c)
{
	char number[40];
	if (c->type == SQLITE_NULL)
		tide__grid_none(g);
	else if (c->type == SQLITE_TEXT || c->type == SQLITE_BLOB)
		tide__grid_textn(g, c->text, c->n);
	else if (c->type == SQLITE_INTEGER && kind == TIDE_KIND_PLAIN)
		tide__grid_int(g, c->i);
	else
		tide__grid_text(g, number_text(c, number, sizeof number));
}

static tide_code write_json(void *result, tide_json *j)
{
	const tide_sql_result *r = result;
	tide__json_karray(j, "rows");
	for (size_t i = 0; i < r->n && !j->failed; i++) {
		tide__json_object(j);
		for (size_t k = 0; k < r->n_columns; k++) {
			tide__json_key(j, r->names[k]);
			put_cell(r, i, k, j);
		}
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
	tide__json_kuint(j, "left_out", r->left_out);
	return TIDE_OK;
}

/* A number with a fraction is a text here: the table shows all its digits. */
static tide_code write_text(void *result, const tide_out *to)
{
	const tide_sql_result *r = result;
	tide_member *columns = tide__alloc(r->n_columns + 1, sizeof *columns);
	if (!columns)
		return TIDE_ENOMEM;
	for (size_t k = 0; k < r->n_columns; k++) {
		columns[k] = r->columns[k];
		if (columns[k].kind !=
		    TIDE_KIND_PLAIN) /* without --full-names long texts are shortened */
			columns[k].kind =
				columns[k].kind == TIDE_KIND_REAL ? TIDE_KIND_TEXT : TIDE_KIND_NAME;
	}
	tide_grid *g = tide__grid_new(columns, r->n_columns);
	for (size_t i = 0; g && i < r->n * r->n_columns; i++)
		put_in_grid(g, columns[i % r->n_columns].kind, &r->cells[i]);
	bool ok = g && !tide__grid_failed(g);
	if (ok)
		tide__grid_print(g, to->out, &to->style, 0);
	tide__grid_free(g);
	tide__free(columns);
	return ok ? TIDE_OK : TIDE_ENOMEM;
}

static void free_nothing(void *result)
{
	(void)result;
}

static tide_kind kind_of(const tide_sql_result *r, size_t column)
{
	bool any = false, whole = true, number = true;
	for (size_t i = 0; i < r->n; i++) {
		int type = r->cells[i * r->n_columns + column].type;
		any |= type != SQLITE_NULL;
		whole &= type == SQLITE_INTEGER || type == SQLITE_NULL;
		number &= type == SQLITE_INTEGER || type == SQLITE_FLOAT || type == SQLITE_NULL;
	}
	return any && whole ? TIDE_KIND_PLAIN : any && number ? TIDE_KIND_REAL : TIDE_KIND_TEXT;
}

static void describe(tide_sql_result *r)
{
	for (size_t k = 0; k < r->n_columns; k++)
		r->columns[k] = (tide_member){ .key = r->names[k],
					       .heading = r->names[k],
					       .kind = kind_of(r, k),
					       .may = TIDE_MAY_BE_NULL,
					       .meaning = "a column of the query" };
	r->table[0] = (tide_member){ .key = "rows",
				     .kind = TIDE_KIND_TABLE,
				     .members = r->columns,
				     .meaning = "rows of the query" };
	r->table[1] = (tide_member){ .key = "left_out",
				     .kind = TIDE_KIND_COUNT,
				     .meaning = "rows that a limit left out" };
	r->type = (tide_report_type){ .name = "sql",
				      .text = write_text,
				      .json = write_json,
				      .free = free_nothing,
				      .summary = "the result of a query",
				      .members = r->table,
				      .version = 1 };
}

const tide_report_type *tide__sql_type(const tide_sql_result *r)
{
	return &r->type;
}

size_t tide__sql_rows(const tide_sql_result *r)
{
	return r->n;
}

uint64_t tide__sql_left_out(const tide_sql_result *r)
{
	return r->left_out;
}

void tide__sql_result_free(tide_sql_result *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n * r->n_columns; i++)
		if (r->cells[i].type == SQLITE_TEXT || r->cells[i].type == SQLITE_BLOB)
			tide__free(r->cells[i].text);
	tide__free(r->cells);
	tide__free(r->columns);
	tide__free(r->names);
	tide__free(r);
}

/* ---- collecting ---- */

static bool is_taken(const tide_sql_result *r, size_t k)
{
	for (size_t i = 0; i < k; i++)
		if (!strcmp(r->names[i], r->names[k]))
			return true;
	return false;
}

/* Names of columns differ: the second "n" is "n_2". */
static void name_columns(tide_sql_result *r, sqlite3_stmt *q)
{
	for (size_t k = 0; k < r->n_columns; k++) {
		const char *name = sqlite3_column_name(q, (int)k);
		snprintf(r->names[k], COLUMN_NAME - 8, "%s", name && *name ? name : "column");
		size_t n = strlen(r->names[k]);
		for (unsigned i = 2; is_taken(r, k) && i < 1000; i++)
			snprintf(r->names[k] + n, COLUMN_NAME - n, "_%u", i);
	}
}

/* Returns a BLOB as hexadecimal digits. */
static char *copy_hex(const unsigned char *v, size_t n)
{
	char *text = tide__alloc(2 * n + 1, 1);
	for (size_t i = 0; text && i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", v[i]);
	return text;
}

static bool take_cell(sqlite3_stmt *q, int k, struct cell *c)
{
	*c = (struct cell){ .type = (uint8_t)sqlite3_column_type(q, k) };
	const void *bytes = c->type == SQLITE_TEXT   ? (const void *)sqlite3_column_text(q, k)
			    : c->type == SQLITE_BLOB ? sqlite3_column_blob(q, k)
						     : NULL;
	size_t n = bytes ? (size_t)sqlite3_column_bytes(q, k) : 0;
	if (c->type == SQLITE_INTEGER)
		c->i = sqlite3_column_int64(q, k);
	else if (c->type == SQLITE_FLOAT)
		c->d = sqlite3_column_double(q, k);
	else if (c->type != SQLITE_NULL)
		c->text = c->type == SQLITE_BLOB ? copy_hex(bytes, n)
						 : tide__strndup(bytes ? bytes : "", n);
	else
		return true;
	c->n = (uint32_t)(c->type == SQLITE_BLOB ? 2 * n : n);
	return c->type == SQLITE_INTEGER || c->type == SQLITE_FLOAT || c->text;
}

static bool take_row(tide_sql *s, sqlite3_stmt *q, tide_sql_result *r)
{
	if (!TIDE_ROOM(r->cells, r->cap, (r->n + 1) * r->n_columns))
		return false;
	struct cell *to = r->cells + r->n * r->n_columns;
	for (size_t k = 0; k < r->n_columns; k++) {
		if (!take_cell(q, (int)k, &to[k])) {
			while (k--)
				if (to[k].type == SQLITE_TEXT || to[k].type == SQLITE_BLOB)
					tide__free(to[k].text);
			return false;
		}
		s->kept += sizeof *to + to[k].n;
	}
	r->n++;
	return true;
}

tide_code tide__sql_collect(tide_sql *s, sqlite3_stmt *q, tide_sql_result **out, tide_error *err)
{
	tide_sql_result *r = tide__calloc(1, sizeof *r);
	size_t most = s->limits && s->limits->rows ? s->limits->rows : SIZE_MAX;
	int rc = SQLITE_NOMEM;
	*out = NULL;
	if (!r)
		return tide__nomem(err);
	r->n_columns = (size_t)sqlite3_column_count(q);
	r->columns = tide__calloc(r->n_columns + 1, sizeof *r->columns);
	r->names = tide__calloc(r->n_columns + 1, sizeof *r->names);
	if (r->columns && r->names) {
		name_columns(r, q);
		while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
			if (r->n >= most)
				r->left_out++;
			else if (!take_row(s, q, r))
				break;
		}
	}
	if (rc != SQLITE_DONE) {
		tide__sql_result_free(r);
		return rc == SQLITE_ROW || rc == SQLITE_NOMEM ? tide__nomem(err) : TIDE_EUSAGE;
	}
	describe(r);
	*out = r;
	return TIDE_OK;
}
