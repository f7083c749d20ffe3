// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads both files an operation at a time, without holding a document: a side has the text from the
 * operation being read on, and reads more when the text ends inside it. */
#include "cli/cmd/tt_check.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/json/reader.h"
#include "import/source.h"

enum { STEP = 256 << 10 };
enum { INDEX, LOC, INPUT_SHAPES, OUTPUT_SHAPES, FIELDS };

typedef struct side {
	tide_source *src;
	jsonr json;
	char *text; /* owned */
	size_t n, cap, p;
	bool in_list, ended;
	jsonr_slice field[FIELDS];
} side;

static tide_code damaged(const side *s, tide_error *err)
{
	return s->json.why == JSONR_NOMEM ? tide__nomem(err)
					  : tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
						       "cannot read it back: not JSON");
}

/* Drops the text before p and reads more. */
static tide_code read_more(side *s, tide_error *err)
{
	size_t got;
	memmove(s->text, s->text + s->p, s->n - s->p);
	s->n -= s->p;
	s->p = 0;
	if (!TIDE_ROOM(s->text, s->cap, s->n + STEP + JSONR_PAD))
		return tide__nomem(err);
	tide_code rc = tide__source_read(s->src, s->text + s->n, STEP, &got, err);
	if (rc != TIDE_OK)
		return rc;
	s->ended = got < STEP;
	s->n += got;
	memset(s->text + s->n, 0, JSONR_PAD);
	return tide__jsonr_scan_text(&s->json.s, s->text, s->n) ? TIDE_OK : tide__nomem(err);
}

/* Enters the list of operations: the document, or its member "operations". Returns the byte after
 * its bracket. */
static size_t enter(jsonr *c, size_t p)
{
	jsonr_slice doc = { (uint32_t)p, 1, c->s.b[p] }, key, value;
	if (doc.type == '[')
		return p + 1;
	if (doc.type != '{')
		return jsonr_fail(c, p);
	for (p = jsonr_ws(c->s.b, p + 1);; p = jsonr_ws(c->s.b, p + 1)) {
		if ((p = tide__jsonr_parse_key(c, p, &key)) == JSONR_FAIL)
			return p;
		if (key.n == 10 && !memcmp(c->s.b + key.at, "operations", 10))
			return c->s.b[p] == '[' ? p + 1 : jsonr_fail(c, p);
		if ((p = tide__jsonr_parse_value(c, p, &value)) == JSONR_FAIL)
			return p;
		p = jsonr_ws(c->s.b, p);
		if (c->s.b[p] != ',')
			return jsonr_fail(c, p);
	}
}

static bool find_fields(side *s, jsonr_slice operation)
{
	static const char *const names[FIELDS] = { "index", "loc", "input_shapes",
						   "output_shapes" };
	jsonr_slice key, value;
	jsonr_walk w = tide__jsonr_begin_walk(operation);
	memset(s->field, 0, sizeof s->field);
	while (w.object && tide__jsonr_next(&s->json, &w, &key, &value))
		for (size_t i = 0; i < FIELDS; i++)
			if (key.n == strlen(names[i]) && !memcmp(s->text + key.at, names[i], key.n))
				s->field[i] = value;
	return !w.bad;
}

/* Reads the list's bracket or the next operation at s->p; *any: there is one. Returns the byte
 * after it, or JSONR_FAIL. */
static size_t read_item(side *s, bool *any)
{
	jsonr_slice one;
	size_t p = jsonr_ws(s->text, s->p);
	*any = s->in_list;
	if (!s->in_list)
		return enter(&s->json, p);
	if (s->text[p] == ',')
		p = jsonr_ws(s->text, p + 1);
	if (s->text[p] == ']') {
		*any = false;
		return p;
	}
	p = tide__jsonr_parse_value(&s->json, p, &one);
	if (p != JSONR_FAIL && !find_fields(s, one))
		return jsonr_fail(&s->json, s->p); /* brackets of different kinds */
	return p;
}

/* Reads the next operation; *any is false at the end of the list. */
static tide_code next(side *s, bool *any, tide_error *err)
{
	for (;;) {
		size_t p = read_item(s, any);
		if (p == JSONR_FAIL && (s->json.why != JSONR_MORE || s->ended))
			return damaged(s, err);
		if (p == JSONR_FAIL) {
			tide_code rc = read_more(s, err);
			if (rc != TIDE_OK)
				return rc;
			continue;
		}
		s->p = p;
		if (s->in_list)
			return TIDE_OK;
		s->in_list = true;
	}
}

static bool same(const side *a, const side *b, int field)
{
	jsonr_slice x = a->field[field], y = b->field[field];
	return x.type == y.type && x.n == y.n && !memcmp(a->text + x.at, b->text + y.at, x.n);
}

static bool has_shape(side *s, int field)
{
	jsonr_slice key, value;
	jsonr_walk w = tide__jsonr_begin_walk(s->field[field]);
	return tide__jsonr_next(&s->json, &w, &key, &value);
}

static tide_code check_all(side *m, side *o, size_t *n, size_t *no_shapes, tide_error *err)
{
	for (;; ++*n) {
		bool a, b;
		tide_code rc = next(m, &a, err);
		if (rc == TIDE_OK)
			rc = next(o, &b, err);
		if (rc != TIDE_OK)
			return rc;
		if (a != b)
			return tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
					  "Mismatched lengths - one file ends after %zu operations",
					  *n);
		if (!a)
			return TIDE_OK;
		if (!same(m, o, INDEX))
			return tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
					  "Index mismatch at position %zu", *n);
		if (!same(m, o, LOC))
			return tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
					  "Location mismatch at index %zu", *n);
		*no_shapes += !has_shape(o, INPUT_SHAPES) && !has_shape(o, OUTPUT_SHAPES);
	}
}

static tide_code open_side(side *s, const char *path, tide_error *err)
{
	tide_code rc = tide__source_open(path, UINT64_MAX, &s->src, err);
	return rc == TIDE_OK ? read_more(s, err) : rc;
}

static void close_side(side *s)
{
	tide__source_close(s->src);
	tide__jsonr_fini(&s->json);
	tide__free(s->text);
}

tide_code tide__tt_check(const char *memory, const char *operations, size_t *n, size_t *no_shapes,
			 tide_error *err)
{
	side m = { 0 }, o = { 0 };
	*n = *no_shapes = 0;
	tide_code rc = open_side(&m, memory, err);
	if (rc == TIDE_OK)
		rc = open_side(&o, operations, err);
	if (rc == TIDE_OK)
		rc = check_all(&m, &o, n, no_shapes, err);
	close_side(&m);
	close_side(&o);
	return rc;
}
