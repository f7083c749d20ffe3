// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See plain.h. Containers are skipped by counting brackets outside strings. */
#include "import/json/plain.h"

#include <string.h>

__extension__ typedef __int128 wide;

static const char *blank(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

/* p is after the opening quote. Returns the closing quote, or NULL. */
static const char *closing(const char *p, const char *end)
{
	for (; p < end && *p != '"'; p++)
		if (*p == '\\' && ++p == end)
			return NULL;
	return p < end ? p : NULL;
}

/* Returns the byte after the bracket that closes the one at p, or NULL. */
static const char *skip(const char *p, const char *end)
{
	size_t depth = 0;
	for (; p < end; p++) {
		if (*p == '"') {
			if (!(p = closing(p + 1, end)))
				return NULL;
		} else if (*p == '{' || *p == '[') {
			depth++;
		} else if ((*p == '}' || *p == ']') && --depth == 0) {
			return p + 1;
		}
	}
	return NULL;
}

static const char *word(const char *p, const char *end)
{
	while (p < end && !strchr(",]} \t\r\n", *p))
		p++;
	return p;
}

/* Reads the value at p. Returns the byte after it, or NULL. */
static const char *value(const char *p, const char *end, tide_plain *v)
{
	const char *e;
	*v = (tide_plain){ 0 };
	if (p >= end)
		return NULL;
	if (*p == '"') {
		if (!(e = closing(p + 1, end)))
			return NULL;
		*v = (tide_plain){ p + 1, (size_t)(e - p - 1), '"' };
		return e + 1;
	}
	bool container = *p == '{' || *p == '[';
	e = container ? skip(p, end) : word(p, end);
	if (!e || e == p)
		return NULL;
	char type = container || *p == 't' || *p == 'f' || *p == 'n' ? *p : '0';
	*v = (tide_plain){ p, (size_t)(e - p), type };
	return e;
}

bool tide__plain_parse(const char *text, size_t n, tide_plain *v)
{
	const char *end = text + n, *p = value(blank(text, end), end, v);
	if (p && blank(p, end) == end)
		return true;
	*v = (tide_plain){ 0 };
	return false;
}

tide_plain_walk tide__plain_walk(tide_plain c)
{
	if (c.type != '{' && c.type != '[')
		return (tide_plain_walk){ 0 };
	return (tide_plain_walk){ .p = c.at + 1, .end = c.at + c.n - 1, .object = c.type == '{' };
}

static bool stop(tide_plain_walk *w, const char *at)
{
	w->p = w->end = at;
	w->bad = true;
	return false;
}

bool tide__plain_next(tide_plain_walk *w, tide_plain *key, tide_plain *v)
{
	const char *p = w->p ? blank(w->p, w->end) : NULL, *e;
	*key = *v = (tide_plain){ 0 };
	if (!p || p == w->end)
		return false;
	if (w->begun) {
		if (*p != ',')
			return stop(w, p);
		p = blank(p + 1, w->end);
	}
	w->begun = true;
	if (w->object) {
		e = value(p, w->end, key);
		if (!e || key->type != '"')
			return stop(w, p);
		p = blank(e, w->end);
		if (p == w->end || *p != ':')
			return stop(w, p);
		p = blank(p + 1, w->end);
	}
	if (!(e = value(p, w->end, v)))
		return stop(w, p);
	w->p = e;
	return true;
}

bool tide__plain_is(tide_plain s, const char *text)
{
	return strlen(text) == s.n && !memcmp(s.at, text, s.n);
}

bool tide__plain_get(tide_plain object, const char *name, tide_plain *v)
{
	tide_plain key;
	tide_plain_walk w = tide__plain_walk(object);
	while (w.object && tide__plain_next(&w, &key, v))
		if (tide__plain_is(key, name))
			return true;
	*v = (tide_plain){ 0 };
	return false;
}

/* Parses a decimal number into digits and a power of ten; digits past 18 only change the power. */
static bool decimal(const char *s, const char *end, wide *digits, int *ten)
{
	bool minus = s < end && *s == '-', point = false;
	size_t seen = 0;
	int e = 0;
	*digits = 0;
	*ten = 0;
	for (s += minus; s < end && ((*s >= '0' && *s <= '9') || (*s == '.' && !point)); s++) {
		if (*s == '.') {
			point = true;
			continue;
		}
		bool room = *digits < (wide)1000000000000000000;
		*digits = room ? *digits * 10 + (*s - '0') : *digits;
		*ten += room ? -point : !point;
		seen++;
	}
	bool down = false;
	if (seen && s < end && (*s == 'e' || *s == 'E')) {
		down = ++s < end && *s == '-';
		s += s < end && (*s == '-' || *s == '+');
		for (; s < end && *s >= '0' && *s <= '9' && e < 1000; s++)
			e = e * 10 + (*s - '0');
	}
	*digits = minus ? -*digits : *digits;
	*ten += down ? -e : e;
	return seen && s == end;
}

bool tide__plain_parse_number(tide_plain v, int64_t scale, int64_t *out)
{
	wide d;
	int ten;
	if (v.type != '0' || !decimal(v.at, v.at + v.n, &d, &ten))
		return false;
	d *= scale; /* 60 bits of digits, 63 of scale: fits */
	for (; ten > 0 && d; ten--) {
		d *= 10;
		if (d > INT64_MAX || d < -INT64_MAX)
			return false;
	}
	for (; ten < -1; ten++)
		d /= 10;
	if (ten == -1)
		d = (d + (d < 0 ? -5 : 5)) / 10;
	*out = (int64_t)d;
	return d <= INT64_MAX && d >= -INT64_MAX;
}
