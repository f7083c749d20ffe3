// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Collects a line, then writes it as a whole or word by word. Write failures are those of the
 * stream: its owner checks ferror. */
#include "cli/output/wrap.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "render/text/format.h"

struct wrap {
	FILE *to;
	int width;
	char *line; /* owned */
	size_t n, cap;
};

/* Returns the length of an ANSI sequence at s, 0 = none. */
static size_t ansi(const char *s, size_t n)
{
	size_t i = 2;
	if (n < 3 || s[0] != '\033' || s[1] != '[')
		return 0;
	while (i < n && (unsigned char)s[i] < 0x40)
		i++;
	return i < n ? i + 1 : 0;
}

static int columns(const char *s, size_t n)
{
	int total = 0;
	for (size_t i = 0, run; i < n; i += run) {
		run = ansi(s + i, n - i);
		if (run)
			continue;
		for (run = 1; i + run < n && s[i + run] != '\033';)
			run++;
		total += tide__columns(s + i, run);
	}
	return total;
}

/* Returns the column where continuation lines begin. */
static int hang(const struct wrap *w)
{
	size_t in = 0;
	int col = 0;
	while (in < w->n && w->line[in] == ' ')
		in++;
	for (size_t i = in; i + 2 < w->n; i++)
		if (w->line[i] == ' ' && w->line[i + 1] == ' ' && w->line[i + 2] != ' ')
			col = columns(w->line, i + 2);
	return col && col <= w->width * 3 / 4 ? col : (int)in + 2;
}

static void put_words(const struct wrap *w)
{
	int indent = hang(w), col = 0;
	for (size_t i = 0, blanks, word; i < w->n; i += blanks + word) {
		for (blanks = 0; i + blanks < w->n && w->line[i + blanks] == ' ';)
			blanks++;
		for (word = 0; i + blanks + word < w->n && w->line[i + blanks + word] != ' ';)
			word++;
		int room = columns(w->line + i + blanks, word);
		if (i && blanks && col + (int)blanks + room > w->width) {
			fprintf(w->to, "\n%*s", indent, "");
			col = indent;
		} else {
			fprintf(w->to, "%*s", (int)blanks, "");
			col += (int)blanks;
		}
		fwrite(w->line + i + blanks, 1, word, w->to);
		col += room;
	}
}

static void put_line(struct wrap *w)
{
	if (!w->n)
		return;
	if (columns(w->line, w->n) <= w->width)
		fwrite(w->line, 1, w->n, w->to);
	else
		put_words(w);
	w->n = 0;
}

static void add(struct wrap *w, const char *s, size_t n)
{
	if (!n)
		return;
	if (!TIDE_ROOM(w->line, w->cap, w->n + n)) { /* out of memory: write it unwrapped */
		fwrite(w->line, 1, w->n, w->to);
		fwrite(s, 1, n, w->to);
		w->n = 0;
		return;
	}
	memcpy(w->line + w->n, s, n);
	w->n += n;
}

static ssize_t wrap_write(void *cookie, const char *buf, size_t size)
{
	struct wrap *w = cookie;
	for (size_t at = 0; at < size;) {
		const char *end = memchr(buf + at, '\n', size - at);
		size_t n = end ? (size_t)(end - buf) - at : size - at;
		add(w, buf + at, n);
		if (end) {
			put_line(w);
			fputc('\n', w->to);
		}
		at += n + (end != NULL);
	}
	return fflush(w->to) || ferror(w->to) ? 0 : (ssize_t)size;
}

static int wrap_close(void *cookie)
{
	struct wrap *w = cookie;
	put_line(w);
	int rc = fflush(w->to) || ferror(w->to) ? EOF : 0;
	tide__free(w->line);
	tide__free(w);
	return rc;
}

FILE *tide__wrap_open(FILE *to, int width)
{
	struct wrap *w = tide__calloc(1, sizeof *w);
	FILE *f = NULL;
	if (w) {
		*w = (struct wrap){ .to = to, .width = width };
		f = fopencookie(
			w, "w",
			(cookie_io_functions_t){ .write = wrap_write, .close = wrap_close });
	}
	if (!f) {
		tide__free(w);
		return NULL;
	}
	setvbuf(f, NULL, _IOLBF, 0);
	return f;
}
