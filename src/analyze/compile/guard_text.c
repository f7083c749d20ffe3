// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/compile/compile_report.h"

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

char *tide__guard_text(const char *reason, char *out, size_t size)
{
	size_t n = 0;
	while (*reason == '\n' || blank(*reason))
		reason++;
	for (; *reason && *reason != '\n' && n + 1 < size; reason++)
		if (!blank(*reason))
			out[n++] = *reason;
		else if (!blank(reason[1]) && reason[1] && reason[1] != '\n')
			out[n++] = ' ';
	out[n] = 0;
	return out;
}
