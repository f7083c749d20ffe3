// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Converts the clocks of all ranks to one axis.
 *
 * Each rank counted its own operations. Interval k of a rank reaches from the end of its outermost
 * program k - 1 to that of program k. Interval k begins at one position on all ranks: after the
 * longest interval k - 1. So ranks that run the same program have the same operation at the same
 * position, for any order of their lines; and the ends of the kth programs are one phase.
 * Operations without a block have no position of their own.
 *
 * Then rows are sorted: ranks by their number, spans, states and marks by time and rank. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "import/tenstorrent/ttlog_impl.h"
#include "model/mergesort.h"

enum {
	TURN = TIDE_OP_NS / 4
}; /* distance between the end of an interval and the begin of the
                                 * next */

typedef struct axis {
	ttlog *x;
	uint32_t **before; /* owned; by rank: operations with a block before operation i */
	uint64_t *begin;   /* owned; begin of interval k; n + 1 of them */
	size_t n;	   /* intervals */
	uint32_t *of_lane, *of_pool; /* owned: rank + 1, 0 = none */
} axis;

/* ---- positions ---- */

/* Returns true if no two operations share a position. */
static bool all_kept(const ttlog *x)
{
	return !x->skipped || !x->blocks;
}

static bool count_kept(axis *a, size_t rank)
{
	const tt_rank *r = &a->x->ranks[rank];
	bool all = all_kept(a->x);
	uint32_t *v = a->before[rank] = tide__alloc(r->n_ops + 1, sizeof *v);
	if (!v)
		return tide__ttlog_nomem(a->x);
	v[0] = 0;
	for (size_t i = 0; i < r->n_ops; i++)
		v[i + 1] = v[i] + (all || r->kept[i]);
	return true;
}

/* Returns the operations of the rank up to the end of interval k. */
static uint64_t ops_until(const tt_rank *r, size_t k)
{
	return k < r->n_ends ? r->ends[k].ops : r->n_ops;
}

static uint64_t first_of(const tt_rank *r, size_t k)
{
	return k ? ops_until(r, k - 1) : 0;
}

static bool stretches(axis *a)
{
	const ttlog *x = a->x;
	for (size_t i = 0; i < x->n_ranks; i++)
		a->n = x->ranks[i].n_ends + 1 > a->n ? x->ranks[i].n_ends + 1 : a->n;
	a->begin = tide__calloc(a->n + 1, sizeof *a->begin);
	if (!a->begin)
		return tide__ttlog_nomem(a->x);
	for (size_t i = 0; i < x->n_ranks; i++) {
		const tt_rank *r = &x->ranks[i];
		for (size_t k = 0; k <= r->n_ends; k++) {
			uint64_t n = a->before[i][ops_until(r, k)] - a->before[i][first_of(r, k)];
			a->begin[k + 1] = n > a->begin[k + 1] ? n : a->begin[k + 1];
		}
	}
	for (size_t k = 0; k < a->n; k++)
		a->begin[k + 1] += a->begin[k];
	return true;
}

static size_t stretch_at(const tt_rank *r, int64_t t)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, r->n_ends, mid, r->ends[mid].t < t);
	return lo;
}

/* Returns the end of interval k. */
static int64_t end_of(const axis *a, size_t k)
{
	int64_t t = (int64_t)a->begin[k + 1] * TIDE_OP_NS - TURN;
	return t > 0 ? t : 0;
}

/* Returns the time of something in interval k of a rank, not earlier than its operation's. */
static int64_t place_in(const axis *a, size_t rank, size_t k, int64_t t)
{
	const tt_rank *r = &a->x->ranks[rank];
	uint64_t i = (uint64_t)(t / TIDE_OP_NS), first = first_of(r, k);
	if (a->x->n_ranks > 1 && i < first) { /* before the interval's first operation */
		int64_t past = t - r->ends[k - 1].t;
		if (!a->begin[k])
			return 0;
		return end_of(a, k - 1) + (past < TURN ? past : TURN - 1);
	}
	i = i < r->n_ops ? i : r->n_ops - 1;
	int64_t at = (int64_t)(a->begin[k] + a->before[rank][i] - a->before[rank][first]);
	if (a->before[rank][i + 1] == a->before[rank][i])
		return at ? at * TIDE_OP_NS - 1 : 0;
	return at * TIDE_OP_NS + t % TIDE_OP_NS;
}

/* Returns a rank's time on the axis; the order of intervals stays. */
static int64_t place(const axis *a, size_t rank, int64_t t)
{
	const tt_rank *r = &a->x->ranks[rank];
	if (t < 0 || t == TIDE_T_NEVER || !r->n_ops)
		return t;
	size_t k = stretch_at(r, t);
	int64_t x = place_in(a, rank, k, t);
	if (a->x->n_ranks < 2)
		return x;
	if (k && x < end_of(a, k - 1))
		x = end_of(a, k - 1);
	return k < r->n_ends && x > end_of(a, k) ? end_of(a, k) : x;
}

/* ---- all times ---- */

static bool owners(axis *a)
{
	const ttlog *x = a->x;
	a->of_lane = tide__calloc(x->m->lanes.n, sizeof *a->of_lane);
	a->of_pool = tide__calloc(x->m->pools.n, sizeof *a->of_pool);
	if (!a->of_lane || !a->of_pool)
		return tide__ttlog_nomem(a->x);
	for (size_t i = 0; i < x->n_ranks; i++) {
		a->of_lane[x->ranks[i].lane] = (uint32_t)i + 1;
		for (unsigned p = 0; p < TT_POOLS; p++)
			a->of_pool[x->ranks[i].pools[p].row] = (uint32_t)i + 1;
	}
	a->of_pool[0] = 0;
	return true;
}

static void move_times(axis *a)
{
	ttlog *x = a->x;
	tide_model *m = x->m;
#define EACH(from, count, column, owner)          \
	for (size_t i = (from); i < (count); i++) \
		if (owner)                        \
	(column) = place(a, (owner)-1, (column))
	EACH(1, m->spans.n, m->spans.t0[i], a->of_lane[m->spans.lane[i].i]);
	EACH(1, m->spans.n, m->spans.t1[i], a->of_lane[m->spans.lane[i].i]);
	EACH(0, m->pool_states.n, m->pool_states.t[i], a->of_pool[m->pool_states.pool[i].i]);
	EACH(0, m->documents.n, m->documents.t[i], a->of_lane[m->documents.lane[i].i]);
	EACH(0, x->n_marks, x->marks[i].t, a->of_lane[x->marks[i].lane]);
	EACH(1, x->n_lives, x->lives[i].born, a->of_lane[x->lives[i].lane]);
	EACH(1, x->n_lives, x->lives[i].died, a->of_lane[x->lives[i].lane]);
#undef EACH
}

/* ---- phases ---- */

/* Adds another rank's name of a phase. */
static tide_str join_names(ttlog *x, tide_str a, tide_str b)
{
	char text[256];
	const char *old = tide__text(x->m, a, NULL), *more = tide__text(x->m, b, NULL);
	const char *at = strstr(old, more);
	size_t n = strlen(more);
	if (a.i == b.i || (at && (at == old || at[-1] == ' ') && (!at[n] || at[n] == ' ')))
		return a;
	if ((size_t)snprintf(text, sizeof text, "%s | %s", old, more) >= sizeof text)
		return a;
	tide_str s = tide__intern(x->m, text);
	if (!s.i)
		tide__ttlog_nomem(x);
	return s;
}

/* Sets one mark where the kth program of all ranks ends. */
static bool join_phases(axis *a)
{
	ttlog *x = a->x;
	uint32_t *count = tide__calloc(x->n_ranks, sizeof *count),
		 *mark = tide__calloc(a->n, sizeof *mark);
	size_t n = 0;
	for (size_t i = 0; count && mark && i < x->n_marks; i++) {
		tt_mark k = x->marks[i];
		uint32_t rank = a->of_lane[k.lane];
		uint32_t *to = NULL;
		if (k.kind == TIDE_MARK_PHASE && rank) {
			size_t run = count[rank - 1]++;
			k.t = end_of(a, run);
			to = &mark[run];
		}
		if (to && *to) {
			tt_mark *first = &x->marks[*to - 1];
			first->name = join_names(x, first->name, k.name);
			continue;
		}
		x->marks[n++] = k;
		if (to)
			*to = (uint32_t)n;
	}
	bool ok = count && mark && x->rc == TIDE_OK;
	x->n_marks = n;
	tide__free(count);
	tide__free(mark);
	return ok || tide__ttlog_nomem(x);
}

/* ---- order ---- */

typedef struct order { /* perm: old row of each new one; at: new row of each old one */
	uint32_t *perm, *tmp, *at;
} order;

static void order_free(order *o)
{
	tide__free(o->perm);
	tide__free(o->tmp);
	tide__free(o->at);
}

static bool order_rows(ttlog *x, order *o, size_t first, size_t n, tide_less *less, const void *ctx)
{
	*o = (order){ tide__alloc(n + 1, sizeof *o->perm), tide__alloc(n + 1, sizeof *o->tmp),
		      tide__alloc(n + 1, sizeof *o->at) };
	if (!o->perm || !o->tmp || !o->at)
		return tide__ttlog_nomem(x);
	for (size_t i = 0; i < n; i++)
		o->perm[i] = (uint32_t)i;
	if (n > first)
		tide__mergesort(o->perm + first, o->tmp, n - first, less, ctx);
	for (size_t i = 0; i < n; i++)
		o->at[o->perm[i]] = (uint32_t)i;
	return true;
}

static bool by_number(const void *ctx, uint32_t a, uint32_t b)
{
	const int64_t *rank = ctx;
	return rank[a] != rank[b] ? rank[a] < rank[b] : a < b;
}

static bool by_device(const void *ctx, uint32_t a, uint32_t b)
{
	const tide_pools *p = ctx;
	if (p->device[a].i != p->device[b].i)
		return p->device[a].i < p->device[b].i;
	return p->kind[a] != p->kind[b] ? p->kind[a] < p->kind[b] : a < b;
}

/* Process, device and lane of a rank have the same row. */
static bool sort_ranks(ttlog *x)
{
	tide_model *m = x->m;
	order o;
	bool ok = order_rows(x, &o, 1, m->processes.n, by_number, m->processes.rank) &&
		  tide__table_permute(&m->processes, &tide_processes_desc, o.perm, 1) &&
		  tide__table_permute(&m->devices, &tide_devices_desc, o.perm, 1) &&
		  tide__table_permute(&m->lanes, &tide_lanes_desc, o.perm, 1);
	for (size_t i = 1; ok && i < m->lanes.n; i++)
		m->lanes.process[i].i = m->lanes.device[i].i = (uint32_t)i;
	for (size_t i = 1; ok && i < m->spans.n; i++)
		m->spans.lane[i].i = o.at[m->spans.lane[i].i];
	for (size_t i = 1; ok && i < m->pools.n; i++)
		m->pools.device[i].i = o.at[m->pools.device[i].i];
	for (size_t i = 0; ok && i < m->documents.n; i++)
		m->documents.lane[i].i = o.at[m->documents.lane[i].i];
	for (size_t i = 0; ok && i < x->n_marks; i++)
		x->marks[i].lane = o.at[x->marks[i].lane];
	for (size_t i = 1; ok && i < x->n_lives; i++)
		x->lives[i].lane = o.at[x->lives[i].lane];
	order_free(&o);
	return ok || tide__ttlog_nomem(x);
}

static bool sort_pools(ttlog *x)
{
	tide_model *m = x->m;
	order o;
	bool ok = order_rows(x, &o, 1, m->pools.n, by_device, &m->pools) &&
		  tide__table_permute(&m->pools, &tide_pools_desc, o.perm, 1);
	for (size_t i = 0; ok && i < m->pool_states.n; i++)
		m->pool_states.pool[i].i = o.at[m->pool_states.pool[i].i];
	for (size_t i = 0; ok && i < x->n_marks; i++)
		x->marks[i].pool = o.at[x->marks[i].pool];
	for (size_t i = 1; ok && i < x->n_lives; i++)
		x->lives[i].pool = o.at[x->lives[i].pool];
	order_free(&o);
	return ok || tide__ttlog_nomem(x);
}

static bool span_first(const void *ctx, uint32_t a, uint32_t b)
{
	const tide_spans *s = ctx;
	if (s->t0[a] != s->t0[b])
		return s->t0[a] < s->t0[b];
	return s->lane[a].i != s->lane[b].i ? s->lane[a].i < s->lane[b].i : a < b;
}

static bool sort_spans(ttlog *x)
{
	tide_model *m = x->m;
	order o;
	bool ok = order_rows(x, &o, 1, m->spans.n, span_first, &m->spans) &&
		  tide__table_permute(&m->spans, &tide_spans_desc, o.perm, 1);
	for (size_t i = 1; ok && i < m->spans.n; i++)
		m->spans.parent[i].i = o.at[m->spans.parent[i].i];
	for (size_t i = 0; ok && i < m->attrs.n; i++)
		m->attrs.span[i].i = o.at[m->attrs.span[i].i];
	for (size_t i = 0; ok && i < m->pool_states.n; i++)
		m->pool_states.span[i].i = o.at[m->pool_states.span[i].i];
	for (size_t i = 1; ok && i < x->n_lives; i++) {
		x->lives[i].span = o.at[x->lives[i].span];
		x->lives[i].free_span = o.at[x->lives[i].free_span];
	}
	order_free(&o);
	return ok || tide__ttlog_nomem(x);
}

typedef struct states {
	const int64_t *t;
	const tide_pool_id *pool;
	const tide_device_id *device;
} states;

/* The states of a block stay together: they have one time and one device. */
static bool state_first(const void *ctx, uint32_t a, uint32_t b)
{
	const states *s = ctx;
	uint32_t x = s->device[s->pool[a].i].i, y = s->device[s->pool[b].i].i;
	if (s->t[a] != s->t[b])
		return s->t[a] < s->t[b];
	return x != y ? x < y : a < b;
}

static bool sort_states(ttlog *x)
{
	tide_pool_states *t = &x->m->pool_states;
	states s = { t->t, t->pool, x->m->pools.device };
	order o;
	bool ok = order_rows(x, &o, 0, t->n, state_first, &s) &&
		  tide__table_permute(t, &tide_pool_states_desc, o.perm, 0);
	order_free(&o);
	return ok || tide__ttlog_nomem(x);
}

static bool document_first(const void *ctx, uint32_t a, uint32_t b)
{
	const tide_documents *d = ctx;
	if (d->t[a] != d->t[b])
		return d->t[a] < d->t[b];
	return d->lane[a].i != d->lane[b].i ? d->lane[a].i < d->lane[b].i : a < b;
}

static bool sort_documents(ttlog *x)
{
	tide_documents *d = &x->m->documents;
	order o;
	bool ok = order_rows(x, &o, 0, d->n, document_first, d) &&
		  tide__table_permute(d, &tide_documents_desc, o.perm, 0);
	order_free(&o);
	return ok || tide__ttlog_nomem(x);
}

static bool mark_first(const void *ctx, uint32_t a, uint32_t b)
{
	const tt_mark *k = ctx;
	if (k[a].t != k[b].t)
		return k[a].t < k[b].t;
	return k[a].lane != k[b].lane ? k[a].lane < k[b].lane : a < b;
}

static bool sort_marks(ttlog *x)
{
	order o;
	tt_mark *v = tide__alloc(x->n_marks + 1, sizeof *v);
	bool ok = order_rows(x, &o, 0, x->n_marks, mark_first, x->marks) && v;
	for (size_t i = 0; ok && i < x->n_marks; i++)
		v[i] = x->marks[o.perm[i]];
	if (ok && x->n_marks)
		memcpy(x->marks, v, x->n_marks * sizeof *v);
	order_free(&o);
	tide__free(v);
	return ok || tide__ttlog_nomem(x);
}

/* Returns true if there is one rank and all its operations have a position: its clock is the
 * axis. */
static bool is_axis(const ttlog *x)
{
	return x->n_ranks == 1 && all_kept(x);
}

bool tide__ttlog_place_on_axis(ttlog *x)
{
	axis a = { .x = x };
	if (is_axis(x)) {
		x->m->t_end = (int64_t)x->ranks[0].n_ops * TIDE_OP_NS;
		return true;
	}
	a.before = tide__calloc(x->n_ranks + 1, sizeof *a.before);
	bool ok = a.before || tide__ttlog_nomem(x);
	for (size_t i = 0; ok && i < x->n_ranks; i++)
		ok = count_kept(&a, i);
	ok = ok && stretches(&a) && owners(&a);
	if (ok) {
		move_times(&a);
		x->m->t_end = (int64_t)a.begin[a.n] * TIDE_OP_NS;
	}
	if (ok && x->n_ranks > 1)
		ok = join_phases(&a) && sort_ranks(x) && sort_pools(x) && sort_spans(x) &&
		     sort_states(x) && sort_documents(x) && sort_marks(x);
	for (size_t i = 0; a.before && i < x->n_ranks; i++)
		tide__free(a.before[i]);
	tide__free(a.before);
	tide__free(a.begin);
	tide__free(a.of_lane);
	tide__free(a.of_pool);
	return ok;
}
