// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One byte buffer, one array of offsets, one open-addressing table of ids. */
#include "model/strings.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "base/seed.h"

struct tide_strings {
	char *bytes; /* texts, each NUL-terminated */
	size_t used, room;
	size_t *at; /* at[id] .. at[id + 1] - 1 is text id; at[0] = at[1] = 0 */
	uint32_t n;
	size_t cap;
	uint32_t *slots; /* ids, 0 = free; size is a power of two, at most half full */
	uint32_t mask;
	uint64_t seed; /* of the hash: base/seed.h */
};

tide_strings *tide__strings_new(void)
{
	tide_strings *s = tide__calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->seed = tide__seed();
	s->mask = 255;
	s->cap = 64;
	s->slots = tide__calloc(s->mask + 1, sizeof *s->slots);
	s->at = tide__calloc(s->cap, sizeof *s->at);
	if (!s->slots || !s->at) {
		tide__strings_free(s);
		return NULL;
	}
	return s;
}

void tide__strings_free(tide_strings *s)
{
	if (!s)
		return;
	tide__free(s->bytes);
	tide__free(s->at);
	tide__free(s->slots);
	tide__free(s);
}

const char *tide__strings_get(const tide_strings *s, uint32_t id, size_t *n)
{
	if (!id || id > s->n) {
		if (n)
			*n = 0;
		return "";
	}
	if (n)
		*n = s->at[id + 1] - s->at[id] - 1;
	return s->bytes + s->at[id];
}

static uint32_t *probe(const tide_strings *s, const char *text, size_t n)
{
	uint32_t i = (uint32_t)XXH3_64bits_withSeed(text, n, s->seed) & s->mask;
	for (;; i = (i + 1) & s->mask) {
		uint32_t id = s->slots[i];
		size_t m;
		if (!id)
			return &s->slots[i];
		const char *have = tide__strings_get(s, id, &m);
		if (m == n && !memcmp(have, text, n))
			return &s->slots[i];
	}
}

static int rehash(tide_strings *s)
{
	if (s->mask >= UINT32_MAX / 2)
		return 0;
	tide_strings big = *s;
	big.mask = s->mask * 2 + 1;
	big.slots = tide__calloc((size_t)big.mask + 1, sizeof *big.slots);
	if (!big.slots)
		return 0;
	for (uint32_t id = 1; id <= s->n; id++) {
		size_t n;
		const char *text = tide__strings_get(s, id, &n);
		*probe(&big, text, n) = id;
	}
	tide__free(s->slots);
	*s = big;
	return 1;
}

static int make_room(tide_strings *s, size_t n)
{
	if (s->n >= s->mask / 2 && !rehash(s))
		return 0;
	return n < SIZE_MAX - s->used - 1 && TIDE_ROOM(s->at, s->cap, (size_t)s->n + 3) &&
	       TIDE_ROOM(s->bytes, s->room, s->used + n + 1);
}

uint32_t tide__strings_find(const tide_strings *s, const char *text, size_t n)
{
	return n ? *probe(s, text, n) : 0;
}

uint32_t tide__strings_add(tide_strings *s, const char *text, size_t n)
{
	uint32_t id = tide__strings_find(s, text, n);
	if (id || !n)
		return id;
	if (!make_room(s, n))
		return 0;
	id = s->n + 1;
	memcpy(s->bytes + s->used, text, n);
	s->bytes[s->used + n] = 0;
	s->at[id] = s->used;
	s->used += n + 1;
	s->at[id + 1] = s->used;
	s->n = id;
	*probe(s, text, n) = id;
	return id;
}

uint32_t tide__strings_count(const tide_strings *s)
{
	return s->n;
}

size_t tide__strings_bytes(const tide_strings *s)
{
	return s->used + (s->n + 2) * sizeof *s->at + ((size_t)s->mask + 1) * sizeof *s->slots;
}
