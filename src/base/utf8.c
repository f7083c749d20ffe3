// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "base/utf8.h"

#include <string.h>

#include <stdbool.h>

static bool follows(const unsigned char *s, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return false;
	return true;
}

size_t tide__utf8_len(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	if (s[0] < 0x80)
		return 1;
	size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4 || len > n || !follows(s, len))
		return 0;
	if (s[0] == 0xe0 && s[1] < 0xa0) /* overlong */
		return 0;
	if (s[0] == 0xed && s[1] > 0x9f) /* surrogate */
		return 0;
	if (s[0] == 0xf0 && s[1] < 0x90) /* overlong */
		return 0;
	if (s[0] == 0xf4 && s[1] > 0x8f) /* over U+10FFFF */
		return 0;
	return len;
}

size_t tide__utf8_put(uint32_t code, char out[4])
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

size_t tide__utf8_clean(const char *s, size_t n, char *out)
{
	size_t k = 0;
	for (size_t i = 0; i < n;) {
		size_t len = tide__utf8_len(s + i, n - i);
		if (len)
			memcpy(out + k, s + i, len);
		k += len ? len : tide__utf8_put((unsigned char)s[i], out + k);
		i += len ? len : 1;
	}
	return k;
}
