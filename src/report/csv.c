// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The report writes its document into a sink, which keeps the values of one row at a time. */
#include "report/csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "render/text/format.h"

/* ---- columns ---- */

enum { MOST_COLUMNS = 128, NAME = 160, NESTED = 4, NESTED_MOST = 256 };

struct column {
	char name[NAME]; /* "total.bytes" */
	char *text;	 /* from open_memstream; NULL = unknown */
	size_t n;
};

struct csv {
	FILE *out;
	const tide_member *table; /* NULL: the single values of the report */
	struct column columns[MOST_COLUMNS];
	size_t n_columns;
	size_t depth;		   /* open containers */
	bool in_table;		   /* inside the array of rows */
	size_t row_depth;	   /* depth inside a row; 0 = no row is open */
	char key[NAME];		   /* of the next value, with those of the objects around it */
	size_t key_at[NESTED + 2]; /* length of `key` without the key at each depth of the row */
	tide_json nested;	   /* a list or table in a field */
	size_t nested_depth;	   /* 0 = none is open */
	bool nested_array[NESTED_MOST];
	bool failed;
};

static bool add_columns(struct csv *c, const tide_member *list, const char *prefix, int level)
{
	for (const tide_member *m = list; m && m->key; m++) {
		char name[NAME];
		int n = snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", m->key);
		if (n >= NAME || tide__kind_type(m->kind) == TIDE_TYPE_NONE)
			continue;
		if (!c->table && !level && m->kind == TIDE_KIND_TABLE)
			continue;
		if (m->kind == TIDE_KIND_OBJECT && level < NESTED) {
			if (!add_columns(c, m->members, name, level + 1))
				return false;
			continue;
		}
		if (c->n_columns == MOST_COLUMNS)
			return false;
		memcpy(c->columns[c->n_columns++].name, name, sizeof name);
	}
	return true;
}

static struct column *column_named(struct csv *c, const char *name)
{
	for (size_t i = 0; i < c->n_columns; i++)
		if (!strcmp(c->columns[i].name, name))
			return &c->columns[i];
	return NULL;
}

/* Returns true if columns begin with this name and a dot: it is a nested object. */
static bool is_object(const struct csv *c, const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < c->n_columns; i++)
		if (!strncmp(c->columns[i].name, name, n) && c->columns[i].name[n] == '.')
			return true;
	return false;
}

/* ---- lines ---- */

static void put_field(FILE *out, const char *text, size_t n)
{
	if (!memchr(text, ',', n) && !memchr(text, '"', n) && !memchr(text, '\n', n)) {
		fwrite(text, 1, n, out);
		return;
	}
	fputc('"', out);
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"')
			fputc('"', out);
		fputc(text[i], out);
	}
	fputc('"', out);
}

static void put_header(struct csv *c)
{
	for (size_t i = 0; i < c->n_columns; i++) {
		fputs(i ? "," : "", c->out);
		put_field(c->out, c->columns[i].name, strlen(c->columns[i].name));
	}
	fputs("\r\n", c->out);
}

static void put_row(struct csv *c)
{
	for (size_t i = 0; i < c->n_columns; i++) {
		struct column *k = &c->columns[i];
		fputs(i ? "," : "", c->out);
		if (k->text)
			put_field(c->out, k->text, k->n);
		free(k->text);
		k->text = NULL;
	}
	fputs("\r\n", c->out);
}

/* ---- values ---- */

/* Passes a key or a scalar on to a JSON writer. */
static void repeat(tide_json *j, const tide_json_item *item)
{
	char key[NAME];
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

static void take_scalar(struct csv *c, const tide_json_item *item)
{
	struct column *to = column_named(c, c->key);
	if (!to || to->text || item->kind == TIDE_JSON_NULL)
		return;
	FILE *f = open_memstream(&to->text, &to->n);
	if (!f) {
		c->failed = true;
		return;
	}
	if (item->kind == TIDE_JSON_TEXT) {
		tide__put_name(f, item->text, item->n, 0, false);
	} else {
		tide_json j;
		tide__json_begin(&j, f, false);
		repeat(&j, item);
		tide__json_free(&j);
	}
	c->failed |= fclose(f) != 0;
}

static void nested_item(struct csv *c, const tide_json_item *item)
{
	bool array = item->kind == TIDE_JSON_OPEN_ARRAY;
	tide_json *j = c->nested.out ? &c->nested : NULL;
	if (array || item->kind == TIDE_JSON_OPEN_OBJECT) {
		c->failed |= c->nested_depth == NESTED_MOST;
		if (c->failed)
			return;
		c->nested_array[c->nested_depth++] = array;
		if (j)
			array ? tide__json_array(j) : tide__json_object(j);
	} else if (item->kind == TIDE_JSON_CLOSE) {
		array = c->nested_array[--c->nested_depth];
		if (j)
			array ? tide__json_array_end(j) : tide__json_object_end(j);
	} else if (j) {
		repeat(j, item);
	}
	if (c->nested_depth)
		return;
	tide__json_free(&c->nested);
	if (j)
		c->failed |= fclose(c->nested.out) != 0;
}

/* Begins a list or a table in a field. */
static void nested_begin(struct csv *c, const tide_json_item *item)
{
	struct column *to = column_named(c, c->key);
	FILE *f = to && !to->text ? open_memstream(&to->text, &to->n) : NULL;
	c->failed |= to && !f;
	tide__json_begin(&c->nested, f, false);
	nested_item(c, item);
}

/* ---- the sink ---- */

static void begin_row(struct csv *c)
{
	c->row_depth = 1;
	c->key_at[1] = 0;
	*c->key = 0;
}

static void open_in_row(struct csv *c, const tide_json_item *item)
{
	bool inside = item->kind == TIDE_JSON_OPEN_OBJECT && c->row_depth < NESTED &&
		      is_object(c, c->key);
	if (!inside) {
		nested_begin(c, item);
		return;
	}
	c->row_depth++;
	c->key_at[c->row_depth] = strlen(c->key);
}

static void take_key(struct csv *c, const tide_json_item *item)
{
	size_t at = c->row_depth ? c->key_at[c->row_depth] : 0;
	snprintf(c->key + at, sizeof c->key - at, "%s%.*s", at ? "." : "", (int)item->n,
		 item->text);
}

static void open_outside(struct csv *c, const tide_json_item *item)
{
	c->depth++;
	if (!c->table) {
		if (c->depth == 1)
			begin_row(c);
	} else if (c->in_table) {
		begin_row(c);
	} else {
		c->in_table = c->depth == 2 && item->kind == TIDE_JSON_OPEN_ARRAY &&
			      !strcmp(c->key, c->table->key);
	}
}

static void close_container(struct csv *c)
{
	if (c->row_depth > 1) {
		c->row_depth--;
		return;
	}
	if (c->row_depth) {
		put_row(c);
		c->row_depth = 0;
	} else {
		c->in_table = false;
	}
	c->depth--;
}

static bool put(void *user, const tide_json_item *item)
{
	struct csv *c = user;
	if (c->nested_depth)
		nested_item(c, item);
	else if (item->kind == TIDE_JSON_KEY)
		take_key(c, item);
	else if (item->kind == TIDE_JSON_CLOSE)
		close_container(c);
	else if (item->kind == TIDE_JSON_OPEN_OBJECT || item->kind == TIDE_JSON_OPEN_ARRAY)
		c->row_depth ? open_in_row(c, item) : open_outside(c, item);
	else if (c->row_depth)
		take_scalar(c, item);
	return !c->failed;
}

/* ---- tables ---- */

/* Returns the description's i-th table; NULL after the last. */
static const tide_member *table_at(const tide_report_type *type, size_t i)
{
	for (const tide_member *m = type->members; m->key; m++)
		if (m->kind == TIDE_KIND_TABLE && !i--)
			return m;
	return NULL;
}

size_t tide__csv_count(const tide_report_type *type)
{
	size_t n = 0;
	while (table_at(type, n))
		n++;
	return n + 1;
}

const char *tide__csv_name(const tide_report_type *type, size_t table)
{
	const tide_member *m = table_at(type, table);
	return m ? m->key : type->name;
}

tide_code tide__csv_write(const tide_report_type *type, void *result, size_t table, FILE *out)
{
	struct csv *c = tide__calloc(1, sizeof *c);
	tide_json j;
	if (!c)
		return TIDE_ENOMEM;
	c->out = out;
	c->table = table_at(type, table);
	bool ok = add_columns(c, c->table ? c->table->members : type->members, "", 0);
	put_header(c);
	tide__json_begin_sink(&j, put, c);
	tide__json_object(&j);
	ok = ok && type->json(result, &j) == TIDE_OK;
	tide__json_object_end(&j);
	ok = tide__json_end(&j) && ok;
	for (size_t i = 0; i < c->n_columns; i++)
		free(c->columns[i].text);
	tide__free(c);
	return !ok ? TIDE_ENOMEM : ferror(out) ? TIDE_EIO : TIDE_OK;
}
