// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See compile_report.h. One pass over the spans in time order: notes of a compile are collected
 * in its unit until its metrics close it, so that a reused id (a reset, a backward graph) is a
 * separate unit. */
#include "analyze/compile/compile_report.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/common/span_args.h"
#include "analyze/compile/compile_impl.h"
#include "base/error.h"
#include "base/mem.h"

const char *const tide__cache_text[TIDE_CACHES] = { "fx_graph", "autograd" };
const char *const tide__cache_state_text[TIDE_CACHE_STATES] = { "hit", "miss", "bypass",
								"disabled" };

typedef struct work {
	const tide_model *m;
	tide_compile_report *r;
	tide_compile_keys k;
	tide_map unit_of;  /* (process, id) -> open unit + 1 */
	tide_map stage_of; /* name -> stage + 1 */
	int64_t *inside;   /* owned; per span: time of stages directly in it */
} work;

static void find_keys(const tide_model *m, tide_compile_keys *k)
{
#define X(name) k->name = tide__attr_key(m, #name);
	TIDE_COMPILE_KEYS(X)
#undef X
}

/* ---- units ---- */

static tide_compile_unit *unit_of(work *w, uint32_t span)
{
	tide_compile_unit before = { 0 };
	const tide_model *m = w->m;
	tide_str id = tide__attr_text(m, span, w->k.compile_id);
	uint32_t process = m->lanes.process[m->spans.lane[span].i].i;
	uint64_t key = (uint64_t)process << 32 | id.i;
	uint32_t at = tide__map_get(&w->unit_of, key);
	if (at && !w->r->units[at - 1].finished)
		return &w->r->units[at - 1];
	if (at)
		before = w->r->units[at - 1];
	if (!TIDE_ROOM(w->r->units, w->r->cap_units, w->r->n_units + 1) ||
	    !tide__map_put(&w->unit_of, key, (uint32_t)w->r->n_units + 1))
		return NULL;
	tide_compile_unit *u = &w->r->units[w->r->n_units++];
	*u = (tide_compile_unit){ .process = process,
				  .id = id,
				  .line = at ? before.line : -1,
				  .function = before.function,
				  .file = before.file,
				  .total_ns = -1,
				  .backend_ns = -1,
				  .inductor_ns = -1,
				  .codegen_ns = -1,
				  .triton_ns = -1,
				  .autotune_ns = -1,
				  .guards = -1,
				  .graph_ops = -1,
				  .restarts = -1,
				  .ops = -1,
				  .kernels = -1,
				  .launches = -1,
				  .external = -1 };
	return u;
}

static int64_t us(const work *w, uint32_t span, tide_str key)
{
	int64_t v = tide__attr_number(w->m, span, key);
	return v < 0 || v > INT64_MAX / 1000 ? -1 : v * 1000;
}

static void add_number(int64_t *sum, int64_t v)
{
	if (v >= 0)
		*sum = (*sum < 0 ? 0 : *sum) + v;
}

static bool close_unit(work *w, uint32_t span)
{
	const tide_model *m = w->m;
	const tide_compile_keys *k = &w->k;
	tide_compile_unit *u = unit_of(w, span);
	if (!u)
		return false;
	u->finished = true;
	u->backward =
		!strcmp(tide__text(m, tide__attr_text(m, span, k->direction), NULL), "backward");
	tide_str function = tide__attr_text(m, span, k->function);
	if (function.i) { /* metrics of a backward graph have no name: use that of the previous
	                   * compile */
		u->function = function;
		u->file = tide__attr_text(m, span, k->file);
		u->line = tide__attr_number(m, span, k->line);
	}
	u->total_ns = us(w, span, k->total_us);
	u->total_ns = u->total_ns < 0 ? us(w, span, k->backward_us) : u->total_ns;
	u->backend_ns = us(w, span, k->backend_us);
	u->inductor_ns = us(w, span, k->inductor_us);
	u->codegen_ns = us(w, span, k->codegen_us);
	u->triton_ns = us(w, span, k->triton_us);
	u->autotune_ns = us(w, span, k->autotune_us);
	u->guards = tide__attr_number(m, span, k->guards);
	u->graph_ops = tide__attr_number(m, span, k->graph_ops);
	u->restarts = tide__attr_number(m, span, k->restarts);
	u->fail_type = tide__attr_text(m, span, k->fail_type);
	u->fail_reason = tide__attr_text(m, span, k->fail_reason);
	u->cudagraph_skip = tide__attr_text(m, span, k->cudagraph_skip_reason);
	if (!u->recompile_reason.i)
		u->recompile_reason = tide__attr_text(m, span, k->recompile_reason);
	return true;
}

static bool add_code(work *w, uint32_t span)
{
	tide_compile_unit *u = unit_of(w, span);
	if (!u)
		return false;
	w->r->graphs++;
	add_number(&u->kernels, tide__attr_number(w->m, span, w->k.kernels));
	add_number(&u->launches, tide__attr_number(w->m, span, w->k.launches));
	add_number(&u->external, tide__attr_number(w->m, span, w->k.external));
	return true;
}

static bool add_graph(work *w, uint32_t span)
{
	tide_compile_unit *u = unit_of(w, span);
	if (u)
		add_number(&u->ops, tide__attr_number(w->m, span, w->k.ops));
	return u;
}

static bool add_recompile(work *w, uint32_t span)
{
	tide_compile_unit *u = unit_of(w, span);
	if (u)
		u->recompile_reason = tide__attr_text(w->m, span, w->k.reason);
	return u;
}

static bool add_break(work *w, uint32_t span)
{
	tide_compile_unit *u = unit_of(w, span);
	if (u)
		u->breaks++;
	return u && tide__break_add(w->m, &w->k, span, w->r);
}

static size_t word_of(const char *text, const char *const *words, size_t n)
{
	size_t i = 0;
	while (i < n && strcmp(text, words[i]))
		i++;
	return i;
}

static bool add_cache(work *w, uint32_t span)
{
	tide_str state = tide__attr_text(w->m, span, w->k.state);
	const char *cache = tide__text(w->m, tide__attr_text(w->m, span, w->k.cache), NULL);
	size_t c = word_of(cache, tide__cache_text, TIDE_CACHES),
	       s = word_of(tide__text(w->m, state, NULL), tide__cache_state_text,
			   TIDE_CACHE_STATES);
	tide_compile_unit *u = unit_of(w, span);
	if (!u || c == TIDE_CACHES || s == TIDE_CACHE_STATES)
		return u;
	w->r->cache[c][s]++;
	*(c == TIDE_CACHE_FX ? &u->fx_cache : &u->autograd_cache) = state;
	return true;
}

static bool add_start(work *w, uint32_t span)
{
	return unit_of(w, span);
}

static const struct {
	const char *name;
	bool (*add)(work *w, uint32_t span);
} notes[] = {
	{ "dynamo_start", add_start },	{ "compile", close_unit },
	{ "output_code", add_code },	{ "post_grad_graph", add_graph },
	{ "recompile", add_recompile }, { "graph_break", add_break },
	{ "cache", add_cache },
};

/* ---- stages ---- */

static bool inside_same(const tide_model *m, uint32_t span)
{
	for (uint32_t s = m->spans.parent[span].i; s; s = m->spans.parent[s].i)
		if (m->spans.name[s].i == m->spans.name[span].i)
			return true;
	return false;
}

static bool add_stage(work *w, uint32_t span)
{
	const tide_spans *s = &w->m->spans;
	uint32_t at = tide__map_get(&w->stage_of, (uint64_t)s->name[span].i + 1);
	int64_t ns = s->t1[span] - s->t0[span];
	if (!at) {
		if (!TIDE_ROOM(w->r->stages, w->r->cap_stages, w->r->n_stages + 1) ||
		    !tide__map_put(&w->stage_of, (uint64_t)s->name[span].i + 1,
				   (uint32_t)w->r->n_stages + 1))
			return false;
		w->r->stages[w->r->n_stages] = (tide_compile_stage){ .name = s->name[span] };
		at = (uint32_t)++w->r->n_stages;
	}
	tide_compile_stage *g = &w->r->stages[at - 1];
	g->count++;
	g->self_ns += ns - w->inside[span];
	g->wall_ns += inside_same(w->m, span) ? 0 : ns;
	return true;
}

static bool walk(work *w)
{
	const tide_spans *s = &w->m->spans;
	bool ok = true;
	for (uint32_t i = 1; i < s->n; i++)
		if (s->cat[i] == TIDE_CAT_OP)
			w->inside[s->parent[i].i] += s->t1[i] - s->t0[i];
	for (uint32_t i = 1; ok && i < s->n; i++) {
		if (s->cat[i] == TIDE_CAT_OP) {
			ok = add_stage(w, i);
			continue;
		}
		const char *name = tide__text(w->m, s->name[i], NULL);
		for (size_t k = 0; k < sizeof notes / sizeof *notes; k++)
			if (!strcmp(name, notes[k].name)) {
				ok = notes[k].add(w, i);
				break;
			}
	}
	return ok;
}

/* ---- sums ---- */

static bool sum_recompile(tide_compile_report *r, const tide_compile_unit *u)
{
	r->recompiled++;
	for (size_t i = 0; i < r->n_recompiles; i++) {
		tide_recompile *x = &r->recompiles[i];
		if (x->function.i == u->function.i && x->reason.i == u->recompile_reason.i &&
		    x->line == u->line) {
			x->count++;
			x->total_ns += u->total_ns > 0 ? u->total_ns : 0;
			return true;
		}
	}
	if (!TIDE_ROOM(r->recompiles, r->cap_recompiles, r->n_recompiles + 1))
		return false;
	r->recompiles[r->n_recompiles++] = (tide_recompile){
		u->function, u->file, u->recompile_reason,
		u->line,     1,	      u->total_ns > 0 ? u->total_ns : 0,
	};
	return true;
}

/* Returns the length of the frame's number in "FRAME/COMPILE"; 0 = another kind of id. */
static size_t frame_of(const tide_model *m, tide_str id)
{
	const char *text = tide__text(m, id, NULL), *slash = strchr(text, '/');
	return slash ? (size_t)(slash - text) + 1 : 0;
}

/* A compile that failed early (at the limit of recompiles) does not name its function: it gets the
 * name of the frame's previous compile. */
static void name_functions(const tide_model *m, tide_compile_report *r)
{
	enum {
		NEAR = 1000
	}; /* how many compiles to go back, so that a log of many nameless ones
	                       * stays cheap */
	for (size_t i = 1; i < r->n_units; i++) {
		tide_compile_unit *u = &r->units[i];
		size_t n = u->function.i ? 0 : frame_of(m, u->id);
		for (size_t k = i; n && k-- > 0 && i - k <= NEAR && !u->function.i;) {
			const tide_compile_unit *b = &r->units[k];
			if (b->process != u->process || frame_of(m, b->id) != n ||
			    strncmp(tide__text(m, b->id, NULL), tide__text(m, u->id, NULL), n))
				continue;
			u->function = b->function;
			u->file = b->file;
			u->line = b->line;
		}
	}
}

static bool sum(tide_compile_report *r)
{
	r->ops = r->kernels = r->launches = r->external = -1;
	for (size_t i = 0; i < r->n_units; i++) {
		const tide_compile_unit *u = &r->units[i];
		r->unfinished += !u->finished;
		r->failed += u->fail_type.i != 0;
		r->cudagraph_skips += u->cudagraph_skip.i != 0;
		r->total_ns += u->total_ns > 0 ? u->total_ns : 0;
		add_number(&r->kernels, u->kernels);
		if (u->launches >= 0 && u->ops >= 0) { /* both are known */
			add_number(&r->ops, u->ops);
			add_number(&r->launches, u->launches);
			add_number(&r->external, u->external);
		}
		if (u->recompile_reason.i && !sum_recompile(r, u))
			return false;
	}
	return true;
}

static int by_cost(const void *a, const void *b)
{
	const tide_graph_break *x = a, *y = b;
	int64_t p = x->retrace_ns + x->resume_ns, q = y->retrace_ns + y->resume_ns;
	return (p < q) - (p > q);
}

static int by_time(const void *a, const void *b)
{
	const tide_recompile *x = a, *y = b;
	return (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
}

static int by_self(const void *a, const void *b)
{
	const tide_compile_stage *x = a, *y = b;
	return (x->self_ns < y->self_ns) - (x->self_ns > y->self_ns);
}

static void order(tide_compile_report *r)
{
	if (r->n_breaks)
		qsort(r->breaks, r->n_breaks, sizeof *r->breaks, by_cost);
	if (r->n_recompiles)
		qsort(r->recompiles, r->n_recompiles, sizeof *r->recompiles, by_time);
	if (r->n_stages)
		qsort(r->stages, r->n_stages, sizeof *r->stages, by_self);
}

tide_code tide__compile_report_find(const tide_model *m, tide_compile_report *out, tide_error *err)
{
	work w = { .m = m, .r = out };
	*out = (tide_compile_report){ 0 };
	if (!m->format || strcmp(m->format, "torchtrace") != 0)
		return tide__fail(
			err, TIDE_EFORMAT, TIDE_NO_OFFSET,
			"not a compile log; TORCH_TRACE=FOLDER makes the program write one");
	find_keys(m, &w.k);
	w.inside = tide__calloc(m->spans.n, sizeof *w.inside);
	bool ok = w.inside && walk(&w);
	if (ok)
		name_functions(m, out);
	ok = ok && sum(out);
	tide__free(w.inside);
	tide__map_free(&w.unit_of);
	tide__map_free(&w.stage_of);
	if (!ok) {
		tide__compile_report_free(out);
		return tide__nomem(err);
	}
	tide__breaks_add_resumed(m, out);
	order(out);
	return TIDE_OK;
}

void tide__compile_report_free(tide_compile_report *r)
{
	tide__free(r->units);
	tide__free(r->breaks);
	tide__free(r->recompiles);
	tide__free(r->stages);
	*r = (tide_compile_report){ 0 };
}

double tide__compile_fusion(const tide_compile_report *r)
{
	int64_t calls = r->launches + r->external;
	return r->ops > 0 && r->launches >= 0 && calls > 0 ? (double)r->ops / (double)calls : 0;
}
