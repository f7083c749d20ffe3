// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Each column grows as its pieces are read, so memory depends on the size of the file, not on
 * numbers in it. At the end all columns of a table have the same length, or the file is refused. */
#include "import/tide/tables.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/mlir.h" /* tide_slice */
#include "format/varint.h"
#include "model/kind_names.h"
#include "model/strings.h"

enum {
	N_TABLES = 0
#define T(st, member, COLUMNS, none, doc) +1
	TIDE_TABLES(T)
#undef T
		,
	MOST_COLUMNS = 24,
};

typedef struct pile {	/* a column, as far as it was read */
	uint8_t *bytes; /* owned */
	size_t n, cap;	/* bytes */
} pile;

typedef struct target {
	const tide_table_desc *desc;
	void *table;
	pile columns[MOST_COLUMNS];
} target;

typedef struct tables {
	tide_model *m;
	target of[N_TABLES];
	pile dims, numbers, format;
	uint64_t unknown, chunks, total;
	bool ended;
} tables;

typedef struct piece { /* a payload */
	tide_slice table, column;
	uint64_t size, first;
	const uint8_t *data, *end;
	uint64_t at; /* of its chunk */
} piece;

/* ---- one payload ---- */

static bool text_of(const uint8_t **p, const uint8_t *end, tide_slice *out)
{
	uint64_t n;
	bool bad = false;
	*p = tide__varint(*p, &n, &bad);
	if (bad || *p > end || n > (uint64_t)(end - *p))
		return false;
	*out = (tide_slice){ (const char *)*p, (size_t)n };
	*p += n;
	return true;
}

static bool read_piece(const tide_payload *b, piece *x)
{
	const uint8_t *p = b->bytes;
	bool bad = false;
	x->end = p + b->n;
	if (!text_of(&p, x->end, &x->table) || !text_of(&p, x->end, &x->column) || p >= x->end)
		return false;
	p = tide__varint(p, &x->size, &bad);
	if (bad || p >= x->end)
		return false;
	p = tide__varint(p, &x->first, &bad);
	x->data = p;
	return !bad && p <= x->end && x->size && !((size_t)(x->end - p) % x->size && x->size > 1);
}

static tide_code wrong(const piece *x, const char *what, tide_error *err)
{
	return tide__fail(err, TIDE_ECORRUPT, x->at, "table %.*s, column %.*s: %s",
			  (int)(x->table.n < 40 ? x->table.n : 40), x->table.s,
			  (int)(x->column.n < 40 ? x->column.n : 40), x->column.s, what);
}

static tide_code append(pile *to, const piece *x, unsigned size, tide_error *err)
{
	size_t n = (size_t)(x->end - x->data);
	if (x->size != size)
		return wrong(x, "elements have another size", err);
	if (x->first != to->n / size)
		return wrong(x, "a piece is missing", err);
	if (n / size > UINT32_MAX - to->n / size)
		return wrong(x, "too many rows", err);
	if (!TIDE_ROOM(to->bytes, to->cap, to->n + n))
		return tide__nomem(err);
	memcpy(to->bytes + to->n, x->data, n);
	to->n += n;
	return TIDE_OK;
}

static tide_code take_texts(tables *t, const piece *x, tide_error *err)
{
	tide_strings *all = t->m->strings;
	const uint8_t *p = x->data;
	tide_slice text;
	if (x->first != tide__strings_count(all))
		return wrong(x, "a piece is missing", err);
	while (p < x->end) {
		uint32_t n = tide__strings_count(all);
		if (!text_of(&p, x->end, &text) || !text.n)
			return wrong(x, "a text runs over the end", err);
		uint32_t id = tide__strings_add(all, text.s, text.n);
		if (!id)
			return tide__nomem(err);
		if (id != n + 1)
			return wrong(x, "a text occurs twice", err);
	}
	return TIDE_OK;
}

static bool is(tide_slice a, const char *b)
{
	return a.n == strlen(b) && !memcmp(a.s, b, a.n);
}

static tide_code take_column(tables *t, target *of, const piece *x, tide_error *err)
{
	for (size_t i = 0; i < of->desc->n_columns; i++)
		if (is(x->column, tide__stored_name(of->desc->name, of->desc->columns[i].name)))
			return append(&of->columns[i], x, of->desc->columns[i].size, err);
	t->unknown++;
	return TIDE_OK;
}

static tide_code take(tables *t, const piece *x, tide_error *err)
{
	if (is(x->table, "strings"))
		return take_texts(t, x, err);
	if (is(x->table, "dims"))
		return append(&t->dims, x, 8, err);
	if (is(x->table, "trace") && is(x->column, "numbers"))
		return append(&t->numbers, x, 8, err);
	if (is(x->table, "trace") && is(x->column, "format"))
		return append(&t->format, x, 1, err);
	for (size_t i = 0; i < N_TABLES; i++)
		if (is(x->table, tide__stored_name(t->of[i].desc->name, NULL)))
			return take_column(t, &t->of[i], x, err);
	t->unknown++;
	return TIDE_OK;
}

/* ---- the walk ---- */

static tide_code read_total(tables *t, const tide_payload *b, const tide_chunk *c, tide_error *err)
{
	bool bad = false;
	if (b->n < 2 || b->bytes[0] != TIDE_REC_TOTAL)
		return tide__fail(err, TIDE_ECORRUPT, c->at, "the end chunk has no total");
	tide__varint(b->bytes + 1, &t->total, &bad);
	t->ended = !bad;
	return TIDE_OK;
}

static tide_code take_chunk(tables *t, tide_reader *r, const tide_chunk *c, tide_payload *b,
			    tide_error *err)
{
	piece x = { .at = c->at };
	if (c->head.type != TIDE_CHUNK_TABLE && c->head.type != TIDE_CHUNK_END)
		return TIDE_OK;
	tide_code rc = tide__reader_read_payload(r, c, b, err);
	if (rc)
		return rc;
	if (c->head.type == TIDE_CHUNK_END)
		return read_total(t, b, c, err);
	t->chunks++;
	if (!read_piece(b, &x))
		return tide__fail(err, TIDE_ECORRUPT, c->at, "a table chunk cannot be read");
	return take(t, &x, err);
}

static tide_code walk(tables *t, tide_reader *r, tide_error *err)
{
	tide_payload b = { 0 };
	tide_chunk c;
	tide_code rc;
	while ((rc = tide__reader_next(r, &c, err)) == TIDE_OK && c.head.type)
		if ((rc = take_chunk(t, r, &c, &b, err)))
			break;
	tide__payload_free(&b);
	const tide_file_gaps *g = tide__reader_gaps(r);
	if (!rc && g->n)
		rc = tide__fail(err, TIDE_ECORRUPT, g->why.offset,
				"%s: tables need all of the file", g->why.text);
	if (!rc && (!t->ended || t->chunks < t->total))
		rc = tide__fail(err, TIDE_ETRUNC, tide__reader_at(r),
				"the tables are not complete: make the file again from its source");
	return rc;
}

/* ---- into the model ---- */

/* Moves the columns into the table. A column that the file lacks is zero. */
static tide_code hand_over(target *of, tide_error *err)
{
	const tide_table_desc *d = of->desc;
	size_t rows = 0, n;
	for (size_t i = 0; i < d->n_columns; i++)
		if (of->columns[i].n) {
			n = of->columns[i].n / d->columns[i].size;
			if (rows && n != rows)
				return tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
						  "table %s: its columns differ in length",
						  d->name);
			rows = n;
		}
	if (!rows)
		return TIDE_OK; /* as the empty model has it */
	for (size_t i = 0; i < d->n_columns; i++)
		if (!of->columns[i].n &&
		    !(of->columns[i].bytes = tide__calloc(rows, d->columns[i].size)))
			return tide__nomem(err);
	tide__table_free(of->table, d);
	for (size_t i = 0; i < d->n_columns; i++) {
		memcpy((char *)of->table + d->columns[i].at, &of->columns[i].bytes, sizeof(void *));
		of->columns[i].bytes = NULL;
	}
	memcpy(of->table, &rows, sizeof rows);
	memcpy((char *)of->table + sizeof rows, &rows, sizeof rows);
	return TIDE_OK;
}

static tide_code trace(tables *t, tide_error *err)
{
	int64_t v[4] = { 0 };
	if (t->numbers.n < sizeof v)
		return tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
				  "the file does not define its time axis");
	memcpy(v, t->numbers.bytes, sizeof v);
	if (v[0] < 0 || v[0] > TIDE_AXIS_OPS || v[1] < 0)
		return tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET, "unknown axis, or no end");
	t->m->axis = (uint8_t)v[0];
	t->m->t_end = v[1];
	t->m->wall0_ns = v[2];
	t->m->wall_known = v[3] != 0;
	t->m->dims = (uint64_t *)(void *)t->dims.bytes;
	t->m->n_dims = t->m->cap_dims = t->dims.n / 8;
	t->dims.bytes = NULL;
	if (!t->format.n)
		return TIDE_OK;
	char *format = tide__strndup((const char *)t->format.bytes, t->format.n);
	if (!format)
		return tide__nomem(err);
	tide__free(t->m->format); /* format of the original trace */
	t->m->format = format;
	return TIDE_OK;
}

/* ---- numbers that other code uses without checks ---- */

#define KIND(table, column, most)                                   \
	{                                                           \
#table, #column, &m->table.n, m->table.column, most \
	}
static tide_code check_kinds(const tide_model *m, tide_error *err)
{
	const struct kind {
		const char *table, *column;
		const size_t *n;
		const uint8_t *v;
		unsigned most;
	} kinds[] = {
		KIND(devices, kind, TIDE_DEVICE_OTHER),
		KIND(pools, kind, TIDE_POOL_PRIVATE),
		KIND(lanes, kind, TIDE_LANE_OTHER),
		KIND(spans, cat, TIDE_CAT_OTHER),
		KIND(allocs, role, TIDE_ROLE_WORKSPACE),
		KIND(allocs, basis, TIDE_BASIS_VIRTUAL),
		KIND(segments, kind, TIDE_SEGMENT_HOST),
		KIND(marks, kind, TIDE_MARK_SNAPSHOT),
		KIND(tensors, dtype, TIDE_DTYPE_BFP4),
		KIND(tensors, role, TIDE_ROLE_WORKSPACE),
		KIND(views, dtype, TIDE_DTYPE_BFP4),
		KIND(views, role, TIDE_ROLE_WORKSPACE),
		KIND(flows, kind, TIDE_FLOW_OTHER),
		KIND(pool_states, when, TIDE_STATE_BETWEEN),
	};
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (size_t i = 0; i < *kinds[k].n; i++)
			if (kinds[k].v[i] > kinds[k].most)
				return tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
						  "%s row %zu: unknown %s %u", kinds[k].table, i,
						  kinds[k].column, kinds[k].v[i]);
	return TIDE_OK;
}

/* Checks that times can be added and subtracted, and that numbers of banks can be divided by. */
static tide_code check_numbers(const tide_model *m, tide_error *err)
{
	const struct times {
		size_t n;
		const int64_t *v;
	} times[] = { { m->spans.n, m->spans.t0 },	   { m->spans.n, m->spans.t1 },
		      { m->allocs.n, m->allocs.born },	   { m->allocs.n, m->allocs.died },
		      { m->segments.n, m->segments.born }, { m->segments.n, m->segments.died },
		      { m->marks.n, m->marks.t },	   { m->pool_states.n, m->pool_states.t },
		      { m->pendings.n, m->pendings.t },	   { m->uses.n, m->uses.t },
		      { m->samples.n, m->samples.t } };
	for (size_t k = 0; k < sizeof times / sizeof *times; k++)
		for (size_t i = 0; i < times[k].n; i++)
			if (times[k].v[i] != TIDE_T_NEVER &&
			    (times[k].v[i] > INT64_MAX / 4 || times[k].v[i] < -INT64_MAX / 4))
				return tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
						  "a time is out of range");
	for (size_t i = 1; i < m->spans.n; i++)
		if (m->spans.t1[i] == TIDE_T_NEVER)
			return tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET, "span %zu has no end",
					  i);
	for (size_t i = 0; i < m->pool_states.n; i++)
		if (!m->pool_states.pool[i].i)
			return tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
					  "state %zu belongs to no pool", i);
	return TIDE_OK;
}

static void start(tables *t, tide_model *m)
{
	size_t k = 0;
	t->m = m;
#define T(st, member, COLUMNS, none, doc) \
	t->of[k].desc = &st##_desc;       \
	t->of[k++].table = &m->member;
	TIDE_TABLES(T)
#undef T
}

static void done(tables *t)
{
	for (size_t i = 0; i < N_TABLES; i++)
		for (size_t c = 0; c < MOST_COLUMNS; c++)
			tide__free(t->of[i].columns[c].bytes);
	tide__free(t->dims.bytes);
	tide__free(t->numbers.bytes);
	tide__free(t->format.bytes);
	tide__free(t);
}

tide_code tide__tables_read(tide_reader *r, tide_model *m, tide_error *err)
{
	tables *t = tide__calloc(1, sizeof *t);
	if (!t)
		return tide__nomem(err);
	start(t, m);
	tide_code rc = walk(t, r, err);
	rc = rc ? rc : trace(t, err);
	for (size_t i = 0; !rc && i < N_TABLES; i++)
		rc = hand_over(&t->of[i], err);
	rc = rc ? rc : tide__model_check(m, err);
	rc = rc ? rc : check_kinds(m, err);
	rc = rc ? rc : check_numbers(m, err);
	if (!rc && t->unknown &&
	    !tide__fact_set_number(m, "loss.unknown_chunks", (int64_t)t->unknown))
		rc = tide__nomem(err);
	done(t);
	return rc;
}
