// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/json/compact.h"

#include <stdbool.h>

size_t tide__jsonr_compact(const char *s, size_t n, char *out, size_t room)
{
	size_t o = 0;
	bool text = false;
	for (size_t i = 0; i < n; i++) {
		char c = s[i];
		if (!text && (c == ' ' || c == '\n' || c == '\t' || c == '\r'))
			continue;
		if (o < room)
			out[o] = c;
		o++;
		if (c == '"')
			text = !text;
		else if (text && c == '\\' && i + 1 < n) {
			if (o < room)
				out[o] = s[i + 1];
			o++, i++;
		} else if (!text && (c == ',' || c == ':')) {
			if (o < room)
				out[o] = ' ';
			o++;
		}
	}
	return o;
}
