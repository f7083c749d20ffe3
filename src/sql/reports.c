// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tables of reports. `peak` has the rows of `tidemark peak --csv`, `peak_values` its single values,
 * `peak_NAME` every other table. Options are hidden columns: with_device = 'cuda:0'. A report is
 * computed when a query first needs it. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "report/registry.h"
#include "sql/internal.h"

enum { KEPT = 8 }; /* answers */

/* The rows of a table of a report. */
typedef struct sql_found {
	char *key;	       /* owned: report, table, trace, options */
	tide_rows_cell *cells; /* owned */
	size_t n, cap, width;
	size_t refs; /* cursors, and the list */
	struct sql_found *next;
} found;

struct vtab {
	sqlite3_vtab base;
	sql_report *r;
};

struct cursor {
	sqlite3_vtab_cursor base;
	sql_report *r;
	found *rows; /* held */
	size_t trace, row;
	tide_pair *pairs; /* owned, with their texts */
	size_t n_pairs;
};

/* ---- answers ---- */

static void drop(found *f)
{
	if (!f || --f->refs)
		return;
	for (size_t i = 0; i < f->n * f->width; i++)
		tide__free(f->cells[i].text);
	tide__free(f->cells);
	tide__free(f->key);
	tide__free(f);
}

static bool keep_row(void *user, const tide_rows_cell *cells)
{
	found *f = user;
	if (!TIDE_ROOM(f->cells, f->cap, (f->n + 1) * f->width + 1))
		return false;
	tide_rows_cell *to = f->cells + f->n * f->width;
	for (size_t i = 0; i < f->width; i++) {
		to[i] = cells[i];
		to[i].text = cells[i].kind == TIDE_JSON_TEXT
				     ? tide__strndup(cells[i].text, cells[i].n)
				     : NULL;
		if (cells[i].kind == TIDE_JSON_TEXT && !to[i].text) {
			while (i--)
				tide__free(to[i].text);
			return false;
		}
	}
	f->n++;
	return true;
}

static tide_code compute(const struct cursor *c, found *f, tide_error *err)
{
	const tide_report_traces *all = &c->r->sql->in;
	tide_report_traces in = *all;
	tide_report *r = NULL;
	tide_rows *rows = tide__alloc(1, sizeof *rows);
	if (c->r->each)
		in = (tide_report_traces){ .models = all->models + c->trace,
					   .n = 1,
					   .files = all->files ? all->files + c->trace : NULL };
	if (!rows)
		return tide__nomem(err);
	tide_code rc = tide__report_find_pairs(c->r->type, &in, c->pairs, c->n_pairs, &r, err);
	if (rc == TIDE_OK && r->type != c->r->type)
		rc = tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				"these options select another report: %s", r->type->name);
	if (rc == TIDE_OK) {
		tide__rows_begin(rows, c->r->type, c->r->table);
		f->width = rows->n_columns;
		if (!tide__rows_walk(rows, r->result, keep_row, f))
			rc = tide__nomem(err);
	}
	tide_report_free(r);
	tide__free(rows);
	return rc;
}

/* Returns "peak_groups 1 device=cuda:0 ..."; owned by the caller. */
static char *key_of(const struct cursor *c)
{
	sqlite3_str *s = sqlite3_str_new(NULL);
	sqlite3_str_appendf(s, "%s %llu", c->r->name, (unsigned long long)c->trace);
	for (size_t i = 0; i < c->n_pairs; i++)
		sqlite3_str_appendf(s, " %s=%Q", c->pairs[i].name, c->pairs[i].text);
	char *sql = sqlite3_str_finish(s), *key = sql ? tide__strndup(sql, strlen(sql)) : NULL;
	sqlite3_free(sql);
	return key;
}

static void put_in_list(tide_sql *s, found *f)
{
	f->refs++;
	f->next = s->found;
	s->found = f;
	found **at = &s->found;
	for (size_t i = 0; i < KEPT && *at; i++)
		at = &(*at)->next;
	while (*at) {
		found *old = *at;
		*at = old->next;
		drop(old);
	}
}

/* Finds the rows of the report for the trace and the options of a cursor. */
static tide_code find(struct cursor *c, tide_error *err)
{
	tide_sql *s = c->r->sql;
	char *key = key_of(c);
	drop(c->rows);
	c->rows = NULL;
	if (!key)
		return tide__nomem(err);
	for (found *f = s->found; f; f = f->next)
		if (!strcmp(f->key, key)) {
			tide__free(key);
			c->rows = f;
			f->refs++;
			return TIDE_OK;
		}
	found *f = tide__calloc(1, sizeof *f);
	if (!f) {
		tide__free(key);
		return tide__nomem(err);
	}
	*f = (found){ .key = key, .refs = 1 };
	tide_code rc = compute(c, f, err);
	if (rc != TIDE_OK) {
		drop(f);
		return rc;
	}
	put_in_list(s, f);
	c->rows = f;
	return TIDE_OK;
}

/* ---- columns ---- */

void tide__sql_name(const char *key, char *out, size_t n)
{
	snprintf(out, n, "%s", key);
	for (char *c = out; *c; c++)
		if (*c == '.' || *c == '-')
			*c = '_';
}

static bool is_offered(const tide_option *o)
{
	return !o->text_only && !o->many;
}

/* Returns the i-th option that is offered, or NULL. */
static const tide_option *option_at(const tide_report_type *type, size_t i)
{
	for (size_t k = 0; k < type->n_options; k++)
		if (is_offered(&type->options[k]) && !i--)
			return &type->options[k];
	return NULL;
}

static const char *type_name(const tide_rows_column *c)
{
	tide_json_type type = tide__kind_type(c->member->kind);
	return c->nested || type == TIDE_TYPE_STRING ? "TEXT"
	       : type == TIDE_TYPE_REAL		     ? "REAL"
						     : "INTEGER";
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **err)
{
	sql_report *r = aux;
	const tide_option *o;
	char name[TIDE_ROWS_NAME];
	tide_rows *rows = tide__alloc(1, sizeof *rows);
	struct vtab *v = sqlite3_malloc(sizeof *v);
	sqlite3_str *s = sqlite3_str_new(db);
	(void)argc;
	(void)argv;
	if (rows)
		tide__rows_begin(rows, r->type, r->table);
	for (size_t i = 0; rows && i < rows->n_columns; i++) {
		tide__sql_name(rows->columns[i].name, name, sizeof name);
		sqlite3_str_appendf(s, "%s\"%w\" %s", i ? ", " : "CREATE TABLE x(", name,
				    type_name(&rows->columns[i]));
	}
	for (size_t i = 0; (o = option_at(r->type, i)); i++) {
		tide__sql_name(o->name, name, sizeof name);
		sqlite3_str_appendf(s, ", \"with_%w\" TEXT HIDDEN", name);
	}
	sqlite3_str_appendf(s, ", trace_id INTEGER%s)",
			    r->sql->in.n == 1 || !r->each ? " HIDDEN" : "");
	char *sql = sqlite3_str_finish(s);
	int rc = sql && v && rows ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
	sqlite3_free(sql);
	tide__free(rows);
	if (rc != SQLITE_OK) {
		*err = sqlite3_mprintf("%s: %s", r->name, sqlite3_errmsg(db));
		sqlite3_free(v);
		return rc;
	}
	*v = (struct vtab){ .r = r };
	*out = &v->base;
	return SQLITE_OK;
}

static size_t width_of(const sql_report *r)
{
	tide_rows *rows = tide__alloc(1, sizeof *rows);
	size_t n = 0;
	if (rows) {
		tide__rows_begin(rows, r->type, r->table);
		n = rows->n_columns;
	}
	tide__free(rows);
	return n;
}

/* ---- plans ---- */

/* The plan is a text: a letter for each argument, 'A' + the number of its option. */
static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const sql_report *r = ((struct vtab *)base)->r;
	int first = (int)width_of(r), args = 0;
	char *plan = sqlite3_malloc(info->nConstraint + 1);
	if (!plan)
		return SQLITE_NOMEM;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		if (c->iColumn < first || !option_at(r->type, (size_t)(c->iColumn - first)) ||
		    c->op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (!c->usable) {
			sqlite3_free(plan);
			return SQLITE_CONSTRAINT;
		}
		plan[args++] = (char)('A' + c->iColumn - first);
		info->aConstraintUsage[i].argvIndex = args;
		info->aConstraintUsage[i].omit = 1;
	}
	plan[args] = 0;
	info->idxStr = plan;
	info->needToFreeIdxStr = 1;
	info->estimatedCost = 100000; /* once; the rows are few */
	info->estimatedRows = 50;
	return SQLITE_OK;
}

/* ---- rows ---- */

static void clear_pairs(struct cursor *c)
{
	for (size_t i = 0; i < c->n_pairs; i++)
		tide__free((char *)(uintptr_t)c->pairs[i].text);
	c->n_pairs = 0;
}

static bool take_pair(struct cursor *c, const tide_option *o, sqlite3_value *v)
{
	const char *text = (const char *)sqlite3_value_text(v);
	if (o->kind == TIDE_OPT_FLAG && sqlite3_value_type(v) == SQLITE_INTEGER)
		text = sqlite3_value_int(v) ? "true" : "false";
	if (!text)
		return true; /* NULL: the default */
	char *copy = tide__strndup(text, strlen(text));
	if (copy)
		c->pairs[c->n_pairs++] = (tide_pair){ o->name, copy };
	return copy != NULL;
}

static size_t traces_of(const struct cursor *c)
{
	return c->r->each ? c->r->sql->in.n : 1;
}

/* Moves to the first row at or after this one, in this trace or a later one. */
static int settle(struct cursor *c)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	while (c->trace < traces_of(c) && c->rows && c->row >= c->rows->n) {
		c->trace++;
		c->row = 0;
		if (c->trace < traces_of(c) && find(c, &err) != TIDE_OK)
			return tide__sql_vtab_fail(c->base.pVtab, err.text);
	}
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int idx, const char *plan, int argc, sqlite3_value **v)
{
	struct cursor *c = (struct cursor *)base;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	(void)idx;
	clear_pairs(c);
	if (!TIDE_RESIZE(c->pairs, (size_t)argc + 1))
		return SQLITE_NOMEM;
	for (int i = 0; i < argc; i++)
		if (!take_pair(c, option_at(c->r->type, (size_t)(plan[i] - 'A')), v[i]))
			return SQLITE_NOMEM;
	c->trace = c->row = 0;
	tide_code rc = find(c, &err);
	if (rc != TIDE_OK)
		return rc == TIDE_ENOMEM ? SQLITE_NOMEM
					 : tide__sql_vtab_fail(base->pVtab, err.text);
	return settle(c);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	c->row++;
	return settle(c);
}

static int eof(sqlite3_vtab_cursor *base)
{
	const struct cursor *c = (struct cursor *)base;
	return !c->rows || c->trace >= traces_of(c);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *x, int i)
{
	const struct cursor *c = (struct cursor *)base;
	size_t k = (size_t)i, width = c->rows->width;
	if (k >= width) { /* an option: NULL */
		if (!option_at(c->r->type, k - width))
			sqlite3_result_int64(x, (int64_t)c->trace + 1);
		return SQLITE_OK;
	}
	const tide_rows_cell *v = &c->rows->cells[c->row * width + k];
	if (v->kind == TIDE_JSON_TEXT)
		sqlite3_result_text64(x, v->text, v->n, SQLITE_TRANSIENT, SQLITE_UTF8);
	else if (v->kind == TIDE_JSON_INT)
		sqlite3_result_int64(x, v->i);
	else if (v->kind == TIDE_JSON_UINT || v->kind == TIDE_JSON_BOOL)
		sqlite3_result_int64(x, (int64_t)v->u);
	else if (v->kind == TIDE_JSON_REAL)
		sqlite3_result_double(x, v->d);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	const struct cursor *c = (struct cursor *)base;
	*out = (int64_t)((uint64_t)c->trace << 32 | c->row);
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
	struct cursor *c = sqlite3_malloc(sizeof *c);
	if (!c)
		return SQLITE_NOMEM;
	*c = (struct cursor){ .r = ((struct vtab *)v)->r };
	*out = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	clear_pairs(c);
	tide__free(c->pairs);
	drop(c->rows);
	sqlite3_free(c);
	return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *v)
{
	sqlite3_free(v->zErrMsg);
	v->zErrMsg = NULL;
	sqlite3_free(v);
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.xCreate = connect,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xDestroy = disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
	.xRowid = rowid,
};

/* ---- the list ---- */

/* Sizes of the work of each trace belong to a command line. A pair needs two traces. */
static bool is_offered_report(const tide_sql *s, const tide_report_type *type)
{
	return type->members && type->input != TIDE_INPUT_SIZES &&
	       (type->input != TIDE_INPUT_PAIR || s->in.n == 2);
}

static int add_table(tide_sql *s, const tide_report_type *type, size_t table)
{
	sql_report *r = &s->reports[s->n_reports];
	tide_rows *rows = tide__alloc(1, sizeof *rows);
	char name[SQL_NAME];
	if (!rows)
		return SQLITE_NOMEM;
	tide__rows_begin(rows, type, table);
	snprintf(name, sizeof name, "%s%s%s", type->name, table ? "_" : "",
		 table ? tide__rows_name(rows) : "");
	*r = (sql_report){
		.sql = s, .type = type, .table = table, .each = type->input == TIDE_INPUT_TRACE
	};
	tide__sql_name(name, r->name, sizeof r->name);
	size_t n = rows->n_columns;
	tide__free(rows);
	if (!n)
		return SQLITE_OK;
	s->n_reports++;
	return tide__sql_create(s, r->name, &module, r);
}

int tide__sql_add_reports(tide_sql *s)
{
	size_t n = 0;
	int rc = SQLITE_OK;
	for (size_t i = 0; tide__reports[i]; i++)
		n += tide__rows_count(tide__reports[i]);
	s->reports = tide__calloc(n, sizeof *s->reports);
	if (!s->reports)
		return SQLITE_NOMEM;
	for (size_t i = 0; tide__reports[i]; i++)
		for (size_t k = 0; is_offered_report(s, tide__reports[i]) && rc == SQLITE_OK &&
				   k < tide__rows_count(tide__reports[i]);
		     k++)
			rc = add_table(s, tide__reports[i], k);
	return rc;
}

void tide__sql_free_reports(tide_sql *s)
{
	while (s->found) {
		found *f = s->found;
		s->found = f->next;
		drop(f);
	}
	tide__free(s->reports);
}
