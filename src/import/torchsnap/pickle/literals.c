// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Texts and numbers of the pickle decoder. They stay in the input; a value is the offset of its
 * opcode, and everything here reads it again from there. The decoder has checked the lengths. */
#include "import/torchsnap/pickle/pickle_vm.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

/* ---- keywords ---- */

static unsigned key_hash(const uint8_t *s, size_t n)
{
	return (unsigned)(n * 59 + s[0] * 7 + s[n - 1] * 31 + s[n / 2] * 3) & 255;
}

void tide__pickle_keys_init(tide_pickle *p)
{
	for (size_t k = 0; k < p->client->n_keywords; k++) {
		const char *word = p->client->keywords[k];
		if (!word || !*word)
			continue;
		unsigned h = key_hash((const uint8_t *)word, strlen(word));
		while (p->keys[h])
			h = (h + 1) & 255;
		p->keys[h] = (uint8_t)(k + 1);
		p->key_len[k] = (uint8_t)strlen(word);
	}
}

tide_pv tide__pickle_read_word(const tide_pickle *p, const uint8_t *text, size_t n,
			       const uint8_t *op)
{
	if (n && n < 64) {
		for (unsigned h = key_hash(text, n); p->keys[h]; h = (h + 1) & 255) {
			unsigned k = p->keys[h] - 1u;
			if (p->key_len[k] == n && !memcmp(p->client->keywords[k], text, n))
				return tide__pv(TIDE_PV_KEY, k);
		}
	}
	return tide__pv(TIDE_PV_TEXT, (uint64_t)(op - p->data));
}

/* ---- integers ---- */

static tide_pv small_int(const tide_pickle *p, int64_t v, const uint8_t *op)
{
	if (v >= -(INT64_C(1) << 59) && v < INT64_C(1) << 59)
		return tide__pv(TIDE_PV_INT, (uint64_t)v);
	return tide__pv(TIDE_PV_NUM, (uint64_t)(op - p->data));
}

tide_pv tide__pickle_read_long(const tide_pickle *p, const uint8_t *le, size_t n, const uint8_t *op)
{
	if (n > 8)
		return tide__pv(TIDE_PV_NUM, (uint64_t)(op - p->data));
	uint64_t v = tide__pickle_le(le, n);
	if (n && n < 8 && le[n - 1] & 0x80)
		v |= UINT64_MAX << (8 * n);
	return small_int(p, (int64_t)v, op);
}

/* Parses decimal text to a sign and 64 bits. */
static bool decimal(const uint8_t *s, size_t n, bool *neg, uint64_t *out)
{
	*neg = n && *s == '-';
	size_t i = n && (*s == '-' || *s == '+');
	if (n && s[n - 1] == 'L')
		n--;
	if (i >= n)
		return false;
	*out = 0;
	for (; i < n; i++) {
		if (s[i] < '0' || s[i] > '9' || __builtin_mul_overflow(*out, 10, out) ||
		    __builtin_add_overflow(*out, (uint64_t)(s[i] - '0'), out))
			return false;
	}
	return true;
}

tide_pv tide__pickle_read_decimal(const tide_pickle *p, const uint8_t *text, size_t n,
				  const uint8_t *op)
{
	size_t digits = 0;
	uint64_t u;
	bool neg;
	for (size_t i = 0; i < n; i++)
		digits += text[i] >= '0' && text[i] <= '9';
	if (!digits || digits + 2 < n)
		return TIDE_PV_NONE;
	if (!decimal(text, n, &neg, &u) || u >> 59)
		return tide__pv(TIDE_PV_NUM, (uint64_t)(op - p->data));
	return tide__pv(TIDE_PV_INT, neg ? 0 - u : u);
}

/* Returns the bytes between a protocol 0 opcode and its line's end; the decoder has checked
 * both. */
static size_t line_len(const tide_pickle *p, const uint8_t *op)
{
	const uint8_t *nl = memchr(op, '\n', p->n - (size_t)(op - p->data));
	return (size_t)(nl - op) - 1;
}

/* Gets sign and low 64 bits of a stored integer. Returns false if it has more. */
static bool stored_int(const tide_pickle *p, const uint8_t *op, bool *neg, uint64_t *out)
{
	const uint8_t *le;
	size_t n;
	switch (*op) {
	case 0x8a: /* LONG1 */
		n = op[1];
		le = op + 2;
		break;
	case 0x8b: /* LONG4 */
		n = tide__pickle_le32(op + 1);
		le = op + 5;
		break;
	case 'I':
	case 'L':
		return decimal(op + 1, line_len(p, op), neg, out);
	default:
		return false;
	}
	*neg = n && le[n - 1] & 0x80;
	for (size_t i = 8; i < n; i++)
		if (le[i] != (*neg ? 0xff : 0))
			return false;
	*out = tide__pickle_le(le, n < 8 ? n : 8);
	if (*neg)
		*out = 0 - (n < 8 ? *out | UINT64_MAX << (8 * n) : *out);
	return true;
}

/* Gets sign and magnitude of any integer value. */
static bool any_int(const tide_pickle *p, tide_pv v, bool *neg, uint64_t *mag)
{
	switch (tide__pv_tag(v)) {
	case TIDE_PV_INT: {
		int64_t i = (int64_t)v >> 4;
		*neg = i < 0;
		*mag = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
		return true;
	}
	case TIDE_PV_CONST:
		*neg = false;
		*mag = tide__pv_payload(v) == 2;
		return tide__pv_payload(v) != 0;
	case TIDE_PV_NUM:
		return stored_int(p, p->data + tide__pv_payload(v), neg, mag);
	default:
		return false;
	}
}

bool tide__pickle_i64(const tide_pickle *p, tide_pv v, int64_t *out)
{
	bool neg;
	uint64_t mag;
	if (!any_int(p, v, &neg, &mag) || mag > (uint64_t)INT64_MAX + neg)
		return false;
	*out = neg ? (int64_t)(0 - mag) : (int64_t)mag;
	return true;
}

bool tide__pickle_u64(const tide_pickle *p, tide_pv v, uint64_t *out)
{
	bool neg;
	uint64_t mag;
	if (!any_int(p, v, &neg, &mag) || (neg && mag > UINT64_C(1) << 63))
		return false;
	*out = neg ? 0 - mag : mag;
	return true;
}

bool tide__pickle_f64(const tide_pickle *p, tide_pv v, double *out)
{
	if (tide__pv_tag(v) != TIDE_PV_NUM)
		return false;
	const uint8_t *op = p->data + tide__pv_payload(v);
	if (*op == 'G') {
		uint64_t bits = 0;
		for (int k = 1; k <= 8; k++)
			bits = bits << 8 | op[k];
		memcpy(out, &bits, sizeof bits);
		return true;
	}
	char text[64], *end;
	size_t n = *op == 'F' ? line_len(p, op) : sizeof text;
	if (n >= sizeof text)
		return false;
	memcpy(text, op + 1, n);
	text[n] = 0;
	*out = strtod(text, &end);
	return end != text;
}

/* ---- texts ---- */

static char *scratch(tide_pickle *p, size_t n)
{
	if (TIDE_ROOM(p->scratch, p->cap_scratch, n))
		return p->scratch;
	tide__pickle_nomem(p);
	return NULL;
}

static size_t hex(const uint8_t *s, size_t n, size_t want, uint32_t *out)
{
	*out = 0;
	if (n < want)
		return 0;
	for (size_t i = 0; i < want; i++) {
		int d = s[i] >= '0' && s[i] <= '9'   ? s[i] - '0'
			: s[i] >= 'a' && s[i] <= 'f' ? s[i] - 'a' + 10
			: s[i] >= 'A' && s[i] <= 'F' ? s[i] - 'A' + 10
						     : -1;
		if (d < 0)
			return 0;
		*out = *out << 4 | (uint32_t)d;
	}
	return want;
}

/* Decodes one escape after the backslash at s; returns its length without it, 0 if invalid.
 * `repr` also accepts the short escapes of Python's string literals. */
static size_t escape(const uint8_t *s, size_t n, bool repr, uint32_t *c)
{
	static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
	if (!n)
		return 0;
	if (*s == 'u')
		return hex(s + 1, n - 1, 4, c) + 1 == 5 ? 5 : 0;
	if (*s == 'U')
		return hex(s + 1, n - 1, 8, c) && *c <= 0x10ffff ? 9 : 0;
	if (repr && *s == 'x')
		return hex(s + 1, n - 1, 2, c) ? 3 : 0;
	const char *at = repr && *s ? strchr(from, *s) : NULL;
	if (!at)
		return 0;
	*c = (uint8_t)to[at - from];
	return 1;
}

/* Decodes a text of protocol 0: latin-1 bytes with escapes. */
static const char *unescape(tide_pickle *p, const uint8_t *s, size_t n, bool repr, size_t *len)
{
	char *out = scratch(p, n * 2 + 4);
	if (!out)
		return NULL;
	*len = 0;
	for (size_t i = 0; i < n;) {
		uint32_t c = s[i++];
		if (c == '\\')
			i += escape(s + i, n - i, repr, &c);
		*len += tide__utf8_put(c, out + *len);
	}
	return out;
}

/* Returns the bytes of a length-prefixed text. */
static const char *counted(const uint8_t *op, size_t *n)
{
	switch (*op) {
	case 0x8c: /* SHORT_BINUNICODE */
	case 'U':  /* SHORT_BINSTRING */
	case 'C':  /* SHORT_BINBYTES */
		*n = op[1];
		return (const char *)op + 2;
	case 'X': /* BINUNICODE */
	case 'T': /* BINSTRING */
	case 'B': /* BINBYTES */
		*n = tide__pickle_le32(op + 1);
		return (const char *)op + 5;
	case 0x8d: /* BINUNICODE8 */
	case 0x8e: /* BINBYTES8 */
	case 0x96: /* BYTEARRAY8 */
		*n = (size_t)tide__pickle_le(op + 1, 8);
		return (const char *)op + 9;
	default:
		return NULL;
	}
}

const char *tide__pickle_text(tide_pickle *p, tide_pv v, size_t *n)
{
	tide_pv_tag tag = tide__pv_tag(v);
	*n = 0;
	if (tag == TIDE_PV_KEY) {
		const char *word = p->client->keywords[tide__pv_payload(v)];
		*n = strlen(word);
		return word;
	}
	if (tag != TIDE_PV_TEXT && tag != TIDE_PV_BYTES)
		return NULL;
	const uint8_t *op = p->data + tide__pv_payload(v);
	if (*op != 'V' && *op != 'S')
		return counted(op, n);
	size_t len = line_len(p, op);
	if (*op == 'V')
		return unescape(p, op + 1, len, false, n);
	return unescape(p, op + 2, len - 2, true, n); /* without its quotes: the decoder saw them */
}
