// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One pass over the bytes; every failure names its line. */
#include "config/toml.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

#define FAIL(t, err, ...) tide__fail(err, TIDE_EFORMAT, (t)->at, __VA_ARGS__)

static int peek(const tide_toml *t)
{
	return t->at < t->n ? (unsigned char)t->text[t->at] : -1;
}

static void blanks(tide_toml *t)
{
	while (peek(t) == ' ' || peek(t) == '\t')
		t->at++;
}

static bool newline(tide_toml *t)
{
	if (peek(t) == '\r' && t->at + 1 < t->n && t->text[t->at + 1] == '\n')
		t->at++;
	if (peek(t) != '\n')
		return false;
	t->at++;
	t->line++;
	return true;
}

/* Reads one character of a comment or a string. */
static tide_code character(tide_toml *t, size_t *n, tide_error *err)
{
	int c = peek(t);
	*n = c < 0 ? 0 : tide__utf8_len(t->text + t->at, t->n - t->at);
	if ((c >= 0 && c < ' ' && c != '\t') || c == 0x7f)
		return FAIL(t, err, "line %u: control character 0x%02x", t->line + 1, (unsigned)c);
	if (c >= 0 && !*n)
		return FAIL(t, err, "line %u: not UTF-8", t->line + 1);
	return TIDE_OK;
}

static bool at_end_of_line(const tide_toml *t)
{
	return peek(t) < 0 || peek(t) == '\n' ||
	       (peek(t) == '\r' && t->at + 1 < t->n && t->text[t->at + 1] == '\n');
}

static tide_code comment(tide_toml *t, tide_error *err)
{
	size_t n;
	while (!at_end_of_line(t)) {
		tide_code rc = character(t, &n, err);
		if (rc != TIDE_OK)
			return rc;
		t->at += n;
	}
	return TIDE_OK;
}

/* Checks that only a comment follows an item. */
static tide_code rest_of_line(tide_toml *t, tide_error *err)
{
	blanks(t);
	if (peek(t) == '#')
		return comment(t, err);
	if (at_end_of_line(t))
		return TIDE_OK;
	return FAIL(t, err, "line %u: unexpected text after the value", t->line + 1);
}

/* ---- strings ---- */

/* Reads an escape after its backslash. Returns the bytes written to out, 0 = no such escape. */
static size_t escape(tide_toml *t, char *out)
{
	static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
	int c = peek(t);
	const char *p = c > 0 ? strchr(from, c) : NULL;
	if (p) {
		t->at++;
		*out = to[p - from];
		return 1;
	}
	size_t digits = c == 'u' ? 4 : c == 'U' ? 8 : 0;
	uint32_t v = 0;
	for (size_t i = 0; i < digits; i++) {
		const char *hex = "0123456789abcdef0123456789ABCDEF";
		const char *d = t->at + 1 + i < t->n && t->text[t->at + 1 + i]
					? strchr(hex, t->text[t->at + 1 + i])
					: NULL;
		if (!d)
			return 0;
		v = v << 4 | (uint32_t)((d - hex) & 15);
	}
	if (!digits || !v || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		return 0; /* NUL is refused too: it ends texts in C */
	t->at += 1 + digits;
	return tide__utf8_put(v, out);
}

/* Reads a one-line string, starting at its quote. */
static tide_code string(tide_toml *t, char *out, size_t room, tide_error *err)
{
	int quote = peek(t);
	size_t used = 0, n;
	unsigned line = t->line + 1;
	if (t->n - t->at > 2 && t->text[t->at + 1] == quote && t->text[t->at + 2] == quote)
		return FAIL(t, err, "line %u: multi-line strings are not supported", line);
	for (t->at++; peek(t) != quote;) {
		if (at_end_of_line(t))
			return FAIL(t, err, "line %u: the string has no end", line);
		if (used + 5 > room)
			return FAIL(t, err, "line %u: longer than %zu bytes", line, room - 5);
		if (quote == '"' && peek(t) == '\\') {
			t->at++;
			n = escape(t, out + used);
			if (!n)
				return FAIL(t, err, "line %u: no such escape in a string", line);
			used += n;
			continue;
		}
		tide_code rc = character(t, &n, err);
		if (rc != TIDE_OK)
			return rc;
		memcpy(out + used, t->text + t->at, n);
		used += n;
		t->at += n;
	}
	t->at++;
	out[used] = 0;
	return TIDE_OK;
}

/* ---- numbers ---- */

bool tide__toml_parse_number(const char *s, double *out)
{
	uint64_t digits = 0;
	int used = 0, scale = 0;
	bool minus = *s == '-', point = false, last = false;
	if (*s == '-' || *s == '+')
		s++;
	if (s[0] == '0' && s[1] >= '0' && s[1] <= '9')
		return false;
	for (; *s; s++) {
		bool digit = *s >= '0' && *s <= '9';
		if (digit) {
			if (++used > 15)
				return false;
			digits = digits * 10 + (unsigned)(*s - '0');
			scale += point;
		} else if (*s == '.' && !point && last) {
			point = true;
		} else if (*s != '_' || !last || s[1] < '0' || s[1] > '9') {
			return false;
		}
		last = digit;
	}
	double ten = 1;
	for (int i = 0; i < scale; i++)
		ten *= 10; /* exact: at most 10^15 */
	*out = (minus ? -1 : 1) * ((double)digits / ten);
	return used && last;
}

/* Reads true, false or a number: a word up to its delimiter. */
static tide_code word(tide_toml *t, tide_toml_item *i, tide_error *err)
{
	size_t n = 0;
	while (t->at + n < t->n && n < 60 && !memchr(" \t\r\n#,]}='\"", t->text[t->at + n], 12))
		n++;
	memcpy(i->text, t->text + t->at, n);
	i->text[n] = 0;
	if (strlen(i->text) != n || !n)
		return FAIL(t, err, "line %u: no value for %s", i->line, i->key);
	i->type = TIDE_TOML_BOOL;
	i->flag = !strcmp(i->text, "true");
	if (!i->flag && strcmp(i->text, "false")) {
		i->type = TIDE_TOML_NUMBER;
		if (!tide__toml_parse_number(i->text, &i->number))
			return FAIL(
				t, err,
				"line %u: '%.40s' is neither true, false nor a number (texts go "
				"in quotes)",
				i->line, i->text);
	}
	t->at += n;
	return TIDE_OK;
}

/* ---- items ---- */

static bool bare(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

static tide_code key(tide_toml *t, tide_toml_item *i, tide_error *err)
{
	size_t n = 0;
	if (peek(t) == '"' || peek(t) == '\'') {
		tide_code rc = string(t, i->key, sizeof i->key, err);
		if (rc != TIDE_OK)
			return rc;
	} else {
		while (t->at + n < t->n && bare((unsigned char)t->text[t->at + n]))
			n++;
		if (!n)
			return FAIL(t, err, "line %u: a key or [[table]] was expected", i->line);
		if (n >= sizeof i->key)
			return FAIL(t, err, "line %u: a key of more than %zu bytes", i->line,
				    sizeof i->key - 1);
		memcpy(i->key, t->text + t->at, n);
		i->key[n] = 0;
		t->at += n;
	}
	blanks(t);
	if (peek(t) == '.' && !t->foreign)
		return FAIL(t, err, "line %u: dotted keys are not supported", i->line);
	return TIDE_OK;
}

/* ---- items of other programs ---- */

/* Skips a string of any kind, from its quote. Returns false if it has no end. */
static bool skip_string(tide_toml *t)
{
	char quote = t->text[t->at];
	size_t many = 1;
	if (t->n - t->at > 2 && t->text[t->at + 1] == quote && t->text[t->at + 2] == quote)
		many = 3;
	for (t->at += many; t->at < t->n; t->at++) {
		size_t k = 0;
		while (k < many && t->at + k < t->n && t->text[t->at + k] == quote)
			k++;
		if (k == many) {
			t->at += many;
			while (many == 3 && peek(t) == quote) /* quotes before the last three */
				t->at++;
			return true;
		}
		if (at_end_of_line(t) && many == 1)
			return false;
		if (quote == '"' && t->text[t->at] == '\\' && t->at + 1 < t->n)
			t->at++;
		t->line += t->text[t->at] == '\n';
	}
	return false;
}

/* Skips to the end of a header or value, which may have several lines in brackets or quotes. */
static tide_code skip(tide_toml *t, tide_toml_item *i, tide_error *err)
{
	size_t depth = 0;
	while (t->at < t->n && (depth || !at_end_of_line(t))) {
		char c = t->text[t->at];
		if (c == '"' || c == '\'') {
			if (!skip_string(t))
				return FAIL(t, err, "line %u: the string has no end", i->line);
			continue;
		}
		if (c == '#') {
			while (!at_end_of_line(t))
				t->at++;
			continue;
		}
		depth += c == '[' || c == '{';
		depth -= depth && (c == ']' || c == '}');
		t->line += c == '\n';
		t->at++;
	}
	i->type = TIDE_TOML_OTHER;
	i->end = t->at;
	size_t n = 0; /* its first word, for a message */
	while (n < 40 && i->at + n < i->end && t->text[i->at + n] > ' ')
		n++;
	memcpy(i->text, t->text + i->at, n);
	i->text[n] = 0;
	return depth ? FAIL(t, err, "line %u: the value has no end", i->line) : TIDE_OK;
}

/* Reads an item again as one of another program, from its first byte. Its key stays if it was read;
 * an empty one is of no setting. */
static tide_code other(tide_toml *t, tide_toml_item *i, tide_toml_what what, tide_error *err)
{
	t->at = i->start;
	t->line = i->line - 1;
	i->what = what;
	return skip(t, i, err);
}

static tide_code header(tide_toml *t, tide_toml_item *i, tide_error *err)
{
	size_t many = t->n - t->at > 1 && t->text[t->at + 1] == '[' ? 2 : 1;
	t->at += many;
	i->what = many == 2 ? TIDE_TOML_TABLES : TIDE_TOML_TABLE;
	blanks(t);
	tide_code rc = key(t, i, err);
	if (rc != TIDE_OK)
		return rc;
	for (size_t k = 0; k < many; k++, t->at++)
		if (peek(t) != ']')
			return FAIL(t, err, "line %u: ] is missing", i->line);
	i->end = t->at;
	return rest_of_line(t, err);
}

static tide_code value(tide_toml *t, tide_toml_item *i, tide_error *err)
{
	tide_code rc = key(t, i, err);
	if (rc != TIDE_OK)
		return rc;
	if (peek(t) != '=')
		return FAIL(t, err, "line %u: = is missing after %.40s", i->line, i->key);
	t->at++;
	blanks(t);
	i->what = TIDE_TOML_VALUE;
	i->type = TIDE_TOML_STRING;
	i->at = t->at;
	if (peek(t) == '[' || peek(t) == '{')
		return FAIL(t, err, "line %u: lists and inline tables are not supported", i->line);
	rc = peek(t) == '"' || peek(t) == '\'' ? string(t, i->text, sizeof i->text, err)
					       : word(t, i, err);
	i->end = t->at;
	return rc == TIDE_OK ? rest_of_line(t, err) : rc;
}

tide_code tide__toml_next(tide_toml *t, tide_toml_item *i, tide_error *err)
{
	tide_code rc = TIDE_OK;
	if (t->n > TIDE_TOML_BYTES)
		return tide__fail(err, TIDE_ELIMIT, TIDE_TOML_BYTES, "longer than %d bytes",
				  TIDE_TOML_BYTES);
	if (!t->at && t->n >= 3 && !memcmp(t->text, "\xef\xbb\xbf", 3))
		t->at = 3;
	i->what = TIDE_TOML_END;
	do {
		blanks(t);
		if (peek(t) == '#')
			rc = comment(t, err);
	} while (rc == TIDE_OK && newline(t));
	i->line = t->line + 1;
	i->start = t->at;
	if (rc != TIDE_OK || peek(t) < 0)
		return rc;
	bool table = peek(t) == '[';
	*i->key = i->key[TIDE_TOML_KEY - 1] = 0; /* a text after any failure */
	i->at = i->start;
	rc = table ? header(t, i, err) : value(t, i, err);
	if (rc == TIDE_OK || !t->foreign)
		return rc;
	if (table || peek(t) == '.') /* [[a.b]], a.b = 1 */
		*i->key = 0;
	return other(t, i, table ? TIDE_TOML_TABLE : TIDE_TOML_VALUE, err);
}
