// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "redact/text.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "redact/map.h"
#include "redact/marks.h"
#include "redact/public.h"

enum { SEEN = 1 << 12, SEEN_TEXT = 240 };

struct tide_redact_seen {
	struct {
		uint16_t n, secrets;
		char from[SEEN_TEXT], to[SEEN_TEXT];
	} slots[SEEN];
};

/* ---- letters outside ASCII ---- */

/* Alphabets whose letters may replace each other: first, number of them. All code points of a row
 * have the same length in UTF-8. */
static const struct {
	uint32_t first, n;
} alphabets[] = {
	{ 0xc0, 64 },				 /* Latin-1, with two signs */
	{ 0x100, 128 },	    { 0x180, 208 },	 /* Latin */
	{ 0x391, 17 },	    { 0x3b1, 25 },	 /* Greek */
	{ 0x410, 64 },				 /* Cyrillic */
	{ 0x5d0, 27 },				 /* Hebrew */
	{ 0x620, 43 },				 /* Arabic */
	{ 0x905, 53 },				 /* Devanagari */
	{ 0x1e00, 256 },			 /* Latin */
	{ 0x3041, 86 },	    { 0x30a1, 90 },	 /* kana */
	{ 0x3400, 6592 },   { 0x4e00, 20992 },	 /* Han */
	{ 0xac00, 11172 },			 /* Hangul */
	{ 0x1d400, 0x54 },			 /* mathematical letters */
	{ 0x1f300, 0x2d0 },			 /* pictures */
	{ 0x1f900, 0x100 }, { 0x20000, 0xa6d0 }, /* Han */
};

/* Decodes the character at s; returns its bytes, 0 if it is not UTF-8. */
static size_t decode(const char *s, size_t n, uint32_t *cp)
{
	const uint8_t *p = (const uint8_t *)s;
	size_t k = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
	if (!k || k > n)
		return 0;
	*cp = p[0] & (0xffu >> (k + 1));
	for (size_t i = 1; i < k; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*cp = *cp << 6 | (p[i] & 0x3f);
	}
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	return *cp < least[k] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp < 0xe000) ? 0 : k;
}

static void encode(char *s, uint32_t cp, size_t k)
{
	static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	for (size_t i = k; i-- > 1; cp >>= 6)
		s[i] = (char)(0x80 | (cp & 0x3f));
	s[0] = (char)(lead[k] | cp);
}

static int alphabet_of(uint32_t cp)
{
	for (size_t i = 0; i < sizeof alphabets / sizeof *alphabets; i++)
		if (cp >= alphabets[i].first && cp - alphabets[i].first < alphabets[i].n)
			return (int)i;
	return -1;
}

/* Replaces a character outside of all alphabets, which may not be a separator of a public format:
 * '?' for each byte. */
static void drop_bytes(char *s, size_t k)
{
	memset(s, '?', k);
}

/* Replaces the letters of one alphabet from s on; returns their bytes. */
static size_t replace_foreign(tide_redactor *r, char *s, size_t n)
{
	uint32_t v[TIDE_CIPHER_MOST], radix[TIDE_CIPHER_MOST], cp = 0;
	size_t k = decode(s, n, &cp), at = 0, count = 0;
	int in = k ? alphabet_of(cp) : -1;
	if (in < 0) {
		drop_bytes(s, k ? k : 1);
		return k ? k : 1;
	}
	for (size_t more = k; more == k && count < TIDE_CIPHER_MOST && alphabet_of(cp) == in;) {
		v[count] = cp - alphabets[in].first;
		radix[count++] = alphabets[in].n;
		at += k;
		more = at < n ? decode(s + at, n - at, &cp) : 0;
	}
	tide__cipher_values(&r->cipher, v, radix, count);
	for (size_t i = 0; i < count; i++)
		encode(s + i * k, alphabets[in].first + v[i], k);
	return at;
}

/* ---- words ---- */

static void encipher(const tide_redactor *r, char *s, size_t n)
{
	uint32_t v[TIDE_CIPHER_MOST], radix[TIDE_CIPHER_MOST] = { 0 };
	for (size_t i = 0; i < n; i++) {
		bool digit = isdigit((uint8_t)s[i]);
		radix[i] = digit ? 10 : 26;
		v[i] = (uint32_t)(digit ? s[i] - '0' : tolower((uint8_t)s[i]) - 'a');
	}
	tide__cipher_values(&r->cipher, v, radix, n);
	for (size_t i = 0; i < n; i++) {
		bool upper = isupper((uint8_t)s[i]);
		s[i] = (char)(radix[i] == 10 ? '0' + (int)v[i] : (upper ? 'A' : 'a') + (int)v[i]);
	}
}

static bool has_part(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (tide__public_part(s + i, n - i))
			return true;
	return false;
}

/* Replaces a run of letters. A result that contains a technical part is replaced again: no input
 * contains one, so different words still get different replacements. */
static void replace_letters(const tide_redactor *r, char *s, size_t n)
{
	bool may = !has_part(s, n);
	for (int i = 0; i < 1000; i++) {
		encipher(r, s, n);
		if (!may || !has_part(s, n))
			return;
	}
}

static bool is_of(char c, uint8_t mark)
{
	return isalpha((uint8_t)c) || (mark == TIDE_MARK_SERIAL && isdigit((uint8_t)c));
}

static void replace_all(tide_redactor *r, char *s, size_t n)
{
	const uint8_t *marks = r->marks;
	for (size_t i = 0, to; i < n; i = to) {
		to = i + 1;
		if (marks[i] == TIDE_MARK_DROP) {
			if (isalnum((uint8_t)s[i]) || (uint8_t)s[i] >= 0x80)
				s[i] = 'x';
		} else if ((uint8_t)s[i] >= 0x80) {
			for (; to < n && (uint8_t)s[to] >= 0x80 && marks[to] != TIDE_MARK_DROP;)
				to++;
			for (size_t at = i; at < to;)
				at += replace_foreign(r, s + at, to - at);
		} else if (marks[i] != TIDE_MARK_KEEP && is_of(s[i], marks[i])) {
			while (to < n && to - i < TIDE_CIPHER_MOST && marks[to] == marks[i] &&
			       is_of(s[to], marks[i]))
				to++;
			replace_letters(r, s + i, to - i);
		}
	}
}

static bool reserve(tide_redactor *r, size_t n)
{
	if (!r->seen && !(r->seen = tide__calloc(1, sizeof *r->seen)))
		return false;
	return TIDE_ROOM(r->marks, r->cap_marks, n);
}

static bool replace_text(tide_redactor *r, char *s, size_t n, size_t *secrets)
{
	*secrets = tide__redact_marks(s, n, r->keep, r->marks);
	if (!r->map) {
		replace_all(r, s, n);
		return true;
	}
	char *from = tide__alloc(n, 1);
	if (!from)
		return false;
	memcpy(from, s, n);
	replace_all(r, s, n);
	bool ok = tide__redact_map_add(r->map, from, s, n);
	tide__free(from);
	return ok;
}

bool tide__redact_text(tide_redactor *r, char *s, size_t n)
{
	size_t secrets = 0;
	r->texts++;
	if (!n || tide__public_is_key(s, n))
		return true;
	if (!reserve(r, n))
		return false;
	if (n > SEEN_TEXT) {
		bool ok = replace_text(r, s, n, &secrets);
		r->secrets += secrets;
		return ok;
	}
	const size_t i = tide__siphash(&r->cipher, s, n) % SEEN;
	if (r->seen->slots[i].n != n || memcmp(r->seen->slots[i].from, s, n) != 0) {
		memcpy(r->seen->slots[i].from, s, n);
		r->seen->slots[i].n = 0; /* if memory runs out */
		if (!replace_text(r, s, n, &secrets))
			return false;
		memcpy(r->seen->slots[i].to, s, n);
		r->seen->slots[i].n = (uint16_t)n;
		r->seen->slots[i].secrets = (uint16_t)secrets;
	}
	memcpy(s, r->seen->slots[i].to, n);
	r->secrets += r->seen->slots[i].secrets;
	return true;
}

bool tide__redact_secret(tide_redactor *r, char *s, size_t n)
{
	bool letters = false;
	for (size_t i = 0; i < n; i++)
		letters |= !isdigit((uint8_t)s[i]) && !strchr(" .,:+-[]()", s[i]);
	if (!letters)
		return tide__redact_text(r, s, n);
	for (size_t i = 0; i < n; i++)
		if (isalnum((uint8_t)s[i]) || (uint8_t)s[i] >= 0x80)
			s[i] = 'x';
	r->texts++;
	r->secrets++;
	return true;
}

void tide__redactor_fini(tide_redactor *r)
{
	tide__free(r->marks);
	tide__free(r->seen);
}
