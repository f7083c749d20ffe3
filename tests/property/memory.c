// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* usage, alive, groups, phases and the op tree against slow, obvious recomputation on random
 * models: every figure is summed again from a prefix of the events, with no state carried along. */
#include "analyze/memory/groups.h"
#include "analyze/ops/op_tree.h"
#include "analyze/memory/phases.h"
#include "analyze/live/usage.h"
#include "base/mem.h"
#include "extent.h"
#include "memory_model.h"
#include "testing.h"

enum { ROUNDS = 300 };

/* ---- the oracle: one sum over a prefix ---- */

struct sum {
	uint64_t bytes, requested, count, reserved;
};

static bool in_pool(const tide_model *m, uint32_t pool, uint32_t want_pool, uint32_t want_device)
{
	return (want_pool == TIDE_ANY || pool == want_pool) &&
	       (want_device == TIDE_ANY || m->pools.device[pool].i == want_device);
}

/* L1 beside another memory of its device is in no figure of the device. */
static bool is_summed(const tide_model *m, uint32_t pool, uint32_t want_pool, uint32_t want_device)
{
	unsigned others = 0, kind = m->pools.kind[pool];
	for (uint32_t p = 1; p < m->pools.n; p++)
		others += m->pools.device[p].i == m->pools.device[pool].i &&
			  m->pools.kind[p] != TIDE_POOL_L1 &&
			  m->pools.kind[p] != TIDE_POOL_L1_SMALL;
	bool apart = others && (kind == TIDE_POOL_L1 || kind == TIDE_POOL_L1_SMALL);
	return in_pool(m, pool, want_pool, want_device) &&
	       (want_pool != TIDE_ANY || want_device == TIDE_ANY || !apart);
}

/* The allocation that an event ends for its program: at its FREE, or, if the source records both
 * (TIDE_ALLOC_ASKED), at the FREE_ASKED before it. 0 = none. */
static uint32_t ended(const tide_model *m, uint64_t i)
{
	unsigned kind = m->memory_events.kind[i];
	uint32_t r = m->memory_events.row[i];
	if (kind == TIDE_MEMORY_FREE_ASKED) {
		r = m->pendings.alloc[r].i;
		return m->allocs.flags[r] & TIDE_ALLOC_ASKED ? r : 0;
	}
	if (kind != TIDE_MEMORY_FREE)
		return 0;
	for (uint64_t k = 0; k < i; k++)
		if (m->memory_events.kind[k] == TIDE_MEMORY_FREE_ASKED && ended(m, k) == r)
			return 0;
	return r;
}

/* Returns the bytes by which an event changes the programs' live bytes, and its allocation. */
static int64_t change_of(const tide_model *m, uint64_t i, uint32_t *alloc)
{
	*alloc = m->memory_events.kind[i] == TIDE_MEMORY_ALLOC ? m->memory_events.row[i]
							       : ended(m, i);
	int64_t size = (int64_t)m->allocs.size[*alloc];
	return m->memory_events.kind[i] == TIDE_MEMORY_ALLOC ? size : -size;
}

static struct sum at_cut(const tide_model *m, uint64_t position, uint32_t pool, uint32_t device)
{
	struct sum s = { 0 };
	for (uint64_t i = 0; i < position; i++) {
		uint32_t r = m->memory_events.row[i], a;
		unsigned k = m->memory_events.kind[i];
		if (k == TIDE_MEMORY_SEG_ALLOC || k == TIDE_MEMORY_SEG_FREE) {
			uint64_t size = m->segments.size[r];
			if (in_pool(m, m->segments.pool[r].i, pool, device))
				s.reserved += k == TIDE_MEMORY_SEG_ALLOC ? size : -size;
			continue;
		}
		change_of(m, i, &a);
		if (!a || !is_summed(m, m->allocs.pool[a].i, pool, device))
			continue;
		uint64_t sign = k == TIDE_MEMORY_ALLOC ? 1 : (uint64_t)-1;
		s.bytes += sign * m->allocs.size[a];
		s.requested += sign * m->allocs.requested[a];
		s.count += sign;
	}
	return s;
}

/* Reserved bytes of a level: unknown without segments (reserved.c tests samples).
 */
static uint64_t told(const tide_model *m, uint64_t reserved, uint32_t pool, uint32_t device)
{
	for (uint32_t s = 1; s < m->segments.n; s++)
		if (in_pool(m, m->segments.pool[s].i, pool, device))
			return reserved;
	return TIDE_RESERVED_NONE;
}

/* ---- usage ---- */

static void check_level(const tide_model *m, const tide_level *l, uint64_t position, uint32_t pool,
			uint32_t device)
{
	struct sum now = at_cut(m, position, pool, device), best = { 0 };
	uint64_t best_cut = 0, reserved_peak = 0;
	for (uint64_t c = 0; c <= position; c++) {
		struct sum s = at_cut(m, c, pool, device);
		if (s.bytes > best.bytes) {
			best = s;
			best_cut = c;
		}
		if (s.reserved > reserved_peak)
			reserved_peak = s.reserved;
	}
	assert_int_equal(l->bytes, now.bytes);
	assert_int_equal(l->requested, now.requested);
	assert_int_equal(l->count, now.count);
	assert_int_equal(l->reserved, told(m, now.reserved, pool, device));
	assert_int_equal(l->peak, best.bytes);
	assert_int_equal(l->peak_position, best_cut);
	assert_int_equal(l->peak_requested, best.requested);
	assert_int_equal(l->peak_count, best.count);
	assert_int_equal(l->peak_reserved, told(m, best.reserved, pool, device));
	assert_int_equal(l->reserved_peak, told(m, reserved_peak, pool, device));
	assert_int_equal(l->peak_t, best_cut ? tide__memory_event_time(m, best_cut - 1) : 0);
	assert_int_equal(l->alloc_bytes - l->free_bytes, l->bytes);
	assert_int_equal(l->allocs - l->frees, l->count);
}

/* Returns the highest value in [from, to): the value at its begin, and after every event inside. */
static void check_series(const tide_model *m, const tide_usage *u)
{
	for (uint32_t d = 0; d < u->n_devices; d++)
		for (size_t b = 0; b < u->buckets; b++) {
			double n = (double)m->t_end + 1;
			int64_t from =
				b ? (int64_t)(n * (double)b / (double)u->buckets) : INT64_MIN;
			int64_t to = b + 1 == u->buckets
					     ? INT64_MAX
					     : (int64_t)(n * (double)(b + 1) / (double)u->buckets);
			uint64_t live = 0, reserved = 0;
			for (uint64_t c = 0; c <= m->memory_events.n; c++) {
				/* position c holds from the time of event c-1 to that of event c */
				int64_t since = c ? tide__memory_event_time(m, c - 1) : INT64_MIN;
				int64_t until = c < m->memory_events.n
							? tide__memory_event_time(m, c)
							: INT64_MAX;
				bool inside = since >= from && since < to;
				bool at_start = since < from && until >= from;
				if (!inside && !at_start)
					continue;
				struct sum s = at_cut(m, c, TIDE_ANY, d);
				live = s.bytes > live ? s.bytes : live;
				reserved = s.reserved > reserved ? s.reserved : reserved;
			}
			assert_int_equal(u->live_series[d * u->buckets + b], live);
			assert_int_equal(u->reserved_series[d * u->buckets + b],
					 told(m, reserved, TIDE_ANY, d));
		}
}

static void usage(void **state)
{
	for (uint32_t seed = 1; seed <= rounds(ROUNDS) / 5; seed++) {
		tide_model *m = memory_model(seed, 20 + seed * 4);
		uint64_t position = seed % 3 ? UINT64_MAX : m->memory_events.n / 2;
		uint64_t want = position < m->memory_events.n ? position : m->memory_events.n;
		tide_usage u;
		assert_int_equal(tide__find_usage(m, position,
						  position == UINT64_MAX ? 1 + seed % 9 : 0, &u,
						  NULL),
				 TIDE_OK);
		for (uint32_t p = 0; p < m->pools.n; p++)
			check_level(m, &u.pools[p], want, p, TIDE_ANY);
		for (uint32_t d = 0; d < m->devices.n; d++)
			check_level(m, &u.devices[d], want, TIDE_ANY, d);
		check_series(m, &u);
		uint32_t top = tide__usage_highest(&u);
		for (uint32_t d = 0; d < m->devices.n; d++)
			assert_true(u.devices[d].peak <= u.devices[top].peak);
		tide__usage_free(&u);
		tide__model_free(m);
	}
}

static void cut_at(void **state)
{
	tide_model *m = memory_model(3, 200);
	for (int64_t t = -1; t <= m->t_end + 1; t++) {
		uint64_t n = 0;
		while (n < m->memory_events.n && tide__memory_event_time(m, n) <= t)
			n++;
		assert_int_equal(tide__position_at(m, t), n);
	}
	tide__model_free(m);
}

/* ---- alive and groups ---- */

static void alive_and_groups(void **state)
{
	for (uint32_t seed = 1; seed <= rounds(ROUNDS); seed++) {
		tide_model *m = memory_model(seed, 20 + seed * 2);
		uint64_t position = seed % 2 ? m->memory_events.n : seed % (m->memory_events.n + 1);
		uint32_t device = seed % 4 ? TIDE_ANY : 1;
		struct sum want = at_cut(m, position, TIDE_ANY, device);
		tide_live_set alive;
		assert_int_equal(tide__live_set_at(m, position, device, TIDE_ANY, &alive, NULL),
				 TIDE_OK);
		assert_int_equal(alive.n, want.count);
		for (size_t i = 1; i < alive.n; i++)
			assert_true(alive.rows[i - 1] < alive.rows[i]);
		for (int by = TIDE_BY_OP; by <= TIDE_BY_FRAME; by++) {
			tide_groups g;
			struct sum got = { 0 };
			assert_int_equal(tide__find_groups(m, &alive, (tide_group_by)by, &g, NULL),
					 TIDE_OK);
			for (size_t i = 0; i < g.n; i++) {
				got.bytes += g.rows[i].bytes;
				got.requested += g.rows[i].requested;
				got.count += g.rows[i].count;
				assert_true(g.rows[i].count > 0);
				assert_true(!i || g.rows[i - 1].bytes >= g.rows[i].bytes);
				for (size_t k = 0; k < i; k++)
					assert_true(g.rows[k].key != g.rows[i].key);
			}
			assert_int_equal(got.bytes, want.bytes);
			assert_int_equal(got.requested, want.requested);
			assert_int_equal(got.count, want.count);
			tide__groups_free(&g);
		}
		tide__live_set_free(&alive);
		tide__model_free(m);
	}
}

static void largest(void **state)
{
	for (uint32_t seed = 1; seed <= rounds(ROUNDS); seed++) {
		tide_model *m = memory_model(seed, 100);
		uint32_t device = seed % 2 ? TIDE_ANY : 2;
		size_t top = seed % 12;
		tide_live_set l;
		assert_int_equal(tide__live_set_find_largest(m, NULL, device, top, &l, NULL),
				 TIDE_OK);
		bool *taken = calloc(m->allocs.n, 1);
		for (size_t i = 0; i < l.n; i++) { /* each is the best of what is left */
			uint32_t best = 0;
			for (uint32_t a = 1; a < m->allocs.n; a++)
				if (!taken[a] &&
				    in_pool(m, m->allocs.pool[a].i, TIDE_ANY, device) &&
				    (!best || m->allocs.size[a] > m->allocs.size[best]))
					best = a;
			assert_int_equal(l.rows[i], best);
			taken[best] = true;
		}
		free(taken);
		tide__live_set_free(&l);
		tide__model_free(m);
	}
}

/* ---- phases ---- */

static bool in_scope(const tide_model *m, const tide_scope *s, uint32_t pool)
{
	unsigned kind = m->pools.kind[pool];
	bool l1 = kind == TIDE_POOL_L1 || kind == TIDE_POOL_L1_SMALL;
	bool cb = l1 && !strcmp(tide__text(m, m->pools.name[pool], NULL), "CB");
	bool device = m->pools.device[pool].i == s->device;
	switch (s->kind) {
	case TIDE_SCOPE_POOL:
		return pool == s->pool;
	case TIDE_SCOPE_MAIN:
		return device && !l1;
	case TIDE_SCOPE_L1_CB:
		return device && cb;
	case TIDE_SCOPE_L1_BUFFER:
		return device && l1 && !cb;
	case TIDE_SCOPE_L1:
		return device && l1;
	default:
		return !l1;
	}
}

/* Use of a scope after a position, straight from the log. */
static uint64_t scope_at(const tide_model *m, const tide_scope *s, uint64_t position)
{
	uint64_t v = 0;
	for (uint64_t i = 0; i < position; i++) {
		uint32_t a;
		int64_t change = change_of(m, i, &a);
		if (a && in_scope(m, s, m->allocs.pool[a].i))
			v += (uint64_t)change;
	}
	return v;
}

static void check_phase(const tide_model *m, const tide_phases *p, size_t n, size_t k)
{
	const tide_phase *ph = &p->phases[n];
	const tide_phase_level *l = &p->levels[n * p->n_scopes + k];
	const tide_scope *s = &p->scopes[k];
	uint64_t start = scope_at(m, s, ph->event0), top = start, peak = 0, allocs = 0, frees = 0;
	for (uint64_t c = 0; c <= ph->event1; c++) {
		uint64_t v = scope_at(m, s, c);
		peak = v > peak ? v : peak;
		top = c >= ph->event0 && v > top ? v : top;
	}
	for (uint64_t i = ph->event0; i < ph->event1; i++) {
		uint32_t a;
		int64_t change = change_of(m, i, &a);
		if (!a || !in_scope(m, s, m->allocs.pool[a].i))
			continue;
		allocs += change > 0 ? (uint64_t)change : 0;
		frees += change < 0 ? (uint64_t)-change : 0;
	}
	assert_int_equal(l->alloc_bytes, allocs);
	assert_int_equal(l->free_bytes, frees);
	assert_int_equal(l->segment_peak, top - start);
	assert_int_equal(l->top, top);
	assert_int_equal(l->peak, peak);
	assert_int_equal(l->current, scope_at(m, s, ph->event1));
	/* the three relations */
	const tide_phase_level *b = n ? l - p->n_scopes : NULL;
	uint64_t current0 = b ? b->current : 0, peak0 = b ? b->peak : 0;
	assert_int_equal(l->change, (int64_t)l->alloc_bytes - (int64_t)l->free_bytes);
	assert_int_equal(l->current, current0 + (uint64_t)l->change);
	uint64_t reached = current0 + l->segment_peak;
	assert_int_equal(l->peak, peak0 > reached ? peak0 : reached);
}

/* The pools that a scope counts and their capacity: unknown if the capacity of one pool is. */
static void check_scope(tide_model *m, const tide_scope *s, uint32_t seed)
{
	uint64_t sum = 0, own = m->devices.capacity[s->device];
	bool all = true;
	for (uint32_t k = 1; k < m->pools.n; k++) {
		m->pools.capacity[k] = (seed + k) % 3 * 1000;
		assert_int_equal(tide__scope_has(m, s, k), in_scope(m, s, k));
		sum += in_scope(m, s, k) ? m->pools.capacity[k] : 0;
		all &= !in_scope(m, s, k) || m->pools.capacity[k];
	}
	uint64_t limit = tide__scope_limit(m, s);
	if (s->kind == TIDE_SCOPE_TOTAL)
		assert_int_equal(limit, 0);
	else if (s->kind == TIDE_SCOPE_MAIN && own)
		assert_int_equal(limit, own);
	else if (all)
		assert_int_equal(limit, sum);
	else if (s->kind != TIDE_SCOPE_POOL)
		assert_int_equal(limit, 0);
	else /* all of its device's main memory, or unknown */
		assert_true(!limit || limit == m->devices.capacity[m->pools.device[s->pool].i]);
}

static void phases(void **state)
{
	for (uint32_t seed = 1; seed <= rounds(ROUNDS) / 3; seed++) {
		tide_model *m = memory_model(seed, 10 + seed * 5);
		tide_phases p;
		uint64_t next = 0;
		assert_int_equal(tide__find_phases(m, &p, NULL), TIDE_OK);
		for (size_t n = 0; n < p.n; n++) { /* together they are the whole log */
			assert_int_equal(p.phases[n].event0, next);
			next = p.phases[n].event1;
			for (size_t k = 0; k < p.n_scopes; k++)
				check_phase(m, &p, n, k);
		}
		assert_int_equal(next, m->memory_events.n);
		for (size_t k = 0; k < p.n_scopes; k++)
			check_scope(m, &p.scopes[k], seed);
		tide__phases_free(&p);
		tide__model_free(m);
	}
}

/* ---- op tree ---- */

static bool within(const tide_model *m, uint32_t s, uint32_t ancestor)
{
	for (; s; s = m->spans.parent[s].i)
		if (s == ancestor)
			return true;
	return false;
}

static bool same_path(const tide_model *m, const tide_paths *p, uint32_t span, uint32_t node)
{
	for (; span && node; span = m->spans.parent[span].i, node = p->parent[node])
		if (m->spans.name[span].i != p->name[node].i)
			return false;
	return !span && !node;
}

/* Bytes by which an event changes memory and the span it is charged to. */
static int64_t effect(const tide_model *m, size_t i, uint32_t device, uint32_t *span)
{
	uint32_t a;
	int64_t change = change_of(m, i, &a);
	if (!a || !in_pool(m, m->allocs.pool[a].i, TIDE_ANY, device))
		return 0;
	*span = change > 0 ? m->allocs.span[a].i : m->allocs.free_span[a].i;
	return change;
}

static int64_t length(const tide_model *m, uint32_t s)
{
	return (m->spans.t1[s] == TIDE_T_NEVER ? m->t_end : m->spans.t1[s]) - m->spans.t0[s];
}

static bool child_at(const tide_model *m, uint32_t s, int64_t t)
{
	for (uint32_t c = s + 1; c < m->spans.n; c++)
		if (m->spans.parent[c].i == s && m->spans.t0[c] <= t &&
		    t < m->spans.t0[c] + length(m, c))
			return true;
	return false;
}

/* What one span adds to its node. */
static void span_sums(const tide_model *m, uint32_t s, uint32_t device, tide_op_row *r)
{
	int64_t balance = 0, top = 0;
	for (size_t i = 0; i < m->memory_events.n; i++) {
		uint32_t by = 0;
		int64_t e = effect(m, i, device, &by);
		if (!e || !within(m, by, s))
			continue;
		balance += e;
		top = balance > top ? balance : top;
		r->all.alloc_bytes += e > 0 ? (uint64_t)e : 0;
		r->all.free_bytes += e < 0 ? (uint64_t)-e : 0;
		if (by == s) {
			r->self.alloc_bytes += e > 0 ? (uint64_t)e : 0;
			r->self.free_bytes += e < 0 ? (uint64_t)-e : 0;
		}
	}
	r->count++;
	r->peak = (uint64_t)top > r->peak ? (uint64_t)top : r->peak;
	r->all.ns += length(m, s);
	for (int64_t t = m->spans.t0[s]; t < m->spans.t0[s] + length(m, s); t++)
		r->self.ns += !child_at(m, s, t);
}

static void check_row(const tide_op_row *got, const tide_op_row *want)
{
	assert_int_equal(got->count, want->count);
	assert_int_equal(got->all.ns, want->all.ns);
	assert_int_equal(got->self.ns, want->self.ns);
	assert_int_equal(got->all.alloc_bytes, want->all.alloc_bytes);
	assert_int_equal(got->all.free_bytes, want->all.free_bytes);
	assert_int_equal(got->self.alloc_bytes, want->self.alloc_bytes);
	assert_int_equal(got->self.free_bytes, want->self.free_bytes);
	assert_int_equal(got->peak, want->peak);
}

static bool outermost_of_name(const tide_model *m, uint32_t s)
{
	for (uint32_t p = m->spans.parent[s].i; p; p = m->spans.parent[p].i)
		if (m->spans.name[p].i == m->spans.name[s].i)
			return false;
	return true;
}

/* Slow oracle: returns whether it is an operator and the only span directly inside a span of its
 * name. */
static bool same_call(const tide_model *m, uint32_t s)
{
	uint32_t up = m->spans.parent[s].i, inside = 0;
	for (uint32_t k = 1; k < m->spans.n; k++)
		inside += m->spans.parent[k].i == up;
	return up && inside == 1 && m->spans.name[s].i == m->spans.name[up].i &&
	       m->spans.cat[s] == TIDE_CAT_OP && m->spans.cat[up] == TIDE_CAT_OP &&
	       strstr(tide__text(m, m->spans.name[s], NULL), "::");
}

static void check_flat(const tide_model *m, const tide_optree *t, uint32_t device)
{
	tide_op_flat f;
	assert_int_equal(tide__find_op_table(t, &f, NULL), TIDE_OK);
	uint64_t spans = 0;
	for (size_t i = 0; i < f.n; i++) {
		tide_op_row want = { 0 };
		for (uint32_t s = 1; s < m->spans.n; s++) {
			tide_op_row one = { 0 };
			if (m->spans.name[s].i != f.names[i].i)
				continue;
			span_sums(m, s, device, &one);
			want.count += !same_call(m, s);
			want.self.ns += one.self.ns;
			want.self.alloc_bytes += one.self.alloc_bytes;
			want.self.free_bytes += one.self.free_bytes;
			want.peak = one.peak > want.peak ? one.peak : want.peak;
			if (!outermost_of_name(m, s))
				continue;
			want.all.ns += one.all.ns;
			want.all.alloc_bytes += one.all.alloc_bytes;
			want.all.free_bytes += one.all.free_bytes;
		}
		check_row(&f.rows[i], &want);
		spans += f.rows[i].count + f.rows[i].redispatched;
	}
	assert_int_equal(spans, m->spans.n - 1);
	tide__optree_flat_free(&f);
}

/* Live bytes at the end, L1 included. */
static uint64_t live_at_end(const tide_model *m, uint32_t device)
{
	uint64_t bytes = 0;
	for (uint32_t p = 0; p < m->pools.n; p++)
		bytes += at_cut(m, m->memory_events.n, p, device).bytes;
	return bytes;
}

static void optree(void **state)
{
	for (uint32_t seed = 1; seed <= rounds(ROUNDS); seed++) {
		tide_model *m = memory_model(seed, 20 + seed * 2);
		tide_optree_options opt = { .device = seed % 3 ? TIDE_ANY : 1 };
		uint64_t end = live_at_end(m, opt.device);
		tide_optree t;
		int64_t selves = 0, ns = 0;
		assert_int_equal(tide__find_op_tree(m, &opt, &t, NULL), TIDE_OK);
		for (uint32_t n = 0; n < t.n; n++) {
			tide_op_row want = { 0 };
			selves += (int64_t)(t.rows[n].self.alloc_bytes - t.rows[n].self.free_bytes);
			ns += t.rows[n].self.ns;
			if (!n)
				continue;
			for (uint32_t s = 1; s < m->spans.n; s++)
				if (same_path(m, &t.paths, s, n))
					span_sums(m, s, opt.device, &want);
			check_row(&t.rows[n], &want);
		}
		/* nothing is lost: the sum of selves and the root's sum equal the live bytes at the
		 * end */
		assert_int_equal(selves, end);
		assert_int_equal(t.rows[0].all.ns, ns);
		assert_int_equal(t.rows[0].all.alloc_bytes - t.rows[0].all.free_bytes, end);
		check_flat(m, &t, opt.device);
		tide__optree_free(&t);
		tide__model_free(m);
	}
}

/* ---- the n-th allocation fails ---- */

static tide_code everything(const tide_model *m)
{
	tide_usage u;
	tide_live_set a = { 0 };
	tide_groups g = { 0 };
	tide_phases p = { 0 };
	tide_optree t = { 0 };
	tide_op_flat f = { 0 };
	tide_optree_options opt = { .device = TIDE_ANY };
	tide_code rc = tide__find_usage(m, UINT64_MAX, 4, &u, NULL);
	if (rc == TIDE_OK)
		rc = tide__live_set_at(m, m->memory_events.n, TIDE_ANY, TIDE_ANY, &a, NULL);
	for (int by = TIDE_BY_OP; by <= TIDE_BY_FRAME && rc == TIDE_OK; by++) {
		tide__groups_free(&g);
		rc = tide__find_groups(m, &a, (tide_group_by)by, &g, NULL);
	}
	if (rc == TIDE_OK)
		rc = tide__find_phases(m, &p, NULL);
	if (rc == TIDE_OK)
		rc = tide__find_op_tree(m, &opt, &t, NULL);
	if (rc == TIDE_OK)
		rc = tide__find_op_table(&t, &f, NULL);
	tide__usage_free(&u);
	tide__live_set_free(&a);
	tide__groups_free(&g);
	tide__phases_free(&p);
	tide__optree_free(&t);
	tide__optree_flat_free(&f);
	return rc;
}

static void no_memory(void **state)
{
	tide_model *m = memory_model(5, 300);
	tide_code rc = TIDE_ENOMEM;
	uint64_t n = 0;
	while (rc != TIDE_OK) {
		tide__mem_fail_at(++n);
		rc = everything(m);
		tide__mem_fail_at(0);
		assert_true(rc == TIDE_OK || rc == TIDE_ENOMEM);
	}
	assert_true(n > 30);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usage),
		cmocka_unit_test(cut_at),
		cmocka_unit_test(alive_and_groups),
		cmocka_unit_test(largest),
		cmocka_unit_test(phases),
		cmocka_unit_test(optree),
		cmocka_unit_test(no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
