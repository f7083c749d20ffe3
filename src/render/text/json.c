// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/text/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "render/text/format.h"

enum { MAX_DEPTH = sizeof(((tide_json *)0)->first) * 8 - 1 };

static uint64_t bit_of(unsigned depth)
{
	return (uint64_t)1 << depth % 64;
}

static void put(tide_json *j, const char *s, size_t n)
{
	if (fwrite_unlocked(s, 1, n, j->out) != n) /* one thread writes a document */
		j->failed = true;
}

/* Passes an item to the sink, if there is one. Returns false if the caller has to write it. */
static bool sunk(tide_json *j, tide_json_item item)
{
	if (!j->sink)
		return false;
	if (!j->failed && !j->sink(j->user, &item))
		j->failed = true;
	return !j->out;
}

static void newline(tide_json *j)
{
	if (!j->indent)
		return;
	put(j, "\n", 1);
	for (unsigned i = 0; i < j->depth; i++)
		put(j, "  ", 2);
}

/* Writes the comma, newline and indent before a value or key. */
static void lead(tide_json *j)
{
	if (j->keyed) {
		j->keyed = false;
		return;
	}
	if (!j->depth)
		return;
	uint64_t *first = &j->first[j->depth / 64], bit = bit_of(j->depth);
	if (!(*first & bit))
		put(j, ",", 1);
	*first &= ~bit;
	newline(j);
}

static void open_(tide_json *j, const char *c)
{
	if (!sunk(j,
		  (tide_json_item){ *c == '{' ? TIDE_JSON_OPEN_OBJECT : TIDE_JSON_OPEN_ARRAY })) {
		lead(j);
		put(j, c, 1);
	}
	if (j->depth == MAX_DEPTH) {
		j->failed = true;
		return;
	}
	j->depth++;
	j->first[j->depth / 64] |= bit_of(j->depth);
}

static void close_(tide_json *j, const char *c)
{
	if (!j->depth) {
		j->failed = true;
		return;
	}
	bool empty = j->first[j->depth / 64] & bit_of(j->depth);
	j->depth--;
	if (sunk(j, (tide_json_item){ TIDE_JSON_CLOSE }))
		return;
	if (!empty)
		newline(j);
	put(j, c, 1);
}

void tide__json_begin(tide_json *j, FILE *out, bool indent)
{
	*j = (tide_json){ .out = out, .indent = indent };
}

void tide__json_begin_sink(tide_json *j, tide_json_sink *sink, void *user)
{
	*j = (tide_json){ .sink = sink, .user = user };
}

void tide__json_watch(tide_json *j, tide_json_sink *sink, void *user)
{
	j->sink = sink;
	j->user = user;
}

void tide__json_free(tide_json *j)
{
	if (j->longs)
		tide__long_free(j->longs);
	tide__free(j->longs);
	j->longs = NULL;
}

bool tide__json_end(tide_json *j)
{
	if (j->out)
		put(j, "\n", 1);
	tide__json_free(j);
	return !j->failed && !j->depth;
}

void tide__json_object(tide_json *j)
{
	open_(j, "{");
}

void tide__json_object_end(tide_json *j)
{
	close_(j, "}");
}

void tide__json_array(tide_json *j)
{
	open_(j, "[");
}

void tide__json_array_end(tide_json *j)
{
	close_(j, "]");
}

static void escape(tide_json *j, unsigned char c)
{
	static const char short_[] = {
		['"'] = '"', ['\\'] = '\\', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'
	};
	char b[8];
	if (c < sizeof short_ && short_[c]) {
		b[0] = '\\';
		b[1] = short_[c];
		put(j, b, 2);
		return;
	}
	snprintf(b, sizeof b, "\\u%04x", c);
	put(j, b, 6);
}

/* Also escapes C1 controls and direction marks, which affect a terminal but are invisible;
 * invalid bytes one by one. Returns the input bytes used. */
static size_t escape_at(tide_json *j, const char *s, size_t n)
{
	size_t len = tide__utf8_len(s, n);
	if (len < 2) {
		escape(j, (unsigned char)*s);
		return 1;
	}
	char b[8];
	snprintf(b, sizeof b, "\\u%04x", (unsigned)tide__code_point(s, len) & 0xffff);
	put(j, b, 6);
	return len;
}

static bool plain(unsigned char c)
{
	return c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

static void quoted(tide_json *j, const char *s, size_t n)
{
	put(j, "\"", 1);
	for (size_t i = 0; i < n;) {
		size_t k = i; /* a run that needs no escape */
		while (k < n) {
			size_t len = tide__utf8_len(s + k, n - k);
			if (!len || (len == 1 ? !plain((unsigned char)s[k])
					      : tide__is_invisible(s + k, len)))
				break;
			k += len;
		}
		put(j, s + i, k - i);
		if (k < n)
			k += escape_at(j, s + k, n - k);
		i = k;
	}
	put(j, "\"", 1);
}

void tide__json_key(tide_json *j, const char *key)
{
	if (sunk(j, (tide_json_item){ TIDE_JSON_KEY, .text = key, .n = strlen(key) }))
		return;
	lead(j);
	quoted(j, key, strlen(key));
	put(j, j->indent ? ": " : ":", j->indent ? 2 : 1);
	j->keyed = true;
}

void tide__json_strn(tide_json *j, const char *s, size_t n)
{
	if (sunk(j, (tide_json_item){ TIDE_JSON_TEXT, .text = s, .n = n }))
		return;
	lead(j);
	quoted(j, s, n);
}

void tide__json_str(tide_json *j, const char *s)
{
	if (s)
		tide__json_strn(j, s, strlen(s));
	else
		tide__json_null(j);
}

void tide__json_text(tide_json *j, const tide_strings *s, uint32_t id)
{
	size_t n;
	const char *text = tide__strings_get(s, id, &n);
	if (n > TIDE_LONG) {
		if (!j->longs && !(j->longs = tide__calloc(1, sizeof *j->longs))) {
			j->failed = true;
			return;
		}
		uint64_t before = j->longs->cut;
		text = tide__long_get(j->longs, s, id, &n);
		j->cut += j->longs->cut - before;
	}
	tide__json_strn(j, text, n);
}

static void word(tide_json *j, const char *s)
{
	lead(j);
	put(j, s, strlen(s));
}

/* Writes the digits of v, at least `least` of them, so that they end before `end`. Returns their
 * begin. */
static char *digits(char *end, uint64_t v, int least)
{
	for (; v || least > 0; v /= 10, least--)
		*--end = (char)('0' + v % 10);
	return end;
}

static void number(tide_json *j, char *at, char *end, bool minus)
{
	if (minus)
		*--at = '-';
	lead(j);
	put(j, at, (size_t)(end - at));
}

void tide__json_int(tide_json *j, int64_t v)
{
	char b[24], *end = b + sizeof b;
	if (sunk(j, (tide_json_item){ v < 0 ? TIDE_JSON_INT : TIDE_JSON_UINT, .i = v,
				      .u = (uint64_t)v }))
		return;
	number(j, digits(end, v < 0 ? -(uint64_t)v : (uint64_t)v, 1), end, v < 0);
}

void tide__json_uint(tide_json *j, uint64_t v)
{
	char b[24], *end = b + sizeof b;
	if (sunk(j, (tide_json_item){ TIDE_JSON_UINT, .u = v }))
		return;
	number(j, digits(end, v, 1), end, false);
}

void tide__json_milli(tide_json *j, int64_t v)
{
	char b[24], *end = b + sizeof b;
	uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;
	if (sunk(j, (tide_json_item){ TIDE_JSON_REAL, .d = (double)v / 1000 }))
		return;
	char *at = digits(end, u % 1000, 3);
	*--at = '.';
	number(j, digits(at, u / 1000, 1), end, v < 0);
}

void tide__json_fixed(tide_json *j, double v, int decimals)
{
	char b[400];
	if (!isfinite(v)) {
		tide__json_null(j);
		return;
	}
	snprintf(b, sizeof b, "%.*f", decimals, v);
	if (!sunk(j, (tide_json_item){ TIDE_JSON_REAL, .d = strtod(b, NULL) }))
		word(j, b);
}

void tide__json_double(tide_json *j, double v)
{
	char b[40];
	if (!isfinite(v)) {
		tide__json_null(j);
		return;
	}
	if (sunk(j, (tide_json_item){ TIDE_JSON_REAL, .d = v }))
		return;
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(b, sizeof b, "%.*g", digits, v);
		if (strtod(b, NULL) == v)
			break;
	}
	word(j, b);
}

void tide__json_bool(tide_json *j, bool v)
{
	if (!sunk(j, (tide_json_item){ TIDE_JSON_BOOL, .u = v }))
		word(j, v ? "true" : "false");
}

void tide__json_null(tide_json *j)
{
	if (!sunk(j, (tide_json_item){ TIDE_JSON_NULL }))
		word(j, "null");
}

void tide__json_kstr(tide_json *j, const char *key, const char *s)
{
	tide__json_key(j, key);
	tide__json_str(j, s);
}

void tide__json_kraw(tide_json *j, const char *key, const char *text, size_t n)
{
	tide__json_key(j, key);
	while (text && n && text[n - 1] == '\n')
		n--;
	if (!text || !n || !j->out) {
		tide__json_null(j);
		return;
	}
	lead(j);
	put(j, text, n);
}

void tide__json_ktext(tide_json *j, const char *key, const tide_model *m, tide_str s)
{
	tide__json_key(j, key);
	tide__json_text(j, m->strings, s.i);
}

void tide__json_kint(tide_json *j, const char *key, int64_t v)
{
	tide__json_key(j, key);
	tide__json_int(j, v);
}

void tide__json_kuint(tide_json *j, const char *key, uint64_t v)
{
	tide__json_key(j, key);
	tide__json_uint(j, v);
}

void tide__json_kfixed(tide_json *j, const char *key, double v, int decimals)
{
	tide__json_key(j, key);
	tide__json_fixed(j, v, decimals);
}

void tide__json_kmilli(tide_json *j, const char *key, int64_t v)
{
	tide__json_key(j, key);
	tide__json_milli(j, v);
}

void tide__json_kbool(tide_json *j, const char *key, bool v)
{
	tide__json_key(j, key);
	tide__json_bool(j, v);
}

void tide__json_knull(tide_json *j, const char *key)
{
	tide__json_key(j, key);
	tide__json_null(j);
}

void tide__json_maybe(tide_json *j, uint64_t v)
{
	v == UINT64_MAX ? tide__json_null(j) : tide__json_uint(j, v);
}

void tide__json_kmaybe(tide_json *j, const char *key, uint64_t v)
{
	tide__json_key(j, key);
	tide__json_maybe(j, v);
}

void tide__json_kint_if(tide_json *j, const char *key, bool known, int64_t v)
{
	tide__json_key(j, key);
	known ? tide__json_int(j, v) : tide__json_null(j);
}

void tide__json_kuint_if(tide_json *j, const char *key, bool known, uint64_t v)
{
	tide__json_key(j, key);
	known ? tide__json_uint(j, v) : tide__json_null(j);
}

void tide__json_kstrn(tide_json *j, const char *key, const char *s, size_t n)
{
	tide__json_key(j, key);
	tide__json_strn(j, s, n);
}

void tide__json_karray(tide_json *j, const char *key)
{
	tide__json_key(j, key);
	tide__json_array(j);
}

void tide__json_kobject(tide_json *j, const char *key)
{
	tide__json_key(j, key);
	tide__json_object(j);
}
