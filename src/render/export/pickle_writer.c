// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/export/pickle_writer.h"

#include <string.h>

#include "base/utf8.h"

static void op(tide_pkl *p, int c)
{
	putc(c, p->out);
}

static void le(tide_pkl *p, uint64_t v, unsigned n)
{
	for (; n; n--, v >>= 8)
		putc((int)(v & 255), p->out);
}

void tide__pkl_begin(tide_pkl *p, FILE *out)
{
	*p = (tide_pkl){ .out = out };
	op(p, 0x80);
	op(p, 4);
}

void tide__pkl_end(tide_pkl *p)
{
	op(p, '.');
}

void tide__pkl_dict(tide_pkl *p)
{
	op(p, '}');
	op(p, '(');
}

void tide__pkl_dict_end(tide_pkl *p)
{
	op(p, 'u');
}

void tide__pkl_list(tide_pkl *p)
{
	op(p, ']');
	op(p, '(');
}

void tide__pkl_list_end(tide_pkl *p)
{
	op(p, 'e');
}

void tide__pkl_empty_list(tide_pkl *p)
{
	op(p, ']');
}

/* Returns the length once every byte that is not UTF-8 has become three. */
static size_t repaired(const char *s, size_t n)
{
	size_t len = 0;
	for (size_t i = 0; i < n;) {
		size_t k = tide__utf8_len(s + i, n - i);
		len += k ? k : 3;
		i += k ? k : 1;
	}
	return len;
}

void tide__pkl_text(tide_pkl *p, const char *s, size_t n)
{
	size_t len = repaired(s, n);
	op(p, len < 256 ? 0x8c : 'X');
	le(p, len, len < 256 ? 1 : 4);
	if (len == n) {
		fwrite(s, 1, n, p->out);
		return;
	}
	for (size_t i = 0; i < n;) {
		size_t k = tide__utf8_len(s + i, n - i);
		if (k)
			fwrite(s + i, 1, k, p->out);
		else
			fwrite("\xef\xbf\xbd", 1, 3, p->out);
		i += k ? k : 1;
	}
}

void tide__pkl_uint(tide_pkl *p, uint64_t v)
{
	if (v < 256) {
		op(p, 'K');
		le(p, v, 1);
	} else if (v < 65536) {
		op(p, 'M');
		le(p, v, 2);
	} else if (v < UINT64_C(1) << 31) {
		op(p, 'J');
		le(p, v, 4);
	} else {
		op(p, 0x8a);
		op(p, 9); /* a sign byte, so that 2^63 and more stay positive */
		le(p, v, 8);
		op(p, 0);
	}
}

void tide__pkl_int(tide_pkl *p, int64_t v)
{
	if (v >= 0 && v <= INT32_MAX) {
		tide__pkl_uint(p, (uint64_t)v);
	} else if (v >= INT32_MIN && v < 0) {
		op(p, 'J');
		le(p, (uint64_t)v, 4);
	} else {
		op(p, 0x8a);
		op(p, 8);
		le(p, (uint64_t)v, 8);
	}
}

void tide__pkl_real(tide_pkl *p, double v)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof bits);
	op(p, 'G');
	for (int k = 56; k >= 0; k -= 8)
		op(p, (int)(bits >> k & 255));
}

void tide__pkl_bool(tide_pkl *p, bool v)
{
	op(p, v ? 0x88 : 0x89);
}

void tide__pkl_pair(tide_pkl *p, uint64_t a, uint64_t b)
{
	tide__pkl_uint(p, a);
	tide__pkl_uint(p, b);
	op(p, 0x86);
}

uint32_t tide__pkl_memo(tide_pkl *p)
{
	op(p, 0x94);
	return p->memo++;
}

void tide__pkl_get(tide_pkl *p, uint32_t memo)
{
	op(p, memo < 256 ? 'h' : 'j');
	le(p, memo, memo < 256 ? 1 : 4);
}
