// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* ops: the op tree, or a flat table by name. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ops/op_tree.h"
#include "cli/select.h"
#include "render/text/out.h"

enum { O_FLAT, O_SORT, O_TOP, O_DEPTH, O_ALL, O_DEVICE, O_STREAMS, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_FLAT] = { "flat", 'f', TIDE_OPT_FLAG, NULL, "one row per name instead of a tree" },
	[O_SORT] = { "sort", 's', TIDE_OPT_ENUM,
		     "order,wall,self,count,alloc,free,change,peak,name",
		     "order of the rows (default: order, of first appearance; flat: wall)" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows below each op, or in all with --flat; 0 = all; JSON has all unless given",
		    .def = "20" },
	[O_DEPTH] = { "depth", 'D', TIDE_OPT_INT, "N", "levels of the tree to show (default all)",
		      .least = 1 },
	[O_ALL] = { "all", 'a', TIDE_OPT_FLAG, NULL,
		    "every row, however many (default: the 100 that matter most; all with "
		    "--json)" },
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_STREAMS] = { "streams", 0, TIDE_OPT_FLAG, NULL,
			"also rows of devices: kernels, copies, waits" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_PAGE,
};

enum sort { S_ORDER, S_WALL, S_SELF, S_COUNT, S_ALLOC, S_FREE, S_CHANGE, S_PEAK, S_NAME };

struct report {
	const tide_args *a;
	const tide_model *m;
	tide_optree tree;
	tide_op_flat flat;
	uint32_t device;
	enum sort sort;
	size_t top;	      /* SIZE_MAX = all */
	size_t depth;	      /* SIZE_MAX = all */
	bool *keep;	      /* owned; per node, NULL = all are shown */
	tide_op_row greatest; /* figures that weights are shares of; count 0: not asked for yet */
	size_t hidden;
	tide_grid *g;
};

/* ---- order ---- */

struct item {
	int64_t key;
	const char *name;
	uint32_t at; /* node or row */
};

static int64_t sort_key(enum sort s, const tide_op_row *r)
{
	switch (s) {
	case S_WALL:
		return r->all.ns;
	case S_SELF:
		return r->self.ns;
	case S_COUNT:
		return (int64_t)r->count;
	case S_ALLOC:
		return (int64_t)r->all.alloc_bytes;
	case S_FREE:
		return (int64_t)r->all.free_bytes;
	case S_CHANGE:
		return (int64_t)(r->all.alloc_bytes - r->all.free_bytes);
	case S_PEAK:
		return (int64_t)r->peak;
	default:
		return 0;
	}
}

/* Greatest key first; equals by name when that is the order, then by first appearance. */
static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	int c = x->name ? strcmp(x->name, y->name) : 0;
	return c ? c : x->at < y->at ? -1 : x->at > y->at;
}

static struct item item_of(const struct report *r, const tide_op_row *row, tide_str name,
			   uint32_t at)
{
	return (struct item){ sort_key(r->sort, row),
			      r->sort == S_NAME ? tide__text(r->m, name, NULL) : NULL, at };
}

/* ---- rows ---- */

static const tide_grid_col cols[] = {
	{ "count", "Count", TIDE_CELL_COUNT },
	{ "open", NULL, TIDE_CELL_COUNT },
	{ "wall_ns", "Wall", TIDE_CELL_NS },
	{ "self_ns", "Self", TIDE_CELL_NS, 4 },
	{ "allocs", NULL, TIDE_CELL_COUNT },
	{ "frees", NULL, TIDE_CELL_COUNT },
	{ "alloc_bytes", "Allocated", TIDE_CELL_BYTES, 8 },
	{ "free_bytes", "Freed", TIDE_CELL_BYTES, 9 },
	{ "change_bytes", "Change", TIDE_CELL_DELTA },
	{ "self_change_bytes", NULL, TIDE_CELL_DELTA },
	{ "peak_bytes", "Peak", TIDE_CELL_BYTES, 3 },
	{ "op", "Op", TIDE_CELL_TEXT },
	{ "path", NULL, TIDE_CELL_TEXT },
	{ "id", NULL, TIDE_CELL_COUNT },
	{ "parent", NULL, TIDE_CELL_COUNT },
	{ "depth", NULL, TIDE_CELL_COUNT },
};
enum { N_COLS = sizeof cols / sizeof *cols };

static void figures(tide_grid *g, const tide_op_row *r)
{
	tide__grid_uint(g, r->count);
	tide__grid_uint(g, r->open);
	tide__grid_int(g, r->all.ns);
	tide__grid_int(g, r->self.ns);
	tide__grid_uint(g, r->all.allocs);
	tide__grid_uint(g, r->all.frees);
	tide__grid_uint(g, r->all.alloc_bytes);
	tide__grid_uint(g, r->all.free_bytes);
	tide__grid_int(g, (int64_t)(r->all.alloc_bytes - r->all.free_bytes));
	tide__grid_int(g, (int64_t)(r->self.alloc_bytes - r->self.free_bytes));
	tide__grid_uint(g, r->peak);
}

/* How far a level's names move in. A terminal has little room: less from the ninth level on, and
 * none from the seventeenth, where the level's number stands before the name. */
static int indent_of(const struct report *r, size_t depth, char *level, size_t n)
{
	enum { WIDE = 8, ALL = 16 };
	*level = 0;
	if (!r->a->style.width || depth <= WIDE)
		return (int)(depth < 40 ? depth * 2 : 80);
	if (depth > ALL)
		snprintf(level, n, "[%zu] ", depth + 1);
	return (int)(WIDE + (depth < ALL ? depth : ALL));
}

static void name_text(tide_grid *g, const struct report *r, tide_str name, size_t depth)
{
	char buf[600], level[32];
	size_t n;
	const char *text = tide__text(r->m, name, &n);
	if (r->a->opt[O_JSON].set || !depth) {
		n ? tide__grid_name(g, r->m->strings, name.i) : tide__grid_text(g, "(unnamed)");
		return;
	}
	int pad = indent_of(r, depth, level, sizeof level);
	size_t at = (size_t)snprintf(buf, sizeof buf, "%*s%s", pad, "", level);
	size_t keep = n < sizeof buf - at ? n : sizeof buf - at;
	memcpy(buf + at, text, keep);
	tide__grid_textn(g, buf, at + keep);
}

static void node_row(struct report *r, uint32_t node, size_t depth)
{
	char path[4096];
	figures(r->g, &r->tree.rows[node]);
	name_text(r->g, r, r->tree.paths.name[node], depth);
	if (r->a->opt[O_JSON].set)
		tide__grid_text(r->g,
				tide__paths_text(&r->tree.paths, r->m, node, path, sizeof path));
	else
		tide__grid_none(r->g);
	tide__grid_uint(r->g, node);
	tide__grid_uint(r->g, r->tree.paths.parent[node]);
	tide__grid_uint(r->g, depth);
}

/* What a row that is not shown adds to the "(N more)" row. */
static void fold(tide_op_row *to, const tide_op_row *r)
{
	to->count += r->count;
	to->all.ns += r->all.ns;
	to->self.ns += r->self.ns;
	to->all.alloc_bytes += r->all.alloc_bytes;
	to->all.free_bytes += r->all.free_bytes;
	if (r->peak > to->peak)
		to->peak = r->peak;
}

static void more_row(struct report *r, const tide_op_row *rest, size_t left, size_t depth)
{
	char text[160], level[32];
	figures(r->g, rest);
	int pad = indent_of(r, depth, level, sizeof level);
	snprintf(text, sizeof text, "%*s%s(%zu more)", pad, "", level, left);
	tide__grid_text(r->g, text);
	for (int k = 12; k < N_COLS; k++)
		tide__grid_none(r->g);
}

/* ---- the rows that matter ---- */

enum { DIGEST = 100 };

static int64_t share(uint64_t part, uint64_t whole)
{
	return whole ? (int64_t)(1e9 * (double)part / (double)whole) : 0;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Share of the greatest time, bytes allocated or peak of any op, whichever is largest. */
static int64_t weight(const tide_op_row *r, const tide_op_row *top)
{
	int64_t ns = share((uint64_t)most(r->all.ns, 0), (uint64_t)most(top->all.ns, 0));
	return most(ns, most(share(r->all.alloc_bytes, top->all.alloc_bytes),
			     share(r->peak, top->peak)));
}

static tide_op_row greatest(const tide_optree *t)
{
	tide_op_row top = { 0 };
	for (size_t i = 1; i < t->n; i++) {
		const tide_op_row *r = &t->rows[i];
		top.all.ns = most(top.all.ns, r->all.ns);
		if (r->all.alloc_bytes > top.all.alloc_bytes)
			top.all.alloc_bytes = r->all.alloc_bytes;
		if (r->peak > top.peak)
			top.peak = r->peak;
	}
	return top;
}

/* Keep the DIGEST heaviest nodes and what is around them. */
static bool digest(struct report *r)
{
	const tide_optree *t = &r->tree;
	if (t->n <= DIGEST + 1)
		return true;
	struct item *items = malloc(t->n * sizeof *items);
	tide_op_row top = greatest(t);
	r->keep = calloc(t->n, sizeof *r->keep);
	bool ok = items && r->keep;
	for (uint32_t i = 1; ok && i < t->n; i++)
		items[i - 1] = (struct item){ weight(&t->rows[i], &top), NULL, i };
	if (ok)
		qsort(items, t->n - 1, sizeof *items, compare);
	r->hidden = t->n - 1;
	for (size_t i = 0; ok && i < DIGEST; i++)
		for (uint32_t n = items[i].at; n && !r->keep[n]; n = t->paths.parent[n]) {
			r->keep[n] = true;
			r->hidden--;
		}
	free(items);
	return ok;
}

/* ---- tree ---- */

struct level { /* one open level of the walk */
	struct item *items;
	size_t n, at;
};

/* Those that --top leaves are the heaviest, in the order of first appearance. */
static void heaviest_first(struct report *r, struct level *l)
{
	if (!r->greatest.count) {
		r->greatest = greatest(&r->tree);
		r->greatest.count = 1;
	}
	for (size_t i = 0; i < l->n; i++)
		l->items[i].key = weight(&r->tree.rows[l->items[i].at], &r->greatest);
	qsort(l->items, l->n, sizeof *l->items, compare);
	for (size_t i = 0; i < r->top; i++)
		l->items[i].key = 0;
	qsort(l->items, r->top, sizeof *l->items, compare);
}

static bool children(struct report *r, uint32_t node, struct level *l)
{
	size_t n = 0;
	for (uint32_t c = r->tree.first[node]; c; c = r->tree.next[c])
		n++;
	*l = (struct level){ .items = malloc(n * sizeof *l->items + 1) };
	if (!l->items)
		return false;
	for (uint32_t c = r->tree.first[node]; c; c = r->tree.next[c])
		if (!r->keep || r->keep[c])
			l->items[l->n++] = item_of(r, &r->tree.rows[c], r->tree.paths.name[c], c);
	if (r->sort != S_ORDER)
		qsort(l->items, l->n, sizeof *l->items, compare);
	else if (l->n > r->top)
		heaviest_first(r, l);
	return true;
}

static void more_nodes(struct report *r, const struct level *l, size_t depth)
{
	tide_op_row rest = { 0 };
	for (size_t i = l->at; i < l->n; i++)
		fold(&rest, &r->tree.rows[l->items[i].at]);
	more_row(r, &rest, l->n - l->at, depth);
}

/* Depth first, without recursion: input decides how deep it goes. */
static bool walk(struct report *r)
{
	size_t n = 0, cap = 16;
	struct level *stack = malloc(cap * sizeof *stack);
	bool ok = stack && children(r, 0, &stack[0]);
	n = ok;
	while (n && ok) {
		struct level *l = &stack[n - 1];
		bool full = l->at == r->top && l->at < l->n;
		if (l->at == l->n || full) {
			if (full && !r->a->opt[O_JSON].set)
				more_nodes(r, l, n - 1);
			free(l->items);
			n--;
			continue;
		}
		uint32_t node = l->items[l->at++].at;
		node_row(r, node, n - 1);
		if (n >= r->depth || !r->tree.first[node])
			continue;
		if (n == cap) {
			struct level *more = realloc(stack, (cap *= 2) * sizeof *stack);
			if (!(ok = more != NULL))
				break;
			stack = more;
		}
		ok = children(r, node, &stack[n]);
		n += ok;
	}
	while (stack && n)
		free(stack[--n].items);
	free(stack);
	return ok;
}

/* ---- flat ---- */

static bool flat_rows(struct report *r)
{
	size_t n = r->flat.n;
	struct item *items = malloc(n * sizeof *items + 1);
	if (!items)
		return false;
	for (size_t i = 0; i < n; i++)
		items[i] = item_of(r, &r->flat.rows[i], r->flat.names[i], (uint32_t)i);
	if (r->sort != S_ORDER)
		qsort(items, n, sizeof *items, compare);
	tide_op_row rest = { 0 };
	for (size_t i = r->top; i < n; i++)
		fold(&rest, &r->flat.rows[items[i].at]);
	for (size_t i = 0; i < n && i < r->top; i++) {
		figures(r->g, &r->flat.rows[items[i].at]);
		name_text(r->g, r, r->flat.names[items[i].at], 0);
		for (int k = 12; k < N_COLS; k++)
			tide__grid_none(r->g);
	}
	if (n > r->top && !r->a->opt[O_JSON].set)
		more_row(r, &rest, n - r->top, 0);
	free(items);
	return true;
}

/* ---- output ---- */

static void outside_note(const struct report *r)
{
	const tide_op_sums *s = &r->tree.rows[0].self;
	char alloc[32], freed[32], n[32], k[32];
	if (!s->allocs && !s->frees)
		return;
	fprintf(r->a->out, "\noutside any op: allocations %s (%s), frees %s (%s)\n",
		tide__fmt_count(n, sizeof n, (int64_t)s->allocs),
		tide__fmt_bytes(alloc, sizeof alloc, (double)s->alloc_bytes),
		tide__fmt_count(k, sizeof k, (int64_t)s->frees),
		tide__fmt_bytes(freed, sizeof freed, (double)s->free_bytes));
}

static int print_text(const struct report *r)
{
	char n[32];
	if (r->tree.n <= 1)
		fputs("The trace holds no ops.\n", r->a->out);
	else
		tide__grid_print(r->g, r->a->out, &r->a->style, 0);
	if (r->hidden)
		fprintf(r->a->out, "... and %s more with less time and memory (--all)\n",
			tide__fmt_count(n, sizeof n, (int64_t)r->hidden));
	outside_note(r);
	tide__cli_losses(r->a, r->m);
	return tide__cli_done(r->a);
}

static int print_json(const struct report *r)
{
	char name[64];
	const tide_op_row *root = &r->tree.rows[0];
	tide_json j;
	tide__json_begin(&j, r->a->out, true);
	tide__json_object(&j);
	if (r->device == TIDE_ANY)
		tide__json_knull(&j, "device");
	else
		tide__json_kstr(&j, "device",
				tide__device_name(r->m, r->device, name, sizeof name));
	tide__json_kbool(&j, "flat", r->a->opt[O_FLAT].set);
	tide__json_kobject(&j, "outside");
	tide__json_kuint(&j, "allocs", root->self.allocs);
	tide__json_kuint(&j, "frees", root->self.frees);
	tide__json_kuint(&j, "alloc_bytes", root->self.alloc_bytes);
	tide__json_kuint(&j, "free_bytes", root->self.free_bytes);
	tide__json_object_end(&j);
	tide__json_key(&j, "ops");
	tide__grid_json(r->g, &j);
	tide__start_json(&j, r->m);
	tide__losses_json(&j, r->m);
	tide__json_object_end(&j);
	return tide__cli_json_end(r->a, &j);
}

static tide_code solve(struct report *r, tide_error *err)
{
	const tide_args *a = r->a;
	bool flat = a->opt[O_FLAT].set, json = a->opt[O_JSON].set;
	tide_optree_options opt = { .device = r->device, .streams = a->opt[O_STREAMS].set };
	r->sort = a->opt[O_SORT].set ? (enum sort)a->opt[O_SORT].num : flat ? S_WALL : S_ORDER;
	r->top = tide__cli_top(&a->opt[O_TOP], json);
	r->depth = a->opt[O_DEPTH].set ? (size_t)a->opt[O_DEPTH].num : SIZE_MAX;
	if (!r->top || (a->opt[O_ALL].set && !a->opt[O_TOP].given))
		r->top = SIZE_MAX;
	bool brief = !flat && !json && !a->opt[O_ALL].set && !a->opt[O_TOP].given &&
		     !a->opt[O_DEPTH].set;
	tide_code rc = tide__optree(r->m, &opt, &r->tree, err);
	if (rc == TIDE_OK && flat)
		rc = tide__optree_flat(&r->tree, &r->flat, err);
	if (rc != TIDE_OK)
		return rc;
	r->g = tide__grid_new(cols, N_COLS);
	if ((brief && !digest(r)) || !(flat ? flat_rows(r) : walk(r)) || tide__grid_failed(r->g)) {
		*err = (tide_error){ .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
		return TIDE_ENOMEM;
	}
	return TIDE_OK;
}

static int run(const tide_args *a)
{
	struct report r = { .a = a };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	int rc = 2;
	tide_model *m = tide__cli_load(a, a->files[0], TIDE_WANT_SPANS | TIDE_WANT_MEMORY);
	if (!m)
		return 1;
	r.m = m;
	if (tide__cli_device(a, &a->opt[O_DEVICE], m, &r.device)) {
		if (solve(&r, &err) == TIDE_OK) {
			rc = (a->opt[O_JSON].set ? print_json : print_text)(&r);
		} else {
			rc = tide__cli_fail(a->files[0], &err);
		}
	}
	free(r.keep);
	tide__grid_free(r.g);
	tide__optree_flat_free(&r.flat);
	tide__optree_free(&r.tree);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_ops = {
	.name = "ops",
	.usage = "FILE [--flat] [--sort WORD] [--top N] [--depth N] [--all] [--device DEVICE] "
		 "[--json]",
	.summary = "show what ran, how long, and what it did to memory",
	.help = "Wall time, Allocated, Freed, Change and Peak of an op include what is nested in "
		"it; Self "
		"time does not. Change is allocated minus freed inside the op; Peak is the most "
		"that this "
		"balance reached in any of its runs.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
	.page = "ops",
};
