// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The ordered set of ordset.h. Chunks split in half when full and go away when empty; they are
 * never merged, because allocators refill the sizes they have just emptied. */
#include "analyze/allocator/sim/ordset.h"

#include <string.h>

#include "base/mem.h"

static bool below(uint64_t a0, uint64_t a1, uint64_t b0, uint64_t b1)
{
	return a0 < b0 || (a0 == b0 && a1 < b1);
}

/* Returns the last chunk whose first key is <= key, or 0. The set must not be empty. */
static size_t find_chunk(const tide_ordset *s, uint64_t major, uint64_t minor)
{
	size_t base = 0, len = s->n_chunks;

	while (len > 1) {
		size_t half = len / 2;
		const tide_ord_key *k = &s->first[base + half];

		base = below(major, minor, k->major, k->minor) ? base : base + half;
		len -= half;
	}
	return base;
}

/* Returns the first entry of the chunk that is >= key. */
static uint32_t find_entry(const tide_ord_chunk *c, uint64_t major, uint64_t minor)
{
	uint32_t lo = 0, hi = c->n;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (below(c->e[mid].major, c->e[mid].minor, major, minor))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void set_first(tide_ordset *s, size_t at)
{
	s->first[at].major = s->chunk[at]->e[0].major;
	s->first[at].minor = s->chunk[at]->e[0].minor;
}

static bool insert_chunk(tide_ordset *s, size_t at)
{
	if (s->n_chunks == s->cap) {
		size_t cap = s->cap; /* of both */

		if (!TIDE_ROOM(s->first, cap, s->cap + 1) ||
		    !TIDE_ROOM(s->chunk, s->cap, s->cap + 1))
			return false;
	}
	tide_ord_chunk *c = tide__alloc(1, sizeof *c);

	if (!c)
		return false;
	c->n = 0;
	c->most = TIDE_ORD_UNKNOWN;
	memmove(s->first + at + 1, s->first + at, (s->n_chunks - at) * sizeof *s->first);
	memmove(s->chunk + at + 1, s->chunk + at, (s->n_chunks - at) * sizeof(tide_ord_chunk *));
	s->chunk[at] = c;
	s->n_chunks++;
	return true;
}

/* Make the chunk at `at` two half-full ones. */
static bool split_chunk(tide_ordset *s, size_t at)
{
	if (!insert_chunk(s, at + 1))
		return false;
	tide_ord_chunk *low = s->chunk[at], *high = s->chunk[at + 1];
	uint32_t keep = low->n / 2;

	high->n = low->n - keep;
	memcpy(high->e, low->e + keep, high->n * sizeof *low->e);
	low->n = keep;
	set_first(s, at + 1);
	return true;
}

bool tide__ord_add(tide_ordset *s, uint64_t major, uint64_t minor, uint32_t value)
{
	if (!s->n_chunks && !insert_chunk(s, 0))
		return false;
	size_t at = s->n_chunks > 1 ? find_chunk(s, major, minor) : 0;

	if (s->chunk[at]->n == TIDE_ORD_CHUNK) {
		if (!split_chunk(s, at))
			return false;
		if (!below(major, minor, s->first[at + 1].major, s->first[at + 1].minor))
			at++;
	}
	tide_ord_chunk *c = s->chunk[at];
	uint32_t i = find_entry(c, major, minor);

	memmove(c->e + i + 1, c->e + i, (c->n - i) * sizeof *c->e);
	c->e[i] = (tide_ord){ major, minor, value };
	c->n++;
	c->most = TIDE_ORD_UNKNOWN;
	s->n++;
	if (i == 0)
		set_first(s, at);
	return true;
}

bool tide__ord_del(tide_ordset *s, uint64_t major, uint64_t minor)
{
	if (!s->n)
		return false;
	size_t at = find_chunk(s, major, minor);
	tide_ord_chunk *c = s->chunk[at];
	uint32_t i = find_entry(c, major, minor);

	if (i == c->n || c->e[i].major != major || c->e[i].minor != minor)
		return false;
	c->n--;
	memmove(c->e + i, c->e + i + 1, (c->n - i) * sizeof *c->e);
	s->n--;
	if (c->n) {
		if (i == 0)
			set_first(s, at);
		return true;
	}
	if (s->n_chunks == 1) /* keep the last one: the next insertion is near */
		return true;
	tide__free(c);
	s->n_chunks--;
	memmove(s->first + at, s->first + at + 1, (s->n_chunks - at) * sizeof *s->first);
	memmove(s->chunk + at, s->chunk + at + 1, (s->n_chunks - at) * sizeof(tide_ord_chunk *));
	return true;
}

void tide__ord_touch(tide_ordset *s, uint64_t major, uint64_t minor)
{
	if (s->n)
		s->chunk[find_chunk(s, major, minor)]->most = TIDE_ORD_UNKNOWN;
}

tide_ord_pos tide__ord_first(const tide_ordset *s)
{
	return (tide_ord_pos){ s->n ? 0 : s->n_chunks, 0 };
}

tide_ord_pos tide__ord_lower(const tide_ordset *s, uint64_t major, uint64_t minor)
{
	tide_ord_pos p = { s->n_chunks, 0 };

	if (!s->n)
		return p;
	p.chunk = find_chunk(s, major, minor);
	p.at = find_entry(s->chunk[p.chunk], major, minor);
	if (p.at == s->chunk[p.chunk]->n) {
		p.chunk++;
		p.at = 0;
	}
	return p;
}

const tide_ord *tide__ord_at(const tide_ordset *s, tide_ord_pos p)
{
	return s->n && p.chunk < s->n_chunks ? &s->chunk[p.chunk]->e[p.at] : NULL;
}

tide_ord_pos tide__ord_next(const tide_ordset *s, tide_ord_pos p)
{
	if (p.chunk < s->n_chunks && ++p.at >= s->chunk[p.chunk]->n) {
		p.chunk++;
		p.at = 0;
	}
	return p;
}

const tide_ord *tide__ord_before(const tide_ordset *s, tide_ord_pos p)
{
	if (!s->n)
		return NULL;
	if (p.chunk < s->n_chunks && p.at)
		return &s->chunk[p.chunk]->e[p.at - 1];
	if (!p.chunk)
		return NULL;
	const tide_ord_chunk *c = s->chunk[p.chunk - 1];

	return c->n ? &c->e[c->n - 1] : NULL;
}

const tide_ord *tide__ord_last(const tide_ordset *s)
{
	return tide__ord_before(s, (tide_ord_pos){ s->n_chunks, 0 });
}

void tide__ord_free(tide_ordset *s)
{
	for (size_t i = 0; i < s->n_chunks; i++)
		tide__free(s->chunk[i]);
	tide__free(s->first);
	tide__free(s->chunk);
	memset(s, 0, sizeof *s);
}
