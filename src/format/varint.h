// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads LEB128 varints fast.
 *
 * At least TIDE_PAD readable bytes follow the input, so a varint is decoded with one 8-byte load and
 * no bounds check; the caller checks once per record that it did not run past the end. A varint that
 * does not fit 64 bits sets *bad and reads as 0. */
#ifndef TIDE_FORMAT_VARINT_H
#define TIDE_FORMAT_VARINT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Zero bytes behind every payload: no record can read further past its end before the check. */
enum { TIDE_PAD = 256 };

/* Reads the 9th and 10th byte of a long varint, or rejects it. `low` holds the first eight
 * groups. */
static inline const uint8_t *tide__varint_long(const uint8_t *p, uint64_t low, uint64_t *v,
					       bool *bad)
{
	uint64_t b8 = p[8], b9 = p[9];
	*v = low | (b8 & 0x7f) << 56;
	if (b8 < 0x80)
		return p + 9;
	if (b9 > 1) { /* more than 64 bits, or an 11th byte */
		*bad = true;
		*v = 0;
		return p + 10;
	}
	*v |= b9 << 63;
	return p + 10;
}

/* Packs eight 7-bit groups, one per byte, together. */
static inline uint64_t tide__varint_squeeze(uint64_t x)
{
	x = (x & 0x007f007f007f007fu) | (x & 0x7f007f007f007f00u) >> 1;
	x = (x & 0x00003fff00003fffu) | (x & 0x3fff00003fff0000u) >> 2;
	return (x & 0x000000000fffffffu) | (x & 0x0fffffff00000000u) >> 4;
}

static inline const uint8_t *tide__varint(const uint8_t *p, uint64_t *v, bool *bad)
{
	uint64_t x;
	if (*p < 0x80) {
		*v = *p;
		return p + 1;
	}
	memcpy(&x, p, sizeof x);
	uint64_t stop = ~x & 0x8080808080808080u;
	if (!stop)
		return tide__varint_long(p, tide__varint_squeeze(x & 0x7f7f7f7f7f7f7f7fu), v, bad);
	*v = tide__varint_squeeze(x & (stop ^ (stop - 1)) & 0x7f7f7f7f7f7f7f7fu);
	return p + __builtin_ctzll(stop) / 8 + 1;
}

static inline int64_t tide__unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

#endif
