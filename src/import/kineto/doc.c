// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The document around the events: an object with "traceEvents" or a bare array, possibly several in
 * a row, with damage in between.
 *
 * Items (events, top-level members) are parsed only when complete; the rest of a block is returned
 * to the caller. After damage, parsing continues at the next text that looks like the start of an
 * event after another one. Missing commas between items are accepted. */
#include <string.h>

#include "import/kineto/kineto_impl.h"

enum {
	META_MAX = 8 << 20,    /* larger top-level values are counted, not kept */
	ITEM_LEAST = 64 << 10, /* the limit on one item never gets smaller than this */
};

/* Returns whether an event could start at p: `{ "` with optional white space between. */
static bool opens_object(const char *b, size_t n, size_t p)
{
	if (b[p] != '{')
		return false;
	p = jsonr_ws(b, p + 1);
	return p < n && b[p] == '"';
}

/* Returns true if `} ,` is before p, with optional white space. */
static bool after_object(const char *b, size_t p)
{
	while (p && jsonr_is_ws(b[p - 1]))
		p--;
	if (!p || b[p - 1] != ',')
		return false;
	for (p--; p && jsonr_is_ws(b[p - 1]);)
		p--;
	return p && b[p - 1] == '}';
}

/* Finds the next place at or after p that looks like an event after another: `},{"` with any white
 * space between. Returns the position of the `{`, or n. */
static size_t next_event(const char *b, size_t n, size_t p)
{
	while (p < n) {
		const char *q = memchr(b + p, '{', n - p);
		if (!q)
			break;
		p = (size_t)(q - b);
		if (opens_object(b, n, p) && after_object(b, p))
			return p;
		p++;
	}
	return n;
}

size_t tide__kineto_find_last_event(const char *b, size_t n)
{
	for (size_t p = n; p > 0;) {
		const char *q = memrchr(b, '{', p);
		if (!q)
			break;
		p = (size_t)(q - b);
		if (opens_object(b, n, p) && after_object(b, p))
			return p;
	}
	return 0;
}

static size_t skip_space(const char *b, size_t n, size_t p, bool commas)
{
	while (p < n && (jsonr_is_ws(b[p]) || (commas && b[p] == ',')))
		p++;
	return p;
}

/* Returns whether the object at p is an event by itself (one per line, no document), judged by
 * its first member's name. -1: too little text. */
static int lone_event(const char *b, size_t n, size_t p)
{
	static const char *const first[] = { "\"ph\"",	"\"cat\"", "\"name\"",
					     "\"pid\"", "\"tid\"", "\"ts\"" };
	p = jsonr_ws(b, p + 1);
	if (n < p + 6)
		return -1;
	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		if (!memcmp(b + p, first[i], strlen(first[i])))
			return 1;
	return 0;
}

/* Handles text before a document: its bracket, or bytes outside any document. Returns the same p if
 * more text is needed. */
static size_t start(kin_parser *c, kin_doc *d, size_t p, bool final)
{
	const char *b = c->json.s.b;
	size_t n = c->json.s.n;
	if (!c->base && !p && n >= 3 && !memcmp(b, "\xef\xbb\xbf", 3))
		p = 3;
	for (; p < n && b[p] != '{' && b[p] != '['; p++)
		c->out->loss[KIN_LOSS_GARBAGE] += !jsonr_is_ws(b[p]);
	if (p >= n)
		return p;
	int lone = b[p] == '{' ? lone_event(b, n, p) : 0;
	if (lone < 0 && !final)
		return p;
	tide__jsonr_scan_restart(&c->json.s, p);
	d->state = b[p] == '{' && lone <= 0 ? KIN_TOP : KIN_ARRAY;
	d->documents++;
	return p + (lone <= 0);
}

static size_t top_member(kin_parser *c, kin_doc *d, size_t p)
{
	jsonr_slice key, value;
	const char *b = c->json.s.b;
	p = tide__jsonr_parse_key(&c->json, p, &key);
	if (p == JSONR_FAIL)
		return p;
	if (key.n == 11 && !memcmp(b + key.at, "traceEvents", 11) && b[p] == '[') {
		d->state = KIN_EVENTS;
		d->listed = true;
		return p + 1;
	}
	p = tide__jsonr_parse_value(&c->json, p, &value);
	if (p == JSONR_FAIL)
		return p;
	if (value.n > META_MAX) {
		c->out->loss[KIN_LOSS_META]++;
		return p;
	}
	kin_meta *m = TIDE_PUSH(c->out, metas);
	if (!m)
		return jsonr_nomem(&c->json);
	m->key = tide__jsonr_slice_text(&c->json, key);
	m->raw = tide__jsonr_text(&c->json.texts, b + value.at - (value.type == '"'),
				  value.n + (value.type == '"' ? 2 : 0));
	return m->key && m->raw ? p : jsonr_nomem(&c->json);
}

/* Parses one item at p (not white space). Returns the byte after it or JSONR_FAIL. *stop: the
 * caller must continue. */
static size_t item(kin_parser *c, kin_doc *d, size_t p, bool *stop)
{
	const char *b = c->json.s.b;
	if (d->state == KIN_TOP) {
		if (b[p] != '}')
			return top_member(c, d, p);
		d->state = KIN_START;
		return p + 1;
	}
	if (b[p] == '{')
		return tide__kineto_parse_event(c, p);
	if (b[p] == ']') {
		*stop = d->state == KIN_SOME_EVENTS;
		if (!*stop)
			d->state = d->state == KIN_EVENTS ? KIN_TOP : KIN_START;
		return p + !*stop;
	}
	jsonr_slice v;
	p = b[p] == '}' || b[p] == ':' ? jsonr_fail(&c->json, p)
				       : tide__jsonr_parse_value(&c->json, p, &v);
	if (p != JSONR_FAIL)
		c->out->loss[KIN_LOSS_NOT_OBJECT]++;
	return p;
}

/* After damage, advances to the next event, or near the text's end if none begins in it. */
static size_t seek(kin_parser *c, kin_doc *d, size_t p)
{
	const char *b = c->json.s.b;
	size_t n = c->json.s.n, q = next_event(b, n, p + 1);
	if (q < n) {
		d->seeking = false;
		if (!jsonr_is_open(&c->json.s, q))
			tide__jsonr_scan_restart(&c->json.s, q);
		return q;
	}
	while (q > p && (jsonr_is_ws(b[q - 1]) || b[q - 1] == ',' || b[q - 1] == '{'))
		q--; /* `},` at the very end: the next bytes decide */
	if (q > p && b[q - 1] == '}')
		q--;
	return n - q < ITEM_LEAST ? q : n;
}

/* Skips the damaged item. */
static void drop(kin_parser *c, kin_doc *d)
{
	c->out->loss[KIN_LOSS_DAMAGED]++;
	if (d->state == KIN_TOP || d->state == KIN_START)
		d->state = KIN_EVENTS;
	d->seeking = true;
}

size_t tide__kineto_parse_doc(kin_parser *c, kin_doc *d, size_t p, bool final)
{
	const char *b = c->json.s.b;
	size_t n = c->json.s.n;
	bool stop = false;
	c->json.why = JSONR_OK;
	d->again = false;
	while (!stop) {
		if (d->seeking) {
			p = seek(c, d, p);
			if (d->seeking)
				return final ? n : p;
		}
		if (d->state == KIN_START) {
			unsigned before = d->documents;
			p = start(c, d, p, final);
			d->again = d->documents > before && before;
			if (d->again || d->documents == before)
				return p;
			continue;
		}
		p = skip_space(b, n, p, true);
		if (p >= n)
			return n;
		c->json.s.n = n - p > d->limit ? p + d->limit : n;
		size_t q = item(c, d, p, &stop), seen = c->json.s.n;
		c->json.s.n = n;
		if (q != JSONR_FAIL) {
			p = q;
			continue;
		}
		if (c->json.why == JSONR_NOMEM)
			return p;
		if (c->json.why == JSONR_MORE && seen == n &&
		    (!final || next_event(b, n, p + 1) == n))
			return p;
		if (c->json.why == JSONR_MORE && d->limit > ITEM_LEAST)
			d->limit /= 2; /* hostile input would make each search read everything */
		drop(c, d);
	}
	return p;
}
