// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "redact/redact.h"

#include <string.h>

#include "format/tide.h"

tide_redact_kind tide__redact_kind(const unsigned char *head, size_t n)
{
	size_t i = n >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;
	if (n >= 8 && !memcmp(head, TIDE_FILE_MAGIC, 8))
		return TIDE_REDACT_TIDE;
	if (n >= 2 && head[0] == 0x80 && head[1] <= 5)
		return TIDE_REDACT_PICKLE;
	while (i < n && strchr(" \t\r\n", head[i]) && head[i])
		i++;
	if (i < n && (head[i] == '{' || head[i] == '['))
		return TIDE_REDACT_JSON;
	return n && strchr("(]}", head[0]) && head[0] ? TIDE_REDACT_PICKLE : TIDE_REDACT_NONE;
}
