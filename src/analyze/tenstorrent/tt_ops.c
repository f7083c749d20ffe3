// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Operations with their blocks, their changes, and the peaks. One pass over spans, one over pool
 * states. */
#include <math.h>
#include <string.h>

#include "analyze/tenstorrent/tt_impl.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"

/* ---- which operations ---- */

enum { KEEP, DEALLOCATE, GET_DEVICE };

static int kind_of(const tide_model *m, uint32_t span)
{
	const char *name = tide__text(m, m->spans.name[span], NULL);
	return strstr(name, "deallocate") || !strcmp(name, "DeallocateOp")  ? DEALLOCATE
	       : strstr(name, "get_device") || !strcmp(name, "GetDeviceOp") ? GET_DEVICE
									    : KEEP;
}

/* Returns the end of the warm-up: the time when every rank that prints its output has printed the
 * first one; -1 = none has. */
static int64_t end_of_warmup(const tide_model *m, bool *seen)
{
	int64_t t = -1;
	for (size_t i = 1; i < m->marks.n; i++) {
		uint32_t lane = m->marks.lane[i].i;
		if (m->marks.kind[i] != TIDE_MARK_ANNOTATION || seen[lane] ||
		    strcmp(tide__text(m, m->marks.name[i], NULL), "output") != 0)
			continue;
		seen[lane] = true;
		t = m->marks.t[i] > t ? m->marks.t[i] : t;
	}
	return t;
}

/* Returns the time from which operations count; -1 if memory runs out. */
static int64_t begin_of(tide_tt *t, const tide_tt_options *opt)
{
	const tide_model *m = t->m;
	int64_t from = 0;
	for (size_t i = 1; i < m->marks.n; i++) {
		if (m->marks.kind[i] != TIDE_MARK_PHASE)
			continue;
		if (++t->runs == opt->skip_runs)
			from = m->marks.t[i] + 1;
	}
	if (opt->skip_runs > t->runs)
		from = INT64_MAX;
	if (!opt->skip_warmup)
		return from;
	bool *seen = tide__calloc(m->lanes.n, sizeof *seen);
	int64_t warm = seen ? end_of_warmup(m, seen) : -1;
	tide__free(seen);
	t->no_warmup = warm < 0;
	return !seen ? -1 : warm + 1 > from ? warm + 1 : from;
}

static void read_attrs(const tide_model *m, const keys *k, size_t *at, tide_tt_op *o)
{
	const tide_attrs *a = &m->attrs;
	while (*at < a->n && a->span[*at].i < o->span)
		++*at;
	for (; *at < a->n && a->span[*at].i == o->span; ++*at) {
		uint32_t key = a->key[*at].i;
		if (key == k->line)
			o->line = (uint64_t)a->number[*at];
		else if (key == k->mlir)
			o->text = a->text[*at];
		else if (key == k->type)
			o->type = a->text[*at];
		else if (key == k->graph)
			o->graph = a->text[*at];
		else if (key == k->miss)
			o->miss = a->number[*at] != 0;
		else if (key == k->session)
			o->session = (uint32_t)a->number[*at];
	}
}

/* Returns row + 1 in pool_states of the first state before each span, or else of the first after
 * it: some files have only that for their first operation. 0 = none. */
static uint32_t *first_states(const tide_model *m)
{
	uint32_t *first = tide__calloc(m->spans.n, sizeof *first);
	for (size_t i = m->pool_states.n; first && i > 0; i--) {
		uint32_t *to = &first[m->pool_states.span[i - 1].i];
		if (m->pool_states.when[i - 1] == TIDE_STATE_BEFORE || !*to ||
		    m->pool_states.when[*to - 1] == TIDE_STATE_AFTER)
			*to = (uint32_t)i;
	}
	return first;
}

static unsigned pool_index(const tide_model *m, uint32_t pool)
{
	unsigned k = m->pools.kind[pool];
	return k >= TIDE_POOL_DRAM && k <= TIDE_POOL_TRACE ? k - TIDE_POOL_DRAM : TIDE_TT_POOLS;
}

static void set_states(const tide_model *m, uint32_t row, tide_tt_op *o)
{
	const tide_pool_states *s = &m->pool_states;
	for (; row <= s->n && s->span[row - 1].i == o->span; row++) {
		unsigned p = pool_index(m, s->pool[row - 1].i);
		if (p == TIDE_TT_POOLS)
			continue;
		if (s->when[row - 1] == TIDE_STATE_BEFORE && !o->state[p])
			o->state[p] = row;
		if (s->allocated[row - 1] > o->high[p])
			o->high[p] = s->allocated[row - 1];
	}
}

static bool put_op(tide_tt *t, tide_tt_op o, uint32_t first)
{
	if (!first) {
		if (!TIDE_ROOM(t->skipped, t->cap_skipped, t->n_skipped + 1))
			return false;
		t->skipped[t->n_skipped++] = o.span;
		return true;
	}
	if (!TIDE_ROOM(t->ops, t->cap_ops, t->n + 1))
		return false;
	set_states(t->m, first, &o);
	t->ops[t->n++] = o;
	return true;
}

static bool list_ops(tide_tt *t, const tide_tt_options *opt)
{
	const tide_model *m = t->m;
	keys k = tide__tt_find_keys(m);
	int64_t from = begin_of(t, opt);
	size_t at = 0;
	bool ok = from >= 0;
	uint32_t *first = first_states(m);
	for (uint32_t s = 1; first && ok && s < m->spans.n; s++) {
		if (m->spans.cat[s] != TIDE_CAT_OP || m->spans.t0[s] < from)
			continue;
		uint32_t lane = m->spans.lane[s].i, process = m->lanes.process[lane].i;
		if (opt->rank >= 0 && m->processes.rank[process] != opt->rank)
			continue;
		int kind = kind_of(m, s);
		t->deallocates += kind == DEALLOCATE;
		t->get_devices += kind == GET_DEVICE;
		if (kind != KEEP)
			continue;
		tide_tt_op o = { .span = s, .lane = lane, .process = process };
		for (unsigned p = 0; p < TIDE_TT_POOLS; p++)
			o.change[p] = TIDE_TT_UNKNOWN;
		read_attrs(m, &k, &at, &o);
		ok = put_op(t, o, first[s]);
	}
	ok &= first != NULL;
	tide__free(first);
	return ok;
}

/* ---- changes by operation ---- */

int64_t tide__tt_position(const tide_tt *t, size_t op)
{
	return t->m->spans.t0[t->ops[op].span] / TIDE_OP_NS;
}

int64_t tide__tt_op_at(const tide_tt *t, uint32_t span)
{
	size_t lo = 0;
	uint32_t lane = t->m->spans.lane[span].i;
	TIDE_SEARCH(lo, t->n, mid, t->ops[mid].span <= span);
	while (lo > 0 && t->ops[lo - 1].lane != lane)
		lo--;
	return (int64_t)lo - 1;
}

/* Returns the outermost span around one: its program's run. */
static uint32_t root_of(const tide_model *m, uint32_t span)
{
	while (span && m->spans.parent[span].i)
		span = m->spans.parent[span].i;
	return span && m->spans.cat[span] == TIDE_CAT_USER ? span : 0;
}

/* Returns the span that the change from state a to state b of one pool is attributed to, 0 =
 * unknown. */
static uint32_t charged(const tide_model *m, size_t a, size_t b)
{
	const tide_pool_states *s = &m->pool_states;
	if (s->when[b] == TIDE_STATE_BETWEEN)
		return 0;
	if (s->when[a] != TIDE_STATE_BEFORE)
		return s->when[b] == TIDE_STATE_AFTER	 ? s->span[b].i
		       : s->when[b] == TIDE_STATE_BEFORE ? root_of(m, s->span[b].i)
							 : 0;
	if (s->when[b] == TIDE_STATE_AFTER)
		return s->span[a].i;
	return root_of(m, s->span[a].i) == root_of(m, s->span[b].i) ? s->span[a].i : 0;
}

static void see_peak(tide_tt *t, unsigned p, size_t row, uint32_t by)
{
	const tide_pool_states *s = &t->m->pool_states;
	tide_tt_peak *own = &t->peaks[s->pool[row].i], *all = &t->peak[p];
	if (own->state && s->allocated[row] <= own->bytes)
		return;
	*own = (tide_tt_peak){ s->allocated[row], (uint32_t)row + 1, by,
			       by ? tide__tt_op_at(t, by) : -1, s->pool[row].i };
	if (!all->state || own->bytes > all->bytes)
		*all = *own;
}

static bool is_of_rank(const tide_model *m, uint32_t span, int64_t rank)
{
	return rank < 0 ||
	       (span && m->processes.rank[m->lanes.process[m->spans.lane[span].i].i] == rank);
}

/* Walks the states of every pool, each with its predecessor. */
static bool changes(tide_tt *t, int64_t rank)
{
	const tide_model *m = t->m;
	const tide_pool_states *s = &m->pool_states;
	size_t *last = tide__calloc(m->pools.n, sizeof *last);
	uint32_t first_span = t->n ? t->ops[0].span : 0;
	for (size_t i = 0; last && i < s->n; i++) {
		uint32_t pool = s->pool[i].i;
		unsigned p = pool_index(m, pool);
		size_t was = last[pool];
		last[pool] = i + 1;
		if (p == TIDE_TT_POOLS || !is_of_rank(m, s->span[i].i, rank))
			continue;
		if (!t->pool_row[p])
			t->pool_row[p] = pool;
		uint32_t by = was ? charged(m, was - 1, i) : 0;
		if (t->n && s->span[i].i >= first_span)
			see_peak(t, p, i, by);
		int64_t op = was && s->span[was - 1].i ? tide__tt_op_at(t, s->span[was - 1].i) : -1;
		if (op < 0)
			continue;
		tide_tt_op *o = &t->ops[op];
		if (by == o->span)
			o->change[p] = (int64_t)s->allocated[i] - (int64_t)s->allocated[was - 1];
		if (by && s->allocated[i] > o->high[p])
			o->high[p] = s->allocated[i];
	}
	tide__free(last);
	return last != NULL;
}

/* ---- fragmentation ---- */

double tide__tt_fragmentation(const tide_model *m, uint32_t state)
{
	const tide_pool_states *s = &m->pool_states;
	if (!state || !s->free[state - 1] || s->largest[state - 1] == UINT64_MAX)
		return NAN;
	double f = 1 - (double)s->largest[state - 1] / (double)s->free[state - 1];
	return f < 0 ? 0 : f;
}

static void trend(tide_tt *t, unsigned p)
{
	tide_tt_trend *r = &t->trend[p];
	double sx = 0, sy = 0, sxx = 0, sxy = 0, head = 0, tail = 0;
	size_t tenth = t->n / 10 ? t->n / 10 : 1, n_head = 0, n_tail = 0;
	r->most_op = -1;
	for (size_t i = 0; i < t->n; i++) {
		double f = tide__tt_fragmentation(t->m, t->ops[i].state[p]),
		       x = (double)tide__tt_position(t, i);
		if (isnan(f))
			continue;
		r->n++;
		sx += x;
		sy += f;
		sxx += x * x;
		sxy += x * f;
		if (i < tenth) {
			head += f;
			n_head++;
		}
		if (i + tenth >= t->n) {
			tail += f;
			n_tail++;
		}
		if (r->most_op < 0 || f > r->most) {
			r->most = f;
			r->most_op = (int64_t)i;
		}
	}
	double n = (double)r->n, d = n * sxx - sx * sx;
	r->mean = r->n ? sy / n : 0;
	r->slope = d > 0 ? (n * sxy - sx * sy) / d * 1000 : 0;
	r->first = n_head ? head / (double)n_head : 0;
	r->last = n_tail ? tail / (double)n_tail : 0;
}

/* ---- all of it ---- */

void tide__tt_free(tide_tt *t)
{
	if (!t)
		return;
	tide__free(t->ops);
	tide__free(t->skipped);
	tide__free(t->weights);
	tide__free(t->graphs);
	tide__free(t->module_of);
	tide__free(t->load_of);
	tide__map_free(&t->cached);
	tide__free(t->aliases);
	tide__free(t->peaks);
	tide__free(t);
}

/* Ranks are in the order of their numbers. */
static tide_code no_rank(const tide_model *m, int64_t rank, tide_error *err)
{
	int64_t first = m->processes.n > 1 ? m->processes.rank[1] : -1,
		last = m->processes.n > 1 ? m->processes.rank[m->processes.n - 1] : -1;
	if (last < 0)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "no rank %lld: the log names no ranks", (long long)rank);
	return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
			  "no rank %lld: the log has ranks from %lld to %lld", (long long)rank,
			  (long long)(first < 0 ? 0 : first), (long long)last);
}

tide_code tide__tt_find(const tide_model *m, const tide_tt_options *opt, tide_tt **out,
			tide_error *err)
{
	static const tide_tt_options defaults = TIDE_TT_OPTIONS_INIT;
	tide_tt *t = tide__calloc(1, sizeof *t);
	*out = NULL;
	if (!t)
		return tide__nomem(err);
	t->m = m;
	for (unsigned p = 0; p < TIDE_TT_POOLS; p++)
		t->peak[p].op = -1;
	opt = opt ? opt : &defaults;
	for (size_t i = 1; i < m->processes.n; i++)
		t->n_ranks += opt->rank < 0 || m->processes.rank[i] == opt->rank;
	t->peaks = tide__calloc(m->pools.n, sizeof *t->peaks);
	if (!t->peaks || !list_ops(t, opt) || !changes(t, opt->rank) || !tide__tt_find_aliases(t) ||
	    !tide__tt_find_weights(t) || !tide__tt_find_graphs(t)) {
		tide__tt_free(t);
		return tide__nomem(err);
	}
	for (unsigned p = 0; p < TIDE_TT_POOLS; p++)
		trend(t, p);
	*out = t;
	if (t->n)
		return TIDE_OK;
	uint32_t runs = t->runs;
	bool ranks = t->n_ranks;
	tide__tt_free(t);
	*out = NULL;
	if (!ranks)
		return no_rank(m, opt->rank, err);
	if (opt->skip_runs && tide__fact_find(m, "loss.tt_no_blocks") < 0)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "nothing is left: --skip-runs leaves out %u runs, the log has %u",
				  opt->skip_runs, runs);
	return tide__fail(
		err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
		"no operation with a memory state: this needs a log of the Tenstorrent runtime "
		"with TT_RUNTIME_MEMORY_LOG_LEVEL=operation");
}
