// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/text/cut_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "render/text/format.h"
#include "render/text/grid.h"

struct cut {
	char *out;
	size_t n;
	int width;
	const char *mark; /* for what is left out */
	int mark_width;
};

/* Returns true if all bytes are printable ASCII: then a byte is a column. */
static bool is_plain(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] < 0x20 || s[i] > 0x7e)
			return false;
	return true;
}

/* Returns the length of "(file.py:34)" at the end of a frame, 0 = none. */
static size_t place(const char *s, size_t n)
{
	size_t k = n;
	if (!n || s[n - 1] != ')')
		return 0;
	while (k > 1 && isdigit((unsigned char)s[k - 2]))
		k--;
	if (k == n || k < 2 || s[k - 2] != ':')
		return 0;
	while (k && s[k - 1] != '(')
		k--;
	return k ? n - k + 1 : 0;
}

/* Writes both ends of the text; `tail`: bytes of the end that must stay. */
static void put_ends(const struct cut *c, const char *s, size_t n, size_t tail)
{
	int room = c->width - c->mark_width;
	size_t all = room > 0 ? (size_t)room : 0;
	size_t end = tail < all ? tail : all;
	size_t half = (all + 1) / 2;
	if (end < all - half)
		end = all - half;
	snprintf(c->out, c->n, "%.*s%s%.*s", (int)(all - end), s, c->mark, (int)end, s + n - end);
}

/* Returns the length of the first frame of a stack: up to " < " or ", in ". */
static size_t frame_end(const char *s, size_t n)
{
	for (size_t i = 0; i + 3 < n; i++)
		if (!memcmp(s + i, " < ", 3) || (i + 5 < n && !memcmp(s + i, ", in ", 5)))
			return i;
	return n;
}

/* Returns the length of a frame's function, without its place. */
static size_t function_end(const char *s, size_t n)
{
	size_t p = place(s, n);
	return p && n > p && s[n - p - 1] == ' ' ? n - p - 1 : n;
}

/* Writes whole frames, as many as fit, the function of the next one if that fits, and a mark for the
 * rest; a first frame that is too long keeps its line number. */
static void put_stack(const struct cut *c, const char *s, size_t n)
{
	size_t room = c->width > c->mark_width + 3 ? (size_t)(c->width - c->mark_width - 3) : 0;
	size_t kept = 0;
	for (size_t at = frame_end(s, n); at <= room && at < n;) {
		kept = at;
		size_t skip = s[at] == ',' ? 5 : 3, k = frame_end(s + at + skip, n - at - skip);
		size_t name = at + skip + function_end(s + at + skip, k);
		at += skip + k;
		if (at > room && name <= room)
			kept = name;
	}
	if (kept)
		snprintf(c->out, c->n, "%.*s < %s", (int)kept, s, c->mark);
	else
		put_ends(c, s, frame_end(s, n), place(s, frame_end(s, n)));
}

/* Returns the length of a remark at the end, "  [stack 3: forward (linear.py:1)]", 0 = none. */
static size_t remark(const char *s, size_t n)
{
	for (size_t i = n; i > 3 && s[n - 1] == ']'; i--)
		if (!memcmp(s + i - 3, "  [", 3))
			return n - i + 3;
	return 0;
}

enum { FRAME = 24 }; /* columns that a remark leaves to the frame before it */

/* Writes the text without its remark, then the remark in the width that it may take. */
static void put_all(struct cut c, const char *s, size_t n)
{
	size_t more = remark(s, n),
	       most = (size_t)(c.width / 2 > c.width - FRAME ? c.width / 2 : c.width - FRAME);
	size_t room = more < most ? more : most;
	c.width -= (int)room;
	n -= more;
	if (n <= (size_t)c.width)
		snprintf(c.out, c.n, "%.*s", (int)n, s);
	else if (frame_end(s, n) < n)
		put_stack(&c, s, n);
	else
		put_ends(&c, s, n, place(s, n));
	if (!more)
		return;
	size_t at = strlen(c.out);
	struct cut r = { c.out + at, c.n - at, (int)room, c.mark, c.mark_width };
	if (more <= room)
		snprintf(r.out, r.n, "%.*s", (int)more, s + n);
	else
		put_ends(&r, s + n, more, 0);
}

char *tide__cut_name(const char *s, size_t len, int width, bool ascii, char *out, size_t n)
{
	if (!is_plain(s, len) || tide__columns(s, len) <= width)
		return tide__fmt_name(out, n, s, len, width);
	put_all((struct cut){ out, n, width, ascii ? ".." : "…", ascii ? 2 : 1 }, s, len);
	return out;
}
