// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Fast parsing of JSON keys, values and integers for the inner loop: uses the bit maps or 8
 * bytes at a time instead of byte loops. Results equal those of the plain functions in value.c. */
#ifndef TIDE_IMPORT_JSON_VALUE_H
#define TIDE_IMPORT_JSON_VALUE_H

#include <string.h>

#include "import/json/reader.h"

static inline uint64_t jsonr_load8(const char *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static inline jsonr_slice jsonr_slice_of(size_t from, size_t to, char type)
{
	return (jsonr_slice){ (uint32_t)from, (uint32_t)(to - from), type };
}

/* Returns the first byte at or after p that is not white space; usually 0 or 1 spaces are
 * skipped. */
static inline size_t jsonr_gap(const char *b, size_t p)
{
	if (__builtin_expect(b[p] == ' ',
			     1)) /* a branch, so that the next load need not wait for this one */
		p++;
	return __builtin_expect((unsigned char)b[p] > ' ', 1) ? p : jsonr_ws(b, p);
}

/* Reads `"key" :` at p. Returns the position of the value, or JSONR_FAIL. */
static inline size_t jsonr_member_key(jsonr *c, size_t p, jsonr_slice *key)
{
	const char *b = c->s.b;
	if (__builtin_expect(b[p] != '"', 0))
		return jsonr_fail(c, p);
	size_t e = jsonr_quote(&c->s, p + 1);
	if (__builtin_expect(e >= c->s.n, 0))
		return jsonr_fail(c, e);
	*key = jsonr_slice_of(p + 1, e, '"');
	e++;
	if (__builtin_expect(b[e] != ':', 0)) {
		e = jsonr_ws(b, e);
		if (b[e] != ':')
			return jsonr_fail(c, e);
	}
	return jsonr_gap(b, e + 1);
}

/* After a value: returns the next key's quote, or the closing bracket; JSONR_FAIL for anything
 * else. */
static inline size_t jsonr_next(jsonr *c, size_t p)
{
	const char *b = c->s.b;
	if (__builtin_expect(b[p] != ',', 0)) {
		p = jsonr_ws(b, p);
		if (b[p] == '}')
			return p;
		if (b[p] != ',')
			return jsonr_fail(c, p);
	}
	p = jsonr_gap(b, p + 1);
	return p;
}

/* Reads a number or word: up to the comma or bracket after it, without trailing white space. A
 * quote or an opening bracket in between is an error. */
static inline size_t jsonr_scalar(jsonr *c, size_t p, jsonr_slice *v)
{
	jsonr_scan *s = &c->s;
	jsonr_reach(s, p);
	uint64_t stop = jsonr_bits(s->commas, p) | jsonr_bits(s->closes, p);
	uint64_t bad = jsonr_bits(s->quotes, p) | jsonr_bits(s->opens, p);
	if (__builtin_expect(!stop || (bad & (stop ^ (stop - 1))), 0))
		return tide__jsonr_parse_scalar(c, p, v);
	size_t e = p + (size_t)__builtin_ctzll(stop);
	if (__builtin_expect(e == p || e >= s->n, 0))
		return jsonr_fail(c, e);
	while (jsonr_is_ws(s->b[e - 1]))
		e--;
	*v = jsonr_slice_of(p, e, '0');
	return e;
}

/* Skips a container: within the next 64 bytes here, further with the scanner. */
static inline size_t jsonr_skip(jsonr *c, size_t p, jsonr_slice *v)
{
	jsonr_scan *s = &c->s;
	jsonr_reach(s, p);
	uint64_t open = jsonr_bits(s->opens, p), close = jsonr_bits(s->closes, p), depth = 0;
	for (uint64_t both = open | close; both && open & 1; both &= both - 1) {
		uint64_t bit = both & -both;
		depth += open & bit ? 1 : (uint64_t)-1;
		if (depth == 0) {
			size_t e = p + (size_t)__builtin_ctzll(bit) + 1;
			*v = jsonr_slice_of(p, e, s->b[p]);
			return e <= s->n ? e : jsonr_fail(c, e);
		}
	}
	return tide__jsonr_parse_container(c, p, v);
}

/* Reads any value at p (not white space). Returns the byte after it, or JSONR_FAIL. */
static inline size_t jsonr_value(jsonr *c, size_t p, jsonr_slice *v)
{
	char ch = c->s.b[p];
	if (ch == '"') {
		size_t e = jsonr_quote(&c->s, p + 1);
		if (__builtin_expect(e >= c->s.n, 0))
			return jsonr_fail(c, e);
		*v = jsonr_slice_of(p + 1, e, '"');
		return e + 1;
	}
	return ch == '{' || ch == '[' ? jsonr_skip(c, p, v) : jsonr_scalar(c, p, v);
}

/* ---- integers, eight digits at a time ---- */

/* Converts eight digits; sets *ok to 0 if any is not a digit. */
static inline uint64_t jsonr_eight(uint64_t v, uint64_t *ok)
{
	uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0), zero = UINT64_C(0x3030303030303030);
	*ok &= -(uint64_t)((v & high) == zero &&
			   ((v + UINT64_C(0x0606060606060606)) & high) == zero);
	v -= zero;
	v = v * 10 + (v >> 8);
	return ((v & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
		(v >> 16 & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001)) >>
	       32;
}

/* Converts n digits at p, 1 <= n <= 16. Returns false if any is not a digit. */
static inline bool jsonr_digits(const char *p, size_t n, uint64_t *out)
{
	uint64_t ok = 1, low = 0, zero = UINT64_C(0x3030303030303030);
	size_t head = n;
	if (n > 8) {
		low = jsonr_eight(jsonr_load8(p + n - 8), &ok);
		head = n - 8;
	}
	uint64_t v = jsonr_load8(p) << (64 - 8 * head);
	if (head < 8)
		v |= zero >> (8 * head);
	uint64_t high = jsonr_eight(v, &ok);
	*out = n > 8 ? high * 100000000 + low : high;
	return ok;
}

/* Reads microseconds in the usual forms: an integer, or with three decimals. Returns false for
 * anything else. */
static inline bool jsonr_simple_ns(const char *t, size_t n, int64_t *ns)
{
	uint64_t whole, frac = 0;
	size_t digits = n;
	if (n > 4 && t[n - 4] == '.') {
		digits = n - 4;
		if (!jsonr_digits(t + n - 3, 3, &frac))
			return false;
	}
	if (!n || digits > 16 || !jsonr_digits(t, digits, &whole) || whole > INT64_MAX / 1000 - 1)
		return false;
	*ns = (int64_t)(whole * 1000 + frac);
	return true;
}

#endif
