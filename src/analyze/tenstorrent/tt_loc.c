// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Locations of operations as one line: names, files with line and column, fused locations, calls.
 * Aliases of the module are replaced by their text. */
#include <string.h>

#include "analyze/tenstorrent/tt_impl.h"

enum { HOPS = 8 }; /* aliases and locations inside locations */

typedef struct line {
	const tide_tt *t;
	uint32_t module;
	char *out;
	size_t n;
} line;

static void put(line *l, const char *s, size_t n)
{
	size_t room = TIDE_TT_LOC - l->n;
	n = n < room ? n : room;
	memcpy(l->out + l->n, s, n);
	l->n += n;
}

static tide_slice trim(tide_slice s)
{
	for (; s.n && *s.s == ' '; s.n--)
		s.s++;
	while (s.n && s.s[s.n - 1] == ' ')
		s.n--;
	return s;
}

static void put_loc(line *l, tide_slice loc, int hops);

/* "file":12:3, "name", "outer"("inner"): the string, and the numbers behind it. */
static void put_string(line *l, tide_slice loc)
{
	tide_slice name = tide__mlir_loc_name(loc);
	const char *p = name.s + name.n, *end = loc.s + loc.n;
	put(l, name.s, name.n);
	for (p += p < end; p < end && (*p == ':' || (*p >= '0' && *p <= '9')); p++)
		put(l, p, 1);
}

/* Adds a location behind `between`, unless one of the two is empty. */
static void put_next(line *l, size_t start, const char *between, tide_slice loc, int hops)
{
	size_t before = l->n;
	if (before > start)
		put(l, between, strlen(between));
	size_t from = l->n;
	put_loc(l, loc, hops);
	l->n = l->n == from ? before : l->n;
}

static void put_fused(line *l, tide_slice list, int hops)
{
	tide_slice one;
	for (size_t start = l->n; tide__mlir_next(&list, &one);)
		put_next(l, start, ", ", one, hops);
}

/* callsite("f":1:2 at "g":3:4) */
static void put_call(line *l, tide_slice in, int hops)
{
	const char *end = in.s + in.n, *at = end, *p = in.s;
	for (bool text = false; p < end && at == end;
	     p++) { /* the first outside of strings and brackets */
		if (*p == '\\' && text)
			p++;
		else if (*p == '"')
			text = !text;
		else if (!text && end - p > 4 && !memcmp(p, " at ", 4))
			at = p;
	}
	size_t start = l->n;
	put_loc(l, (tide_slice){ in.s, (size_t)(at - in.s) }, hops);
	if (at < end)
		put_next(l, start, " at ", (tide_slice){ at + 4, (size_t)(end - at - 4) }, hops);
}

static bool begins(tide_slice s, const char *word, size_t n)
{
	return s.n > n && !memcmp(s.s, word, n);
}

static void put_loc(line *l, tide_slice loc, int hops)
{
	loc = trim(loc);
	if (!loc.n || hops == HOPS)
		return;
	if (*loc.s == '"') {
		put_string(l, loc);
	} else if (*loc.s == '#') {
		tide_slice value = tide__tt_alias(l->t, l->module, loc);
		if (value.n > 5 && begins(value, "loc(", 4))
			put_loc(l, (tide_slice){ value.s + 4, value.n - 5 }, hops + 1);
	} else if (begins(loc, "callsite(", 9)) {
		put_call(l, (tide_slice){ loc.s + 9, loc.n - 10 }, hops + 1);
	} else if (begins(loc, "fused", 5) && loc.s[loc.n - 1] == ']') {
		tide_slice list = tide__mlir_last_list(loc);
		if (list.s)
			put_fused(l, list, hops + 1);
	}
}

tide_slice tide__tt_loc(const tide_tt *t, const tide_tt_op *o, const tide_mlir_op *p,
			char out[TIDE_TT_LOC])
{
	line l = { .t = t, .module = o->module, .out = out };
	if (p->loc.s)
		put_loc(&l, p->loc, 0);
	return l.n ? (tide_slice){ out, l.n } : tide__tt_function(p);
}
