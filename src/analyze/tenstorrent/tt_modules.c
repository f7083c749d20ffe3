// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds the module of each run of a program, if the log has several (prefill and decode).
 *
 * A module is dumped when it is compiled, before its first run; the runs alternate later. So the
 * last module dumped before an operation is a first guess. It is wrong if arguments that the run
 * uses have other shapes there. Then the module with the fewest such arguments is used, the last of
 * equals. Runs with equal operations get the same module. */
#include <string.h>

#include "analyze/tenstorrent/tt_impl.h"
#include "base/mem.h"

typedef struct run {		/* of an outermost program */
	uint32_t first, last;	/* its operations, inclusive; those of other ranks are between */
	uint64_t texts;		/* hash of the operations that use arguments, and of the guess */
	uint32_t guess, module; /* 1 + first row in weights, 0 = none */
	uint32_t ttnn;		/* text of the ttnn module, 0 = as guessed */
} run;

typedef struct runs {
	tide_tt *t;
	uint32_t *root; /* owned; by operation: its outermost span */
	run *v;		/* owned */
	size_t n, cap;
	tide_map of_root; /* outermost span -> run + 1 */
	tide_map uses;	  /* text -> 1 = it uses arguments, 2 = it does not */
	tide_map found;	  /* run.texts -> run + 1 that has its module */
} runs;

/* ---- runs ---- */

static uint32_t outermost(const tide_model *m, uint32_t span)
{
	while (m->spans.parent[span].i)
		span = m->spans.parent[span].i;
	return span;
}

/* Returns 1 if the text uses arguments, 0 if not, -1 if memory runs out. */
static int uses_arguments(runs *r, tide_str text)
{
	uint32_t known = tide__map_get(&r->uses, text.i);
	if (known)
		return known == 1;
	size_t n;
	const char *s = tide__text(r->t->m, text, &n);
	bool yes = n && memmem(s, n, "%arg", 4);
	return tide__map_put(&r->uses, text.i, yes ? 1 : 2) ? yes : -1;
}

static run *run_of(runs *r, uint32_t root, uint32_t op)
{
	uint32_t row = tide__map_get(&r->of_root, root);
	if (row)
		return &r->v[row - 1];
	if (!TIDE_ROOM(r->v, r->cap, r->n + 1) ||
	    !tide__map_put(&r->of_root, root, (uint32_t)r->n + 1))
		return NULL;
	uint32_t guess = r->t->module_of[op];
	r->v[r->n] = (run){ op, op, tide__mix(guess), guess, guess, 0 };
	return &r->v[r->n++];
}

static bool list_runs(runs *r)
{
	tide_tt *t = r->t;
	for (uint32_t i = 0; i < t->n; i++) {
		r->root[i] = outermost(t->m, t->ops[i].span);
		run *x = run_of(r, r->root[i], i);
		int uses = t->ops[i].graph.i ? 0 : uses_arguments(r, t->ops[i].text);
		if (!x || uses < 0)
			return false;
		x->last = i;
		if (uses)
			x->texts = tide__mix(x->texts ^ t->ops[i].text.i);
	}
	return true;
}

/* ---- how a module fits ---- */

static bool is_argument(tide_slice ssa)
{
	return ssa.n > 4 && !memcmp(ssa.s, "%arg", 4);
}

/* Counts arguments among the operands that have another shape in the module. */
static uint64_t misfits_of_op(const tide_tt *t, uint32_t op, uint32_t module)
{
	tide_mlir_op p;
	tide_tt_argument a;
	uint64_t n = 0;
	if (!tide__tt_parse(t, &t->ops[op], &p))
		return 0;
	for (tide__tt_arguments_begin(&a, &p); tide__tt_arguments_next(&a);) {
		int64_t k = tide__tt_argument_row(t, module, a.ssa);
		n += a.typed &&
		     (k < 0 ? is_argument(a.ssa) : !tide__slice_same(a.shape, t->weights[k].shape));
	}
	return n;
}

static uint64_t misfits(const runs *r, const run *x, uint32_t module)
{
	uint64_t n = 0;
	for (uint32_t i = x->first; i <= x->last; i++) {
		const tide_tt_op *o = &r->t->ops[i];
		if (r->root[i] == r->root[x->first] && !o->graph.i &&
		    tide__map_get(&r->uses, o->text.i) == 1)
			n += misfits_of_op(r->t, i, module);
	}
	return n;
}

/* Modules are rows of t->weights, one after the other; those dumped after the run began are not
 * candidates. */
static uint32_t best_module(const runs *r, const run *x)
{
	const tide_tt *t = r->t;
	int64_t begun = t->m->spans.t0[t->ops[x->first].span];
	uint32_t best = x->guess;
	uint64_t least = misfits(r, x, best);
	for (size_t i = t->n_weights; least && i > 0; i--) {
		uint32_t module = t->weights[i - 1].module;
		if ((i > 1 && t->weights[i - 2].module == module) ||
		    t->m->documents.t[module] > begun)
			continue;
		uint64_t n = misfits(r, x, (uint32_t)i);
		best = n < least ? (uint32_t)i : best;
		least = n < least ? n : least;
	}
	return best;
}

/* Returns the text of the ttnn module that was compiled from a document: the
 * next one of its rank; 0 = unknown. */
static uint32_t compiled(const tide_model *m, uint32_t doc)
{
	const tide_documents *d = &m->documents;
	for (size_t i = doc; i < d->n; i++)
		if (d->lane[i].i == d->lane[doc].i &&
		    !strcmp(tide__text(m, d->kind[i], NULL), "mlir.ttnn"))
			return d->text[i].i;
	return 0;
}

static bool choose(runs *r)
{
	for (size_t i = 0; i < r->n; i++) {
		run *x = &r->v[i];
		uint32_t same = tide__map_get(&r->found, x->texts);
		x->module = same ? r->v[same - 1].module : best_module(r, x);
		if (x->module != x->guess)
			x->ttnn = compiled(r->t->m, r->t->weights[x->module - 1].module);
		if (!same && !tide__map_put(&r->found, x->texts, (uint32_t)i + 1))
			return false;
	}
	return true;
}

/* ---- all of it ---- */

static void apply(runs *r)
{
	tide_tt *t = r->t;
	for (uint32_t i = 0; i < t->n; i++) {
		const run *x = &r->v[tide__map_get(&r->of_root, r->root[i]) - 1];
		t->module_of[i] = x->module;
		if (x->ttnn)
			t->ops[i].module = x->ttnn;
	}
}

bool tide__tt_several_modules(const tide_tt *t)
{
	return t->n_weights && t->weights[0].module != t->weights[t->n_weights - 1].module;
}

bool tide__tt_match_modules(tide_tt *t)
{
	if (!tide__tt_several_modules(t))
		return true;
	runs r = { .t = t, .root = tide__alloc(t->n + 1, sizeof *r.root) };
	bool ok = r.root && list_runs(&r) && choose(&r);
	if (ok)
		apply(&r);
	tide__free(r.root);
	tide__free(r.v);
	tide__map_free(&r.of_root);
	tide__map_free(&r.uses);
	tide__map_free(&r.found);
	return ok;
}
