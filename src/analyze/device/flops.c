// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/device/flops.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/common/innermost_op.h"
#include "analyze/common/span_args.h"
#include "analyze/device/flop_rules.h"
#include "base/error.h"
#include "base/mem.h"

typedef struct call { /* one call of an op with a rule */
	uint32_t span;
	tide_str dims, types, concrete;
	int64_t ns;
} call;

typedef struct job {
	const tide_model *m;
	tide_str *names; /* per rule; 0 = no op of the trace */
	tide_str dims, types, concrete;
	uint32_t *inner; /* per span: the op in which it began */
	uint32_t *owner; /* per span that is an op: its call + 1; 0 = none */
	call *calls;
	size_t n, cap;
} job;

static bool has_rule(const job *w, tide_str name, size_t *rule)
{
	for (size_t i = 0; i < tide__flop_ops_count; i++)
		if (w->names[i].i && w->names[i].i == name.i) {
			*rule = i;
			return true;
		}
	return false;
}

/* ---- calls ---- */

static bool find_calls(job *w)
{
	const tide_model *m = w->m;
	size_t rule;
	for (uint32_t i = 1; i < m->spans.n; i++) {
		if (m->spans.cat[i] != TIDE_CAT_OP)
			continue;
		uint32_t outer = w->inner[i];
		w->owner[i] = outer ? w->owner[outer] : 0;
		if (w->owner[i] || !has_rule(w, m->spans.name[i], &rule))
			continue;
		if (!TIDE_ROOM(w->calls, w->cap, w->n + 1))
			return false;
		w->calls[w->n++] = (call){ .span = i,
					   .dims = tide__attr_text(m, i, w->dims),
					   .types = tide__attr_text(m, i, w->types),
					   .concrete = tide__attr_text(m, i, w->concrete) };
		w->owner[i] = (uint32_t)w->n;
	}
	return true;
}

/* Returns true if the trace has device rows. */
static bool add_times(job *w)
{
	const tide_model *m = w->m;
	bool device = false;
	for (uint32_t i = 1; i < m->spans.n; i++) {
		if (!tide__cat_is_gpu(m->spans.cat[i]))
			continue;
		device = true;
		uint32_t launch = m->spans.cause[i].i, op = launch ? w->inner[launch] : 0;
		if (op && w->owner[op])
			w->calls[w->owner[op] - 1].ns += m->spans.t1[i] - m->spans.t0[i];
	}
	for (size_t i = 0; !device && i < w->n; i++)
		w->calls[i].ns = m->spans.t1[w->calls[i].span] - m->spans.t0[w->calls[i].span];
	return device;
}

/* ---- rows ---- */

static const struct dtype {
	const char *text, *name;
	double size;
} dtypes[] = {
	{ "c10::BFloat16", "bfloat16", 2 },
	{ "c10::Half", "float16", 2 },
	{ "float", "float32", 4 },
	{ "double", "float64", 8 },
	{ "c10::Float8_e4m3fn", "float8", 1 },
	{ "c10::Float8_e5m2", "float8", 1 },
};

/* Returns the type of the first input that is a tensor of floating-point numbers; NULL = none. */
static const struct dtype *dtype_of(const char *types)
{
	for (const char *at = types; at && (at = strchr(at, '"'));) {
		const char *end = strchr(++at, '"');
		for (size_t i = 0; end && i < sizeof dtypes / sizeof *dtypes; i++)
			if (strlen(dtypes[i].text) == (size_t)(end - at) &&
			    !strncmp(at, dtypes[i].text, (size_t)(end - at)))
				return &dtypes[i];
		at = end ? end + 1 : NULL;
	}
	return NULL;
}

static int by_kind(const void *a, const void *b, void *user)
{
	const job *w = user;
	const call *x = a, *y = b;
	uint32_t p[] = { w->m->spans.name[x->span].i, x->dims.i, x->types.i, x->concrete.i },
		 q[] = { w->m->spans.name[y->span].i, y->dims.i, y->types.i, y->concrete.i };
	for (size_t i = 0; i < sizeof p / sizeof *p; i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? -1 : 1;
	return 0;
}

static int most_first(const void *a, const void *b)
{
	const tide_flop_row *x = a, *y = b;
	if (x->flops != y->flops)
		return x->flops > y->flops ? -1 : 1;
	return (x->dims.i > y->dims.i) - (x->dims.i < y->dims.i);
}

/* Fills a row for calls with equal shapes. Returns false if the shapes do not fit the op. */
static bool fill(const job *w, const call *c, tide_flop_row *r)
{
	size_t rule;
	tide_flop_cost cost;
	tide_str name = w->m->spans.name[c->span];
	tide_flop_text t = { c->dims.i ? tide__text(w->m, c->dims, NULL) : NULL,
			     c->concrete.i ? tide__text(w->m, c->concrete, NULL) : NULL };
	if (!has_rule(w, name, &rule) || !tide__flop_ops[rule].rule(&t, &cost))
		return false;
	const struct dtype *d = c->types.i ? dtype_of(tide__text(w->m, c->types, NULL)) : NULL;
	*r = (tide_flop_row){ .name = name,
			      .dims = c->dims,
			      .types = c->types,
			      .concrete = c->concrete,
			      .dtype = d ? d->name : NULL,
			      .flops = cost.flops,
			      .bytes = d ? cost.elements * d->size : 0 };
	return true;
}

static tide_code make_rows(job *w, tide_flops *out, tide_error *err)
{
	out->v = tide__calloc(w->n ? w->n : 1, sizeof *out->v);
	if (!out->v)
		return tide__nomem(err);
	if (w->n)
		qsort_r(w->calls, w->n, sizeof *w->calls, by_kind, w);
	for (size_t i = 0, end; i < w->n; i = end) {
		tide_flop_row *r = &out->v[out->n];
		for (end = i; end < w->n && !by_kind(&w->calls[i], &w->calls[end], w); end++) {
		}
		if (!fill(w, &w->calls[i], r)) {
			out->shapeless += end - i;
			continue;
		}
		for (size_t k = i; k < end; k++) {
			r->calls += w->calls[k].ns > 0;
			r->ns += w->calls[k].ns;
		}
		out->timeless += end - i - r->calls;
		r->flops *= (double)r->calls;
		r->bytes *= (double)r->calls;
		out->flops += r->flops;
		out->ns += r->ns;
		out->n += r->calls > 0;
	}
	if (out->n)
		qsort(out->v, out->n, sizeof *out->v, most_first);
	return TIDE_OK;
}

tide_code tide__find_flops(const tide_model *m, tide_flops *out, tide_error *err)
{
	job w = { .m = m,
		  .dims = tide__attr_key(m, "Input Dims"),
		  .types = tide__attr_key(m, "Input type"),
		  .concrete = tide__attr_key(m, "Concrete Inputs") };
	*out = (tide_flops){ 0 };
	w.names = tide__calloc(tide__flop_ops_count, sizeof *w.names);
	w.inner = tide__innermost_ops_find(m);
	w.owner = tide__calloc(m->spans.n + 1, sizeof *w.owner);
	tide_code rc = TIDE_OK;
	for (size_t i = 0; w.names && i < tide__flop_ops_count; i++)
		w.names[i] = tide__attr_key(m, tide__flop_ops[i].name);
	if (!w.names || !w.inner || !w.owner || !find_calls(&w))
		rc = tide__nomem(err);
	if (rc == TIDE_OK) {
		out->calls = w.n;
		out->device = add_times(&w);
		rc = make_rows(&w, out, err);
	}
	tide__free(w.names);
	tide__free(w.inner);
	tide__free(w.owner);
	tide__free(w.calls);
	return rc;
}

void tide__flops_free(tide_flops *f)
{
	tide__free(f->v);
	*f = (tide_flops){ 0 };
}
