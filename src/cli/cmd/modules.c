// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* modules: what each module of a model took in time and memory, forward and backward. */
#include <stdlib.h>
#include <string.h>

#include "analyze/ops/modules.h"
#include "cli/cli.h"

enum { O_SORT, O_TOP, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_SORT] = { "sort", 's', TIDE_OPT_ENUM, "order,forward,backward,alloc,calls",
		     "order of the rows (default: order, of the first call)" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows to show, 0 = all; JSON has all unless given", .def = "40" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};
enum sort { S_ORDER, S_FORWARD, S_BACKWARD, S_ALLOC, S_CALLS };

static const tide_grid_col cols[] = {
	{ "calls", "Calls", TIDE_CELL_COUNT },
	{ "forward_ns", "Forward", TIDE_CELL_NS },
	{ "backward_ns", "Backward", TIDE_CELL_NS },
	{ "backward_ops", NULL, TIDE_CELL_COUNT },
	{ "forward_alloc_bytes", "Fwd alloc", TIDE_CELL_BYTES },
	{ "backward_alloc_bytes", "Bwd alloc", TIDE_CELL_BYTES },
	{ "module", "Module", TIDE_CELL_TEXT },
};
enum { N_COLS = sizeof cols / sizeof *cols };

static uint64_t key_of(const tide_module_row *r, enum sort s)
{
	switch (s) {
	case S_FORWARD:
		return (uint64_t)r->forward_ns;
	case S_BACKWARD:
		return (uint64_t)r->backward_ns;
	case S_ALLOC:
		return r->forward_bytes + r->backward_bytes;
	case S_CALLS:
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

static void put_row(tide_grid *g, const tide_model *m, const tide_module_row *r)
{
	tide__grid_uint(g, r->calls);
	tide__grid_int(g, r->forward_ns);
	tide__grid_int(g, r->backward_ns);
	tide__grid_uint(g, r->backward_ops);
	tide__grid_uint(g, r->forward_bytes);
	tide__grid_uint(g, r->backward_bytes);
	tide__grid_text(g, tide__module_text(m, r->name));
}

static tide_grid *rows(const tide_args *a, const tide_model *m, const tide_modules *x)
{
	size_t top = tide__cli_top(&a->opt[O_TOP], a->opt[O_JSON].set);
	struct item *items = malloc((x->n + 1) * sizeof *items);
	tide_grid *g = tide__grid_new(cols, N_COLS);
	for (size_t i = 0; items && i < x->n; i++)
		items[i] = (struct item){ key_of(&x->rows[i], (enum sort)a->opt[O_SORT].num), i };
	if (items)
		qsort(items, x->n, sizeof *items, compare);
	for (size_t i = 0; items && i < x->n && (!top || i < top); i++)
		put_row(g, m, &x->rows[items[i].row]);
	if (!items) {
		tide__grid_free(g);
		g = NULL;
	}
	free(items);
	return g;
}

static int print(const tide_args *a, const tide_model *m, const tide_modules *x, tide_grid *g)
{
	if (a->opt[O_JSON].set) {
		tide_json j;
		tide__json_begin(&j, a->out, true);
		tide__json_object(&j);
		tide__json_kuint(&j, "count", x->n);
		tide__json_key(&j, "modules");
		tide__grid_json(g, &j);
		tide__losses_json(&j, m);
		tide__json_object_end(&j);
		return tide__cli_json_end(a, &j);
	}
	if (!x->n)
		fputs("The trace holds no modules.\n", a->out);
	else
		tide__grid_print(g, a->out, &a->style, 0);
	if (x->n > tide__grid_rows(g))
		fprintf(a->out, "(%zu more)\n", x->n - tide__grid_rows(g));
	tide__cli_losses(a, m);
	return tide__cli_done(a);
}

static int run(const tide_args *a)
{
	tide_modules x = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_model *m = tide__cli_load(a, a->files[0],
				       TIDE_WANT_SPANS | TIDE_WANT_MEMORY | TIDE_WANT_FLOWS);
	if (!m)
		return 1;
	tide_code code = tide__modules(m, &x, &err);
	tide_grid *g = code ? NULL : rows(a, m, &x);
	if (!code && (!g || tide__grid_failed(g)))
		err = (tide_error){ .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	int rc = g && !err.code ? print(a, m, &x, g) : tide__cli_fail(a->files[0], &err);
	tide__grid_free(g);
	tide__modules_free(&x);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_modules = {
	.name = "modules",
	.usage = "FILE [--sort WORD] [--top N] [--json]",
	.summary = "show what each module of a model took, forward and backward",
	.help = "Time and allocations of a module include those of the modules in it. A backward "
		"op "
		"counts for the modules around the forward op that it belongs to.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
};
