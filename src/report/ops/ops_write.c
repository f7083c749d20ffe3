// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/ops/ops_write.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/common/short_names.h"
#include "analyze/ops/modules.h"
#include "base/mem.h"
#include "render/text/labels.h"

struct report {
	const tide_ops *x;
	const tide_out *to; /* NULL = JSON */
	tide_ops_sort sort;
	size_t top, depth;
	bool *keep;	      /* owned; per node, NULL = all are shown */
	tide_op_row greatest; /* figures that weights are shares of; count 0: not found yet */
	size_t hidden;
	tide_short_names names;
	tide_grid *g;
	tide_json *j; /* borrowed; NULL = text. Rows are written one by one */
};

static tide_op_key key_of(const struct report *r, const tide_op_row *row, tide_str name,
			  uint32_t at)
{
	return tide__op_key(r->x->m, r->sort, row, name, at);
}

const tide_member tide__ops_columns[] = {
	{ "count", "Count", TIDE_KIND_COUNT, .meaning = "number of runs" },
	{ "open", NULL, TIDE_KIND_COUNT, .meaning = "runs that never ended" },
	{ "wall_ns", "Wall", TIDE_KIND_NS, .may = TIDE_MAY_BE_NULL,
	  .meaning = "time, nested ops included; null: no run ended" },
	{ "self_ns", "Self", TIDE_KIND_NS, 4, .may = TIDE_MAY_BE_NULL,
	  .meaning = "time without nested ops" },
	{ "allocs", NULL, TIDE_KIND_COUNT, .may = TIDE_MAY_BE_NULL, .meaning = "allocations" },
	{ "frees", NULL, TIDE_KIND_COUNT, .may = TIDE_MAY_BE_NULL, .meaning = "frees" },
	{ "alloc_bytes", "Allocated", TIDE_KIND_BYTES, 8, .may = TIDE_MAY_BE_NULL,
	  .meaning = "allocated bytes" },
	{ "free_bytes", "Freed", TIDE_KIND_BYTES, 9, .may = TIDE_MAY_BE_NULL,
	  .meaning = "freed bytes" },
	{ "change_bytes", "Change", TIDE_KIND_DELTA, 3, .may = TIDE_MAY_BE_NULL,
	  .meaning = "allocated minus freed" },
	{ "self_change_bytes", NULL, TIDE_KIND_DELTA, .may = TIDE_MAY_BE_NULL,
	  .meaning = "the same without nested ops" },
	{ "peak_bytes", "Peak", TIDE_KIND_BYTES, 2, .may = TIDE_MAY_BE_NULL,
	  .meaning = "highest value of this balance in any run" },
	{ "op", "Op", TIDE_KIND_NAME, .may = TIDE_MAY_BE_NULL, .meaning = "name" },
	{ "path", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "names from the root on" },
	{ "id", NULL, TIDE_KIND_COUNT, .may = TIDE_MAY_BE_NULL, .meaning = "number of the node" },
	{ "parent", NULL, TIDE_KIND_COUNT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "node that it is in; 0: none" },
	{ "depth", NULL, TIDE_KIND_COUNT, .may = TIDE_MAY_BE_NULL, .meaning = "level in the tree" },
	{ 0 },
};
enum { N_COLS = sizeof tide__ops_columns / sizeof *tide__ops_columns - 1 };

static void no_figures(tide_grid *g, int n)
{
	for (int k = 0; k < n; k++)
		tide__grid_none(g);
}

static void figures(tide_grid *g, const tide_op_row *r, bool memory)
{
	tide__grid_uint(g, r->count);
	tide__grid_uint(g, r->open);
	if (r->no_end && r->no_end == r->count) { /* no run has a duration */
		tide__grid_none(g);
		tide__grid_none(g);
	} else {
		tide__grid_int(g, r->all.ns);
		tide__grid_int(g, r->self.ns);
	}
	if (!memory) {
		no_figures(g, 7);
		return;
	}
	tide__grid_uint(g, r->all.allocs);
	tide__grid_uint(g, r->all.frees);
	tide__grid_uint(g, r->all.alloc_bytes);
	tide__grid_uint(g, r->all.free_bytes);
	tide__grid_int(g, (int64_t)(r->all.alloc_bytes - r->all.free_bytes));
	tide__grid_int(g, (int64_t)(r->self.alloc_bytes - r->self.free_bytes));
	tide__grid_uint(g, r->peak);
}

static void self_figures(tide_grid *g, const tide_op_row *r, bool memory)
{
	tide__grid_uint(g, r->count);
	tide__grid_uint(g, r->open);
	tide__grid_none(g);
	tide__grid_int(g, r->self.ns);
	no_figures(g, memory ? 5 : 7);
	if (!memory)
		return;
	tide__grid_int(g, (int64_t)(r->self.alloc_bytes - r->self.free_bytes));
	tide__grid_uint(g, r->peak);
}

/* Indentation of names by level. A terminal has little space: less from the 9th level on, and
 * none from the 17th, where the level's number precedes the name. */
static int indent_of(const struct report *r, size_t depth, char *level, size_t n)
{
	enum { WIDE = 8, ALL = 16 };
	*level = 0;
	if (!r->to->style.width || depth <= WIDE)
		return (int)(depth < 40 ? depth * 2 : 80);
	if (depth > ALL)
		snprintf(level, n, "[%zu] ", depth + 1);
	return (int)(WIDE + (depth < ALL ? depth : ALL));
}

/* `around`: the name of the row above in the tree, none in a flat table. */
static void name_text(tide_grid *g, const struct report *r, tide_str name, size_t depth,
		      tide_str around)
{
	char buf[600], level[32];
	size_t n, n_around;
	const char *text = tide__text(r->x->m, name, &n);
	const char *outer = tide__text(r->x->m, around, &n_around);
	bool brief = r->to && !r->to->style.full_names;
	const char *whole = text;
	if (brief && r->names.m && r->x->has_flat && tide__module_text(r->x->m, name) != text) {
		n = tide__short_module(&r->names, name, false, buf);
		tide__grid_textn(g, buf, n);
		return;
	}
	if (brief)
		text = tide__short_nested(text, &n, outer, n_around);
	if (!r->to || (!depth && text == whole)) {
		n ? tide__grid_name(g, r->x->m->strings, name.i) : tide__grid_text(g, "(unnamed)");
		return;
	}
	int pad = indent_of(r, depth, level, sizeof level);
	size_t at = (size_t)snprintf(buf, sizeof buf, "%*s%s", pad, "", level);
	size_t keep = n < sizeof buf - at ? n : sizeof buf - at;
	memcpy(buf + at, text, keep);
	tide__grid_textn(g, buf, at + keep);
}

static void row_done(struct report *r)
{
	if (r->j)
		tide__grid_json_rows(r->g, r->j);
}

static void node_row(struct report *r, uint32_t node, size_t depth)
{
	char path[4096];
	figures(r->g, &r->x->tree.rows[node], r->x->memory);
	name_text(r->g, r, r->x->tree.paths.name[node], depth,
		  r->x->tree.paths.name[r->x->tree.paths.parent[node]]);
	if (!r->to)
		tide__grid_text(r->g, tide__long_path(tide__grid_longs(r->g), &r->x->tree.paths,
						      r->x->m, node, path, sizeof path));
	else
		tide__grid_none(r->g);
	tide__grid_uint(r->g, node);
	tide__grid_uint(r->g, r->x->tree.paths.parent[node]);
	tide__grid_uint(r->g, depth);
	row_done(r);
}

/* Adds a hidden row to the "(N more)" row. */
static void fold(tide_op_row *to, const tide_op_row *r)
{
	to->count += r->count;
	to->no_end += r->no_end;
	to->all.ns += r->all.ns;
	to->self.ns += r->self.ns;
	to->all.alloc_bytes += r->all.alloc_bytes;
	to->all.free_bytes += r->all.free_bytes;
	if (r->peak > to->peak)
		to->peak = r->peak;
}

/* nested: rows may contain each other or those shown, so only Count and Self add up. */
static void more_row(struct report *r, const tide_op_row *rest, size_t left, size_t depth,
		     bool nested)
{
	char text[160], level[32];
	if (nested)
		self_figures(r->g, rest, r->x->memory);
	else
		figures(r->g, rest, r->x->memory);
	int pad = indent_of(r, depth, level, sizeof level);
	snprintf(text, sizeof text, "%*s%s(%zu more)", pad, "", level, left);
	tide__grid_text(r->g, text);
	for (int k = 12; k < N_COLS; k++)
		tide__grid_none(r->g);
}

enum { DIGEST = 100 };

static int64_t share(uint64_t part, uint64_t whole)
{
	return whole ? (int64_t)(1e9 * (double)part / (double)whole) : 0;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Returns the weight of a node: its share of the greatest time, allocated bytes or peak of any op,
 * whichever is largest. */
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

/* Keeps the DIGEST heaviest nodes and their ancestors. */
static bool digest(struct report *r)
{
	const tide_optree *t = &r->x->tree;
	if (t->n <= DIGEST + 1)
		return true;
	tide_op_key *items = tide__alloc(t->n, sizeof *items);
	tide_op_row top = greatest(t);
	r->keep = tide__calloc(t->n, sizeof *r->keep);
	bool ok = items && r->keep;
	for (uint32_t i = 1; ok && i < t->n; i++)
		items[i - 1] = (tide_op_key){ weight(&t->rows[i], &top), NULL, i };
	if (ok)
		tide__op_keys_sort(items, t->n - 1);
	r->hidden = t->n - 1;
	for (size_t i = 0; ok && i < DIGEST; i++)
		for (uint32_t n = items[i].at; n && !r->keep[n]; n = t->paths.parent[n]) {
			r->keep[n] = true;
			r->hidden--;
		}
	tide__free(items);
	return ok;
}

struct level { /* one open level of the walk */
	tide_op_key *items;
	size_t n, at;
};

/* Selects the heaviest rows for --top and keeps them in the order of first appearance. */
static void heaviest_first(struct report *r, struct level *l)
{
	if (!r->greatest.count) {
		r->greatest = greatest(&r->x->tree);
		r->greatest.count = 1;
	}
	for (size_t i = 0; i < l->n; i++)
		l->items[i].key = weight(&r->x->tree.rows[l->items[i].at], &r->greatest);
	tide__op_keys_sort(l->items, l->n);
	for (size_t i = 0; i < r->top; i++)
		l->items[i].key = 0;
	tide__op_keys_sort(l->items, r->top);
}

static bool children(struct report *r, uint32_t node, struct level *l)
{
	size_t n = 0;
	for (uint32_t c = r->x->tree.first[node]; c; c = r->x->tree.next[c])
		n++;
	*l = (struct level){ .items = tide__alloc(n + 1, sizeof *l->items) };
	if (!l->items)
		return false;
	for (uint32_t c = r->x->tree.first[node]; c; c = r->x->tree.next[c])
		if (!r->keep || r->keep[c])
			l->items[l->n++] =
				key_of(r, &r->x->tree.rows[c], r->x->tree.paths.name[c], c);
	if (r->sort != TIDE_OPS_ORDER)
		tide__op_keys_sort(l->items, l->n);
	else if (l->n > r->top)
		heaviest_first(r, l);
	return true;
}

static void more_nodes(struct report *r, const struct level *l, size_t depth)
{
	tide_op_row rest = { 0 };
	for (size_t i = l->at; i < l->n; i++)
		fold(&rest, &r->x->tree.rows[l->items[i].at]);
	more_row(r, &rest, l->n - l->at, depth, false);
}

/* Walks depth first, without recursion, because the input decides the depth. */
static bool walk(struct report *r)
{
	size_t n = 0, cap = 0;
	struct level *stack = NULL;
	bool ok = TIDE_ROOM(stack, cap, 1) && children(r, 0, &stack[0]);
	n = ok;
	while (n && ok && !(r->j && r->j->failed)) {
		struct level *l = &stack[n - 1];
		bool full = l->at == r->top && l->at < l->n;
		if (l->at == l->n || full) {
			if (full && r->to)
				more_nodes(r, l, n - 1);
			tide__free(l->items);
			n--;
			continue;
		}
		uint32_t node = l->items[l->at++].at;
		node_row(r, node, n - 1);
		if (n >= r->depth || !r->x->tree.first[node])
			continue;
		ok = TIDE_ROOM(stack, cap, n + 1) && children(r, node, &stack[n]);
		n += ok;
	}
	while (stack && n)
		tide__free(stack[--n].items);
	tide__free(stack);
	return ok;
}

static bool flat_rows(struct report *r)
{
	size_t n = r->x->flat.n;
	tide_op_key *items = tide__alloc(n + 1, sizeof *items);
	if (!items)
		return false;
	for (size_t i = 0; i < n; i++)
		items[i] = key_of(r, &r->x->flat.rows[i], r->x->flat.names[i], (uint32_t)i);
	if (r->sort != TIDE_OPS_ORDER)
		tide__op_keys_sort(items, n);
	tide_op_row rest = { 0 };
	for (size_t i = r->top; i < n; i++)
		fold(&rest, &r->x->flat.rows[items[i].at]);
	for (size_t i = 0; i < n && i < r->top; i++) {
		figures(r->g, &r->x->flat.rows[items[i].at], r->x->memory);
		name_text(r->g, r, r->x->flat.names[items[i].at], 0, (tide_str){ 0 });
		for (int k = 12; k < N_COLS; k++)
			tide__grid_none(r->g);
		row_done(r);
	}
	if (n > r->top && r->to)
		more_row(r, &rest, n - r->top, 0, true);
	tide__free(items);
	return true;
}

static void outside_note(const struct report *r)
{
	const tide_op_sums *s = &r->x->tree.rows[0].self;
	char alloc[32], freed[32], n[32], k[32];
	if (!r->x->memory && r->x->tree.n > 1)
		fputs(TIDE_NO_MEMORY_TEXT, r->to->out);
	if (!s->allocs && !s->frees)
		return;
	fprintf(r->to->out, "\noutside any op: allocations %s (%s), frees %s (%s)\n",
		tide__fmt_count(n, sizeof n, (int64_t)s->allocs),
		tide__fmt_bytes(alloc, sizeof alloc, (double)s->alloc_bytes),
		tide__fmt_count(k, sizeof k, (int64_t)s->frees),
		tide__fmt_bytes(freed, sizeof freed, (double)s->free_bytes));
}

/* ---- sums of ops whose single calls a profile lacks ---- */

const tide_member tide__ops_total_columns[] = {
	{ "count", "Count", TIDE_KIND_COUNT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "number of calls" },
	{ "cpu_ns", "CPU time", TIDE_KIND_NS, .may = TIDE_MAY_BE_NULL,
	  .meaning = "CPU time of all calls" },
	{ "device_ns", "Device time", TIDE_KIND_NS, .may = TIDE_MAY_BE_NULL,
	  .meaning = "device time of all calls" },
	{ "host_bytes", "Host", TIDE_KIND_DELTA, .may = TIDE_MAY_BE_NULL,
	  .meaning = "change of host memory" },
	{ "device_bytes", "Device", TIDE_KIND_DELTA, .may = TIDE_MAY_BE_NULL,
	  .meaning = "change of device memory" },
	{ "change_bytes", "Change", TIDE_KIND_DELTA, .may = TIDE_MAY_BE_NULL,
	  .meaning = "change of memory" },
	{ "most_bytes", "Most", TIDE_KIND_DELTA, .may = TIDE_MAY_BE_NULL,
	  .meaning = "largest change of one call" },
	{ "op", "Op", TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL, .meaning = "name" },
	{ "input_shapes", "Input shapes", TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "shapes of its inputs" },
	{ 0 },
};

static void known(tide_grid *g, int64_t v)
{
	v == TIDE_TOTAL_UNKNOWN ? tide__grid_none(g) : tide__grid_int(g, v);
}

/* NULL if memory runs out. */
static tide_grid *sum_rows(const tide_model *m)
{
	const tide_op_totals *x = &m->op_totals;
	tide_grid *g = tide__grid_new(
		tide__ops_total_columns,
		sizeof tide__ops_total_columns / sizeof *tide__ops_total_columns - 1);
	for (size_t i = 0; g && i < x->n; i++) {
		const int64_t v[] = { x->count[i],	x->cpu_ns[i],	    x->device_ns[i],
				      x->host_bytes[i], x->device_bytes[i], x->change_bytes[i],
				      x->most_bytes[i] };
		for (size_t k = 0; k < sizeof v / sizeof *v; k++)
			known(g, v[k]);
		tide__grid_name(g, m->strings, x->name[i].i);
		if (x->shapes[i].i)
			tide__grid_name(g, m->strings, x->shapes[i].i);
		else
			tide__grid_none(g);
	}
	return g;
}

static void print_sums(const struct report *r)
{
	tide_grid *g = r->x->m->op_totals.n ? sum_rows(r->x->m) : NULL;
	if (!g)
		return;
	fputs("\nsums that the profile has, without single calls\n", r->to->out);
	tide__grid_print(g, r->to->out, &r->to->style, 2);
	tide__grid_free(g);
}

static void print_text(const struct report *r)
{
	char n[32];
	if (r->x->tree.n <= 1 && r->x->m->op_totals.n)
		fputs("The trace holds no single calls of ops.\n", r->to->out);
	else if (r->x->tree.n <= 1)
		fputs("The trace holds no ops.\n", r->to->out);
	else
		tide__grid_print(r->g, r->to->out, &r->to->style, 0);
	if (r->hidden)
		fprintf(r->to->out, "... and %s more with less time and memory (--all)\n",
			tide__fmt_count(n, sizeof n, (int64_t)r->hidden));
	outside_note(r);
	print_sums(r);
	tide__put_model_losses(r->to, r->x->m);
}

static void outside_json(const struct report *r, tide_json *j)
{
	const tide_op_sums *s = &r->x->tree.rows[0].self;
	const struct {
		const char *key;
		uint64_t value;
	} rows[] = { { "allocs", s->allocs },
		     { "frees", s->frees },
		     { "alloc_bytes", s->alloc_bytes },
		     { "free_bytes", s->free_bytes } };
	tide__json_kobject(j, "outside");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		r->x->memory ? tide__json_kuint(j, rows[i].key, rows[i].value)
			     : tide__json_knull(j, rows[i].key);
	tide__json_object_end(j);
}

/* Fills the grid with the rows; JSON writes them. Returns false if memory runs out. */
static bool make_rows(struct report *r, const tide_ops_view *v)
{
	r->sort = v->sort;
	r->top = v->top;
	r->depth = v->depth;
	r->g = tide__grid_new(tide__ops_columns, N_COLS);
	if (r->to && !r->to->style.full_names)
		tide__short_names_init(&r->names, r->x->m); /* else whole names */
	bool ok = r->g && (!v->brief || digest(r)) && (r->x->has_flat ? flat_rows(r) : walk(r));
	tide__short_names_free(&r->names);
	return ok && !tide__grid_failed(r->g);
}

/* Returns false if memory runs out; the document is then incomplete. */
static bool print_json(struct report *r, const tide_ops_view *v)
{
	tide_json *j = r->j;
	char name[64];
	if (r->x->device == TIDE_ANY)
		tide__json_knull(j, "device");
	else
		tide__json_kstr(j, "device",
				tide__device_name(r->x->m, r->x->device, name, sizeof name));
	tide__json_kbool(j, "flat", r->x->has_flat);
	outside_json(r, j);
	tide__json_key(j, "ops");
	tide__json_array(j);
	bool ok = make_rows(r, v);
	tide__json_array_end(j);
	tide_grid *sums = r->x->m->op_totals.n ? sum_rows(r->x->m) : NULL;
	if (sums) {
		tide__json_key(j, "totals");
		tide__grid_json(sums, j);
		tide__grid_free(sums);
	}
	tide__start_json(j, r->x->m);
	tide__losses_json(j, r->x->m);
	return ok;
}

static void forget(struct report *r)
{
	tide__free(r->keep);
	tide__grid_free(r->g);
}

tide_code tide__ops_text(const tide_ops *x, const tide_ops_view *v, const tide_out *to)
{
	struct report r = { .x = x, .to = to };
	bool ok = make_rows(&r, v);
	if (ok)
		print_text(&r);
	forget(&r);
	return ok ? TIDE_OK : TIDE_ENOMEM;
}

tide_code tide__ops_json(const tide_ops *x, const tide_ops_view *v, tide_json *j)
{
	struct report r = { .x = x, .j = j };
	bool ok = print_json(&r, v);
	forget(&r);
	return ok ? TIDE_OK : TIDE_ENOMEM;
}
