// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/tenstorrent/tt_ir.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"

typedef struct alias {
	tide_slice name, loc;
} alias;

static int compare_slices(tide_slice a, tide_slice b)
{
	int d = memcmp(a.s, b.s, a.n < b.n ? a.n : b.n);
	return d ? d : (a.n > b.n) - (a.n < b.n);
}

static int by_name(const void *a, const void *b)
{
	const alias *x = a, *y = b;
	return compare_slices(x->name, y->name);
}

static int by_loc(const void *a, const void *b)
{
	const tide_tt_ir_line *x = a, *y = b;
	int d = compare_slices(x->loc, y->loc);
	return d ? d : (x->rank > y->rank) - (x->rank < y->rank);
}

typedef struct walk {
	tide_tt_ir *ir;
	alias *aliases;
	size_t n_aliases, cap_aliases, cap;
	bool ok;
} walk;

static void put(walk *w, tide_slice loc, uint32_t line, uint32_t kind)
{
	if (!loc.n || !w->ok)
		return;
	w->ok = TIDE_ROOM(w->ir->lines, w->cap, w->ir->n + 1);
	if (w->ok)
		w->ir->lines[w->ir->n++] =
			(tide_tt_ir_line){ loc, line, (uint64_t)kind << 32 | line };
}

static tide_slice rest_of(const char *p, const char *end, char to)
{
	const char *e = memchr(p, to, (size_t)(end - p));
	return (tide_slice){ p, e ? (size_t)(e - p) : 0 };
}

/* Remembers an alias such as "#loc5 = loc("add.3")" in the first pass. Returns false for any other
 * line. */
static bool definition(walk *w, const char *s, const char *end)
{
	while (s < end && *s == ' ')
		s++;
	if (end - s < 5 || memcmp(s, "#loc", 4))
		return false;
	const char *p = memmem(s, (size_t)(end - s), "= loc(\"", 7);
	const char *to = memchr(s, ' ', (size_t)(end - s));
	if (!p || !to)
		return true;
	w->ok &= TIDE_ROOM(w->aliases, w->cap_aliases, w->n_aliases + 1);
	if (w->ok)
		w->aliases[w->n_aliases++] =
			(alias){ { s, (size_t)(to - s) }, rest_of(p + 7, end, '"') };
	return true;
}

/* Notes the locations of a line: aliases first, then texts in place, then functions of load_cached.
 * The first line with a location keeps it. */
static void operation(walk *w, const char *s, const char *end, uint32_t line)
{
	const char *p = memmem(s, (size_t)(end - s), "loc(#", 5);
	if (p) {
		alias key = { rest_of(p + 4, end, ')'), { NULL, 0 } };
		const alias *a =
			key.name.n && w->n_aliases
				? bsearch(&key, w->aliases, w->n_aliases, sizeof key, by_name)
				: NULL;
		if (a)
			put(w, a->loc, line, 0);
	}
	for (p = s; (p = memmem(p, (size_t)(end - p), "loc(\"", 5)); p += 5)
		put(w, rest_of(p + 5, end, '"'), line, 1);
	p = memmem(s, (size_t)(end - s), "load_cached(@", 13);
	if (p) {
		const char *from = p + 12, *to = from + 1;
		while (to < end && *to != ',' && *to != ')' && *to != ' ')
			to++;
		put(w, (tide_slice){ from, (size_t)(to - from) }, line, 2);
	}
}

static void each_line(walk *w, tide_slice text, bool defs)
{
	const char *s = text.s, *end = text.s + text.n;
	for (uint32_t line = 1; w->ok && s < end; line++) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		nl = nl ? nl : end;
		if (defs)
			definition(w, s, nl);
		else if (s == nl || !(memmem(s, (size_t)(nl - s), "#loc", 4) && *s == '#'))
			operation(w, s, nl, line);
		s = nl + 1;
	}
}

bool tide__tt_ir_find(const tide_model *m, const char *kind, tide_tt_ir *out)
{
	const tide_documents *d = &m->documents;
	walk w = { .ir = out, .ok = true };
	size_t i = 0, k = 0;
	*out = (tide_tt_ir){ { "", 0 }, NULL, 0 };
	while (i < d->n && strcmp(tide__text(m, d->kind[i], NULL), kind))
		i++;
	if (i == d->n)
		return true;
	out->text.s = tide__text(m, d->text[i], &out->text.n);
	each_line(&w, out->text, true);
	if (w.n_aliases)
		qsort(w.aliases, w.n_aliases, sizeof *w.aliases, by_name);
	each_line(&w, out->text, false);
	if (out->n)
		qsort(out->lines, out->n, sizeof *out->lines, by_loc);
	for (i = 0; i < out->n; i++) {
		bool same = k && !compare_slices(out->lines[k - 1].loc, out->lines[i].loc);
		if (!same)
			out->lines[k++] = out->lines[i];
	}
	out->n = k;
	tide__free(w.aliases);
	return w.ok;
}

void tide__tt_ir_free(tide_tt_ir *ir)
{
	tide__free(ir->lines);
	ir->lines = NULL;
	ir->n = 0;
}

uint32_t tide__tt_ir_line_of(const tide_tt_ir *ir, tide_slice loc)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, loc.n ? ir->n : 0, mid, compare_slices(ir->lines[mid].loc, loc) < 0);
	bool hit = loc.n && lo < ir->n && !compare_slices(ir->lines[lo].loc, loc);
	return hit ? ir->lines[lo].line : 0;
}
