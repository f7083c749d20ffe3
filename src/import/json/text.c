// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The texts of one reader (interned, never moved, found by hash), and JSON's escapes. */
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "base/seed.h"
#include "base/utf8.h"
#include "import/json/reader.h"

/* ---- arena ---- */

struct jsonr_block {
	struct jsonr_block *next;
	char bytes[];
};

enum { BLOCK = 1 << 16 };

void *tide__jsonr_arena_take(jsonr_arena *a, size_t n)
{
	if (n > SIZE_MAX - 64)
		return NULL;
	n = (n + 7) & ~(size_t)7;
	if (n > a->left) {
		size_t room = n > BLOCK / 4 ? n : BLOCK;
		struct jsonr_block *k = tide__alloc(sizeof *k + room, 1);
		if (!k)
			return NULL;
		if (n > BLOCK / 4 &&
		    a->head) { /* a large text gets its own block; continue to fill the current one */
			k->next = a->head->next;
			a->head->next = k;
			return k->bytes;
		}
		k->next = a->head;
		a->head = k;
		a->at = k->bytes;
		a->left = room;
	}
	void *p = a->at;
	a->at += n;
	a->left -= n;
	return p;
}

void tide__jsonr_arena_fini(jsonr_arena *a)
{
	for (struct jsonr_block *k = a->head, *next; k; k = next) {
		next = k->next;
		tide__free(k);
	}
	*a = (jsonr_arena){ 0 };
}

/* ---- texts ---- */

static bool texts_grow(jsonr_texts *t)
{
	size_t slots = t->slots ? (t->mask + 1) * 2 : 1024;
	jsonr_text **big = tide__calloc(slots, sizeof *big);
	if (!big)
		return false;
	for (size_t i = 0; t->slots && i <= t->mask; i++) {
		if (!t->slots[i])
			continue;
		size_t at = t->slots[i]->hash & (slots - 1);
		while (big[at])
			at = (at + 1) & (slots - 1);
		big[at] = t->slots[i];
	}
	tide__free(t->slots);
	t->slots = big;
	t->mask = slots - 1;
	return true;
}

jsonr_text *tide__jsonr_text(jsonr_texts *t, const char *s, size_t n)
{
	if (n >= UINT32_MAX || ((!t->slots || t->n >= t->mask / 2) && !texts_grow(t)))
		return NULL;
	uint64_t hash = XXH3_64bits_withSeed(s, n, tide__seed());
	size_t at = hash & t->mask;
	for (jsonr_text *e; (e = t->slots[at]); at = (at + 1) & t->mask)
		if (e->hash == hash && e->len == n && !memcmp(e->s, s, n))
			return e;
	jsonr_text *e = tide__jsonr_arena_take(&t->arena, sizeof *e + n + 1);
	if (!e)
		return NULL;
	e->hash = hash;
	e->len = (uint32_t)n;
	e->global = 0;
	memcpy(e->s, s, n);
	e->s[n] = 0;
	t->slots[at] = e;
	t->n++;
	return e;
}

void tide__jsonr_texts_fini(jsonr_texts *t)
{
	tide__jsonr_arena_fini(&t->arena);
	tide__free(t->slots);
	*t = (jsonr_texts){ 0 };
}

/* ---- escapes ---- */

static int hex4(const char *s, size_t n)
{
	int v = 0;
	if (n < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = s[i];
		int d = c >= '0' && c <= '9'			 ? c - '0'
			: (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
								 : -1;
		if (d < 0)
			return -1;
		v = v << 4 | d;
	}
	return v;
}

/* Decodes \uXXXX at s (after the u). Returns the bytes read, 0 if it is not valid. */
static size_t put_u(const char *s, size_t n, char **o)
{
	int hi = hex4(s, n);
	if (hi < 0)
		return 0;
	if (hi >= 0xd800 && hi < 0xdc00 && n >= 10 && s[4] == '\\' && s[5] == 'u') {
		int lo = hex4(s + 6, n - 6);
		if (lo >= 0xdc00 && lo < 0xe000) {
			*o += tide__utf8_put(0x10000 + ((uint32_t)(hi - 0xd800) << 10) +
						     (uint32_t)(lo - 0xdc00),
					     *o);
			return 10;
		}
	}
	*o += tide__utf8_put((uint32_t)hi, *o);
	return 4;
}

size_t tide__jsonr_unescape(const char *s, size_t n, char *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char *o = out;
	for (size_t i = 0; i < n; i++) {
		if (s[i] != '\\' || i + 1 == n) {
			*o++ = s[i];
			continue;
		}
		char c = s[++i];
		const char *k = c ? strchr(from, c) : NULL;
		size_t used = c == 'u' ? put_u(s + i + 1, n - i - 1, &o) : 0;
		i += used;
		if (used)
			continue;
		if (!k)
			*o++ = '\\';
		*o++ = k ? to[k - from] : c;
	}
	return (size_t)(o - out);
}
