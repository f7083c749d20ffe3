// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes a call stack in one short line for tables in text: the innermost line of the user, the Python
 * frame of a library that it led to, and the user's frames around it; without Python the frame that
 * names the stack (tide__stack_main_frame). Two stacks may have the same short text: tables add their difference
 * (tide__stack_differs); JSON has them in full. */
#include <inttypes.h>
#include <string.h>

#include "analyze/common/stacks.h"
#include "render/text/labels.h"

enum { MAX_FRAMES = 5 };

static bool is_python(const tide_model *m, tide_frame_id f)
{
	size_t n;
	const char *file = tide__text(m, m->frames.file[f.i], &n);
	return n > 3 && !memcmp(file + n - 3, ".py", 3);
}

/* Returns the innermost stack node with a Python frame, or none. */
static tide_stack_id innermost_python(const tide_model *m, tide_stack_id s)
{
	while (s.i && !is_python(m, m->stacks.frame[s.i]))
		s = m->stacks.parent[s.i];
	return s;
}

static void put_frame(const tide_model *m, tide_frame_id f, FILE *out)
{
	char text[1024];
	fputs(tide__frame_name(m, f, text, sizeof text), out);
}

/* Returns true for the stack of a forward op that was given to its backward op
 * (import/tide/forward_backward.h). */
static bool is_backward(const tide_model *m, tide_stack_id s)
{
	tide_frame_id f = m->stacks.frame[s.i];
	return !m->frames.file[f.i].i &&
	       !strcmp(tide__text(m, m->frames.function[f.i], NULL), "[backward]");
}

/* Returns the innermost stack node with a frame of the user, or none. */
static tide_stack_id innermost_user(const tide_model *m, tide_stack_id s)
{
	while (s.i && !tide__frame_is_user(m, m->stacks.frame[s.i]))
		s = m->stacks.parent[s.i];
	return s;
}

void tide__stack_write_brief(const tide_model *m, tide_stack_id s, FILE *out)
{
	tide_stack_id python = innermost_python(m, s), at = innermost_user(m, python);
	unsigned shown = 1;
	if (!s.i) {
		fputs("(no stack)", out);
		return;
	}
	if (is_backward(m, s))
		fputs("[backward] < ", out);
	if (at.i) {
		put_frame(m, m->stacks.frame[at.i], out);
		fputs(at.i == python.i ? "" : ", in ", out);
	}
	if (at.i != python.i || !at.i)
		put_frame(m, python.i ? m->stacks.frame[python.i] : tide__stack_main_frame(m, s),
			  out);
	while (at.i && (at = innermost_user(m, m->stacks.parent[at.i])).i) {
		fputs(" < ", out);
		if (shown++ == MAX_FRAMES) {
			fputs("...", out);
			return;
		}
		put_frame(m, m->stacks.frame[at.i], out);
	}
}

tide_frame_id tide__stack_differs(const tide_model *m, tide_stack_id a, tide_stack_id b)
{
	for (; a.i && b.i && a.i != b.i; a = m->stacks.parent[a.i], b = m->stacks.parent[b.i])
		if (m->stacks.frame[a.i].i != m->stacks.frame[b.i].i)
			return m->stacks.frame[a.i];
	return m->stacks.frame[a.i == b.i ? 0 : a.i];
}

/* ---- paths of a flame graph ---- */

/* The parts of a node's "function (file:line)". */
struct place {
	const char *function, *file; /* not terminated */
	size_t n_function, n_file;   /* without the line */
	size_t n_line;		     /* bytes after the file, ":34" */
};

static struct place place_of(const tide_flame *f, uint32_t node)
{
	size_t n;
	const char *s = tide__flame_name(f, node, &n), *at = NULL;
	for (size_t i = 0; n && s[n - 1] == ')' && i + 1 < n; i++)
		if (s[i] == ' ' && s[i + 1] == '(')
			at = s + i; /* the last one */
	if (!at)
		return (struct place){ .function = s, .n_function = n };
	struct place p = { s, at + 2, (size_t)(at - s), n - (size_t)(at - s) - 3, 0 };
	size_t k = p.n_file;
	while (k && p.file[k - 1] >= '0' && p.file[k - 1] <= '9')
		k--;
	if (k && p.file[k - 1] == ':') {
		p.n_line = p.n_file - k + 1;
		p.n_file = k - 1;
	}
	return p;
}

static bool place_is_python(const struct place *p)
{
	return p->n_file > 3 && !memcmp(p->file + p->n_file - 3, ".py", 3);
}

/* Writes the beginning of a text that is too long for a line. */
static void put_some(const char *s, size_t n, FILE *out)
{
	enum { MOST = 512 };
	bool cut = n > MOST;
	for (n = cut ? MOST : n; cut && n > MOST - 4 && ((unsigned char)s[n] & 0xc0) == 0x80;)
		n--; /* not inside a character */
	fwrite(s, 1, n, out);
	fputs(cut ? "..." : "", out);
}

static void put_place(const struct place *p, FILE *out)
{
	size_t base = 0;
	for (size_t i = 0; i + 1 < p->n_file; i++)
		if (p->file[i] == '/' || p->file[i] == '\\')
			base = i + 1;
	put_some(p->function, p->n_function, out);
	if (p->n_line) {
		fputs(" (", out);
		put_some(p->file + base, p->n_file - base, out);
		fwrite(p->file + p->n_file, 1, p->n_line, out);
		fputc(')', out);
	}
}

/* Writes the native function that represents a path best, the innermost of equals. */
static void put_native(const tide_flame *f, uint32_t node, uint32_t root, FILE *out)
{
	struct place best = place_of(f, node);
	int rank = tide__native_rank(best.function, best.n_function);
	for (uint32_t i = node; i != root && i; i = f->nodes.parent[i]) {
		struct place p = place_of(f, i);
		int r = tide__native_rank(p.function, p.n_function);
		if (r > rank) {
			rank = r;
			best = p;
		}
	}
	put_some(best.function, tide__bare_name(best.function, best.n_function), out);
}

void tide__path_write_brief(const tide_flame *f, uint32_t node, uint32_t root, FILE *out)
{
	unsigned shown = 0;
	struct place library = { 0 }; /* the innermost Python frame, if it is not the user's */
	for (uint32_t i = node; i != root && i; i = f->nodes.parent[i]) {
		struct place p = place_of(f, i);
		bool user = place_is_python(&p) && tide__file_is_user(p.file, p.n_file);
		if (!shown && !library.function && place_is_python(&p) && !user)
			library = p;
		if (!user)
			continue;
		fputs(shown ? " < " : "", out);
		if (shown++ == MAX_FRAMES) {
			fputs("...", out);
			return;
		}
		put_place(&p, out);
		if (shown == 1 && library.function) {
			fputs(", in ", out);
			put_place(&library, out);
		}
	}
	if (!shown && library.function)
		put_place(&library, out);
	else if (!shown && node != root)
		put_native(f, node, root, out);
}

/* Writes "encoder.layers.*.fc1  addmm  (6x)". */
static void put_short_name(const tide_groups *g, size_t row, FILE *out)
{
	char text[TIDE_SHORT_NAME];
	uint32_t modules;
	fputs(tide__groups_short_name(g, row, text, &modules), out);
	if (modules > 1)
		fprintf(out, "  (%" PRIu32 "x)", modules);
}

void tide__groups_write_brief(const tide_groups *g, const tide_model *m, size_t row,
			      tide_long *longs, FILE *out)
{
	bool before = g->rows[row].key == TIDE_GROUP_BEFORE;
	uint32_t key = before ? 0 : (uint32_t)g->rows[row].key;
	if ((g->by == TIDE_BY_OP || g->by == TIDE_BY_MODULE) && key)
		put_short_name(g, row, out);
	else if (g->by == TIDE_BY_STACK && !before)
		tide__stack_write_brief(m, (tide_stack_id){ key }, out);
	else if (g->by == TIDE_BY_FRAME && key)
		put_frame(m, (tide_frame_id){ key }, out);
	else
		tide__groups_write_label(g, m, row, longs, out);
}
