// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The document around the events: an object with "traceEvents" or a bare array, several of them in
 * a row, with damage in between.
 *
 * Items (events, top-level members) are parsed only when they are complete; what is left at the
 * end of a block is given back. After damage reading goes on at the next thing that looks like the
 * start of an event after another one. Commas between items are not insisted on. */
#include <string.h>

#include "import/kineto/kin.h"

enum {
	META_MAX = 8 << 20,    /* larger top-level values are counted, not kept */
	ITEM_LEAST = 64 << 10, /* the limit on one item never gets smaller than this */
};

/* `{ "` at p, white space between: could an event start here? */
static bool opens_object(const char *b, size_t n, size_t p)
{
	if (b[p] != '{')
		return false;
	p = kin_ws(b, p + 1);
	return p < n && b[p] == '"';
}

/* Is `} ,` before p, white space between? */
static bool after_object(const char *b, size_t p)
{
	while (p && kin_is_ws(b[p - 1]))
		p--;
	if (!p || b[p - 1] != ',')
		return false;
	for (p--; p && kin_is_ws(b[p - 1]);)
		p--;
	return p && b[p - 1] == '}';
}

size_t tide__kin_next_event(const char *b, size_t n, size_t p)
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

size_t tide__kin_last_event(const char *b, size_t n)
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
	while (p < n && (kin_is_ws(b[p]) || (commas && b[p] == ',')))
		p++;
	return p;
}

/* Before a document: its bracket, or bytes that belong to none. */
static size_t start(kin_parser *c, kin_doc *d, size_t p)
{
	const char *b = c->s.b;
	size_t n = c->s.n;
	if (!c->base && !p && n >= 3 && !memcmp(b, "\xef\xbb\xbf", 3))
		p = 3;
	p = skip_space(b, n, p, false);
	if (p >= n)
		return p;
	if (b[p] == '{' || b[p] == '[') {
		tide__kin_scan_restart(&c->s, p);
		d->state = b[p] == '{' ? KIN_TOP : KIN_ARRAY;
		d->documents++;
		return p + 1;
	}
	size_t from = p;
	while (p < n && b[p] != '{' && b[p] != '[')
		p++;
	c->out->loss[KIN_LOSS_GARBAGE] += p - from;
	return p;
}

static size_t top_member(kin_parser *c, kin_doc *d, size_t p)
{
	kin_slice key, value;
	const char *b = c->s.b;
	p = tide__kin_key(c, p, &key);
	if (p == KIN_FAIL)
		return p;
	if (key.n == 11 && !memcmp(b + key.at, "traceEvents", 11) && b[p] == '[') {
		d->state = KIN_EVENTS;
		return p + 1;
	}
	p = tide__kin_value(c, p, &value);
	if (p == KIN_FAIL)
		return p;
	if (value.n > META_MAX) {
		c->out->loss[KIN_LOSS_META]++;
		return p;
	}
	kin_meta *m = KIN_PUSH(c->out, metas);
	if (!m)
		return kin_nomem(c);
	m->key = tide__kin_slice_text(c, key);
	m->raw = tide__kin_text(&c->texts, b + value.at - (value.type == '"'),
				value.n + (value.type == '"' ? 2 : 0));
	return m->key && m->raw ? p : kin_nomem(c);
}

/* One item at p (not white space); byte after it or KIN_FAIL. *stop: only the caller can go on. */
static size_t item(kin_parser *c, kin_doc *d, size_t p, bool *stop)
{
	const char *b = c->s.b;
	if (d->state == KIN_TOP) {
		if (b[p] != '}')
			return top_member(c, d, p);
		d->state = KIN_START;
		return p + 1;
	}
	if (b[p] == '{')
		return tide__kin_event(c, p);
	if (b[p] == ']') {
		*stop = d->state == KIN_SOME_EVENTS;
		if (!*stop)
			d->state = d->state == KIN_EVENTS ? KIN_TOP : KIN_START;
		return p + !*stop;
	}
	kin_slice v;
	p = b[p] == '}' || b[p] == ':' ? kin_fail(c, p) : tide__kin_value(c, p, &v);
	if (p != KIN_FAIL)
		c->out->loss[KIN_LOSS_NOT_OBJECT]++;
	return p;
}

/* Skip the damaged item at p: on to the next event, or to the block's end. */
static size_t resync(kin_parser *c, kin_doc *d, size_t p)
{
	size_t q = tide__kin_next_event(c->s.b, c->s.n, p + 1);
	c->out->loss[KIN_LOSS_DAMAGED]++;
	if (d->state == KIN_TOP || d->state == KIN_START)
		d->state = KIN_EVENTS;
	if (q < c->s.n && !kin_is_open(&c->s, q))
		tide__kin_scan_restart(&c->s, q);
	return q;
}

size_t tide__kin_doc(kin_parser *c, kin_doc *d, size_t p, bool final)
{
	const char *b = c->s.b;
	size_t n = c->s.n;
	bool stop = false;
	c->why = KIN_OK;
	d->again = false;
	while (!stop) {
		if (d->state == KIN_START) {
			unsigned before = d->documents;
			p = start(c, d, p);
			d->again = d->documents > before && (c->out->events || c->out->n_metas);
			if (p >= n || d->again)
				return p;
			continue;
		}
		p = skip_space(b, n, p, true);
		if (p >= n)
			return n;
		c->s.n = n - p > d->limit ? p + d->limit : n;
		size_t q = item(c, d, p, &stop), seen = c->s.n;
		c->s.n = n;
		if (q != KIN_FAIL) {
			p = q;
			continue;
		}
		if (c->why == KIN_NOMEM)
			return p;
		if (c->why == KIN_MORE && seen == n &&
		    (!final || tide__kin_next_event(b, n, p + 1) == n))
			return p;
		if (c->why == KIN_MORE && d->limit > ITEM_LEAST)
			d->limit /=
				2; /* hostile input would have us look at everything each time */
		p = resync(c, d, p);
	}
	return p;
}
