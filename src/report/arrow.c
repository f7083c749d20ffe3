// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* https://arrow.apache.org/docs/format/Columnar.html. A file is a magic word, the schema, batches of
 * rows and a footer with their places. A batch has BATCH_ROWS rows at most, or about BATCH_BYTES of
 * text, so a table of any length needs little memory. */
#include "report/arrow.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "report/flat.h"
#include "report/rows.h"

enum { BATCH_ROWS = 1 << 16, BATCH_BYTES = 64 << 20 };

/* Numbers of Arrow's metadata (Schema.fbs, Message.fbs). */
enum { VERSION_5 = 4, HEADER_SCHEMA = 1, HEADER_BATCH = 3 };
enum { TYPE_INT = 2, TYPE_REAL = 3, TYPE_UTF8 = 5, TYPE_BOOL = 6, TYPE_TIMESTAMP = 10 };
enum { DOUBLE = 2, NANOSECOND = 3 };

typedef struct column {
	int type;	   /* TYPE_* */
	uint8_t *validity; /* a bit per row; owned, like the next */
	uint8_t *values;   /* 8 bytes per row; BOOL: a bit; UTF8: the texts */
	int32_t *ends;	   /* UTF8: where each row's text begins, and the end */
	size_t n_values, cap_validity, cap_values, cap_ends;
	int64_t nulls;
} column;

struct arrow {
	tide_rows rows;
	column columns[TIDE_ROWS_COLUMNS];
	FILE *out;
	int64_t at;	 /* bytes written */
	int64_t *blocks; /* owned; place, bytes of metadata, of the body: per batch */
	size_t n_blocks, cap_blocks;
	size_t n; /* rows of this batch */
	size_t bytes;
	tide_code rc;
};

static bool fail(struct arrow *a, tide_code rc)
{
	a->rc = a->rc == TIDE_OK ? rc : a->rc;
	return false;
}

/* ---- the schema ---- */

static int type_of(const tide_rows_column *c)
{
	tide_json_type json = tide__kind_type(c->member->kind);
	return c->nested || json == TIDE_TYPE_STRING ? TYPE_UTF8
	       : c->member->kind == TIDE_KIND_WALL   ? TYPE_TIMESTAMP
	       : json == TIDE_TYPE_REAL		     ? TYPE_REAL
	       : json == TIDE_TYPE_BOOL		     ? TYPE_BOOL
						     : TYPE_INT;
}

static uint32_t pair(tide_flat *b, const char *key, const char *value)
{
	uint32_t k = tide__flat_text(b, key), v = tide__flat_text(b, value);
	tide__flat_table(b);
	tide__flat_ref(b, 0, k);
	tide__flat_ref(b, 1, v);
	return tide__flat_table_end(b);
}

static uint32_t put_type(tide_flat *b, int type, const tide_rows_column *c)
{
	uint32_t zone = type == TYPE_TIMESTAMP ? tide__flat_text(b, "UTC") : 0;
	tide__flat_table(b);
	if (type == TYPE_INT) {
		tide__flat_number(b, 0, 64, 4);
		tide__flat_number(b, 1, tide__kind_type(c->member->kind) == TIDE_TYPE_INT, 1);
	} else if (type == TYPE_REAL) {
		tide__flat_number(b, 0, DOUBLE, 2);
	} else if (type == TYPE_TIMESTAMP) {
		tide__flat_number(b, 0, NANOSECOND, 2);
		tide__flat_ref(b, 1, zone);
	}
	return tide__flat_table_end(b);
}

static uint32_t put_field(tide_flat *b, const tide_rows_column *c)
{
	uint32_t notes[] = { pair(b, "kind", c->nested ? "JSON" : tide__kind_name(c->member->kind)),
			     pair(b, "meaning", c->member->meaning ? c->member->meaning : "") };
	uint32_t metadata = tide__flat_refs(b, notes, 2);
	uint32_t type = put_type(b, type_of(c), c), name = tide__flat_text(b, c->name);
	uint32_t children = tide__flat_refs(b, NULL, 0);
	tide__flat_table(b);
	tide__flat_ref(b, 0, name);
	tide__flat_number(b, 1, 1, 1); /* may be null */
	tide__flat_number(b, 2, type_of(c), 1);
	tide__flat_ref(b, 3, type);
	tide__flat_ref(b, 5, children);
	tide__flat_ref(b, 6, metadata);
	return tide__flat_table_end(b);
}

static uint32_t put_schema(tide_flat *b, const tide_rows *r)
{
	uint32_t fields[TIDE_ROWS_COLUMNS];
	char version[16];
	snprintf(version, sizeof version, "%d", r->type->version);
	for (size_t i = 0; i < r->n_columns; i++)
		fields[i] = put_field(b, &r->columns[i]);
	uint32_t all = tide__flat_refs(b, fields, r->n_columns);
	uint32_t notes[] = { pair(b, "report", r->type->name), pair(b, "version", version),
			     pair(b, "table", tide__rows_name(r)) };
	uint32_t metadata = tide__flat_refs(b, notes, 3);
	tide__flat_table(b);
	tide__flat_ref(b, 1, all);
	tide__flat_ref(b, 2, metadata);
	return tide__flat_table_end(b);
}

/* ---- writing ---- */

static bool put(struct arrow *a, const void *bytes, size_t n)
{
	if (n && fwrite(bytes, 1, n, a->out) != n)
		return fail(a, TIDE_EIO);
	a->at += (int64_t)n;
	return true;
}

static size_t padding(size_t n)
{
	return (8 - n % 8) % 8;
}

static bool put_padded(struct arrow *a, const void *bytes, size_t n)
{
	static const char zeros[8];
	return put(a, bytes, n) && put(a, zeros, padding(n));
}

/* Writes a message: its metadata, with a header of this type, and their size. */
static bool put_message(struct arrow *a, tide_flat *b, int type, uint32_t header, int64_t body)
{
	tide__flat_table(b);
	tide__flat_number(b, 3, body, 8);
	tide__flat_ref(b, 2, header);
	tide__flat_number(b, 0, VERSION_5, 2);
	tide__flat_number(b, 1, type, 1);
	tide__flat_finish(b, tide__flat_table_end(b));
	if (b->failed)
		return fail(a, TIDE_ENOMEM);
	uint32_t begin[] = { UINT32_MAX, (uint32_t)b->n };
	return put(a, begin, sizeof begin) && put(a, tide__flat_begin(b), b->n);
}

static bool put_head(struct arrow *a)
{
	tide_flat b = { 0 };
	bool ok = put(a, "ARROW1\0", 8) &&
		  put_message(a, &b, HEADER_SCHEMA, put_schema(&b, &a->rows), 0);
	tide__flat_free(&b);
	return ok;
}

static bool put_foot(struct arrow *a)
{
	static const uint32_t end[] = { UINT32_MAX, 0 };
	tide_flat b = { 0 };
	uint32_t schema = put_schema(&b, &a->rows);
	uint32_t none = tide__flat_structs(&b, NULL, 0, 3);
	uint32_t blocks = tide__flat_structs(&b, a->blocks, a->n_blocks, 3);
	tide__flat_table(&b);
	tide__flat_ref(&b, 1, schema);
	tide__flat_ref(&b, 2, none);
	tide__flat_ref(&b, 3, blocks);
	tide__flat_number(&b, 0, VERSION_5, 2);
	tide__flat_finish(&b, tide__flat_table_end(&b));
	uint32_t size = (uint32_t)b.n;
	bool ok = !b.failed ? put(a, end, sizeof end) && put(a, tide__flat_begin(&b), b.n) &&
				      put(a, &size, sizeof size) && put(a, "ARROW1", 6)
			    : fail(a, TIDE_ENOMEM);
	tide__flat_free(&b);
	return ok;
}

/* ---- a batch ---- */

struct part {
	const void *v;
	size_t n;
};

/* Lists the buffers of a column in Arrow's order. Returns their number. */
static size_t parts_of(const column *c, size_t rows, struct part out[3])
{
	size_t n = 0;
	out[n++] = (struct part){ c->validity, (rows + 7) / 8 };
	if (c->type == TYPE_UTF8)
		out[n++] = (struct part){ c->ends, (rows + 1) * sizeof *c->ends };
	out[n++] = (struct part){ c->values, c->n_values };
	return n;
}

static void empty_batch(struct arrow *a)
{
	for (size_t i = 0; i < a->rows.n_columns; i++) {
		a->columns[i].n_values = 0;
		a->columns[i].nulls = 0;
	}
	a->n = a->bytes = 0;
}

static bool put_batch(struct arrow *a)
{
	int64_t nodes[2 * TIDE_ROWS_COLUMNS], buffers[6 * TIDE_ROWS_COLUMNS], body = 0;
	size_t n = 0;
	struct part p[3];
	tide_flat b = { 0 };
	for (size_t i = 0; i < a->rows.n_columns; i++) {
		nodes[2 * i] = (int64_t)a->n;
		nodes[2 * i + 1] = a->columns[i].nulls;
		for (size_t k = 0, m = parts_of(&a->columns[i], a->n, p); k < m; k++, n++) {
			buffers[2 * n] = body;
			buffers[2 * n + 1] = (int64_t)p[k].n;
			body += (int64_t)(p[k].n + padding(p[k].n));
		}
	}
	uint32_t v = tide__flat_structs(&b, buffers, n, 2);
	uint32_t w = tide__flat_structs(&b, nodes, a->rows.n_columns, 2);
	tide__flat_table(&b);
	tide__flat_number(&b, 0, (int64_t)a->n, 8);
	tide__flat_ref(&b, 1, w);
	tide__flat_ref(&b, 2, v);
	int64_t at = a->at;
	bool ok = put_message(a, &b, HEADER_BATCH, tide__flat_table_end(&b), body);
	int64_t block[] = { at, a->at - at, body };
	tide__flat_free(&b);
	for (size_t i = 0; ok && i < a->rows.n_columns; i++)
		for (size_t k = 0, m = parts_of(&a->columns[i], a->n, p); ok && k < m; k++)
			ok = put_padded(a, p[k].v, p[k].n);
	if (ok && !TIDE_ROOM(a->blocks, a->cap_blocks, 3 * (a->n_blocks + 1)))
		ok = fail(a, TIDE_ENOMEM);
	if (ok)
		memcpy(a->blocks + 3 * a->n_blocks++, block, sizeof block);
	empty_batch(a);
	return ok;
}

/* ---- rows ---- */

/* Sets bit i; those before it are set. */
static void set_bit(uint8_t *bits, size_t i, bool v)
{
	bits[i / 8] = (uint8_t)((i % 8 ? bits[i / 8] : 0) | (unsigned)v << i % 8);
}

static bool add_text(column *c, size_t row, const tide_rows_cell *cell)
{
	size_t n = cell->kind == TIDE_JSON_TEXT ? cell->n : 0;
	if (n > BATCH_BYTES * 8 || !TIDE_ROOM(c->ends, c->cap_ends, row + 2) ||
	    !TIDE_ROOM(c->values, c->cap_values, c->n_values + 2 * n + 1))
		return false;
	c->ends[row] = (int32_t)c->n_values;
	if (n)
		c->n_values += tide__utf8_clean(cell->text, n, (char *)c->values + c->n_values);
	c->ends[row + 1] = (int32_t)c->n_values;
	return true;
}

static bool add_number(column *c, const tide_rows_cell *cell)
{
	union {
		uint64_t u;
		int64_t i;
		double d;
	} v = { 0 };
	if (!TIDE_ROOM(c->values, c->cap_values, c->n_values + sizeof v))
		return false;
	if (c->type == TYPE_REAL)
		v.d = cell->kind == TIDE_JSON_REAL  ? cell->d
		      : cell->kind == TIDE_JSON_INT ? (double)cell->i
						    : (double)cell->u;
	else if (cell->kind == TIDE_JSON_INT)
		v.i = cell->i;
	else
		v.u = cell->u;
	memcpy(c->values + c->n_values, &v, sizeof v);
	c->n_values += sizeof v;
	return true;
}

static bool add_bool(column *c, size_t row, bool v)
{
	c->n_values = row / 8 + 1;
	if (!TIDE_ROOM(c->values, c->cap_values, c->n_values))
		return false;
	set_bit(c->values, row, v);
	return true;
}

static bool put_row(void *user, const tide_rows_cell *cells)
{
	struct arrow *a = user;
	for (size_t i = 0; i < a->rows.n_columns; i++) {
		column *c = &a->columns[i];
		static const tide_rows_cell unknown = { .kind = TIDE_JSON_NULL };
		bool known = cells[i].kind != TIDE_JSON_NULL;
		const tide_rows_cell *cell = known ? &cells[i] : &unknown;
		bool ok = TIDE_ROOM(c->validity, c->cap_validity, a->n / 8 + 1) &&
			  (c->type == TYPE_UTF8	  ? add_text(c, a->n, cell)
			   : c->type == TYPE_BOOL ? add_bool(c, a->n, cell->u)
						  : add_number(c, cell));
		if (!ok)
			return fail(a, TIDE_ENOMEM);
		set_bit(c->validity, a->n, known);
		c->nulls += !known;
		a->bytes += known && c->type == TYPE_UTF8 ? cell->n : 0;
	}
	a->n++;
	return (a->n < BATCH_ROWS && a->bytes < BATCH_BYTES) || put_batch(a);
}

tide_code tide__arrow_write(const tide_report_type *type, void *result, size_t table, FILE *out)
{
	struct arrow *a = tide__calloc(1, sizeof *a);
	if (!a)
		return TIDE_ENOMEM;
	a->out = out;
	tide__rows_begin(&a->rows, type, table);
	for (size_t i = 0; i < a->rows.n_columns; i++)
		a->columns[i].type = type_of(&a->rows.columns[i]);
	bool ok = put_head(a) && tide__rows_walk(&a->rows, result, put_row, a) &&
		  (!a->n || put_batch(a)) && put_foot(a);
	tide_code rc = ok ? TIDE_OK : a->rc != TIDE_OK ? a->rc : TIDE_ENOMEM;
	for (size_t i = 0; i < a->rows.n_columns; i++) {
		tide__free(a->columns[i].validity);
		tide__free(a->columns[i].values);
		tide__free(a->columns[i].ends);
	}
	tide__free(a->blocks);
	tide__free(a);
	return rc;
}
