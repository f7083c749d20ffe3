// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Links spans after they were sorted.
 *
 *   cause       a device row's (and a sync row's) runtime or driver call: same correlation; all
 *               kernels of a graph launch share one. The earliest if several calls have it.
 *   flow LAUNCH op -> device row, only if the row's External id names another op than the one
 *               around its cause, or if the launch is not in the trace
 *   flow WAIT   event record -> sync row that waits for it
 *   flow FWD_BWD, OTHER  flow events; without any, Sequence numbers give FWD_BWD */
#include <string.h>

#include "base/mem.h"
#include "import/kineto/kineto_impl.h"
#include "model/span_parents.h"
#include "model/mergesort.h"

/* id number -> span: an array while ids are dense, a map otherwise. */
typedef struct index {
	uint32_t *dense;
	size_t n;
	tide_map map;
} index_t;

static bool index_init(index_t *x, const kin_build *b)
{
	uint32_t max = 0;
	size_t n = b->m->spans.n;
	*x = (index_t){ 0 };
	for (size_t i = 1; i < n; i++)
		max = b->link[i] > max ? b->link[i] : max;
	if (max / 4 > n + 256)
		return true;
	x->n = (size_t)max + 1;
	x->dense = tide__alloc(x->n, sizeof *x->dense);
	if (x->dense)
		memset(x->dense, 0, x->n * sizeof *x->dense); /* calloc's pages would fault twice */
	return x->dense;
}

static uint32_t index_get(const index_t *x, uint64_t id)
{
	return x->dense ? (id < x->n ? x->dense[id] : 0) : tide__map_get(&x->map, id);
}

/* The first span with an id keeps it. */
static bool index_put(index_t *x, uint32_t id, uint32_t span)
{
	if (!id || index_get(x, id))
		return true;
	if (!x->dense)
		return tide__map_put(&x->map, id, span);
	x->dense[id] = span;
	return true;
}

static void index_fini(index_t *x)
{
	tide__free(x->dense);
	tide__map_free(&x->map);
}

static bool is_launch(unsigned cat)
{
	return cat == TIDE_CAT_RUNTIME || cat == TIDE_CAT_DRIVER;
}

static bool is_op(unsigned cat)
{
	return cat == TIDE_CAT_OP || cat == TIDE_CAT_USER;
}

static bool fill(const kin_build *b, index_t *x, bool (*which)(unsigned cat))
{
	const tide_spans *s = &b->m->spans;
	for (uint32_t i = 1; i < s->n; i++)
		if (which(s->cat[i]) && !index_put(x, b->link[i], i))
			return false;
	return true;
}

static void set_causes(kin_build *b, const index_t *launches)
{
	tide_spans *s = &b->m->spans;
	for (uint32_t i = 1; i < s->n; i++)
		if (b->link[i] && (tide__cat_is_gpu(s->cat[i]) || s->cat[i] == TIDE_CAT_SYNC))
			s->cause[i].i = index_get(launches, b->link[i]);
}

static bool add_flow(kin_build *b, uint32_t from, uint32_t to, unsigned kind)
{
	size_t row;
	if (!tide__table_push(&b->m->flows, &tide_flows_desc, &row))
		return false;
	b->m->flows.from[row].i = from;
	b->m->flows.to[row].i = to;
	b->m->flows.kind[row] = (uint8_t)kind;
	return true;
}

/* Returns the innermost op around a span, itself included. */
static uint32_t op_around(const tide_spans *s, uint32_t i)
{
	while (i && !is_op(s->cat[i]))
		i = s->parent[i].i;
	return i;
}

static bool link_refs(kin_build *b, const index_t *launches, const index_t *ops)
{
	const tide_spans *s = &b->m->spans;
	for (size_t i = 0; i < b->n_refs; i++) {
		const kin_ref *r = &b->refs[i];
		uint32_t from = r->what & KIN_HAS_REC	? index_get(launches, r->id)
				: r->what & KIN_HAS_EXT ? index_get(ops, r->id)
							: 0;
		if (!from || (r->what & KIN_HAS_EXT && op_around(s, s->cause[r->span].i) == from))
			continue;
		if (!add_flow(b, from, r->span,
			      r->what & KIN_HAS_REC ? TIDE_FLOW_WAIT : TIDE_FLOW_LAUNCH))
			return false;
	}
	return true;
}

/* ---- flow events ---- */

static inline bool flow_before(const void *ctx, uint32_t x, uint32_t y)
{
	const kin_flow *f = ctx;
	return f[x].ts != f[y].ts ? f[x].ts < f[y].ts : f[x].in < f[y].in;
}

/* Finds the span a flow event on a lane at a time points to: climbs from the last span begun
 * there. */
static uint32_t bind_flow(const tide_spans *s, uint32_t i, int64_t t, unsigned kind)
{
	while (i && (s->t1[i] < t || (kind == TIDE_FLOW_FWD_BWD && s->cat[i] != TIDE_CAT_OP)))
		i = s->parent[i].i;
	return i;
}

static bool sweep_flows(kin_build *b, const uint32_t *order, uint32_t *last, tide_map *from)
{
	const tide_spans *s = &b->m->spans;
	uint64_t lost = 0;
	uint32_t next = 1;
	for (size_t i = 0; i < b->n_flows; i++) {
		const kin_flow *f = &b->flows[order[i]];
		for (; next < s->n && s->t0[next] <= f->ts; next++)
			last[s->lane[next].i] = next;
		uint32_t at = bind_flow(s, last[f->lane], f->ts, f->kind), start;
		uint64_t key = (uint64_t)f->kind << 32 | f->id;
		if (!f->in) {
			if (at && !tide__map_put(from, key, at))
				return false;
			continue;
		}
		start = tide__map_get(from, key);
		if (!at || !start)
			lost++;
		else if (!add_flow(b, start, at, f->kind))
			return false;
	}
	return !lost || tide__fact_add(b->m, "loss.flows_unmatched", (int64_t)lost);
}

static bool link_flow_events(kin_build *b)
{
	size_t n = b->n_flows;
	uint32_t *order = tide__alloc(n * 2, sizeof *order);
	uint32_t *last = tide__calloc(b->m->lanes.n, sizeof *last);
	tide_map from = { 0 };
	bool ok = order && last && n < UINT32_MAX;
	for (uint32_t i = 0; ok && i < n; i++)
		order[i] = i;
	if (ok) {
		tide__mergesort(order, order + n, n, flow_before, b->flows);
		ok = sweep_flows(b, order, last, &from);
	}
	tide__free(order);
	tide__free(last);
	tide__map_free(&from);
	return ok;
}

/* ---- Sequence numbers ---- */

static bool is_engine(const tide_model *m, uint32_t span)
{
	static const char prefix[] = "autograd::engine::";
	return !strncmp(tide__text(m, m->spans.name[span], NULL), prefix, sizeof prefix - 1);
}

static inline bool ref_before(const void *ctx, uint32_t x, uint32_t y)
{
	const kin_ref *r = ctx;
	return r[x].span < r[y].span;
}

/* Links the last forward op that began with the number to the backward node below the engine's
 * row. */
static bool link_sequences(kin_build *b)
{
	size_t n = b->n_refs;
	tide_map fwd = { 0 };
	uint32_t *order = n < UINT32_MAX ? tide__alloc(n * 2, sizeof *order) : NULL;
	bool ok = order;
	for (uint32_t i = 0; ok && i < n; i++)
		order[i] = i;
	if (ok)
		tide__mergesort(order, order + n, n, ref_before, b->refs);
	for (size_t i = 0; ok && i < n; i++) {
		const kin_ref *r = &b->refs[order[i]];
		if (!(r->what & KIN_HAS_SEQ))
			continue;
		uint32_t from = tide__map_get(&fwd, r->id);
		if (!(r->what & KIN_IS_BWD))
			ok = tide__map_put(&fwd, r->id, r->span);
		else if (from && !is_engine(b->m, r->span))
			ok = add_flow(b, from, r->span, TIDE_FLOW_FWD_BWD);
	}
	tide__free(order);
	tide__map_free(&fwd);
	return ok;
}

static bool have_fwd_bwd(const kin_build *b)
{
	for (size_t i = 0; i < b->n_flows; i++)
		if (b->flows[i].kind == TIDE_FLOW_FWD_BWD)
			return true;
	return false;
}

bool tide__kineto_link(kin_build *b)
{
	index_t launches, ops = { 0 };
	bool ok = index_init(&launches, b) && fill(b, &launches, is_launch);
	if (ok)
		set_causes(b, &launches);
	ok = ok && index_init(&ops, b) && fill(b, &ops, is_op) && link_refs(b, &launches, &ops);
	index_fini(&launches);
	index_fini(&ops);
	if (!(b->want & TIDE_WANT_FLOWS))
		return ok && tide__sort_flows(b->m);
	ok = ok && link_flow_events(b) && (have_fwd_bwd(b) || link_sequences(b));
	return ok && tide__sort_flows(b->m);
}
