// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The text of a report that has no layout of its own: its single values, then each table. Members
 * without a heading are for documents only. */
#include "report/text.h"

#include "base/mem.h"
#include "report/rows.h"

struct table {
	tide_rows rows;
	tide_member columns[TIDE_ROWS_COLUMNS];
	tide_grid *g;
};

static void put_cell(tide_grid *g, const tide_rows_cell *c)
{
	switch (c->kind) {
	case TIDE_JSON_TEXT:
		tide__grid_textn(g, c->text, c->n);
		break;
	case TIDE_JSON_BOOL:
		tide__grid_text(g, c->u ? "yes" : "no");
		break;
	case TIDE_JSON_INT:
		tide__grid_int(g, c->i);
		break;
	case TIDE_JSON_UINT:
		tide__grid_uint(g, c->u);
		break;
	case TIDE_JSON_REAL:
		tide__grid_real(g, c->d);
		break;
	default:
		tide__grid_none(g);
		break;
	}
}

static bool put_row(void *user, const tide_rows_cell *cells)
{
	struct table *t = user;
	for (size_t i = 0; i < t->rows.n_columns; i++)
		put_cell(t->g, &cells[i]);
	return !tide__grid_failed(t->g);
}

/* Makes columns of the grid. A value of a list or an unusual kind is shown as its text. */
static bool make_columns(struct table *t)
{
	bool any = false;
	for (size_t i = 0; i < t->rows.n_columns; i++) {
		const tide_rows_column *c = &t->rows.columns[i];
		t->columns[i] = *c->member;
		if (c->nested || c->member->kind == TIDE_KIND_BOOL)
			t->columns[i].kind = TIDE_KIND_TEXT;
		any |= c->member->heading != NULL;
	}
	return any;
}

static tide_code put_table(struct table *t, void *result, bool first, const tide_out *to)
{
	if (!make_columns(t))
		return TIDE_OK;
	t->g = tide__grid_new(t->columns, t->rows.n_columns);
	bool ok = tide__rows_walk(&t->rows, result, put_row, t) && !tide__grid_failed(t->g);
	if (ok && tide__grid_rows(t->g)) {
		fputs(first ? "" : "\n", to->out);
		if (t->rows.table && t->rows.table->heading)
			tide__write_heading(to, "%s", t->rows.table->heading);
		tide__grid_print(t->g, to->out, &to->style, 2);
	}
	tide__grid_free(t->g);
	return ok ? TIDE_OK : TIDE_ENOMEM;
}

tide_code tide__report_print_tables(const tide_report_type *type, void *result, const tide_out *to)
{
	struct table *t = tide__alloc(1, sizeof *t);
	size_t n = tide__rows_count(type);
	tide_code rc = t ? TIDE_OK : TIDE_ENOMEM;
	for (size_t i = 0; i < n && rc == TIDE_OK; i++) {
		tide__rows_begin(&t->rows, type, i ? i - 1 : n - 1); /* single values first */
		rc = put_table(t, result, !i, to);
	}
	tide__free(t);
	return rc;
}

tide_code tide__report_text(const tide_report_type *type, void *result, const tide_out *to)
{
	return type->text ? type->text(result, to) : tide__report_print_tables(type, result, to);
}
