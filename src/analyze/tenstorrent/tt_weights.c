// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Arguments of @main in module dumps, which operations use them, and const-eval programs.
 *
 * Operands are matched by their SSA name: %arg3 of main is argument 3. Inside a const-eval program
 * %arg0 is the first operand of load_cached. tt_modules.c finds the module of an operation. */
#include <stdlib.h>
#include <string.h>

#include "analyze/tenstorrent/tt_impl.h"
#include "base/mem.h"
#include "model/strings.h"

/* ---- the signature ---- */

/* Returns the value behind `key` in the attributes of an argument: up to `to`. */
static tide_slice between(tide_slice s, const char *key, char to)
{
	const char *p = memmem(s.s, s.n, key, strlen(key)), *end = s.s + s.n;
	if (!p)
		return (tide_slice){ NULL, 0 };
	p += strlen(key);
	const char *e = memchr(p, to, (size_t)(end - p));
	return e ? (tide_slice){ p, (size_t)(e - p) } : (tide_slice){ NULL, 0 };
}

static bool put_argument(tide_tt *t, tide_slice arg, uint32_t module)
{
	const char *colon = memchr(arg.s, ':', arg.n), *end = arg.s + arg.n;
	tide_mlir_tensor x;
	if (!colon || arg.s[0] != '%')
		return true;
	const char *from = colon + 1;
	while (from < end && *from == ' ')
		from++;
	const char *to = memmem(from, (size_t)(end - from), "> {", 3);
	tide_slice type = { from, (size_t)((to ? to + 1 : end) - from) };
	if (!tide__mlir_parse_tensor(type, &x))
		return true;
	if (!TIDE_ROOM(t->weights, t->cap_weights, t->n_weights + 1))
		return false;
	tide_tt_weight *w = &t->weights[t->n_weights++];
	*w = (tide_tt_weight){ .ssa = { arg.s, (size_t)(colon - arg.s) },
			       .shape = x.shape,
			       .dtype = x.dtype,
			       .bytes = x.bytes,
			       .module = module,
			       .modules = 1 };
	w->type = between(arg, "argument_type<", '>');
	w->name = between(arg, "ttir.name = \"", '"');
	if (!w->name.s)
		w->name = w->ssa;
	return true;
}

/* Reads the argument list of func.func @main. Returns false if memory runs out. */
static bool read_signature(tide_tt *t, tide_slice text, uint32_t module)
{
	static const char word[] = "func.func @main(";
	const char *p = memmem(text.s, text.n, word, sizeof word - 1), *end = text.s + text.n;
	bool ok = true;
	if (!p)
		return true;
	tide_mlir_op f; /* the signature reads like an operation: name(arguments) */
	p += sizeof "func.func @" - 1;
	if (!tide__mlir_parse_op(p, (size_t)(end - p), &f))
		return true;
	for (tide_slice rest = f.operands, one; ok && tide__mlir_next(&rest, &one);)
		ok = !one.n || put_argument(t, one, module);
	return ok;
}

/* Returns the stage whose dumps have the arguments' names: the first of these that exists. */
static const char *stage(const tide_model *m)
{
	static const char *const kinds[] = { "mlir.shlo_frontend", "mlir.shlo_compiler",
					     "mlir.shlo", "mlir.ttir", "mlir.ttnn" };
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (size_t i = 0; i < m->documents.n; i++)
			if (!strcmp(tide__text(m, m->documents.kind[i], NULL), kinds[k]))
				return kinds[k];
	return NULL;
}

static void set_weights(tide_tt *t, size_t op, size_t doc)
{
	t->module_of[op] = (uint32_t)doc;
}

/* Finds the module of each operation. Equal dumps are one module. */
static bool assign_modules(tide_tt *t, const char *kind)
{
	const tide_documents *d = &t->m->documents;
	uint32_t *first = tide__calloc(d->n + 1, sizeof *first); /* by document + 1 */
	if (!first)
		return false;
	bool ok = true;
	for (size_t i = 0; ok && i < d->n; i++) {
		size_t n, same = 0;
		if (strcmp(tide__text(t->m, d->kind[i], NULL), kind))
			continue;
		while (same < i && d->text[same].i != d->text[i].i)
			same++;
		const char *s = tide__text(t->m, d->text[i], &n);
		first[i + 1] =
			same < i && first[same + 1] ? first[same + 1] : (uint32_t)t->n_weights + 1;
		if (same == i || !first[same + 1])
			ok = read_signature(t, (tide_slice){ s, n }, (uint32_t)i);
	}
	ok = ok && tide__tt_visit_modules(t, kind, set_weights);
	for (size_t i = 0; ok && i < t->n; i++) {
		uint32_t at = first[t->module_of[i]];
		t->module_of[i] = at <= t->n_weights ? at : 0;
	}
	tide__free(first);
	return ok;
}

static bool is_load(const tide_tt *t, size_t i)
{
	return strstr(tide__tt_name(t, &t->ops[i]), "load_cached") != NULL;
}

/* Returns the key of a value in a run of a program, or on its rank outside of programs. */
static uint64_t value_key(const tide_tt *t, const tide_tt_op *o, tide_slice ssa)
{
	uint32_t run = t->m->spans.parent[o->span].i;
	uint64_t h = 14695981039346656037u;
	for (size_t i = 0; i < ssa.n && ssa.s[i] != '#' && ssa.s[i] != ':'; i++)
		h = (h ^ (uint8_t)ssa.s[i]) * 1099511628211u;
	return tide__mix(h ^ ((uint64_t)!run << 63 | (run ? run : o->lane)));
}

/* Remembers which operation made the values that are results of const-eval programs. */
static bool find_cached(tide_tt *t)
{
	tide_mlir_op p;
	tide_slice one;
	bool ok = true;
	for (size_t i = 0; ok && i < t->n; i++) {
		if (!is_load(t, i) || !tide__tt_parse(t, &t->ops[i], &p))
			continue;
		for (tide_slice rest = p.results; ok && tide__mlir_next(&rest, &one);)
			ok = tide__map_put(&t->cached, value_key(t, &t->ops[i], one),
					   (uint32_t)i + 1);
	}
	return ok;
}

/* A const-eval program is run by the last load_cached of its rank. */
static bool assign_loads(tide_tt *t)
{
	uint32_t *last = tide__calloc(t->m->lanes.n, sizeof *last);
	for (size_t i = 0; last && i < t->n; i++) {
		if (is_load(t, i))
			last[t->ops[i].lane] = (uint32_t)i + 1;
		else if (t->ops[i].graph.i)
			t->load_of[i] = last[t->ops[i].lane];
	}
	tide__free(last);
	return last != NULL;
}

/* ---- weights of several modules ---- */

bool tide__tt_is_weight(const tide_tt_weight *w)
{
	return TIDE_SLICE_IS(w->type, "parameter") || TIDE_SLICE_IS(w->type, "constant");
}

static bool is_named(const tide_tt_weight *w)
{
	return w->name.s != w->ssa.s;
}

static uint64_t hash_of(const tide_tt_weight *w)
{
	const tide_slice parts[] = { w->name, w->shape, w->dtype };
	uint64_t h = 14695981039346656037u;
	for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
		for (size_t i = 0; i <= parts[k].n; i++)
			h = (h ^ (i < parts[k].n ? (uint8_t)parts[k].s[i] : 0)) * 1099511628211u;
	return tide__mix(h);
}

static bool is_same(const tide_tt_weight *a, const tide_tt_weight *b)
{
	return a->module != b->module && tide__slice_same(a->name, b->name) &&
	       tide__slice_same(a->shape, b->shape) && tide__slice_same(a->dtype, b->dtype);
}

/* Prefill and decode are two modules of one model: finds the weights that both have. */
static bool find_same(tide_tt *t)
{
	tide_map first = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < t->n_weights; i++) {
		tide_tt_weight *w = &t->weights[i];
		if (!tide__tt_is_weight(w) || !is_named(w))
			continue;
		uint64_t key = hash_of(w);
		uint32_t row = tide__map_get(&first, key);
		if (row && is_same(&t->weights[row - 1], w)) {
			w->same = row;
			t->weights[row - 1].modules++;
		} else if (!row) {
			ok = tide__map_put(&first, key, (uint32_t)i + 1);
		}
	}
	tide__map_free(&first);
	return ok;
}

tide_tt_model tide__tt_count_model(const tide_tt *t)
{
	tide_tt_model x = { 0 };
	for (size_t i = 0; i < t->n_weights; i++) {
		const tide_tt_weight *w = &t->weights[i];
		x.modules += !i || w->module != w[-1].module;
		x.inputs += TIDE_SLICE_IS(w->type, "input");
		if (!tide__tt_is_weight(w) || w->same)
			continue;
		x.weights++;
		x.bytes += w->bytes;
		x.unnamed += !is_named(w);
	}
	return x;
}

bool tide__tt_find_weights(tide_tt *t)
{
	const char *kind = stage(t->m);
	t->module_of = tide__calloc(t->n + 1, sizeof *t->module_of);
	t->load_of = tide__calloc(t->n + 1, sizeof *t->load_of);
	if (!t->module_of || !t->load_of || !assign_loads(t) || !find_cached(t))
		return false;
	return !kind || (assign_modules(t, kind) && find_same(t) && tide__tt_match_modules(t));
}

/* ---- uses ---- */

static tide_slice bare(tide_slice s)
{
	while (s.n && (*s.s == '[' || *s.s == ' ')) {
		s.s++;
		s.n--;
	}
	while (s.n && (s.s[s.n - 1] == ']' || s.s[s.n - 1] == ' '))
		s.n--;
	return s;
}

int64_t tide__tt_argument_row(const tide_tt *t, uint32_t first, tide_slice ssa)
{
	if (!first)
		return -1;
	for (size_t k = first - 1;
	     k < t->n_weights && t->weights[k].module == t->weights[first - 1].module; k++)
		if (tide__slice_same(t->weights[k].ssa, ssa))
			return (int64_t)k;
	return -1;
}

static bool listed(const uint32_t *v, size_t n, uint32_t x)
{
	while (n > 0 && v[n - 1] != x)
		n--;
	return n > 0;
}

void tide__tt_arguments_begin(tide_tt_argument *a, const tide_mlir_op *p)
{
	*a = (tide_tt_argument){ .rest = p->operands, .types = p->in_types };
}

bool tide__tt_arguments_next(tide_tt_argument *a)
{
	tide_slice operand, type;
	tide_mlir_tensor x;
	while (!tide__mlir_next(&a->inner, &a->ssa)) {
		if (!tide__mlir_next(&a->rest, &operand))
			return false;
		if (!operand.n || *operand.s != '@')
			a->inner = bare(operand);
	}
	a->typed = tide__mlir_next(&a->types, &type) && tide__mlir_parse_tensor(type, &x);
	if (a->typed)
		a->shape = x.shape;
	return true;
}

typedef struct found { /* weights of an operation */
	uint32_t *out;
	size_t n, most;
} found;

/* `used`: also those of the const-eval programs whose results the operation uses. */
static void add_weights(tide_tt *t, size_t op, found *f, bool used)
{
	tide_mlir_op p;
	tide_tt_argument a;
	if (!tide__tt_parse(t, &t->ops[op], &p))
		return;
	for (tide__tt_arguments_begin(&a, &p); tide__tt_arguments_next(&a);) {
		int64_t k = tide__tt_argument_row(t, t->module_of[op], a.ssa);
		uint32_t load =
			used && k < 0 ? tide__map_get(&t->cached, value_key(t, &t->ops[op], a.ssa))
				      : 0;
		if (load && load - 1 < op)
			add_weights(t, load - 1, f, false);
		if (k < 0 || !tide__tt_is_weight(&t->weights[k]))
			continue;
		if (a.typed && !tide__slice_same(a.shape, t->weights[k].shape))
			t->ambiguous += used;
		else if (f->n < f->most && !listed(f->out, f->n, (uint32_t)k))
			f->out[f->n++] = (uint32_t)k;
	}
}

size_t tide__tt_find_op_weights(tide_tt *t, size_t op, uint32_t *out, size_t most)
{
	found f = { out, 0, most };
	if (t->ops[op].graph.i) {
		if (!t->load_of[op])
			return 0;
		op = t->load_of[op] - 1;
	}
	add_weights(t, op, &f, true);
	return f.n;
}

/* ---- const-eval programs ---- */

static int by_name(const void *a, const void *b)
{
	const tide_tt_graph *x = a, *y = b;
	int order = (x->name.i > y->name.i) - (x->name.i < y->name.i);
	return order ? order : (x->module > y->module) - (x->module < y->module);
}

/* Two modules may have programs of one name: those of an operation's module are meant. */
static uint64_t graph_key(const tide_tt *t, size_t op, tide_str name)
{
	return (uint64_t)(tide__tt_several_modules(t) ? t->module_of[op] : 0) << 32 | name.i;
}

/* Returns the number of the module whose arguments begin at row `first` - 1, from 1; 0 for none. */
static uint32_t module_number(const tide_tt *t, uint32_t first)
{
	uint32_t n = first ? 1 : 0;
	for (uint32_t i = 1; i < first; i++)
		n += t->weights[i].module != t->weights[i - 1].module;
	return n;
}

static tide_tt_graph *graph(tide_tt *t, tide_map *rows, size_t op, tide_str name)
{
	uint64_t key = graph_key(t, op, name);
	uint32_t row = tide__map_get(rows, key);
	if (row)
		return &t->graphs[row - 1];
	if (!TIDE_ROOM(t->graphs, t->cap_graphs, t->n_graphs + 1) ||
	    !tide__map_put(rows, key, (uint32_t)t->n_graphs + 1))
		return NULL;
	uint32_t module = module_number(t, (uint32_t)(key >> 32));
	t->graphs[t->n_graphs] = (tide_tt_graph){ .name = name, .module = module };
	return &t->graphs[t->n_graphs++];
}

/* Returns the program that load_cached names, if it ever ran: the text after @. */
static tide_str loaded(const tide_tt *t, const tide_tt_op *o)
{
	tide_mlir_op p;
	tide_slice rest, one;
	if (!tide__tt_parse(t, o, &p))
		return (tide_str){ 0 };
	rest = p.operands;
	if (!tide__mlir_next(&rest, &one) || one.n < 2 || *one.s != '@')
		return (tide_str){ 0 };
	return (tide_str){ tide__strings_find(t->m->strings, one.s + 1, one.n - 1) };
}

bool tide__tt_find_graphs(tide_tt *t)
{
	tide_map rows = { 0 };
	uint32_t *last_parent = tide__calloc(t->m->lanes.n, sizeof *last_parent); /* ranks mix */
	bool ok = last_parent != NULL;
	for (size_t i = 0; ok && i < t->n; i++) {
		const tide_tt_op *o = &t->ops[i];
		tide_str name = o->graph.i	? o->graph
				: is_load(t, i) ? loaded(t, o)
						: (tide_str){ 0 };
		tide_tt_graph *g = name.i ? graph(t, &rows, i, name) : NULL;
		ok = !name.i || g;
		if (!g)
			continue;
		g->loads += !o->graph.i;
		if (!o->graph.i)
			continue;
		g->ops++;
		g->miss |= o->miss;
		uint32_t parent = t->m->spans.parent[o->span].i;
		g->runs += parent != last_parent[o->lane];
		last_parent[o->lane] = parent;
	}
	tide__free(last_parent);
	for (size_t i = 1; ok && i < t->m->allocs.n; i++) { /* bytes still alive at the end */
		uint32_t s = t->m->allocs.span[i].i;
		int64_t op = s && t->m->allocs.died[i] == TIDE_T_NEVER ? tide__tt_op_at(t, s) : -1;
		uint32_t row =
			op >= 0 && t->ops[op].span == s
				? tide__map_get(&rows, graph_key(t, (size_t)op, t->ops[op].graph))
				: 0;
		if (row && t->m->pools.kind[t->m->allocs.pool[i].i] == TIDE_POOL_DRAM)
			t->graphs[row - 1].change_all += (int64_t)t->m->allocs.size[i];
	}
	if (t->n_graphs)
		qsort(t->graphs, t->n_graphs, sizeof *t->graphs, by_name);
	tide__map_free(&rows);
	return ok;
}
