// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "base/utf8.h"

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
