// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* .tables and .schema: the descriptions of the model's tables and of the reports. */
#include <string.h>

#include "base/mem.h"
#include "sql/internal.h"

static const char *doc_of(const sql_report *r, const tide_rows *rows)
{
	return rows->table && rows->table->meaning ? rows->table->meaning : r->type->summary;
}

void tide__sql_print_tables(const tide_sql *s, FILE *out)
{
	tide_rows *rows = tide__alloc(1, sizeof *rows);
	fputs("Tables of the trace\n", out);
	for (size_t i = 0; i < s->n_tables; i++)
		fprintf(out, "  %-28s %s\n", s->tables[i].name, s->tables[i].doc);
	fputs("Tables of reports\n", out);
	for (size_t i = 0; rows && i < s->n_reports; i++) {
		tide__rows_begin(rows, s->reports[i].type, s->reports[i].table);
		fprintf(out, "  %-28s %s\n", s->reports[i].name, doc_of(&s->reports[i], rows));
	}
	tide__free(rows);
}

static void put_column(FILE *out, const char *name, const char *type, const char *doc, bool last)
{
	fprintf(out, "  \"%s\" %s%s -- %s\n", name, type, last ? "" : ",", doc ? doc : "");
}

/* Writes a column's meaning as SQL shows it: NULL for TIDE_T_NEVER, the words of TIDE_CAT_*. */
static void write_doc(const sql_column *c, char *out, size_t n)
{
	const char *never = strstr(c->doc, "TIDE_T_NEVER"), *text = never ? never + 12 : NULL;
	if (never)
		snprintf(out, n, "%.*sNULL%s", (int)(never - c->doc), c->doc, text);
	else
		snprintf(out, n, "%s%s", c->doc,
			 c->has_null && !c->derive ? ", which is NULL here" : "");
	if (!c->words)
		return;
	size_t at = (size_t)snprintf(out, n, "one of");
	for (unsigned i = 0; i < tide__kind_names_count(c->words) && at < n; i++)
		at += (size_t)snprintf(out + at, n - at, "%s %s", i ? "," : "", c->words(i));
}

static void put_table(const sql_table *t, FILE *out)
{
	char doc[1024];
	fprintf(out, "CREATE TABLE %s ( -- %s\n", t->name, t->doc);
	for (size_t i = 0; i < t->n_columns; i++) {
		const sql_column *c = &t->columns[i];
		const char *type = c->form == SQL_REAL				 ? "REAL"
				   : c->form == SQL_NUMBER || c->form == SQL_ROW ? "INTEGER"
										 : "TEXT";
		char hidden[24];
		snprintf(hidden, sizeof hidden, "%s%s", type, c->hidden ? " HIDDEN" : "");
		write_doc(c, doc, sizeof doc);
		put_column(out, c->name, hidden, doc, i + 1 == t->n_columns);
	}
	fputs(");\n", out);
}

static void put_report(const sql_report *r, FILE *out)
{
	char name[TIDE_ROWS_NAME], doc[512];
	tide_rows *rows = tide__alloc(1, sizeof *rows);
	if (!rows)
		return;
	tide__rows_begin(rows, r->type, r->table);
	fprintf(out, "CREATE TABLE %s ( -- %s\n", r->name, doc_of(r, rows));
	put_column(out, "trace_id", r->sql->in.n == 1 || !r->each ? "INTEGER HIDDEN" : "INTEGER",
		   "number of the file, from 1", false);
	for (size_t i = 0; i < rows->n_columns; i++) {
		const tide_rows_column *c = &rows->columns[i];
		tide_json_type type = tide__kind_type(c->member->kind);
		tide__sql_name(c->name, name, sizeof name);
		snprintf(doc, sizeof doc, "%s: %s",
			 c->nested ? "JSON" : tide__kind_unit(c->member->kind), c->member->meaning);
		put_column(out, name,
			   c->nested || type == TIDE_TYPE_STRING ? "TEXT"
			   : type == TIDE_TYPE_REAL		 ? "REAL"
								 : "INTEGER",
			   doc, false);
	}
	for (size_t i = 0; i < r->type->n_options; i++) {
		const tide_option *o = &r->type->options[i];
		if (o->text_only || o->many)
			continue;
		snprintf(name, sizeof name, "with_%s", o->name);
		tide__sql_name(name, name, sizeof name);
		put_column(out, name, "TEXT HIDDEN", o->help, false);
	}
	fputs(");\n", out);
	tide__free(rows);
}

bool tide__sql_print_schema(const tide_sql *s, const char *table, FILE *out)
{
	bool any = false;
	for (size_t i = 0; i < s->n_tables; i++)
		if (!table || !strcmp(table, s->tables[i].name)) {
			put_table(&s->tables[i], out);
			any = true;
		}
	for (size_t i = 0; i < s->n_reports; i++)
		if (!table || !strcmp(table, s->reports[i].name)) {
			put_report(&s->reports[i], out);
			any = true;
		}
	return any;
}
