// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/text/quoted.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "render/text/format.h"

/* Returns the bytes of the character at s that a terminal may get as it is; 0: it must be
 * escaped. */
static size_t visible(const char *s)
{
	size_t len = tide__utf8_len(s, strlen(s));
	return len && !tide__is_invisible(s, len) ? len : 0;
}

void tide__put_quoted(const char *path, FILE *out)
{
	bool hidden = false;
	for (const char *c = path; *c && !hidden; c += visible(c) ? visible(c) : 1)
		hidden = !visible(c);
	if (!hidden && !path[strcspn(path, " \t\n\"'\\$`!*?[](){}<>|&;#~")]) {
		fputs(path, out);
		return;
	}
	fputs(hidden ? "$'" : "'", out);
	for (const char *c = path; *c; c++) {
		if (hidden && (!visible(c) || *c == '\\' || *c == '\''))
			fprintf(out, "\\x%02x", (unsigned char)*c);
		else if (*c == '\'')
			fputs("'\\''", out);
		else if (visible(c) > 1) {
			fwrite(c, 1, visible(c), out);
			c += visible(c) - 1;
		} else
			fputc(*c, out);
	}
	fputc('\'', out);
}

void tide__put_command(const char *command, const char *path, FILE *out)
{
	const char *file = path ? strstr(command, "FILE") : NULL;
	fputs("tidemark ", out);
	if (!file) {
		fputs(command, out);
		return;
	}
	fwrite(command, 1, (size_t)(file - command), out);
	tide__put_quoted(path, out);
	fputs(file + 4, out);
}
