// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "redact/cipher.h"

#include <string.h>

enum { ROUNDS = 10 };

/* ---- SipHash-2-4 (Aumasson, Bernstein 2012) ---- */

static uint64_t rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static void mix_rounds(uint64_t *v, int rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

uint64_t tide__siphash(const tide_cipher *c, const void *bytes, size_t n)
{
	uint64_t v[4] = { c->k0 ^ UINT64_C(0x736f6d6570736575),
			  c->k1 ^ UINT64_C(0x646f72616e646f6d),
			  c->k0 ^ UINT64_C(0x6c7967656e657261),
			  c->k1 ^ UINT64_C(0x7465646279746573) };
	const uint8_t *p = bytes;
	size_t left = n;
	uint64_t m;
	for (; left >= 8; p += 8, left -= 8) {
		memcpy(&m, p, 8);
		v[3] ^= m;
		mix_rounds(v, 2);
		v[0] ^= m;
	}
	m = (uint64_t)n << 56;
	for (size_t i = 0; i < left; i++)
		m |= (uint64_t)p[i] << (8 * i);
	v[3] ^= m;
	mix_rounds(v, 2);
	v[0] ^= m;
	v[2] ^= 0xff;
	mix_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

tide_cipher tide__cipher_make(const void *key, size_t n)
{
	const tide_cipher first = { UINT64_C(0x7469646572656461), 1 };
	const tide_cipher second = { UINT64_C(0x7469646572656461), 2 };
	return (tide_cipher){ tide__siphash(&first, key, n), tide__siphash(&second, key, n) };
}

/* ---- the network ---- */

/* The input of a round's function: one half of the word, and what all rounds share. */
struct input {
	uint32_t round, at, n, others;
	uint32_t half[TIDE_CIPHER_MOST];
};

/* Adds a function of `from` to each value of `to`. */
static void add_half(const tide_cipher *c, struct input *in, uint32_t *to, const uint32_t *radix,
		     size_t n, const uint32_t *from, size_t n_from)
{
	uint64_t h = 0;
	memcpy(in->half, from, n_from * sizeof *from);
	in->others = (uint32_t)n_from;
	for (size_t i = 0; i < n; i++, h >>= 16) {
		if (i % 4 == 0) {
			in->at = (uint32_t)i;
			h = tide__siphash(c, in, offsetof(struct input, half) + 4 * n_from);
		}
		to[i] = (to[i] + (uint32_t)(h & 0xffff)) % radix[i];
	}
}

void tide__cipher_values(const tide_cipher *c, uint32_t *v, const uint32_t *radix, size_t n)
{
	struct input in = { .n = (uint32_t)n };
	size_t m = n / 2;
	if (n == 1 && radix[0] > 1) { /* never itself */
		uint64_t by = tide__siphash(c, radix, sizeof *radix) % (radix[0] - 1) + 1;
		v[0] = (uint32_t)((v[0] + by) % radix[0]);
		return;
	}
	for (uint32_t r = 0; r < ROUNDS && n > 1; r++) {
		in.round = r;
		if (r % 2)
			add_half(c, &in, v + m, radix + m, n - m, v, m);
		else
			add_half(c, &in, v, radix, m, v + m, n - m);
	}
}
