// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Three linear passes: spans (nodes, counts, times), memory events (self sums, transient peaks),
 * nodes from the innermost outwards (sums of nested nodes).
 *
 * Transient peaks need no times: the memory events of one thread are in order, so their spans open
 * and close like a stack. Each lane keeps its running balance and the chain of spans around its
 * last event. A span's peak is the highest balance while it was on the chain minus the balance when
 * it was added; when it leaves the chain, it passes its highest balance to its parent. A span is
 * added once, so this is linear too. */
#include "analyze/ops/op_tree.h"

#include <string.h>

#include "analyze/common/interval_set.h"
#include "analyze/common/self_time.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

struct link {		      /* a span on a lane's chain */
	uint32_t span, below; /* the link of the span around it, 0 = none */
	int64_t base, top;    /* balance when it was added; the highest since */
};

struct build {
	const tide_model *m;
	const tide_optree_options *opt;
	tide_optree *t;
	size_t cap;	 /* of t->rows */
	uint32_t *nodes; /* span -> node + 1; 0 = left out */
	tide_self_times self;
	uint32_t *heads;  /* lane -> innermost link of its chain */
	int64_t *balance; /* lane -> running balance */
	struct link *links;
	size_t n_links, cap_links;
	uint32_t unused; /* list of unused links, by `below` */
};

/* ---- spans ---- */

static bool room_for(struct build *b, uint32_t node)
{
	size_t had = b->cap;
	if (!TIDE_ROOM(b->t->rows, b->cap, (size_t)node + 1))
		return false;
	for (size_t i = had; i < b->cap; i++)
		b->t->rows[i] = (tide_op_row){ 0 };
	return true;
}

static int64_t wall(const tide_model *m, uint32_t s)
{
	return tide__span_end(m, s) - m->spans.t0[s];
}

/* Returns true for the profiler's own work, which is not an op of the program. */
static bool overhead(const tide_model *m, uint32_t s)
{
	return m->spans.cat[s] == TIDE_CAT_OVERHEAD;
}

/* Returns true if a span has a node. Device waits and counters are device rows, not rows of a
 * thread. */
static bool wanted(const struct build *b, uint32_t s)
{
	unsigned cat = b->m->spans.cat[s];
	return b->opt->streams || (b->m->lanes.kind[b->m->spans.lane[s].i] != TIDE_LANE_STREAM &&
				   cat != TIDE_CAT_SYNC && cat != TIDE_CAT_COUNTERS);
}

static void add_self(void *user, uint32_t span, int64_t ns)
{
	struct build *b = user;
	b->t->rows[b->nodes[span] - 1].self.ns += ns;
}

static bool one_span(struct build *b, uint32_t s)
{
	const tide_model *m = b->m;
	uint32_t up = b->nodes[m->spans.parent[s].i];
	uint32_t node = tide__paths_add_child(&b->t->paths, up ? up - 1 : 0, m->spans.name[s]);
	if (node == TIDE_NO_PATH || !room_for(b, node))
		return false;
	b->nodes[s] = node + 1;
	tide_op_row *r = &b->t->rows[node];
	r->count += !(m->spans.flags[s] & TIDE_SPAN_AGAIN);
	r->open += m->spans.t1[s] == TIDE_T_NEVER || m->spans.flags[s] & TIDE_SPAN_OPEN;
	r->no_end += (m->spans.flags[s] & TIDE_SPAN_NO_END) != 0;
	r->all.ns += wall(m, s);
	tide__self_begin(&b->self, s);
	return true;
}

static bool is_op(const tide_model *m, uint32_t s)
{
	return m->spans.cat[s] == TIDE_CAT_OP && !(m->spans.flags[s] & TIDE_SPAN_AGAIN);
}

/* Returns true for a registered operator: "aten::mul". A program's own ranges may nest under one
 * name and are separate. */
static bool is_dispatched(const tide_model *m, uint32_t s)
{
	return is_op(m, s) && strstr(tide__text(m, m->spans.name[s], NULL), "::");
}

/* Counts operators that are the only span directly inside one of the same name. */
static bool count_redispatched(struct build *b)
{
	const tide_model *m = b->m;
	uint8_t *inside =
		tide__calloc(m->spans.n, 1); /* per span: spans directly inside, at most 2 */
	if (!inside)
		return false;
	for (uint32_t s = 1; s < m->spans.n; s++)
		if (b->nodes[s] && !overhead(m, s))
			inside[m->spans.parent[s].i] |= inside[m->spans.parent[s].i] ? 2 : 1;
	for (uint32_t s = 1; s < m->spans.n; s++) {
		uint32_t up = m->spans.parent[s].i;
		if (b->nodes[s] && up && b->nodes[up] && inside[up] == 1 &&
		    m->spans.name[s].i == m->spans.name[up].i && is_op(m, up) &&
		    is_dispatched(m, s))
			b->t->rows[b->nodes[s] - 1].redispatched++;
	}
	tide__free(inside);
	return true;
}

static bool all_spans(struct build *b)
{
	if (!room_for(b, 0))
		return false;
	for (uint32_t s = 1; s < b->m->spans.n; s++)
		if (overhead(b->m, s)) /* its memory, and spans inside it, belong to its parent */
			b->nodes[s] = b->nodes[b->m->spans.parent[s].i];
		else if (wanted(b, s) && !one_span(b, s))
			return false;
	tide__self_end(&b->self);
	b->t->n = b->t->paths.n;
	return count_redispatched(b);
}

/* ---- chains ---- */

static uint32_t push(struct build *b, uint32_t span, uint32_t below, int64_t balance)
{
	uint32_t at = b->unused;
	if (at) {
		b->unused = b->links[at].below;
	} else {
		b->n_links += !b->n_links; /* link 0 = none */
		if (b->n_links >= UINT32_MAX || !TIDE_ROOM(b->links, b->cap_links, b->n_links + 1))
			return 0;
		at = (uint32_t)b->n_links++;
	}
	b->links[at] = (struct link){ span, below, balance, balance };
	return at;
}

/* Ends the innermost span of the chain: stores its peak and passes its highest balance outwards. */
static uint32_t pop(struct build *b, uint32_t at)
{
	struct link *l = &b->links[at];
	uint32_t below = l->below;
	uint32_t node = b->nodes[l->span]; /* none: the profiler's own, outside any op */
	tide_op_row *r = node ? &b->t->rows[node - 1] : NULL;
	if (r && (uint64_t)(l->top - l->base) > r->peak)
		r->peak = (uint64_t)(l->top - l->base);
	if (below && l->top > b->links[below].top)
		b->links[below].top = l->top;
	l->below = b->unused;
	b->unused = at;
	return below;
}

/* Makes the lane's chain end in `span`: drops spans that do not contain it and adds those that do.
 * Ids grow inwards, so a span on the chain with a greater id than a missing ancestor cannot contain
 * `span`. */
static bool enter(struct build *b, uint32_t lane, uint32_t span)
{
	uint32_t head = b->heads[lane], s = span, fresh = 0;
	for (; s; s = b->m->spans.parent[s].i) {
		while (head && b->links[head].span > s)
			head = pop(b, head);
		if (head && b->links[head].span == s)
			break;
		uint32_t at =
			push(b, s, fresh, b->balance[lane]); /* innermost last: reversed below */
		if (!at)
			return false;
		fresh = at;
	}
	if (!s)
		while (head)
			head = pop(b, head);
	while (fresh) {
		uint32_t next = b->links[fresh].below;
		b->links[fresh].below = head;
		head = fresh;
		fresh = next;
	}
	b->heads[lane] = head;
	return true;
}

/* ---- memory events ---- */

static void count(tide_op_sums *s, uint64_t size, bool freed)
{
	s->allocs += !freed;
	s->frees += freed;
	s->alloc_bytes += freed ? 0 : size;
	s->free_bytes += freed ? size : 0;
}

static bool one_event(struct build *b, uint32_t row, bool freed)
{
	const tide_model *m = b->m;
	uint32_t span = freed ? m->allocs.free_span[row].i : m->allocs.span[row].i;
	uint32_t node = b->nodes[span];
	uint64_t size = m->allocs.size[row];
	count(&b->t->rows[node ? node - 1 : 0].self, size, freed);
	if (!node)
		return true;
	uint32_t lane = m->spans.lane[span].i;
	uint32_t head = b->heads[lane];
	if (!(head && b->links[head].span == span) && !enter(b, lane, span))
		return false;
	b->balance[lane] += freed ? -(int64_t)size : (int64_t)size;
	struct link *l = &b->links[b->heads[lane]];
	if (b->balance[lane] > l->top)
		l->top = b->balance[lane];
	return true;
}

/* Memory of every device counts; of one device, the pools of its figures (not L1 beside DRAM). */
static bool counted(const struct build *b, uint32_t pool)
{
	return b->opt->device == TIDE_ANY ||
	       (b->m->pools.device[pool].i == b->opt->device && tide__pool_in_device(b->m, pool));
}

static bool all_events(struct build *b)
{
	const tide_model *m = b->m;
	for (size_t i = 0; i < m->memory_events.n; i++) {
		bool born;
		uint32_t row = tide__memory_event_life(m, i, &born);
		if (!row)
			continue;
		if (counted(b, m->allocs.pool[row].i) && !one_event(b, row, !born))
			return false;
	}
	for (size_t lane = 0; lane < m->lanes.n; lane++)
		while (b->heads[lane])
			b->heads[lane] = pop(b, b->heads[lane]);
	return true;
}

/* ---- nodes ---- */

/* Parents are smaller than their children: from the last node down every sum is complete when it is
 * added to its parent. Walking down also leaves each list of children in ascending order. */
static void sum_up(tide_optree *t)
{
	for (uint32_t n = (uint32_t)t->n; n-- > 0;) {
		tide_op_row *r = &t->rows[n];
		tide__op_sums_add(&r->all, &r->self);
		if (!n)
			break;
		uint32_t up = t->paths.parent[n];
		tide__op_sums_add(&t->rows[up].all, &r->all);
		if (!up)
			t->rows[0].all.ns += r->all.ns;
		t->next[n] = t->first[up];
		t->first[up] = n;
	}
}

tide_code tide__find_op_tree(const tide_model *m, const tide_optree_options *opt, tide_optree *out,
			     tide_error *err)
{
	struct build b = { .m = m, .opt = opt, .t = out };
	*out = (tide_optree){ 0 };
	b.nodes = tide__calloc(m->spans.n, sizeof *b.nodes);
	b.heads = tide__calloc(m->lanes.n, sizeof *b.heads);
	b.balance = tide__calloc(m->lanes.n, sizeof *b.balance);
	bool ok = tide__paths_init(&out->paths) && tide__self_init(&b.self, m, add_self, &b) &&
		  b.nodes && b.heads && b.balance && all_spans(&b) && all_events(&b);
	if (ok) {
		out->first = tide__calloc(out->n, sizeof *out->first);
		out->next = tide__calloc(out->n, sizeof *out->next);
		ok = out->first && out->next;
	}
	if (ok)
		sum_up(out);
	tide__self_free(&b.self);
	tide__free(b.nodes);
	tide__free(b.heads);
	tide__free(b.balance);
	tide__free(b.links);
	return ok ? TIDE_OK : tide__nomem(err);
}

void tide__optree_free(tide_optree *t)
{
	tide__paths_free(&t->paths);
	tide__free(t->rows);
	tide__free(t->first);
	tide__free(t->next);
	*t = (tide_optree){ 0 };
}
