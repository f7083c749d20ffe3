// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Two passes over the spans: forwards for the module of each span and recomputation (parents and
 * forward ops come first), backwards for sums (a span's own are complete before they are added
 * to its parent, and to the forward op of a backward op). */
#include "analyze/ops/modules.h"

#include <string.h>

#include "analyze/common/interval_set.h"
#include "analyze/live/live_set.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

static const char PREFIX[] = "nn.Module: ";

static bool begins(const tide_model *m, tide_str s, const char *prefix)
{
	return !strncmp(tide__text(m, s, NULL), prefix, strlen(prefix));
}

const char *tide__module_text(const tide_model *m, tide_str name)
{
	const char *text = tide__text(m, name, NULL);
	return begins(m, name, PREFIX) ? text + strlen(PREFIX) : text;
}

/* Names repeat, so each is classified once: 1 = not a module's, 2 = a module's. */
static bool is_module(const tide_model *m, uint8_t *known, tide_str name)
{
	if (!known[name.i])
		known[name.i] = begins(m, name, PREFIX) ? 2 : 1;
	return known[name.i] == 2;
}

/* Returns true if the trace has modules; most traces have none. */
static bool any_module(const tide_model *m)
{
	for (uint32_t i = 1; i <= tide__strings_count(m->strings); i++)
		if (begins(m, (tide_str){ i }, PREFIX))
			return true;
	return false;
}

struct sums { /* of a span and all that is nested in it */
	uint64_t bytes, back_bytes, back_ops;
	int64_t back_ns;
	int64_t in_ns; /* of a backward op: module calls in it, which run the forward again */
	uint64_t in_bytes;
	int64_t dev_ns, back_dev_ns, in_dev_ns, again_dev_ns; /* of device rows, as above */
	int64_t again_ns; /* of a forward span: module calls in it that were run again */
	uint64_t again_bytes;
};

/* The pass of a span; AGAIN: in a recomputed module call. */
enum { FORWARD = TIDE_PASS_FORWARD, IN_BACKWARD = TIDE_PASS_BACKWARD, AGAIN = TIDE_PASS_RECOMPUTE };
enum { OF_SPANS, PASSES, SUMS }; /* what to find */

struct work {
	const tide_model *m;
	uint8_t *names;	   /* per name: is_module */
	uint32_t *forward; /* per span: its forward op, if it is a backward op; 0 = none */
	struct sums *of;   /* per span; NULL = not requested */
	uint8_t *where;	   /* per span: FORWARD ...; NULL = not requested */
	uint32_t *first; /* per outermost recomputed call: the call it repeats; 0 = not recorded */
};

static bool alloc_work(struct work *w, int what)
{
	bool sums = what == SUMS;
	const tide_spans *s = &w->m->spans;
	w->names = tide__calloc((size_t)tide__strings_count(w->m->strings) + 1, 1);
	w->forward = tide__calloc(s->n + 1, sizeof *w->forward);
	w->of = sums ? tide__calloc(s->n + 1, sizeof *w->of) : NULL;
	w->where = what != OF_SPANS ? tide__calloc(s->n + 1, 1) : NULL;
	w->first = what != OF_SPANS ? tide__calloc(s->n + 1, sizeof *w->first) : NULL;
	return w->names && w->forward && (w->of || !sums) &&
	       ((w->where && w->first) || what == OF_SPANS);
}

static void free_work(struct work *w)
{
	tide__free(w->names);
	tide__free(w->forward);
	tide__free(w->of);
	tide__free(w->where);
	tide__free(w->first);
}

/* The engine's span runs one node, so it is the backward of the same op. */
static void find_forwards(struct work *w)
{
	const tide_model *m = w->m;
	const tide_flows *f = &m->flows;
	for (size_t i = 0; i < f->n; i++) {
		uint32_t to = f->to[i].i, around = m->spans.parent[to].i;
		if (f->kind[i] != TIDE_FLOW_FWD_BWD || f->from[i].i >= to)
			continue;
		if (around > f->from[i].i && begins(m, m->spans.name[around], "autograd::engine::"))
			to = around;
		w->forward[to] = f->from[i].i;
	}
}

static void find_modules(struct work *w, tide_str *of)
{
	const tide_spans *s = &w->m->spans;
	for (uint32_t i = 1; i < s->n; i++) {
		uint32_t from = w->forward[i] ? w->forward[i] : s->parent[i].i;
		of[i] = is_module(w->m, w->names, s->name[i]) ? s->name[i] : of[from];
	}
}

/* Returns true if a span is an op, not a call of a module. */
static bool any_op(const struct work *w)
{
	const tide_spans *s = &w->m->spans;
	for (uint32_t i = 1; i < s->n; i++)
		if (s->cat[i] == TIDE_CAT_OP && !is_module(w->m, w->names, s->name[i]))
			return true;
	return false;
}

static bool is_backward(const struct work *w, uint32_t i)
{
	return w->forward[i] || begins(w->m, w->m->spans.name[i], "autograd::engine::");
}

/* Checkpointed modules are called again while the backward runs. Such a call repeats the last one
 * of its name that ran forward. Returns false if memory runs out. */
static bool find_again(struct work *w)
{
	const tide_spans *s = &w->m->spans;
	tide_map last = { 0 }; /* name -> last call that ran forward */
	bool ok = true;
	for (uint32_t i = 1; ok && i < s->n; i++) {
		uint8_t around = w->where[s->parent[i].i];
		bool module = is_module(w->m, w->names, s->name[i]);
		w->where[i] = is_backward(w, i)			? IN_BACKWARD
			      : module && around == IN_BACKWARD ? AGAIN
								: around;
		if (module && w->where[i] == FORWARD)
			ok = tide__map_put(&last, s->name[i].i, i);
		else if (module && around == IN_BACKWARD)
			w->first[i] = tide__map_get(&last, s->name[i].i);
	}
	tide__map_free(&last);
	return ok;
}

/* An outermost recomputed call. */
static bool begins_again(const struct work *w, uint32_t i)
{
	return w->where[i] == AGAIN && w->where[w->m->spans.parent[i].i] == IN_BACKWARD;
}

static int64_t length(const tide_model *m, uint32_t i)
{
	return tide__span_end(m, i) - m->spans.t0[i];
}

/* Adds device rows to the spans that launched them. Returns true if there are any. */
static bool add_device_rows(struct work *w)
{
	const tide_spans *s = &w->m->spans;
	bool any = false;
	for (uint32_t i = 1; i < s->n; i++) {
		if (!tide__cat_is_gpu(s->cat[i]))
			continue;
		any = true;
		w->of[tide__launched_by(w->m, i)].dev_ns += length(w->m, i);
	}
	w->of[0].dev_ns = 0; /* their launch is not recorded */
	return any;
}

static void add_up(struct work *w)
{
	const tide_model *m = w->m;
	for (size_t i = 1; i < m->allocs.n; i++)
		w->of[m->allocs.span[i].i].bytes += m->allocs.size[i];
	for (uint32_t i = (uint32_t)m->spans.n; i-- > 1;) {
		const struct sums *s = &w->of[i];
		struct sums *f = &w->of[w->forward[i]], *p = &w->of[m->spans.parent[i].i];
		if (w->forward[i]) {
			f->back_ns += length(m, i) - s->in_ns;
			f->back_bytes += s->bytes - s->in_bytes;
			f->back_dev_ns += s->dev_ns - s->in_dev_ns;
			f->back_ops++;
		}
		bool again = begins_again(w, i);
		if (again && w->first[i]) { /* part of the modules around the call that it
					     * repeats */
			struct sums *up = &w->of[m->spans.parent[w->first[i]].i];
			up->again_ns += length(m, i);
			up->again_bytes += s->bytes;
			up->again_dev_ns += s->dev_ns;
		}
		p->in_ns += again ? length(m, i) : s->in_ns;
		p->in_bytes += again ? s->bytes : s->in_bytes;
		p->in_dev_ns += again ? s->dev_ns : s->in_dev_ns;
		p->again_ns += s->again_ns;
		p->again_bytes += s->again_bytes;
		p->again_dev_ns += s->again_dev_ns;
		p->bytes += s->bytes;
		p->dev_ns += s->dev_ns;
		p->back_ns += s->back_ns;
		p->back_bytes += s->back_bytes;
		p->back_dev_ns += s->back_dev_ns;
		p->back_ops += s->back_ops;
	}
}

static tide_module_row *row_of(tide_modules *x, tide_str name)
{
	uint32_t at = tide__map_get(&x->index, name.i);
	if (at)
		return &x->rows[at - 1];
	if (!TIDE_ROOM(x->rows, x->cap, x->n + 1))
		return NULL;
	if (!tide__map_put(&x->index, name.i, (uint32_t)x->n + 1))
		return NULL;
	x->rows[x->n] = (tide_module_row){ .name = name };
	return &x->rows[x->n++];
}

static bool fill_rows(const struct work *w, tide_modules *x)
{
	const tide_spans *s = &w->m->spans;
	for (uint32_t i = 1; i < s->n; i++) {
		if (!is_module(w->m, w->names, s->name[i]))
			continue;
		tide_module_row *r = row_of(x, s->name[i]);
		if (!r)
			return false;
		bool again = w->where[i] == AGAIN;
		r->calls += !again;
		r->again_calls += again;
		if (!begins_again(w, i) && x->of[s->parent[i].i].i == s->name[i].i)
			continue; /* it calls itself */
		*(again ? &r->again_ns : &r->forward_ns) += length(w->m, i);
		*(again ? &r->again_bytes : &r->forward_bytes) += w->of[i].bytes;
		*(again ? &r->again_device_ns : &r->forward_device_ns) += w->of[i].dev_ns;
		r->again_ns += w->of[i].again_ns;
		r->again_bytes += w->of[i].again_bytes;
		r->again_device_ns += w->of[i].again_dev_ns;
		r->backward_ns += w->of[i].back_ns;
		r->backward_bytes += w->of[i].back_bytes;
		r->backward_device_ns += w->of[i].back_dev_ns;
		r->backward_ops += w->of[i].back_ops;
	}
	return true;
}

static tide_code solve(const tide_model *m, tide_modules *out, int what, tide_error *err)
{
	struct work w = { .m = m };
	memset(out, 0, sizeof *out);
	out->of = tide__calloc(m->spans.n + 1, sizeof *out->of);
	out->any = any_module(m);
	out->memory = tide__memory_known(m, TIDE_ANY);
	if (out->of && !out->any && what != PASSES)
		return TIDE_OK;
	bool ok = out->of && alloc_work(&w, what);
	if (ok) {
		find_forwards(&w);
		find_modules(&w, out->of);
	}
	if (ok && what != OF_SPANS)
		ok = find_again(&w);
	if (ok && what == PASSES) {
		out->pass = w.where;
		w.where = NULL;
	} else if (ok && what == SUMS) {
		out->ops = any_op(&w);
		out->device = add_device_rows(&w);
		add_up(&w);
		ok = fill_rows(&w, out);
	}
	free_work(&w);
	return ok ? TIDE_OK : tide__nomem(err);
}

tide_code tide__find_modules(const tide_model *m, tide_modules *out, tide_error *err)
{
	return solve(m, out, SUMS, err);
}

tide_code tide__modules_find_of_spans(const tide_model *m, tide_modules *out, tide_error *err)
{
	return solve(m, out, OF_SPANS, err);
}

tide_code tide__modules_find_passes(const tide_model *m, tide_modules *out, tide_error *err)
{
	return solve(m, out, PASSES, err);
}

void tide__modules_free(tide_modules *x)
{
	tide__free(x->rows);
	tide__free(x->of);
	tide__free(x->pass);
	tide__map_free(&x->index);
	memset(x, 0, sizeof *x);
}
