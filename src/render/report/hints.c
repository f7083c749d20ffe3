// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/hints.h"

#include <stdlib.h>

#include "render/text/format.h"
#include "render/text/quoted.h"

const tide_member tide__hint_members[] = {
	{ "command", NULL, TIDE_KIND_TEXT, .meaning = "a command line" },
	{ "answers", NULL, TIDE_KIND_TEXT, .meaning = "what it shows" },
	{ 0 },
};

/* Owned by the caller (free); NULL if memory runs out. */
static char *command_text(const tide_hint *s, const char *path, size_t *n)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, n);
	if (f)
		tide__put_command(s->command, path, f);
	if (f && !fclose(f))
		return text;
	free(text);
	return NULL;
}

void tide__put_hint(const tide_hint *s, const char *path, FILE *out)
{
	enum { COLUMN = 48 };
	size_t n;
	char *text = command_text(s, path, &n);
	int pad = text ? COLUMN - tide__columns(text, n) : 0;
	fprintf(out, "  %s%*s  %s\n", text ? text : s->command, pad > 0 ? pad : 0, "", s->answers);
	free(text);
}

void tide__hints_json(const tide_hint *v, size_t n, const char *path, tide_json *j)
{
	tide__json_karray(j, "next");
	for (size_t i = 0; i < n; i++) {
		size_t len = 0;
		char *text = command_text(&v[i], path, &len);
		tide__json_object(j);
		tide__json_key(j, "command");
		tide__json_strn(j, text ? text : "", len);
		tide__json_kstr(j, "answers", v[i].answers);
		tide__json_object_end(j);
		free(text);
	}
	tide__json_array_end(j);
}
