// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads JSON values: their begin, end and string content. Nothing recurses: containers are
 * skipped with the scanner's bit maps. */
#include <string.h>

#include "base/mem.h"
#include "import/json/compact.h"
#include "import/json/number.h"
#include "import/json/reader.h"
#include "import/json/value.h"

size_t tide__jsonr_parse_scalar(jsonr *c, size_t p, jsonr_slice *v)
{
	const char *b = c->s.b;
	size_t e = p;
	while (e < c->s.n && !memchr(",}]{[\"", b[e], 6))
		e++;
	if (e == p || e >= c->s.n || b[e] == '"' || b[e] == '{' || b[e] == '[')
		return jsonr_fail(c, e);
	while (jsonr_is_ws(b[e - 1]))
		e--;
	*v = jsonr_slice_of(p, e, '0');
	return e;
}

size_t tide__jsonr_parse_container(jsonr *c, size_t p, jsonr_slice *v)
{
	size_t e = tide__jsonr_scan_skip(&c->s, p);
	if (e == SIZE_MAX || e > c->s.n)
		return jsonr_fail(c, jsonr_is_open(&c->s, p) ? c->s.n : p);
	*v = jsonr_slice_of(p, e, c->s.b[p]);
	return e;
}

size_t tide__jsonr_parse_value(jsonr *c, size_t p, jsonr_slice *v)
{
	return jsonr_value(c, p, v);
}

size_t tide__jsonr_parse_key(jsonr *c, size_t p, jsonr_slice *key)
{
	return jsonr_member_key(c, p, key);
}

size_t tide__jsonr_parse_object(jsonr *c, size_t p, jsonr_member *member, void *user)
{
	const char *b = c->s.b;
	if (b[p] != '{')
		return jsonr_fail(c, p);
	for (p = jsonr_ws(b, p + 1); b[p] != '}';) {
		jsonr_slice key, value;
		p = jsonr_member_key(c, p, &key);
		if (p != JSONR_FAIL)
			p = jsonr_value(c, p, &value);
		if (p == JSONR_FAIL || !member(c, user, key, value))
			return JSONR_FAIL;
		p = jsonr_next(c, p);
		if (p == JSONR_FAIL)
			return p;
	}
	return p + 1;
}

jsonr_walk tide__jsonr_begin_walk(jsonr_slice v)
{
	bool any = v.type == '{' || v.type == '[';
	return (jsonr_walk){ .p = any ? (size_t)v.at + 1 : SIZE_MAX, .object = v.type == '{' };
}

static bool stop(jsonr_walk *w, size_t p)
{
	w->p = p;
	w->bad = true;
	return false;
}

bool tide__jsonr_next(jsonr *c, jsonr_walk *w, jsonr_slice *key, jsonr_slice *value)
{
	const char *b = c->s.b;
	if (w->p == SIZE_MAX || w->bad)
		return false;
	size_t p = jsonr_ws(b, w->p);
	if (b[p] == (w->object ? '}' : ']')) {
		w->p = p;
		return false;
	}
	if (w->begun) {
		if (b[p] != ',') {
			jsonr_fail(c, p);
			return stop(w, p);
		}
		p = jsonr_ws(b, p + 1);
	}
	w->begun = true;
	size_t at = p;
	if (w->object && (p = jsonr_member_key(c, p, key)) == JSONR_FAIL)
		return stop(w, at);
	at = p;
	if ((p = jsonr_value(c, p, value)) == JSONR_FAIL)
		return stop(w, at);
	w->p = p;
	return true;
}

jsonr_text *tide__jsonr_slice_text(jsonr *c, jsonr_slice v)
{
	const char *s = c->s.b + v.at;
	if (v.type == '[' || v.type == '{') {
		size_t n = tide__jsonr_compact(s, v.n, NULL, 0);
		if (!TIDE_ROOM(c->scratch, c->room, n))
			return NULL;
		tide__jsonr_compact(s, v.n, c->scratch, n);
		return tide__jsonr_text(&c->texts, c->scratch, n);
	}
	if (v.type != '"' || !c->s.slashes || !memchr(s, '\\', v.n))
		return tide__jsonr_text(&c->texts, s, v.n);
	if (!TIDE_ROOM(c->scratch, c->room, v.n))
		return NULL;
	size_t n = tide__jsonr_unescape(s, v.n, c->scratch);
	return tide__jsonr_text(&c->texts, c->scratch, n);
}

bool tide__jsonr_parse_slice(jsonr *c, jsonr_slice v, jsonr_val *out)
{
	uint64_t n;
	*out = (jsonr_val){ 0 };
	if (v.n && v.n <= 16 && jsonr_digits(c->s.b + v.at, v.n, &n)) {
		out->num = (int64_t)n;
		return true;
	}
	if (tide__jsonr_parse_i64(c->s.b + v.at, v.n, &out->num) == JSONR_NUM_OK)
		return true;
	out->num = 0;
	out->text = tide__jsonr_slice_text(c, v);
	return out->text != NULL;
}

void tide__jsonr_fini(jsonr *c)
{
	tide__jsonr_scan_fini(&c->s);
	tide__jsonr_texts_fini(&c->texts);
	tide__free(c->scratch);
	tide__free(c->copy);
	*c = (jsonr){ 0 };
}
