// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Changes one value. Everything else in the file, comments and order included, stays as it is. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "config/config.h"
#include "config/toml.h"

/* Position of the selected table, and of the key in it. */
struct spot {
	bool table, key;
	size_t from, to; /* key: bytes of its value; else `to` = where a new line goes */
	unsigned line;
};

/* Returns the end of the line that `at` is in, its newline included. */
static size_t after_line(const char *text, size_t n, size_t at)
{
	const char *p = memchr(text + at, '\n', n - at);
	return p ? (size_t)(p - text) + 1 : n;
}

static tide_code look(const char *text, size_t n, bool foreign, const char *backend,
		      const char *key, struct spot *out, tide_error *err)
{
	static _Thread_local tide_toml_item i;
	tide_toml t = { .text = text, .n = n, .foreign = foreign };
	struct spot now = { 0 };
	bool named = false, ours = !backend;
	tide_code rc = TIDE_OK;
	memset(out, 0, sizeof *out);
	while (!out->table && (rc = tide__toml_next(&t, &i, err)) == TIDE_OK) {
		if (i.what != TIDE_TOML_VALUE && now.table && ours)
			*out = now; /* complete: the next table begins, or the file ends */
		if (i.what == TIDE_TOML_END)
			break;
		if (i.what != TIDE_TOML_VALUE) {
			bool backends = i.what == TIDE_TOML_TABLES && !strcmp(i.key, "backend");
			now = (struct spot){ .table = backends || !foreign };
			ours = !backend;
		} else if (!now.table && foreign) {
			continue;
		} else if (backend && !strcmp(i.key, "name")) {
			ours = !strcmp(i.text, backend);
			named |= ours;
		} else if (!strcmp(i.key, key)) {
			now.key = true;
			now.from = i.at;
			now.to = i.end;
			now.line = i.line;
		}
		if (!now.key) {
			now.to = after_line(text, n, i.end);
			now.line = t.line + 2;
		}
	}
	if (rc == TIDE_OK && backend && !named)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "no [[backend]] has name = \"%.60s\"", backend);
	return rc;
}

/* Writes the value as TOML. Returns false if it does not fit. */
static bool literal(tide_config_key k, const char *value, char *out, size_t room)
{
	size_t n = 0;
	if (tide__config_kind(k) != TIDE_CONFIG_PATH && tide__config_kind(k) != TIDE_CONFIG_WORDS) {
		return (size_t)snprintf(out, room, "%s", value) < room;
	}
	out[n++] = '"';
	for (const char *s = value; *s; s++) {
		if (n + 9 > room)
			return false;
		unsigned char c = (unsigned char)*s;
		if (c == '"' || c == '\\')
			out[n++] = '\\';
		if (c < ' ' || c == 0x7f)
			n += (size_t)snprintf(out + n, room - n, "\\u%04x", c);
		else
			out[n++] = *s;
	}
	out[n++] = '"';
	out[n] = 0;
	return true;
}

static unsigned lines(const char *text, size_t n)
{
	unsigned k = 0;
	for (size_t i = 0; i < n; i++)
		k += text[i] == '\n';
	return k;
}

tide_code tide__config_edit(const char *text, size_t n, bool foreign, const char *backend,
			    tide_config_key k, const char *value, char **out, size_t *n_out,
			    unsigned *line, tide_error *err)
{
	struct spot s;
	char put[2 * TIDE_CONFIG_TEXT], word[TIDE_CONFIG_TEXT + TIDE_CONFIG_TEXT / 2];
	const char *name = tide__config_name(k);
	*out = NULL;
	tide_code rc = look(text, n, foreign, backend, name, &s, err);
	if (rc != TIDE_OK)
		return rc;
	if (!s.table)
		s.to = n;
	if (!s.key)
		s.from = s.to;
	bool bare = s.to && text[s.to - 1] != '\n'; /* the last line has no newline */
	bool crlf = !bare && s.to > 1 && text[s.to - 2] == '\r';
	const char *nl = crlf ? "\r\n" : "\n";
	if (!literal(k, value, word, sizeof word))
		return tide__fail(err, TIDE_ELIMIT, TIDE_NO_OFFSET, "%s is too long", name);
	if (s.key)
		snprintf(put, sizeof put, "%s", word);
	else
		snprintf(put, sizeof put, "%s%s%s%s%s = %s%s", bare ? nl : "",
			 s.table || !n ? "" : nl, s.table ? "" : "[[backend]]", s.table ? "" : nl,
			 name, word, nl);
	size_t extra = strlen(put);
	*n_out = n - (s.to - s.from) + extra;
	*out = tide__alloc(*n_out + 1, 1);
	if (!*out)
		return tide__nomem(err);
	memcpy(*out, text, s.from);
	memcpy(*out + s.from, put, extra);
	memcpy(*out + s.from + extra, text + s.to, n - s.to);
	(*out)[*n_out] = 0;
	*line = s.key ? s.line : lines(*out, s.from + extra);
	return TIDE_OK;
}
