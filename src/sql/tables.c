// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tables of the model. A plan is one way to find rows: by id, by an interval, by a column in its
 * order, or all. It may give rows that do not fit: SQLite checks every condition again. */
#include <math.h>
#include <string.h>

#include "analyze/live/live_set.h"
#include "base/mem.h"
#include "model/names.h"
#include "model/strings.h"
#include "sql/internal.h"

/* ---- derived columns ---- */

static int64_t row_id(const tide_model *m, size_t row)
{
	(void)m;
	return (int64_t)row;
}

static int64_t span_ns(const tide_model *m, size_t row)
{
	bool known = !(m->spans.flags[row] & TIDE_SPAN_NO_END) && m->axis == TIDE_AXIS_TIME;
	return known ? m->spans.t1[row] - m->spans.t0[row] : INT64_MIN;
}

static int64_t span_device(const tide_model *m, size_t row)
{
	return m->lanes.device[m->spans.lane[row].i].i;
}

static int64_t alloc_device(const tide_model *m, size_t row)
{
	return m->pools.device[m->allocs.pool[row].i].i;
}

static int64_t segment_device(const tide_model *m, size_t row)
{
	return m->pools.device[m->segments.pool[row].i].i;
}

static int64_t event_time(const tide_model *m, size_t row)
{
	return tide__memory_event_time(m, row);
}

static int64_t event_alloc(const tide_model *m, size_t row)
{
	bool made;
	return tide__memory_event_life(m, row, &made);
}

static int64_t event_bytes(const tide_model *m, size_t row)
{
	bool made;
	uint32_t alloc = tide__memory_event_life(m, row, &made);
	int64_t size = (int64_t)m->allocs.size[alloc];
	return !alloc ? INT64_MIN : made ? size : -size;
}

static int64_t event_segment(const tide_model *m, size_t row)
{
	bool is = m->memory_events.kind[row] == TIDE_MEMORY_SEG_ALLOC ||
		  m->memory_events.kind[row] == TIDE_MEMORY_SEG_FREE;
	return is ? m->memory_events.row[row] : 0;
}

#define NUMBER(name_, text, from)                                                                 \
	{                                                                                         \
		.name = name_, .doc = text, .derive = from, .form = SQL_NUMBER, .has_null = true, \
		.null = INT64_MIN                                                                 \
	}
static const struct {
	const char *table;
	sql_column c;
} derived[] = {
	{ "spans", NUMBER("dur", "t1 - t0, ns; NULL if the source has no end of it", span_ns) },
	{ "spans",
	  { .name = "device",
	    .doc = "device of its lane",
	    .derive = span_device,
	    .form = SQL_DEVICE } },
	{ "allocs",
	  { .name = "device",
	    .doc = "device of its pool",
	    .derive = alloc_device,
	    .form = SQL_DEVICE } },
	{ "segments",
	  { .name = "device",
	    .doc = "device of its pool",
	    .derive = segment_device,
	    .form = SQL_DEVICE } },
	{ "devices",
	  { .name = "device",
	    .doc = "its name in reports and options, e.g. cuda:0",
	    .derive = row_id,
	    .form = SQL_DEVICE } },
	{ "memory_events", NUMBER("t", "ns", event_time) },
	{ "memory_events",
	  { .name = "alloc",
	    .doc = "allocation that begins or ends, in the view of the program",
	    .derive = event_alloc,
	    .form = SQL_ROW } },
	{ "memory_events",
	  { .name = "segment",
	    .doc = "segment that begins or ends",
	    .derive = event_segment,
	    .form = SQL_ROW } },
	{ "memory_events",
	  NUMBER("bytes", "change of live bytes; NULL if it changes none", event_bytes) },
};

static const struct {
	const char *table, *start, *end;
} spanned[] = { { "spans", "t0", "t1" },
		{ "allocs", "born", "died" },
		{ "segments", "born", "died" } };

/* ---- columns ---- */

/* The words of the model's documentation for values that mean unknown. */
static const struct {
	const char *text;
	int64_t value;
} unknowns[] = { { "0 = unknown", 0 }, { "-1 = ", -1 }, { "2 unknown", 2 } };

static sql_column make_column(const char *table, const tide_column_view *v)
{
	sql_column c = { .name = v->name, .doc = v->doc, .size = (uint8_t)v->size };
	c.words = tide__kind_names_of(table, v->name);
	c.is_signed = v->type == TIDE_TYPE_I64;
	c.form = c.words			 ? SQL_WORD
		 : v->type == TIDE_TYPE_F64	 ? SQL_REAL
		 : v->type != TIDE_TYPE_ID	 ? SQL_NUMBER
		 : !strcmp(v->refers, "strings") ? SQL_TEXT
		 : !strcmp(v->refers, "devices") ? SQL_DEVICE
						 : SQL_ROW;
	for (size_t i = 0; c.form == SQL_NUMBER && i < sizeof unknowns / sizeof *unknowns; i++)
		if (strstr(v->doc, unknowns[i].text)) {
			c.has_null = true;
			c.null = unknowns[i].value;
		}
	return c;
}

static size_t add_column(sql_table *t, sql_column c)
{
	if (t->n_columns == SQL_COLUMNS)
		return SIZE_MAX;
	t->columns[t->n_columns] = c;
	return t->n_columns++;
}

static size_t column_named(const sql_table *t, const char *name)
{
	for (size_t i = 0; name && i < t->n_columns; i++)
		if (!strcmp(t->columns[i].name, name))
			return i;
	return SIZE_MAX;
}

enum { C_ID }; /* the first column of every table */

static void make_columns(sql_table *t, const tide_trace *any)
{
	tide_column_view v;
	add_column(t, (sql_column){ .name = "id", .doc = "row of the table", .derive = row_id });
	for (size_t i = 0; tide_trace_column_at(any, t->name, i, &v); i++)
		add_column(t, make_column(t->name, &v));
	for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
		if (!strcmp(derived[i].table, t->name))
			add_column(t, derived[i].c);
	t->start = t->end = t->during = SIZE_MAX;
	for (size_t i = 0; i < sizeof spanned / sizeof *spanned; i++)
		if (!strcmp(spanned[i].table, t->name)) {
			t->start = column_named(t, spanned[i].start);
			t->end = column_named(t, spanned[i].end);
			t->during = add_column(
				t,
				(sql_column){ .name = "during_from",
					      .doc = "rows that end after this time, ns, and ...",
					      .hidden = true });
			add_column(t, (sql_column){ .name = "during_to",
						    .doc = "... begin before this one",
						    .hidden = true });
		}
	t->trace = add_column(t, (sql_column){ .name = "trace_id",
					       .doc = "number of the file, from 1",
					       .hidden = t->sql->in.n == 1 });
}

static int64_t stored(const void *v, size_t size, bool is_signed, size_t row)
{
	switch (size) {
	case 1:
		return ((const uint8_t *)v)[row];
	case 2:
		return ((const uint16_t *)v)[row];
	case 4:
		return ((const uint32_t *)v)[row];
	default:
		(void)is_signed; /* 64 bits as they are: an address above 2^63 is negative */
		return ((const int64_t *)v)[row];
	}
}

/* A tide_order_value: the number of a row, before it is shown. */
static int64_t raw(const void *of, size_t row)
{
	const sql_data *d = of;
	if (d->v)
		return stored(d->v, d->c->size, d->c->is_signed, row);
	return d->c->derive ? d->c->derive(d->m, row) : 0;
}

static bool is_null(const sql_column *c, int64_t v)
{
	if (c->has_null && v == c->null)
		return true;
	if (c->form == SQL_ROW || c->form == SQL_TEXT || c->form == SQL_DEVICE)
		return !v;
	return c->size == 8 && (c->is_signed ? v == TIDE_T_NEVER || v == INT64_MIN : v == -1);
}

/* ---- plans ---- */

enum { PLAN_ALL, PLAN_ID, PLAN_DURING, PLAN_EQUAL, PLAN_RANGE, PLAN_ORDER, PLAN_FILTER };
enum { HAS_TRACE = 8, HAS_LOW = 16, HAS_HIGH = 32, COLUMN_SHIFT = 8 };

struct vtab {
	sqlite3_vtab base;
	sql_table *t;
};

struct cursor {
	sqlite3_vtab_cursor base;
	sql_table *t;
	int plan;
	size_t column;
	bool has_low, has_high;
	int64_t low, high;	 /* PLAN_DURING: from, to */
	sqlite3_value *text;	 /* owned; PLAN_EQUAL and PLAN_FILTER of a text; NULL = a number */
	size_t trace, traces;	 /* this one, and the end */
	const tide_order *order; /* NULL: rows are in their own order */
	const tide_intervals *intervals;
	size_t at, end; /* places in the order */
	size_t row;
};

/* A plan, with the constraints that it uses. */
struct choice {
	int plan;
	size_t column;
	int low, high; /* constraints; -1 = none */
	double cost, rows;
};

static bool is_upper(int op)
{
	return op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
}

static bool is_lower(int op)
{
	return op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;
}

static void better(struct choice *best, struct choice c)
{
	if (c.cost < best->cost)
		*best = c;
}

static double most_rows(const sql_table *t)
{
	double n = 1;
	for (size_t i = 0; i < t->sql->in.n; i++)
		n += (double)t->rows[i];
	return n;
}

/* Compares an equality or a range on one column with the best plan. */
static void weigh(const sql_table *t, sqlite3_index_info *info, int i, struct choice *best)
{
	double n = most_rows(t), find = 20;
	size_t column = (size_t)info->aConstraint[i].iColumn;
	int op = info->aConstraint[i].op;
	const sql_column *c = &t->columns[column];
	bool word = c->form == SQL_WORD || c->form == SQL_DEVICE || c->form == SQL_TEXT;
	if (c->form == SQL_REAL || c->hidden || column == t->trace)
		return;
	if (op == SQLITE_INDEX_CONSTRAINT_EQ) {
		if (word && strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
			return;
		if (column == C_ID)
			better(best, (struct choice){ PLAN_ID, column, i, -1, 5, 1 });
		else if (c->form == SQL_WORD || c->form == SQL_DEVICE)
			better(best, (struct choice){ PLAN_FILTER, column, i, -1, n * 0.7, n / 4 });
		else
			better(best, (struct choice){ PLAN_EQUAL, column, i, -1, find + sqrt(n),
						      c->form == SQL_ROW ? 4 : 1 + sqrt(n) });
		return;
	}
	if (word || (!is_lower(op) && !is_upper(op)))
		return;
	struct choice r = { PLAN_RANGE, column, -1, -1, 0, 0 };
	for (int k = 0; k < info->nConstraint; k++) {
		if (!info->aConstraint[k].usable || info->aConstraint[k].iColumn != (int)column)
			continue;
		if (is_lower(info->aConstraint[k].op))
			r.low = k;
		if (is_upper(info->aConstraint[k].op))
			r.high = k;
	}
	r.rows = r.low >= 0 && r.high >= 0 ? n / 16 : n / 3;
	r.cost = find + r.rows;
	better(best, r);
}

/* Returns the constraint "column = value" that can be used, or -1. */
static int equal_to(const sqlite3_index_info *info, size_t column)
{
	for (int i = 0; column != SIZE_MAX && i < info->nConstraint; i++)
		if (info->aConstraint[i].usable && info->aConstraint[i].iColumn == (int)column &&
		    info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ)
			return i;
	return -1;
}

static void use(sqlite3_index_info *info, int i, int *n, bool omit)
{
	info->aConstraintUsage[i].argvIndex = ++*n;
	info->aConstraintUsage[i].omit = omit;
}

/* Tries to deliver rows in the order or the groups that the query needs. */
static bool use_order(const sql_table *t, sqlite3_index_info *info, struct choice *best)
{
	if (info->nOrderBy != 1 || t->sql->in.n != 1)
		return false;
	size_t column = (size_t)info->aOrderBy[0].iColumn;
	const sql_column *c =
		info->aOrderBy[0].iColumn < 0 ? &t->columns[C_ID] : &t->columns[column];
	column = (size_t)(c - t->columns);
	bool grouped = false;
#if SQLITE_VERSION_NUMBER >= 3038000
	grouped = sqlite3_vtab_distinct(info) == 1 || sqlite3_vtab_distinct(info) == 2;
#endif
	bool plain = best->plan == PLAN_ALL || best->plan == PLAN_FILTER;
	/* Several numbers of a NULL are not beside each other. */
	grouped &= c->form != SQL_NUMBER || (!c->has_null && c->size < 8);
	if (c->form == SQL_REAL || c->hidden || c->form == SQL_WORD || info->aOrderBy[0].desc)
		return false;
	if (best->plan == PLAN_RANGE && best->column == column && !c->has_null &&
	    column == t->start)
		return true;
	if (column == C_ID && (plain || best->plan == PLAN_ID))
		return true; /* rows are in it */
	if (!plain || !(grouped || (column == t->start && column != SIZE_MAX)))
		return false;
	*best = (struct choice){ PLAN_ORDER, column, -1, -1, best->cost, best->rows };
	return true;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const sql_table *t = ((struct vtab *)base)->t;
	double n = most_rows(t);
	struct choice best = { PLAN_ALL, 0, -1, -1, n, n };
	size_t from = t->during;
	int args = 0, since = equal_to(info, from),
	    until = equal_to(info, from == SIZE_MAX ? from : from + 1);
	int trace = equal_to(info, t->trace);
	for (int i = 0; i < info->nConstraint; i++) {
		int column = info->aConstraint[i].iColumn;
		if (from != SIZE_MAX && (column == (int)from || column == (int)from + 1) &&
		    !info->aConstraint[i].usable &&
		    info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ)
			return SQLITE_CONSTRAINT;
		if (info->aConstraint[i].usable && column >= 0)
			weigh(t, info, i, &best);
	}
	if ((since < 0) != (until < 0))
		return tide__sql_vtab_fail(base, "both times are needed: TABLE(from_ns, to_ns)");
	if (since >= 0)
		best = (struct choice){ PLAN_DURING, 0, since, until, 30, 10 };
	info->orderByConsumed = use_order(t, info, &best);
	if (trace >= 0)
		use(info, trace, &args, true);
	if (best.low >= 0)
		use(info, best.low, &args, best.plan == PLAN_DURING);
	if (best.high >= 0)
		use(info, best.high, &args, best.plan == PLAN_DURING);
	info->idxNum = best.plan | (trace >= 0 ? HAS_TRACE : 0) | (best.low >= 0 ? HAS_LOW : 0) |
		       (best.high >= 0 ? HAS_HIGH : 0) | (int)best.column << COLUMN_SHIFT;
	info->estimatedCost = best.cost;
	info->estimatedRows = (sqlite3_int64)best.rows + 1;
	if (best.plan == PLAN_ID && t->sql->in.n == 1)
		info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
	return SQLITE_OK;
}

/* ---- rows ---- */

static sql_data *data_of(const sql_table *t, size_t trace, size_t column)
{
	return &t->data[trace][column];
}

/* Returns the order of a column, made when it is first needed; NULL if memory runs out. */
static const tide_order *order_of(sql_table *t, size_t trace, size_t column)
{
	sql_data *d = data_of(t, trace, column);
	if (!d->order)
		d->order = tide__order_new(raw, d, t->first, t->rows[trace]);
	return d->order;
}

static const tide_intervals *intervals_of(sql_table *t, size_t trace)
{
	const tide_order *starts = order_of(t, trace, t->start);
	if (!t->intervals[trace] && starts)
		t->intervals[trace] = tide__intervals_new(starts, raw, data_of(t, trace, t->end));
	return t->intervals[trace];
}

/* Returns the number that a text of an equality is in this trace; -1: no row has it. */
static int64_t number_of(const struct cursor *c)
{
	const tide_model *m = c->t->sql->in.models[c->trace];
	const sql_column *column = &c->t->columns[c->column];
	const char *text = (const char *)sqlite3_value_text(c->text);
	size_t n = (size_t)sqlite3_value_bytes(c->text);
	uint32_t id;
	if (!text)
		return -1;
	if (column->form == SQL_TEXT)
		return (id = tide__strings_find(m->strings, text, n)) ? (int64_t)id : -1;
	char name[96];
	for (uint32_t i = 0; column->form == SQL_DEVICE && i < m->devices.n; i++)
		if (i && !strcmp(tide__device_name(m, i, name, sizeof name), text))
			return i;
	for (uint32_t i = 0; column->form == SQL_WORD && i < tide__kind_names_count(column->words);
	     i++)
		if (!strcmp(column->words(i), text))
			return i;
	return -1;
}

/* Finds the places of the rows of this trace. */
static int begin_trace(struct cursor *c)
{
	sql_table *t = c->t;
	size_t n = t->rows[c->trace];
	c->at = 0;
	c->end = n;
	c->order = NULL;
	if (c->text)
		c->low = c->high = number_of(c);
	if (c->plan == PLAN_ID) {
		bool is = c->low >= (int64_t)t->first && c->low < (int64_t)(t->first + n);
		c->at = is ? (size_t)c->low - t->first : 0;
		c->end = is ? c->at + 1 : 0;
		return SQLITE_OK;
	}
	if (c->plan == PLAN_DURING) {
		int64_t to = c->high > c->low ? c->high : c->low < INT64_MAX ? c->low + 1 : c->low;
		if (!(c->intervals = intervals_of(t, c->trace)))
			return SQLITE_NOMEM;
		c->order = c->intervals->starts;
		c->end = tide__order_find(c->order, to, false);
		return SQLITE_OK;
	}
	if (c->plan == PLAN_ALL || c->plan == PLAN_FILTER)
		return SQLITE_OK;
	if (!(c->order = order_of(t, c->trace, c->column)))
		return SQLITE_NOMEM;
	if (c->has_low)
		c->at = tide__order_find(c->order, c->low, false);
	if (c->has_high)
		c->end = tide__order_find(c->order, c->high, true);
	return SQLITE_OK;
}

/* Moves to the first row at or after c->at, in this trace or a later one. */
static int settle(struct cursor *c)
{
	sql_table *t = c->t;
	for (;;) {
		if (c->plan == PLAN_DURING)
			c->at = tide__intervals_next(c->intervals, c->at, c->end, c->low);
		else if (c->plan == PLAN_FILTER)
			while (c->at < c->end &&
			       raw(data_of(t, c->trace, c->column), t->first + c->at) != c->low)
				c->at++;
		if (c->at < c->end) {
			c->row = c->order ? tide__order_row(c->order, c->at) : t->first + c->at;
			return SQLITE_OK;
		}
		if (++c->trace >= c->traces)
			return SQLITE_OK;
		int rc = begin_trace(c);
		if (rc != SQLITE_OK)
			return rc;
	}
}

/* Takes the number of a condition. Returns false if the plan cannot use it. */
static bool take_number(sqlite3_value *v, bool upper, int64_t *out)
{
	int type = sqlite3_value_type(v);
	if (type == SQLITE_INTEGER) {
		*out = sqlite3_value_int64(v);
		return true;
	}
	double d = sqlite3_value_double(v);
	if (type != SQLITE_FLOAT || !(d > -9e18 && d < 9e18))
		return false;
	*out = (int64_t)(upper ? ceil(d) : floor(d));
	return true;
}

/* Takes the conditions of a plan. An equality with NULL has no rows; what a plan cannot use makes it
 * look at all rows. */
static void take(struct cursor *c, sqlite3_value **v)
{
	sqlite3_value *low = c->has_low ? *v++ : NULL, *high = c->has_high ? *v : NULL;
	sql_form form = c->t->columns[c->column].form;
	bool equal = c->plan == PLAN_EQUAL || c->plan == PLAN_FILTER || c->plan == PLAN_ID;
	bool text = equal && (form == SQL_TEXT || form == SQL_WORD || form == SQL_DEVICE);
	if ((low && sqlite3_value_type(low) == SQLITE_NULL) ||
	    (high && sqlite3_value_type(high) == SQLITE_NULL)) {
		c->trace = c->traces; /* no row */
		return;
	}
	if (text) {
		c->text = sqlite3_value_type(low) == SQLITE_TEXT ? sqlite3_value_dup(low) : NULL;
		c->has_high = c->text != NULL;
		if (!c->text)
			c->plan = PLAN_ALL;
		return;
	}
	bool ok = (!low || take_number(low, false, &c->low)) &&
		  (!high || take_number(high, true, &c->high));
	if (ok && equal) {
		c->has_high = true;
		c->high = c->low;
		ok = sqlite3_value_type(low) == SQLITE_INTEGER;
	}
	if (!ok && c->plan == PLAN_DURING)
		c->trace = c->traces;
	else if (!ok)
		c->plan = c->plan == PLAN_RANGE && c->column == c->t->start ? PLAN_ORDER : PLAN_ALL;
	if (c->plan == PLAN_ORDER)
		c->has_low = c->has_high = false;
}

static int filter(sqlite3_vtab_cursor *base, int idx, const char *unused, int argc,
		  sqlite3_value **v)
{
	struct cursor *c = (struct cursor *)base;
	(void)unused;
	(void)argc;
	sqlite3_value_free(c->text);
	c->text = NULL;
	c->plan = idx & 7;
	c->column = (size_t)idx >> COLUMN_SHIFT;
	c->has_low = idx & HAS_LOW;
	c->has_high = idx & HAS_HIGH;
	c->trace = 0;
	c->traces = c->t->sql->in.n;
	if (idx & HAS_TRACE) {
		int64_t k = sqlite3_value_int64(*v++);
		c->trace = k >= 1 && (size_t)k <= c->traces ? (size_t)k - 1 : c->traces;
		c->traces = c->trace < c->traces ? c->trace + 1 : c->trace;
	}
	take(c, v);
	if (c->trace >= c->traces)
		return SQLITE_OK;
	int rc = begin_trace(c);
	return rc == SQLITE_OK ? settle(c) : rc;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	c->at++;
	return settle(c);
}

static int eof(sqlite3_vtab_cursor *base)
{
	const struct cursor *c = (struct cursor *)base;
	return c->trace >= c->traces;
}

static void put_text(sqlite3_context *x, const tide_model *m, uint32_t id)
{
	size_t n;
	const char *text = tide__text(m, (tide_str){ id }, &n);
	sqlite3_result_text64(x, text, n, SQLITE_STATIC, SQLITE_UTF8);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *x, int i)
{
	const struct cursor *c = (struct cursor *)base;
	const sql_data *d = data_of(c->t, c->trace, (size_t)i);
	char name[96];
	if ((size_t)i == c->t->trace) {
		sqlite3_result_int64(x, (int64_t)c->trace + 1);
		return SQLITE_OK;
	}
	if (d->c->form == SQL_REAL) {
		sqlite3_result_double(x, ((const double *)d->v)[c->row]);
		return SQLITE_OK;
	}
	int64_t v = raw(d, c->row);
	if (d->c->form == SQL_WORD)
		sqlite3_result_text(x, d->c->words((unsigned)v), -1, SQLITE_STATIC);
	else if (is_null(d->c, v) || (d->c->hidden && !d->v))
		sqlite3_result_null(x);
	else if (d->c->form == SQL_TEXT)
		put_text(x, d->m, (uint32_t)v);
	else if (d->c->form == SQL_DEVICE)
		sqlite3_result_text(x, tide__device_name(d->m, (uint32_t)v, name, sizeof name), -1,
				    SQLITE_TRANSIENT);
	else
		sqlite3_result_int64(x, v);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	const struct cursor *c = (struct cursor *)base;
	*out = (int64_t)((uint64_t)c->trace << 32 | c->row);
	return SQLITE_OK;
}

/* ---- the module ---- */

static const char *type_name(const sql_column *c)
{
	return c->form == SQL_REAL			     ? "REAL"
	       : c->form == SQL_NUMBER || c->form == SQL_ROW ? "INTEGER"
							     : "TEXT";
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **err)
{
	sql_table *t = aux;
	sqlite3_str *s = sqlite3_str_new(db);
	(void)argc;
	(void)argv;
	(void)err;
	for (size_t i = 0; i < t->n_columns; i++)
		sqlite3_str_appendf(s, "%s\"%w\" %s%s", i ? ", " : "CREATE TABLE x(",
				    t->columns[i].name, type_name(&t->columns[i]),
				    t->columns[i].hidden ? " HIDDEN" : "");
	sqlite3_str_appendall(s, ")");
	char *sql = sqlite3_str_finish(s);
	struct vtab *v = sqlite3_malloc(sizeof *v);
	int rc = sql && v ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
	sqlite3_free(sql);
	if (rc != SQLITE_OK) {
		sqlite3_free(v);
		return rc;
	}
	*v = (struct vtab){ .t = t };
	*out = &v->base;
	return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *v)
{
	sqlite3_free(v->zErrMsg);
	v->zErrMsg = NULL;
	sqlite3_free(v);
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
	struct cursor *c = sqlite3_malloc(sizeof *c);
	if (!c)
		return SQLITE_NOMEM;
	*c = (struct cursor){ .t = ((struct vtab *)v)->t };
	*out = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *c)
{
	sqlite3_value_free(((struct cursor *)c)->text);
	sqlite3_free(c);
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

static bool make_data(sql_table *t, size_t trace)
{
	const tide_model *m = t->sql->in.models[trace];
	tide_table_view v;
	tide_column_view c;
	if (tide_trace_table((const tide_trace *)m, t->name, &v) != TIDE_OK)
		return false;
	t->rows[trace] = v.rows > v.first ? v.rows - v.first : 0;
	for (size_t i = 0; i < t->n_columns; i++) {
		sql_data *d = data_of(t, trace, i);
		*d = (sql_data){ .m = m, .c = &t->columns[i] };
		if (!d->c->derive && i != t->trace && !d->c->hidden &&
		    tide_trace_column((const tide_trace *)m, t->name, d->c->name, &c) == TIDE_OK)
			d->v = c.data;
	}
	return true;
}

static int add_table(tide_sql *s, sql_table *t, const tide_table_view *v)
{
	*t = (sql_table){ .sql = s, .name = v->name, .doc = v->doc, .first = v->first };
	make_columns(t, (const tide_trace *)s->in.models[0]);
	t->data = tide__calloc(s->in.n, sizeof *t->data);
	t->rows = tide__calloc(s->in.n, sizeof *t->rows);
	t->intervals = tide__calloc(s->in.n, sizeof(tide_intervals *));
	if (!t->data || !t->rows || !t->intervals)
		return SQLITE_NOMEM;
	for (size_t i = 0; i < s->in.n; i++)
		if (!make_data(t, i))
			return SQLITE_ERROR;
	return tide__sql_create(s, t->name, &module, t);
}

int tide__sql_add_tables(tide_sql *s)
{
	tide_table_view v;
	int rc = SQLITE_OK;
	s->tables = tide__calloc(tide_trace_tables(), sizeof *s->tables);
	if (!s->tables)
		return SQLITE_NOMEM;
	for (size_t i = 0; rc == SQLITE_OK && i < tide_trace_tables(); i++) {
		tide_trace_table_at((const tide_trace *)s->in.models[0], i, &v);
		rc = add_table(s, &s->tables[s->n_tables++], &v);
	}
	return rc;
}

void tide__sql_free_tables(tide_sql *s)
{
	for (size_t i = 0; i < s->n_tables; i++) {
		sql_table *t = &s->tables[i];
		for (size_t k = 0; k < s->in.n; k++) {
			for (size_t c = 0; t->data && c < t->n_columns; c++)
				tide__order_free(t->data[k][c].order);
			if (t->intervals)
				tide__intervals_free(t->intervals[k]);
		}
		tide__free(t->data);
		tide__free(t->rows);
		tide__free(t->intervals);
	}
	tide__free(s->tables);
}
