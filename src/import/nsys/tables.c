// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/nsys/nsys_impl.h"

enum { MOST_TEXT = 1 << 20 }; /* bytes of a name: longer texts of StringIds are whole files */
#define MOST_TIME (INT64_C(1) << 61)

bool tide__nsys_nomem(nsys *n)
{
	n->rc = tide__nomem(n->err);
	return false;
}

bool tide__nsys_bad(nsys *n)
{
	n->bad_rows++;
	return true;
}

static bool complete(const tide_db_rows *r, unsigned needed)
{
	bool ok = true;
	for (unsigned i = 0; ok && i < needed; i++)
		ok = tide__db_is_int(r, i);
	return ok;
}

bool tide__nsys_read(nsys *n, const nsys_table *t)
{
	const char *name = t->before && !tide__db_has(n->db, t->name) ? t->before : t->name;
	size_t columns = 0;
	tide_db_rows r;
	while (columns < TIDE_DB_COLUMNS && t->columns[columns])
		columns++;
	bool ok = true;
	n->rc = tide__db_select(n->db, name, t->columns, columns, &r, n->err);
	while (n->rc == TIDE_OK && ok && tide__db_next(&r)) {
		n->rows++;
		ok = complete(&r, t->needed) ? t->add(n, &r) : tide__nsys_bad(n);
	}
	tide_code rc = tide__db_end(&r, n->rc == TIDE_OK ? n->err : NULL);
	if (n->rc == TIDE_OK)
		n->rc = rc;
	return (n->rc == TIDE_OK && ok) || (n->rc == TIDE_OK && tide__nsys_nomem(n));
}

/* ---- texts ---- */

static bool add_text(nsys *n, const tide_db_rows *r)
{
	size_t len;
	const char *s = tide__db_text(r, 1, &len);
	if (!s || !len || len > MOST_TEXT)
		return true;
	tide_str text = tide__intern_n(n->m, s, len);
	return text.i && tide__map_put(&n->texts, (uint64_t)tide__db_int(r, 0, 0), text.i);
}

const nsys_table tide__nsys_texts = { "StringIds", NULL, add_text, 1, { "id", "value" } };

tide_str tide__nsys_text(const nsys *n, const tide_db_rows *r, size_t column)
{
	if (!tide__db_is_int(r, column))
		return (tide_str){ 0 };
	return (tide_str){ tide__map_get(&n->texts, (uint64_t)tide__db_int(r, column, 0)) };
}

/* Returns the length of a call's name without "_v3020", "_ptsz" and "_ptds". */
static size_t bare_length(const char *s, size_t n)
{
	static const char *const variants[] = { "_ptsz", "_ptds" };
	for (size_t i = 0; i < 2; i++)
		if (n > 5 && !memcmp(s + n - 5, variants[i], 5))
			n -= 5;
	size_t digits = n;
	while (digits && s[digits - 1] >= '0' && s[digits - 1] <= '9')
		digits--;
	bool version =
		n - digits >= 4 && digits > 2 && s[digits - 1] == 'v' && s[digits - 2] == '_';
	return version ? digits - 2 : n;
}

tide_str tide__nsys_call_name(nsys *n, const tide_db_rows *r, size_t column)
{
	uint64_t id = (uint64_t)tide__db_int(r, column, 0);
	tide_str text = tide__nsys_text(n, r, column);
	uint32_t known = text.i ? tide__map_get(&n->plain_names, id) : 0;
	if (!text.i || known)
		return (tide_str){ known };
	size_t len;
	const char *s = tide__text(n->m, text, &len);
	size_t bare = bare_length(s, len);
	char copy[256];
	if (bare < len && bare < sizeof copy) {
		memcpy(copy, s, bare); /* interning may move texts */
		text = tide__intern_n(n->m, copy, bare);
	}
	return text.i && tide__map_put(&n->plain_names, id, text.i) ? text : (tide_str){ 0 };
}

/* ---- spans ---- */

bool tide__nsys_times(nsys *n, int64_t t0, int64_t t1)
{
	if (t0 < -MOST_TIME || t1 > MOST_TIME || t1 < t0)
		return false;
	n->t_min = t0 < n->t_min ? t0 : n->t_min;
	n->t_max = t1 > n->t_max ? t1 : n->t_max;
	return true;
}

uint32_t tide__nsys_span(nsys *n, int64_t t0, int64_t t1, uint32_t lane, tide_str name,
			 unsigned cat)
{
	tide_spans *s = &n->m->spans;
	uint32_t row = lane ? tide__push(s, &tide_spans_desc) : 0;
	if (!row)
		return 0;
	s->t0[row] = t0;
	s->t1[row] = t1;
	s->lane[row].i = lane;
	s->name[row] = name;
	s->cat[row] = (uint8_t)cat;
	if (!(n->want & TIDE_WANT_RAW))
		return row;
	if (s->cap > n->cap_raw) {
		if (!TIDE_RESIZE(n->m->span_raw, s->cap))
			return 0;
		n->cap_raw = s->cap;
		n->m->span_raw[0] = (tide_raw){ -1, -1, -1 };
	}
	n->m->span_raw[row] = (tide_raw){ (int64_t)row, -1, -1 };
	return row;
}

/* Correlations are numbers of a process: the process is part of ours. */
void tide__nsys_set_raw(nsys *n, uint32_t span, uint32_t process, int64_t correlation,
			int64_t stream)
{
	if (!(n->want & TIDE_WANT_RAW))
		return;
	tide_raw *r = &n->m->span_raw[span];
	if (correlation > 0 && correlation <= UINT32_MAX)
		r->corr = (int64_t)(process - 1) << 32 | correlation;
	r->stream = stream;
}

bool tide__nsys_attr(nsys *n, uint32_t span, tide_str *key, const char *name, int64_t number,
		     tide_str text)
{
	tide_attrs *a = &n->m->attrs;
	size_t row;
	if (!key->i)
		*key = tide__intern(n->m, name);
	if (!key->i || !tide__table_push(a, &tide_attrs_desc, &row))
		return false;
	a->span[row].i = span;
	a->key[row] = *key;
	a->text[row] = text;
	a->number[row] = number;
	return true;
}
