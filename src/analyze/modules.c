// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Two passes over the spans: forwards for "part of which module" (a parent and a forward op come
 * before what asks for them), backwards for sums (a span's own are complete before they go to its
 * parent, and to the forward op of which it is the backward). */
#include "analyze/modules.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

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

/* Names repeat: is each one a module's? 1 no, 2 yes. */
static bool is_module(const tide_model *m, uint8_t *known, tide_str name)
{
	if (!known[name.i])
		known[name.i] = begins(m, name, PREFIX) ? 2 : 1;
	return known[name.i] == 2;
}

struct work {
	const tide_model *m;
	uint8_t *names;	   /* per name: is_module */
	uint32_t *forward; /* per span: the op of which it is the backward; 0 = none */
	uint64_t *bytes, *back_bytes, *back_ops;
	int64_t *back_ns;
};

static bool alloc_work(struct work *w, bool sums)
{
	const tide_spans *s = &w->m->spans;
	uint32_t top = 0;
	for (size_t i = 1; i < s->n; i++)
		top = s->name[i].i > top ? s->name[i].i : top;
	w->names = tide__calloc((size_t)top + 1, 1);
	w->forward = tide__calloc(s->n + 1, sizeof *w->forward);
	if (!sums)
		return w->names && w->forward;
	w->bytes = tide__calloc(s->n + 1, sizeof *w->bytes);
	w->back_bytes = tide__calloc(s->n + 1, sizeof *w->back_bytes);
	w->back_ops = tide__calloc(s->n + 1, sizeof *w->back_ops);
	w->back_ns = tide__calloc(s->n + 1, sizeof *w->back_ns);
	return w->names && w->forward && w->bytes && w->back_bytes && w->back_ops && w->back_ns;
}

static void free_work(struct work *w)
{
	tide__free(w->names);
	tide__free(w->forward);
	tide__free(w->bytes);
	tide__free(w->back_bytes);
	tide__free(w->back_ops);
	tide__free(w->back_ns);
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

static int64_t length(const tide_model *m, uint32_t i)
{
	int64_t t1 = m->spans.t1[i] == TIDE_T_NEVER ? m->t_end : m->spans.t1[i];
	return t1 - m->spans.t0[i];
}

static void add_up(struct work *w)
{
	const tide_model *m = w->m;
	for (size_t i = 1; i < m->allocs.n; i++)
		w->bytes[m->allocs.span[i].i] += m->allocs.size[i];
	for (uint32_t i = (uint32_t)m->spans.n; i-- > 1;) {
		uint32_t f = w->forward[i], p = m->spans.parent[i].i;
		if (f) {
			w->back_ns[f] += length(m, i);
			w->back_bytes[f] += w->bytes[i];
			w->back_ops[f]++;
		}
		w->bytes[p] += w->bytes[i];
		w->back_ns[p] += w->back_ns[i];
		w->back_bytes[p] += w->back_bytes[i];
		w->back_ops[p] += w->back_ops[i];
	}
}

static tide_module_row *row_of(tide_modules *x, tide_str name)
{
	uint32_t at = tide__map_get(&x->index, name.i);
	if (at)
		return &x->rows[at - 1];
	if (x->n == x->cap) {
		size_t cap = x->cap ? x->cap * 2 : 64;
		tide_module_row *rows = tide__realloc(x->rows, cap, sizeof *rows);
		if (!rows)
			return NULL;
		x->rows = rows;
		x->cap = cap;
	}
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
		r->calls++;
		if (x->of[s->parent[i].i].i == s->name[i].i)
			continue; /* it calls itself */
		r->forward_ns += length(w->m, i);
		r->forward_bytes += w->bytes[i];
		r->backward_ns += w->back_ns[i];
		r->backward_bytes += w->back_bytes[i];
		r->backward_ops += w->back_ops[i];
	}
	return true;
}

static tide_code solve(const tide_model *m, tide_modules *out, bool sums, tide_error *err)
{
	struct work w = { .m = m };
	memset(out, 0, sizeof *out);
	out->of = tide__calloc(m->spans.n + 1, sizeof *out->of);
	bool ok = out->of && alloc_work(&w, sums);
	if (ok) {
		find_forwards(&w);
		find_modules(&w, out->of);
	}
	if (ok && sums) {
		add_up(&w);
		ok = fill_rows(&w, out);
	}
	free_work(&w);
	return ok ? TIDE_OK : tide__nomem(err);
}

tide_code tide__modules(const tide_model *m, tide_modules *out, tide_error *err)
{
	return solve(m, out, true, err);
}

tide_code tide__modules_of(const tide_model *m, tide_modules *out, tide_error *err)
{
	return solve(m, out, false, err);
}

void tide__modules_free(tide_modules *x)
{
	tide__free(x->rows);
	tide__free(x->of);
	tide__map_free(&x->index);
	memset(x, 0, sizeof *x);
}
