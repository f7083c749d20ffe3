// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One pass over the text, byte by byte: strings are decoded, redacted and written again, everything
 * else is checked and copied. */
#include "redact/redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/json/text.h"
#include "import/source.h"
#include "redact/json_text.h"

enum { BLOCK = 1 << 16, TEXT_MOST = 64 << 20, DEPTH = 4096, SCALAR = 400 };

struct json {
	tide_redactor *r;
	FILE *out;
	tide_error *err;
	tide_code rc;
	uint64_t at; /* of the current byte */
	bool in_string, escaped, escapes;
	char *text; /* owned: the string being read */
	size_t n, cap;
	char scalar[SCALAR]; /* the number or literal being read */
	size_t n_scalar;
	char open[DEPTH]; /* '{' or '[' */
	size_t depth;
	bool any;	 /* a value was read */
	bool was_secret; /* the string before was the name of a secret, if it is a key */
	bool secret;	 /* the next string is the value of one */
};

void tide__redact_put_json(FILE *out, const char *s, size_t n)
{
	putc('"', out);
	for (size_t i = 0; i < n; i++) {
		uint8_t c = (uint8_t)s[i];
		if (c == '"' || c == '\\')
			putc('\\', out);
		if (c < 0x20)
			fprintf(out, "\\u%04x", c);
		else
			putc(c, out);
	}
	putc('"', out);
}

static bool fail(struct json *j, tide_code code, const char *what)
{
	j->rc = tide__fail(j->err, code, j->at, "%s", what);
	return false;
}

static bool is_number(const char *s)
{
	const char *p = s + (*s == '-');
	if (!isdigit((uint8_t)*p))
		return false;
	p += strspn(p, "0123456789");
	if (*p == '.')
		p += 1 + strspn(p + 1, "0123456789");
	if (*p == 'e' || *p == 'E') {
		p++;
		p += *p == '+' || *p == '-';
		if (!isdigit((uint8_t)*p))
			return false;
		p += strspn(p, "0123456789");
	}
	return !*p;
}

/* Checks the number or literal that has just ended. */
static bool end_scalar(struct json *j)
{
	static const char *const literals[] = { "true", "false",    "null",
						"NaN",	"Infinity", "-Infinity" };
	if (!j->n_scalar)
		return true;
	j->scalar[j->n_scalar] = 0;
	bool ok = is_number(j->scalar);
	for (size_t i = 0; !ok && i < sizeof literals / sizeof *literals; i++)
		ok = !strcmp(j->scalar, literals[i]);
	if (!ok)
		return fail(j, TIDE_ECORRUPT,
			    "not JSON: neither a value nor a separator before this byte");
	fwrite(j->scalar, 1, j->n_scalar, j->out);
	j->n_scalar = 0;
	j->any = true;
	j->secret = j->was_secret = false;
	return true;
}

static bool end_string(struct json *j)
{
	bool secret = j->secret;
	if (j->escapes)
		j->n = tide__jsonr_unescape(j->text, j->n, j->text);
	j->was_secret = tide__redact_names_secret(j->text, j->n);
	bool ok = secret ? tide__redact_secret(j->r, j->text, j->n)
			 : tide__redact_text(j->r, j->text, j->n);
	if (!ok) {
		j->rc = tide__nomem(j->err);
		return false;
	}
	tide__redact_put_json(j->out, j->text, j->n);
	j->in_string = false;
	j->any = true;
	return true;
}

static bool take_in_string(struct json *j, char c)
{
	if (c == '"' && !j->escaped)
		return end_string(j);
	j->escapes |= c == '\\';
	j->escaped = c == '\\' && !j->escaped;
	if (j->n == TEXT_MOST)
		return fail(j, TIDE_ELIMIT, "a text is longer than 64 MiB");
	if (!TIDE_ROOM(j->text, j->cap, j->n + 1)) {
		j->rc = tide__nomem(j->err);
		return false;
	}
	j->text[j->n++] = c;
	return true;
}

static bool take_bracket(struct json *j, char c)
{
	if (c == '{' || c == '[') {
		if (j->depth == DEPTH)
			return fail(j, TIDE_ELIMIT, "more than 4,096 levels");
		j->open[j->depth++] = c;
	} else if (!j->depth || j->open[--j->depth] != (c == '}' ? '{' : '[')) {
		return fail(j, TIDE_ECORRUPT, "not JSON: a bracket closes that was not opened");
	}
	j->any = true;
	return true;
}

static bool take_outside(struct json *j, char c)
{
	bool scalar = isalnum((uint8_t)c) || c == '-' || c == '+' || c == '.';
	if (scalar) {
		if (j->n_scalar == SCALAR - 1)
			return fail(j, TIDE_ECORRUPT,
				    "not JSON: a value of 400 bytes without quotes");
		j->scalar[j->n_scalar++] = c;
		return true;
	}
	if (!end_scalar(j))
		return false;
	if (c == '"') {
		j->in_string = true;
		j->escaped = j->escapes = false;
		j->n = 0;
		return true;
	}
	if (strchr("{}[]", c) && c) {
		j->secret = j->was_secret = false;
		if (!take_bracket(j, c))
			return false;
	} else if (c == ':') {
		j->secret = j->was_secret;
	} else if (c == ',') {
		j->secret = j->was_secret = false;
	} else if (!strchr(" \t\r\n", c) || !c) {
		return fail(j, TIDE_ECORRUPT,
			    "not JSON: a byte that is neither a value nor a separator");
	}
	putc(c, j->out);
	return true;
}

static bool take(struct json *j, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++, j->at++)
		if (!(j->in_string ? take_in_string(j, bytes[i]) : take_outside(j, bytes[i])))
			return false;
	return true;
}

static tide_code read_all(struct json *j, struct tide_source *in, char *block)
{
	size_t got = 0;
	bool first = true;
	do {
		tide_code rc = tide__source_read(in, block, BLOCK, &got, j->err);
		if (rc)
			return rc;
		bool mark = first && got >= 3 && !memcmp(block, "\xef\xbb\xbf", 3);
		if (!take(j, block + 3 * mark, got - 3 * mark))
			return j->rc;
		first = false;
	} while (got == BLOCK);
	if (j->in_string || j->depth)
		return tide__fail(j->err, TIDE_ETRUNC, j->at, "the document ends early");
	if (!end_scalar(j))
		return j->rc;
	if (!j->any)
		return tide__fail(j->err, TIDE_ETRUNC, j->at, "the file is empty");
	return TIDE_OK;
}

tide_code tide__redact_json(tide_redactor *r, struct tide_source *in, FILE *out, tide_error *err)
{
	struct json *j = tide__calloc(1, sizeof *j);
	char *block = tide__alloc(BLOCK, 1);
	tide_code rc = TIDE_OK;
	if (j && block) {
		j->r = r;
		j->out = out;
		j->err = err;
		rc = read_all(j, in, block);
		tide__free(j->text);
	} else {
		rc = tide__nomem(err);
	}
	tide__free(block);
	tide__free(j);
	return rc;
}
