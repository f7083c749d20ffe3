// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/ops/modules.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/common/short_names.h"

#define COLS(time, bytes)                                                                          \
	{ "calls", "Calls", TIDE_CELL_COUNT }, { "forward_ns", "Forward", TIDE_CELL_NS },          \
		{ "backward_ns", "Backward", TIDE_CELL_NS },                                       \
		{ "recompute_ns", time, TIDE_CELL_NS }, { "backward_ops", NULL, TIDE_CELL_COUNT }, \
		{ "recompute_calls", NULL, TIDE_CELL_COUNT },                                      \
		{ "forward_alloc_bytes", "Fwd alloc", TIDE_CELL_BYTES },                           \
		{ "backward_alloc_bytes", "Bwd alloc", TIDE_CELL_BYTES },                          \
		{ "recompute_alloc_bytes", bytes, TIDE_CELL_BYTES },                               \
		{ "module", "Module", TIDE_CELL_NAME },

/* Columns without recomputation, for most models, and with it. */
static const tide_grid_col cols[] = { COLS(NULL, NULL) };
static const tide_grid_col all_cols[] = { COLS("Recompute", "Recompute alloc") };
enum { N_COLS = sizeof cols / sizeof *cols };

static bool any_again(const tide_modules *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->rows[i].again_calls)
			return true;
	return false;
}

static uint64_t key_of(const tide_module_row *r, tide_modules_sort s)
{
	switch (s) {
	case TIDE_MODULES_FORWARD:
		return (uint64_t)r->forward_ns;
	case TIDE_MODULES_BACKWARD:
		return (uint64_t)r->backward_ns;
	case TIDE_MODULES_ALLOC:
		return r->forward_bytes + r->backward_bytes;
	case TIDE_MODULES_CALLS:
		return r->calls;
	default:
		return 0;
	}
}

struct item {
	uint64_t key;
	size_t row;
};

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static void put(tide_grid *g, bool known, uint64_t v)
{
	known ? tide__grid_uint(g, v) : tide__grid_none(g);
}

/* `names`: NULL = whole names, for JSON. */
static void put_row(tide_grid *g, const tide_model *m, const tide_modules *x,
		    const tide_module_row *r, const tide_short_names *names)
{
	char text[TIDE_SHORT_NAME];
	tide__grid_uint(g, r->calls);
	tide__grid_int(g, r->forward_ns);
	put(g, x->ops, (uint64_t)r->backward_ns);
	put(g, x->ops, (uint64_t)r->again_ns);
	put(g, x->ops, r->backward_ops);
	put(g, x->ops, r->again_calls);
	put(g, x->memory, r->forward_bytes);
	put(g, x->memory && x->ops, r->backward_bytes);
	put(g, x->memory && x->ops, r->again_bytes);
	if (names)
		tide__grid_textn(g, text, tide__short_module(names, r->name, false, text));
	else
		tide__grid_text(g, tide__module_text(m, r->name));
}

static tide_grid *rows(const tide_model *m, const tide_modules *x, const tide_modules_view *v,
		       const tide_short_names *names)
{
	struct item *items = malloc((x->n + 1) * sizeof *items);
	tide_grid *g = tide__grid_new(any_again(x) ? all_cols : cols, N_COLS);
	for (size_t i = 0; items && i < x->n; i++)
		items[i] = (struct item){ key_of(&x->rows[i], v->sort), i };
	if (items)
		qsort(items, x->n, sizeof *items, compare);
	for (size_t i = 0; items && i < x->n && (!v->top || i < v->top); i++)
		put_row(g, m, x, &x->rows[items[i].row], names);
	if (!items || tide__grid_failed(g)) {
		tide__grid_free(g);
		g = NULL;
	}
	free(items);
	return g;
}

tide_code tide__modules_text(const tide_model *m, const tide_modules *x, const tide_modules_view *v,
			     const tide_out *to)
{
	tide_short_names names;
	bool brief = tide__short_names_init(&names, m) && !to->style.full_names;
	tide_grid *g = rows(m, x, v, brief ? &names : NULL);
	tide__short_names_free(&names);
	if (!g)
		return TIDE_ENOMEM;
	if (!x->n)
		fputs("The trace holds no modules.\n", to->out);
	else
		tide__grid_print(g, to->out, &to->style, 0);
	if (x->n && !x->memory)
		fputs(TIDE_NO_MEMORY_TEXT, to->out);
	if (x->n > tide__grid_rows(g))
		fprintf(to->out, "(%zu more)\n", x->n - tide__grid_rows(g));
	tide__put_model_losses(to, m);
	tide__grid_free(g);
	return TIDE_OK;
}

tide_code tide__modules_json(const tide_model *m, const tide_modules *x, const tide_modules_view *v,
			     tide_json *j)
{
	tide_grid *g = rows(m, x, v, NULL);
	if (!g)
		return TIDE_ENOMEM;
	tide__json_object(j);
	tide__json_kuint(j, "count", x->n);
	tide__grid_write_member(g, j, "modules");
	tide__losses_json(j, m);
	tide__json_object_end(j);
	return TIDE_OK;
}
