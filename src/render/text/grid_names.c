// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Short names in a table: kernels by their rules, other texts cut to the width of their column. Two
 * different names that would look alike get a number of the whole name (kernel_name.h). */
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "render/text/cut_name.h"
#include "render/text/format.h"
#include "render/text/grid_impl.h"
#include "render/text/kernel_name.h"

enum { TAG = 6 }; /* columns of " #1a2b" */

static const char *cell_text(const tide_grid *g, size_t row, size_t k, size_t *n)
{
	const struct cell *c = &g->cells[row * g->n_cols + k];
	*n = c->kind == TEXT ? c->len : 0;
	return c->kind == TEXT ? g->text + c->at : "";
}

static uint64_t hash_of(const char *s)
{
	uint64_t h = 0;
	for (; *s; s++)
		h = tide__mix(h ^ (unsigned char)*s);
	return h + !h;
}

static bool same_text(const tide_grid *g, size_t a, size_t b, size_t k)
{
	size_t n[2];
	const char *x = cell_text(g, a, k, &n[0]), *y = cell_text(g, b, k, &n[1]);
	return n[0] == n[1] && !memcmp(x, y, n[0]);
}

/* Returns a copy of the grid; NULL if memory runs out. */
static tide_grid *copy_of(const tide_grid *g)
{
	tide_grid *c = tide__grid_new(g->cols, g->n_cols);
	if (!c)
		return NULL;
	c->cells = tide__alloc(g->n + 1, sizeof *c->cells);
	c->text = tide__alloc(g->n_text + 1, 1);
	if (!c->cells || !c->text) {
		tide__grid_free(c);
		return NULL;
	}
	c->cap = c->n = g->n;
	c->cap_text = c->n_text = g->n_text;
	memcpy(c->cells, g->cells, g->n * sizeof *c->cells);
	memcpy(c->text, g->text, g->n_text);
	return c;
}

/* Replaces a text; running out of memory is sticky. */
static void set_text(tide_grid *c, size_t row, size_t k, const char *s)
{
	struct cell *at = &c->cells[row * c->n_cols + k];
	size_t n = strlen(s);
	if (c->failed || at->kind != TEXT)
		return;
	c->failed = !TIDE_ROOM(c->text, c->cap_text, c->n_text + n + 1);
	if (c->failed)
		return;
	memcpy(c->text + c->n_text, s, n);
	at->at = c->n_text;
	at->len = (uint32_t)n;
	c->n_text += n;
}

/* Writes the text of a row in short form; `tagged`: with room for a number, which it adds. */
typedef void shortener(const tide_grid *g, size_t row, size_t k, bool tagged, const void *user,
		       char out[TIDE_CUT_NAME]);

/* Replaces the texts of column k of the copy by short ones; different texts stay different. */
static bool shorten(const tide_grid *g, tide_grid *c, size_t k, shortener *shorter,
		    const void *user)
{
	char text[TIDE_CUT_NAME];
	tide_map first = { 0 },
		 twice = { 0 }; /* hash of a short text -> row + 1; several have it */
	bool ok = true;
	for (size_t r = 0; ok && r < tide__grid_rows(g); r++) {
		shorter(g, r, k, false, user, text);
		uint64_t h = hash_of(text);
		uint32_t was = tide__map_get(&first, h);
		if (!was)
			ok = tide__map_put(&first, h, (uint32_t)r + 1);
		else if (!same_text(g, r, was - 1, k))
			ok = tide__map_put(&twice, h, 1);
	}
	for (size_t r = 0; ok && r < tide__grid_rows(g); r++) {
		shorter(g, r, k, false, user, text);
		if (tide__map_get(&twice, hash_of(text)))
			shorter(g, r, k, true, user, text);
		set_text(c, r, k, text);
	}
	tide__map_free(&first);
	tide__map_free(&twice);
	return ok && !c->failed;
}

/* Adds the number of the whole text. */
static void add_tag(const tide_grid *g, size_t row, size_t k, char *text)
{
	size_t n, at = strlen(text);
	const char *whole = cell_text(g, row, k, &n);
	text[at++] = ' ';
	tide__kernel_write_tag(whole, n, text + at);
}

/* Applies a shortener to the chosen columns. Returns NULL if none is chosen or memory runs out. */
static tide_grid *shortened(const tide_grid *g,
			    bool (*chosen)(const tide_grid *, size_t, const void *),
			    shortener *shorter, const void *user)
{
	tide_grid *c = NULL;
	bool ok = true;
	for (size_t k = 0; ok && k < g->n_cols; k++) {
		if (!chosen(g, k, user))
			continue;
		c = c ? c : copy_of(g);
		ok = c && shorten(g, c, k, shorter, user);
	}
	if (ok)
		return c;
	tide__grid_free(c);
	return NULL;
}

/* ---- kernels ---- */

static bool is_kernel(const tide_grid *g, size_t k, const void *user)
{
	(void)user;
	return g->cols[k].kind == TIDE_CELL_KERNEL;
}

static void shorten_kernel(const tide_grid *g, size_t row, size_t k, bool tagged, const void *user,
			   char out[TIDE_CUT_NAME])
{
	size_t n;
	const char *text = cell_text(g, row, k, &n);
	(void)user;
	tide__kernel_shorten(text, n, out);
	if (tagged)
		add_tag(g, row, k, out);
}

tide_grid *tide__grid_short_kernels(const tide_grid *g)
{
	return shortened(g, is_kernel, shorten_kernel, NULL);
}

/* ---- columns that are too narrow ---- */

struct widths {
	const int *w;
	const tide_style *style;
};

static int cut_width(const tide_grid *g, size_t k, const struct widths *x)
{
	tide_kind type = g->cols[k].kind;
	bool name = type == TIDE_CELL_NAME || type == TIDE_CELL_KERNEL;
	bool text = name || type == TIDE_KIND_TEXT || type == TIDE_KIND_WORD;
	bool cut = x->style->width ? text : name && !x->style->full_names;
	return cut && x->w[k] != TIDE_GRID_GONE && x->w[k] < TIDE_CUT_NAME / 5 ? x->w[k] : 0;
}

static bool is_cut(const tide_grid *g, size_t k, const void *user)
{
	int w = cut_width(g, k, user);
	size_t n;
	for (size_t r = 0; w && r < tide__grid_rows(g); r++) {
		const char *text = cell_text(g, r, k, &n);
		if (tide__columns(text, n) > w)
			return true;
	}
	return false;
}

/* The blanks before a name are its depth in a tree: they are kept. */
static void cut_cell(const tide_grid *g, size_t row, size_t k, bool tagged, const void *user,
		     char out[TIDE_CUT_NAME])
{
	const struct widths *x = user;
	int w = cut_width(g, k, x) - (tagged ? TAG : 0);
	size_t n, in = 0;
	const char *text = cell_text(g, row, k, &n);
	while (in < n && in < (size_t)w / 2 && text[in] == ' ')
		out[in++] = ' ';
	tide__cut_name(text + in, n - in, w - (int)in, x->style->ascii, out + in,
		       TIDE_CUT_NAME - in - TAG - 2);
	if (tagged)
		add_tag(g, row, k, out);
}

tide_grid *tide__grid_cut_names(const tide_grid *g, const int *w, const tide_style *style)
{
	const struct widths x = { w, style };
	return shortened(g, is_cut, cut_cell, &x);
}
