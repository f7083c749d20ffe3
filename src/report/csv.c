// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/csv.h"

#include <string.h>

#include "base/mem.h"
#include "render/text/format.h"
#include "report/rows.h"

struct csv {
	tide_rows rows;
	FILE *out;
};

/* Writes text with what spreadsheets and terminals would act on escaped. JSON needs nothing. */
static void put_plain(FILE *out, const char *text, size_t n, bool json)
{
	if (json)
		fwrite(text, 1, n, out);
	else
		tide__put_name(out, text, n, 0, false);
}

/* Writes a text as a field: with quotes if it has a separator or a quote. */
static void put_text(FILE *out, const char *text, size_t n, bool json)
{
	if (!memchr(text, ',', n) && !memchr(text, '"', n)) {
		put_plain(out, text, n, json);
		return;
	}
	fputc('"', out);
	for (size_t i = 0; i < n;) {
		const char *quote = memchr(text + i, '"', n - i);
		size_t k = quote ? (size_t)(quote - text) - i : n - i;
		put_plain(out, text + i, k, json);
		if (quote)
			fputs("\"\"", out);
		i += k + (quote != NULL);
	}
	fputc('"', out);
}

static void put_cell(FILE *out, const tide_rows_cell *c, bool json)
{
	tide_json j;
	if (c->kind == TIDE_JSON_TEXT) {
		put_text(out, c->text, c->n, json);
		return;
	}
	tide__json_begin(&j, out, false);
	if (c->kind == TIDE_JSON_INT)
		tide__json_int(&j, c->i);
	else if (c->kind == TIDE_JSON_UINT)
		tide__json_uint(&j, c->u);
	else if (c->kind == TIDE_JSON_REAL)
		tide__json_double(&j, c->d);
	else if (c->kind == TIDE_JSON_BOOL)
		tide__json_bool(&j, c->u);
	tide__json_free(&j);
}

static bool put_row(void *user, const tide_rows_cell *cells)
{
	struct csv *c = user;
	for (size_t i = 0; i < c->rows.n_columns; i++) {
		fputs(i ? "," : "", c->out);
		put_cell(c->out, &cells[i], c->rows.columns[i].nested);
	}
	return fputs("\r\n", c->out) >= 0;
}

tide_code tide__csv_write(const tide_report_type *type, void *result, size_t table, FILE *out)
{
	struct csv *c = tide__alloc(1, sizeof *c);
	if (!c)
		return TIDE_ENOMEM;
	c->out = out;
	tide__rows_begin(&c->rows, type, table);
	for (size_t i = 0; i < c->rows.n_columns; i++)
		fprintf(out, "%s%s", i ? "," : "", c->rows.columns[i].name);
	fputs("\r\n", out);
	bool ok = tide__rows_walk(&c->rows, result, put_row, c);
	tide__free(c);
	return ferror(out) ? TIDE_EIO : ok ? TIDE_OK : TIDE_ENOMEM;
}
