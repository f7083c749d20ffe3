// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* LZ4's frame format: a head, blocks with their sizes, an end mark. A block is a row of literals and
 * matches; a match may reach back into earlier blocks, which lie before it in the output. Checksums
 * are not compared. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/memray/memray.h"

enum { MAGIC = 0x184d2204, VERSION = 0xc0, DICTIONARY = 1, SUM = 4, SIZE = 8, BLOCK_SUM = 16 };
#define RAW (UINT32_C(1) << 31)
enum { MOST_BLOCK = 4 << 20, LEAST_MATCH = 4 };

typedef struct expander {
	const uint8_t *in, *end, *begin;
	uint8_t *out; /* owned */
	size_t n, cap, most;
	tide_code rc;
	tide_error *err;
} expander;

static bool fail(expander *x, tide_code rc, const char *what)
{
	x->rc = rc == TIDE_ENOMEM
			? tide__nomem(x->err)
			: tide__fail(x->err, rc, (uint64_t)(x->in - x->begin), "%s", what);
	return false;
}

static bool ended(expander *x)
{
	return fail(x, TIDE_ETRUNC, "LZ4 data end in the middle");
}

static uint32_t load32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool room(expander *x, size_t n)
{
	if (n > x->most - x->n)
		return fail(x, TIDE_ELIMIT, "LZ4 data expand to too many bytes");
	return TIDE_ROOM(x->out, x->cap, x->n + n) || fail(x, TIDE_ENOMEM, "");
}

/* Adds the bytes that follow a length of 15. */
static bool long_length(const uint8_t **p, const uint8_t *end, size_t *n)
{
	uint8_t byte = 255;
	if (*n != 15)
		return true;
	while (byte == 255 && *p < end) {
		byte = *(*p)++;
		*n += byte;
	}
	return byte != 255;
}

static bool copy_match(expander *x, size_t back, size_t n)
{
	if (!back || back > x->n)
		return fail(x, TIDE_ECORRUPT, "LZ4 data are damaged");
	if (!room(x, n))
		return false;
	for (size_t i = 0; i < n; i++, x->n++) /* may overlap itself */
		x->out[x->n] = x->out[x->n - back];
	return true;
}

static bool block(expander *x, const uint8_t *p, const uint8_t *end)
{
	while (p < end) {
		unsigned token = *p++;
		size_t n = token >> 4, match = token & 15;
		if (!long_length(&p, end, &n) || n > (size_t)(end - p))
			return fail(x, TIDE_ECORRUPT, "LZ4 data are damaged");
		if (!room(x, n))
			return false;
		if (n)
			memcpy(x->out + x->n, p, n);
		x->n += n;
		p += n;
		if (p == end) /* the last has no match */
			return true;
		if (end - p < 2)
			return fail(x, TIDE_ECORRUPT, "LZ4 data are damaged");
		size_t back = (size_t)p[0] | (size_t)p[1] << 8;
		p += 2;
		if (!long_length(&p, end, &match))
			return fail(x, TIDE_ECORRUPT, "LZ4 data are damaged");
		if (!copy_match(x, back, match + LEAST_MATCH))
			return false;
	}
	return true;
}

static bool blocks(expander *x, unsigned flags)
{
	for (;;) {
		if (x->end - x->in < 4)
			return ended(x);
		uint32_t size = load32(x->in), n = size & ~RAW;
		x->in += 4;
		if (!size)
			break;
		if (n > MOST_BLOCK)
			return fail(x, TIDE_ECORRUPT, "LZ4 data are damaged");
		if (n > (size_t)(x->end - x->in))
			return ended(x);
		if (size & RAW) {
			if (!room(x, n))
				return false;
			if (n)
				memcpy(x->out + x->n, x->in, n);
			x->n += n;
		} else if (!block(x, x->in, x->in + n)) {
			return false;
		}
		x->in += n;
		if (flags & BLOCK_SUM)
			x->in += x->end - x->in < 4 ? x->end - x->in : 4;
	}
	if (flags & SUM)
		x->in += x->end - x->in < 4 ? x->end - x->in : 4;
	return true;
}

static bool frame(expander *x)
{
	if (x->end - x->in < 7)
		return ended(x);
	unsigned flags = x->in[4];
	size_t head = 7 + (flags & SIZE ? 8 : 0);
	if (load32(x->in) != MAGIC || (flags & VERSION) != 0x40 || flags & DICTIONARY)
		return fail(x, TIDE_ECORRUPT, "not an LZ4 frame, or one with a dictionary");
	if ((size_t)(x->end - x->in) < head)
		return ended(x);
	x->in += head;
	return blocks(x, flags);
}

tide_code tide__lz4_expand(const uint8_t *in, size_t n, size_t most, uint8_t **out, size_t *n_out,
			   tide_error *err)
{
	expander x = { .in = in, .begin = in, .end = in + n, .most = most, .err = err };
	while (x.rc == TIDE_OK && x.in < x.end)
		(void)frame(&x);
	*out = x.out;
	*n_out = x.n;
	return x.rc;
}
