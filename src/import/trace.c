// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The public interface of the model: tables and columns by name. Nothing is copied; a tide_trace
 * is a model. One table here lists which table each id column refers to. */
#include <tidemark/trace.h>

#include <string.h>

#include "import/import.h"
#include "model/kind_names.h"

static const tide_model *model(const tide_trace *t)
{
	return (const tide_model *)t;
}

tide_code tide_trace_open(const char *path, tide_trace **out, tide_error *err)
{
	tide_model *m;
	tide_code rc = tide__load(path, NULL, &m, err);
	*out = (tide_trace *)m;
	return rc;
}

void tide_trace_close(tide_trace *t)
{
	tide__model_free((tide_model *)t);
}

const char *tide_trace_format(const tide_trace *t)
{
	return model(t)->format;
}

int64_t tide_trace_end(const tide_trace *t)
{
	return model(t)->t_end;
}

bool tide_trace_wall(const tide_trace *t, int64_t *unix_ns)
{
	*unix_ns = model(t)->wall0_ns;
	return model(t)->wall_known;
}

const char *tide_trace_text(const tide_trace *t, uint32_t id, size_t *n)
{
	return tide__text(model(t), (tide_str){ id }, n);
}

const uint64_t *tide_trace_dims(const tide_trace *t, size_t *n)
{
	*n = model(t)->n_dims;
	return model(t)->dims;
}

bool tide_trace_fact(const tide_trace *t, const char *key, int64_t *number)
{
	int64_t at = tide__fact_find(model(t), key);
	if (at < 0 || tide__fact_is_text(model(t), (size_t)at))
		return false;
	*number = model(t)->facts.number[at];
	return true;
}

/* ---- tables ---- */

static const struct table {
	const char *name;
	const tide_table_desc *desc;
	size_t at; /* in tide_model */
	size_t first;
} tables[] = {
#define T(st, member, COLUMNS, none, doc) \
	{ #member, &st##_desc, offsetof(tide_model, member), none },
	TIDE_TABLES(T)
#undef T
};
enum { N_TABLES = sizeof tables / sizeof *tables };

static const void *at(const tide_trace *t, const struct table *b)
{
	return (const char *)model(t) + b->at;
}

static const struct table *find(const char *name)
{
	for (size_t i = 0; i < N_TABLES; i++)
		if (!strcmp(name, tables[i].name))
			return &tables[i];
	return NULL;
}

size_t tide_trace_tables(void)
{
	return N_TABLES;
}

bool tide_trace_table_at(const tide_trace *t, size_t i, tide_table_view *out)
{
	if (i >= N_TABLES)
		return false;
	const struct table *b = &tables[i];
	*out = (tide_table_view){ b->name, b->desc->doc, *(const size_t *)at(t, b), b->first,
				  b->desc->n_columns };
	return true;
}

tide_code tide_trace_table(const tide_trace *t, const char *name, tide_table_view *out)
{
	const struct table *b = find(name);
	memset(out, 0, sizeof *out);
	if (!b)
		return TIDE_ENOTFOUND;
	tide_trace_table_at(t, (size_t)(b - tables), out);
	return TIDE_OK;
}

/* ---- columns ---- */

static const char *refers(const struct table *b, const char *column)
{
	static const struct {
		const char *column, *table;
	} rows[] = {
		{ "frame", "frames" }, { "process", "processes" }, { "device", "devices" },
		{ "pool", "pools" },   { "lane", "lanes" },	   { "stream", "lanes" },
		{ "span", "spans" },   { "free_span", "spans" },   { "cause", "spans" },
		{ "from", "spans" },   { "to", "spans" },	   { "stack", "stacks" },
		{ "alloc", "allocs" }, { "counter", "counters" },
	};
	if (!strcmp(column, "parent"))
		return b->name; /* the parent of a stack is a stack, of a span a span */
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].column, column))
			return rows[i].table;
	return "strings";
}

static void view(const tide_trace *t, const struct table *b, const tide_column *c,
		 tide_column_view *out)
{
	const void *table = at(t, b);
	*out = (tide_column_view){ .name = c->name,
				   .doc = c->doc,
				   .type = (tide_type)c->type,
				   .size = c->size,
				   .rows = *(const size_t *)table,
				   .first = b->first };
	memcpy(&out->data, (const char *)table + c->at, sizeof out->data);
	if (out->type == TIDE_TYPE_ID)
		out->refers = refers(b, c->name);
}

bool tide_trace_column_at(const tide_trace *t, const char *table, size_t i, tide_column_view *out)
{
	const struct table *b = find(table);
	if (!b || i >= b->desc->n_columns)
		return false;
	view(t, b, &b->desc->columns[i], out);
	return true;
}

tide_code tide_trace_column(const tide_trace *t, const char *table, const char *column,
			    tide_column_view *out)
{
	const struct table *b = find(table);
	memset(out, 0, sizeof *out);
	for (size_t i = 0; b && i < b->desc->n_columns; i++) {
		if (strcmp(column, b->desc->columns[i].name) != 0)
			continue;
		view(t, b, &b->desc->columns[i], out);
		return TIDE_OK;
	}
	return TIDE_ENOTFOUND;
}

_Static_assert((int)TIDE_TYPE_ID == (int)TIDE_COL_ID && (int)TIDE_TYPE_F64 == (int)TIDE_COL_F64 &&
		       (int)TIDE_TYPE_I64 == (int)TIDE_COL_I64,
	       "the public types are the tables' own");
