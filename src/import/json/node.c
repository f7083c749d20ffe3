// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The copy has the text in brackets, so every document is an array of one value, and a number at
 * its end has an end. */
#include "import/json/node.h"

#include <string.h>

#include "base/mem.h"
#include "import/json/number.h"

/* Returns the type of a slice that is a word: that of its first letter. JSONR has one for all. */
static char type_of(const char *s, jsonr_slice v)
{
	return v.type == '0' && (*s == 't' || *s == 'f' || *s == 'n') ? *s : v.type;
}

static jsonr_node node(jsonr *c, jsonr_slice v)
{
	const char *s = c->s.b + v.at;
	return v.type ? (jsonr_node){ c, s, v.n, type_of(s, v) } : (jsonr_node){ 0 };
}

/* Returns whether a number or word is a single one: the reader takes all up to a comma. */
static bool is_one(const char *s, jsonr_slice v)
{
	for (uint32_t i = 0; v.type == '0' && i < v.n; i++)
		if ((unsigned char)s[i] <= ' ')
			return false;
	return true;
}

static bool read_only_value(jsonr *c, size_t end, jsonr_slice *v)
{
	jsonr_slice key, more;
	jsonr_walk w = { .p = 1 };
	return tide__jsonr_next(c, &w, &key, v) && is_one(c->s.b + v->at, *v) &&
	       !tide__jsonr_next(c, &w, &key, &more) && !w.bad && w.p == end;
}

bool tide__jsonr_open(jsonr *c, const char *text, size_t n, jsonr_node *v)
{
	jsonr_slice s;
	*v = (jsonr_node){ 0 };
	c->why = JSONR_BAD;
	if (n > UINT32_MAX - 2)
		return false;
	if (!TIDE_ROOM(c->copy, c->copy_room, n + 2 + JSONR_PAD))
		return jsonr_oom(c);
	c->copy[0] = '[';
	memcpy(c->copy + 1, text, n);
	c->copy[n + 1] = ']';
	memset(c->copy + n + 2, 0, JSONR_PAD);
	if (!tide__jsonr_scan_text(&c->s, c->copy, n + 2))
		return jsonr_oom(c);
	if (!read_only_value(c, n + 1, &s))
		return false;
	c->why = JSONR_OK;
	*v = node(c, s);
	return true;
}

size_t tide__jsonr_offset(const jsonr *c, const char *at)
{
	return (size_t)(at - c->copy) - 1;
}

jsonr_nodes tide__jsonr_walk(jsonr_node v)
{
	bool any = v.type == '{' || v.type == '[';
	return (jsonr_nodes){ .in = v.in,
			      .w = { .p = any ? (size_t)(v.at - v.in->copy) + 1 : SIZE_MAX,
				     .object = v.type == '{' } };
}

bool tide__jsonr_next_node(jsonr_nodes *w, jsonr_node *key, jsonr_node *value)
{
	jsonr_slice k = { 0 }, v = { 0 };
	*key = *value = (jsonr_node){ 0 };
	if (w->bad || w->w.p == SIZE_MAX)
		return false;
	bool any = tide__jsonr_next(w->in, &w->w, &k, &v);
	bool one = any && is_one(w->in->s.b + v.at, v);
	if (w->w.bad || (any && !one)) {
		w->bad = true;
		w->at = w->in->s.b + (any ? v.at : w->w.p);
		return false;
	}
	if (any) {
		*key = node(w->in, k);
		*value = node(w->in, v);
	}
	return any;
}

bool tide__jsonr_is(jsonr_node s, const char *text)
{
	return strlen(text) == s.n && !memcmp(s.at, text, s.n);
}

bool tide__jsonr_get(jsonr_node object, const char *name, jsonr_node *v)
{
	jsonr_node key;
	jsonr_nodes w = tide__jsonr_walk(object);
	while (object.type == '{' && tide__jsonr_next_node(&w, &key, v))
		if (tide__jsonr_is(key, name))
			return true;
	*v = (jsonr_node){ 0 };
	return false;
}

bool tide__jsonr_parse_number(jsonr_node v, int64_t scale, int64_t *out)
{
	return v.type == '0' && tide__jsonr_parse_scaled(v.at, v.n, scale, out);
}
