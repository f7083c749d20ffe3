// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { NESTED = 4, NESTED_MOST = 2100 };

/* ---- columns ---- */

static void add_columns(tide_rows *r, const tide_member *list, const char *prefix, int level,
			bool may_null)
{
	for (const tide_member *m = list; m && m->key; m++) {
		char name[TIDE_ROWS_NAME];
		int n = snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", m->key);
		bool may = may_null || m->may;
		if (n >= TIDE_ROWS_NAME || tide__kind_type(m->kind) == TIDE_TYPE_NONE)
			continue;
		if (!r->table && !level && m->kind == TIDE_KIND_TABLE)
			continue;
		if (m->kind == TIDE_KIND_OBJECT && level < NESTED) {
			add_columns(r, m->members, name, level + 1, may);
			continue;
		}
		if (r->n_columns == TIDE_ROWS_COLUMNS)
			return;
		tide_json_type type = tide__kind_type(m->kind);
		tide_rows_column *c = &r->columns[r->n_columns++];
		*c = (tide_rows_column){ .member = m, .may_null = may };
		c->nested = type == TIDE_TYPE_OBJECT || type == TIDE_TYPE_ARRAY ||
			    type == TIDE_TYPE_ANY;
		memcpy(c->name, name, sizeof name);
	}
}

/* Returns the description's i-th table; NULL after the last. */
static const tide_member *table_at(const tide_report_type *type, size_t i)
{
	for (const tide_member *m = type->members; m && m->key; m++)
		if (m->kind == TIDE_KIND_TABLE && !i--)
			return m;
	return NULL;
}

size_t tide__rows_count(const tide_report_type *type)
{
	size_t n = 0;
	while (table_at(type, n))
		n++;
	return n + 1;
}

void tide__rows_begin(tide_rows *r, const tide_report_type *type, size_t table)
{
	r->type = type;
	r->table = table_at(type, table);
	r->n_columns = 0;
	add_columns(r, r->table ? r->table->members : type->members, "", 0, false);
}

const char *tide__rows_name(const tide_rows *r)
{
	return r->table ? r->table->key : "values";
}

/* ---- the sink ---- */

struct walk {
	const tide_rows *r;
	tide_rows_put *put;
	void *user;
	tide_rows_cell cells[TIDE_ROWS_COLUMNS];
	size_t depth;		   /* open containers */
	bool in_table;		   /* inside the array of rows */
	size_t row_depth;	   /* depth inside a row; 0 = no row is open */
	char key[TIDE_ROWS_NAME];  /* of the next value, with those of the objects around it */
	size_t key_at[NESTED + 2]; /* length of `key` without the key at each depth of the row */
	size_t guess;		   /* the column that is probably next */
	tide_json nested;	   /* a value of JSON in a cell */
	tide_rows_cell *nested_in; /* the cell; NULL = the value is not described */
	char *nested_text;	   /* from open_memstream */
	size_t n_nested_text;
	size_t nested_depth; /* 0 = none is open */
	bool nested_array[NESTED_MOST];
	bool failed;
};

/* Returns the cell of the column with this name; NULL if there is none. Rows have their values in
 * the order of the columns, as a rule. */
static tide_rows_cell *cell_named(struct walk *w, const char *name)
{
	size_t n = w->r->n_columns;
	for (size_t i = 0; i < n; i++) {
		size_t k = (w->guess + i) % n;
		if (!strcmp(w->r->columns[k].name, name)) {
			w->guess = k + 1;
			return &w->cells[k];
		}
	}
	return NULL;
}

/* Returns true if columns begin with this name and a dot: it is a nested object. */
static bool is_object(const tide_rows *r, const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < r->n_columns; i++)
		if (!strncmp(r->columns[i].name, name, n) && r->columns[i].name[n] == '.')
			return true;
	return false;
}

static void set_text(struct walk *w, tide_rows_cell *c, const char *text, size_t n)
{
	if (!TIDE_ROOM(c->text, c->cap, n + 1)) {
		w->failed = true;
		return;
	}
	memcpy(c->text, text, n);
	c->text[n] = 0;
	c->n = n;
	c->kind = TIDE_JSON_TEXT;
}

/* ---- values of JSON in a cell ---- */

/* Passes a key or a scalar on to a JSON writer. */
static void repeat(tide_json *j, const tide_json_item *item)
{
	char key[TIDE_ROWS_NAME];
	switch (item->kind) {
	case TIDE_JSON_KEY:
		snprintf(key, sizeof key, "%.*s", (int)item->n, item->text);
		tide__json_key(j, key);
		break;
	case TIDE_JSON_TEXT:
		tide__json_strn(j, item->text, item->n);
		break;
	case TIDE_JSON_INT:
		tide__json_int(j, item->i);
		break;
	case TIDE_JSON_UINT:
		tide__json_uint(j, item->u);
		break;
	case TIDE_JSON_REAL:
		tide__json_double(j, item->d);
		break;
	case TIDE_JSON_BOOL:
		tide__json_bool(j, item->u);
		break;
	default:
		tide__json_null(j);
		break;
	}
}

static void nested_end(struct walk *w)
{
	bool open = w->nested.out != NULL;
	tide__json_free(&w->nested);
	if (!open)
		return;
	if (fclose(w->nested.out))
		w->failed = true;
	else
		set_text(w, w->nested_in, w->nested_text, w->n_nested_text);
	free(w->nested_text);
	w->nested_text = NULL;
}

static void nested_item(struct walk *w, const tide_json_item *item)
{
	bool array = item->kind == TIDE_JSON_OPEN_ARRAY;
	tide_json *j = w->nested.out ? &w->nested : NULL;
	if (array || item->kind == TIDE_JSON_OPEN_OBJECT) {
		w->failed |= w->nested_depth == NESTED_MOST;
		if (w->failed)
			return;
		w->nested_array[w->nested_depth++] = array;
		if (j)
			array ? tide__json_array(j) : tide__json_object(j);
	} else if (item->kind == TIDE_JSON_CLOSE) {
		array = w->nested_array[--w->nested_depth];
		if (j)
			array ? tide__json_array_end(j) : tide__json_object_end(j);
	} else if (j) {
		repeat(j, item);
	}
	if (!w->nested_depth)
		nested_end(w);
}

/* Begins a value of JSON in a cell. */
static void nested_begin(struct walk *w, const tide_json_item *item)
{
	FILE *f = NULL;
	w->nested_in = cell_named(w, w->key);
	if (w->nested_in && !(f = open_memstream(&w->nested_text, &w->n_nested_text)))
		w->failed = true;
	tide__json_begin(&w->nested, f, false);
	nested_item(w, item);
}

static void take_scalar(struct walk *w, const tide_json_item *item)
{
	tide_rows_cell *c = cell_named(w, w->key);
	if (!c || item->kind == TIDE_JSON_NULL)
		return;
	if (w->r->columns[c - w->cells].nested) {
		nested_begin(w, item);
		return;
	}
	c->kind = (int)item->kind;
	c->i = item->i;
	c->u = item->u;
	c->d = item->d;
	if (item->kind == TIDE_JSON_TEXT)
		set_text(w, c, item->text, item->n);
}

/* ---- containers ---- */

static void begin_row(struct walk *w)
{
	w->row_depth = 1;
	w->key_at[1] = 0;
	w->guess = 0;
	*w->key = 0;
	for (size_t i = 0; i < w->r->n_columns; i++)
		w->cells[i].kind = TIDE_JSON_NULL;
}

static void open_in_row(struct walk *w, const tide_json_item *item)
{
	bool inside = item->kind == TIDE_JSON_OPEN_OBJECT && w->row_depth < NESTED + 1 &&
		      is_object(w->r, w->key);
	if (!inside) {
		nested_begin(w, item);
		return;
	}
	w->row_depth++;
	w->key_at[w->row_depth] = strlen(w->key);
}

static void take_key(struct walk *w, const tide_json_item *item)
{
	size_t at = w->row_depth ? w->key_at[w->row_depth] : 0;
	snprintf(w->key + at, sizeof w->key - at, "%s%.*s", at ? "." : "", (int)item->n,
		 item->text);
}

static void open_outside(struct walk *w, const tide_json_item *item)
{
	const tide_member *table = w->r->table;
	w->depth++;
	if (!table) {
		if (w->depth == 1)
			begin_row(w);
	} else if (w->in_table) {
		begin_row(w);
	} else {
		w->in_table = w->depth == 2 && item->kind == TIDE_JSON_OPEN_ARRAY &&
			      !strcmp(w->key, table->key);
	}
}

static void close_container(struct walk *w)
{
	if (w->row_depth > 1) {
		w->row_depth--;
		return;
	}
	if (w->row_depth) {
		w->failed |= !w->put(w->user, w->cells);
		w->row_depth = 0;
	} else {
		w->in_table = false;
	}
	w->depth--;
}

static bool take(void *user, const tide_json_item *item)
{
	struct walk *w = user;
	if (w->nested_depth)
		nested_item(w, item);
	else if (item->kind == TIDE_JSON_KEY)
		take_key(w, item);
	else if (item->kind == TIDE_JSON_CLOSE)
		close_container(w);
	else if (item->kind == TIDE_JSON_OPEN_OBJECT || item->kind == TIDE_JSON_OPEN_ARRAY)
		w->row_depth ? open_in_row(w, item) : open_outside(w, item);
	else if (w->row_depth)
		take_scalar(w, item);
	return !w->failed;
}

bool tide__rows_walk(const tide_rows *r, void *result, tide_rows_put *put, void *user)
{
	struct walk *w = tide__calloc(1, sizeof *w);
	tide_json j;
	if (!w)
		return false;
	w->r = r;
	w->put = put;
	w->user = user;
	tide__json_begin_sink(&j, take, w);
	tide__json_object(&j);
	bool ok = r->type->json(result, &j) == TIDE_OK;
	tide__json_object_end(&j);
	ok = tide__json_end(&j) && ok && !w->failed;
	if (w->nested_depth && w->nested.out) { /* the document ended in a value */
		tide__json_free(&w->nested);
		fclose(w->nested.out);
		free(w->nested_text);
	}
	for (size_t i = 0; i < r->n_columns; i++)
		tide__free(w->cells[i].text);
	tide__free(w);
	return ok;
}
