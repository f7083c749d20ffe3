// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads JSON values: their begin, end and string content. Nothing recurses: containers are
 * skipped with the scanner's bit maps. */
#include <string.h>

#include "base/mem.h"
#include "import/kineto/kineto_impl.h"
#include "import/json/compact.h"
#include "import/json/number.h"
#include "import/json/value.h"

size_t tide__kineto_parse_scalar(kin_parser *c, size_t p, kin_slice *v)
{
	const char *b = c->s.b;
	size_t e = p;
	while (e < c->s.n && !memchr(",}]{[\"", b[e], 6))
		e++;
	if (e == p || e >= c->s.n || b[e] == '"' || b[e] == '{' || b[e] == '[')
		return kin_fail(c, e);
	while (kin_is_ws(b[e - 1]))
		e--;
	*v = kin_slice_of(p, e, '0');
	return e;
}

size_t tide__kineto_parse_container(kin_parser *c, size_t p, kin_slice *v)
{
	size_t e = tide__kineto_scan_skip(&c->s, p);
	if (e == SIZE_MAX || e > c->s.n)
		return kin_fail(c, kin_is_open(&c->s, p) ? c->s.n : p);
	*v = kin_slice_of(p, e, c->s.b[p]);
	return e;
}

size_t tide__kineto_parse_value(kin_parser *c, size_t p, kin_slice *v)
{
	return kin_value(c, p, v);
}

size_t tide__kineto_parse_key(kin_parser *c, size_t p, kin_slice *key)
{
	return kin_member_key(c, p, key);
}

size_t tide__kineto_parse_object(kin_parser *c, size_t p, kin_member *member, void *user)
{
	const char *b = c->s.b;
	if (b[p] != '{')
		return kin_fail(c, p);
	for (p = kin_ws(b, p + 1); b[p] != '}';) {
		kin_slice key, value;
		p = kin_member_key(c, p, &key);
		if (p != KIN_FAIL)
			p = kin_value(c, p, &value);
		if (p == KIN_FAIL || !member(c, user, key, value))
			return KIN_FAIL;
		p = kin_next(c, p);
		if (p == KIN_FAIL)
			return p;
	}
	return p + 1;
}

kin_text *tide__kineto_slice_text(kin_parser *c, kin_slice v)
{
	const char *s = c->s.b + v.at;
	if (v.type == '[' || v.type == '{') {
		size_t n = tide__json_compact(s, v.n, NULL, 0);
		if (!TIDE_ROOM(c->scratch, c->room, n))
			return NULL;
		tide__json_compact(s, v.n, c->scratch, n);
		return tide__kineto_text(&c->texts, c->scratch, n);
	}
	if (v.type != '"' || !c->s.slashes || !memchr(s, '\\', v.n))
		return tide__kineto_text(&c->texts, s, v.n);
	if (!TIDE_ROOM(c->scratch, c->room, v.n))
		return NULL;
	size_t n = tide__kineto_unescape(s, v.n, c->scratch);
	return tide__kineto_text(&c->texts, c->scratch, n);
}

bool tide__kineto_parse_slice(kin_parser *c, kin_slice v, kin_val *out)
{
	uint64_t n;
	*out = (kin_val){ 0 };
	if (v.n && v.n <= 16 && kin_digits(c->s.b + v.at, v.n, &n)) {
		out->num = (int64_t)n;
		return true;
	}
	if (tide__kineto_parse_i64(c->s.b + v.at, v.n, &out->num) == KIN_NUM_OK)
		return true;
	out->num = 0;
	out->text = tide__kineto_slice_text(c, v);
	return out->text != NULL;
}

void tide__kineto_parser_fini(kin_parser *p)
{
	tide__kineto_scan_fini(&p->s);
	tide__kineto_texts_fini(&p->texts);
	tide__kineto_lanes_fini(&p->lanes);
	tide__free(p->scratch);
}

/* ---- vectors ---- */

void tide__kineto_out_clear(kin_out *o)
{
	o->n_rows = o->n_attrs = o->n_mems = o->n_raws = o->n_metas = 0;
	o->events = 0;
	o->seen.n = 0;
	memset(o->loss, 0, sizeof o->loss);
}

void tide__kineto_out_fini(kin_out *o)
{
	tide__free(o->rows);
	tide__free(o->attrs);
	tide__free(o->mems);
	tide__free(o->raws);
	tide__free(o->metas);
	*o = (kin_out){ 0 };
}
