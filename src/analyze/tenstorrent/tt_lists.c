// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Top lists, counts by name and the parts of the peak. */
#include <stdlib.h>
#include <string.h>

#include "analyze/tenstorrent/tt_impl.h"
#include "base/mem.h"

static int highest_first(const void *a, const void *b)
{
	const tide_tt_row *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return (x->op > y->op) - (x->op < y->op);
}

static uint64_t value_of(const tide_tt *t, const tide_tt_op *o, tide_tt_by by, unsigned pool)
{
	tide_mlir_op p;
	tide_mlir_tensor x;
	switch (by) {
	case TIDE_TT_BY_LEVEL:
		return o->state[pool] ? o->high[pool] : 0;
	case TIDE_TT_BY_GROWTH:
		return o->change[pool] != TIDE_TT_UNKNOWN && o->change[pool] > 0
			       ? (uint64_t)o->change[pool]
			       : 0;
	case TIDE_TT_BY_PADDING:
		return tide__tt_parse(t, o, &p) && tide__tt_read_result(t, o, &p, &x) && x.n_dims &&
				       x.padded > x.bytes
			       ? x.padded - x.bytes
			       : 0;
	}
	return 0;
}

/* Ranks that run one program have the same operation at the same position. A list keeps the highest
 * of them; otherwise its 10 rows would show 2 or 3 operations. */
static bool same_op(const tide_tt *t, uint32_t a, uint32_t b)
{
	return tide__tt_position(t, a) == tide__tt_position(t, b) &&
	       t->m->spans.name[t->ops[a].span].i == t->m->spans.name[t->ops[b].span].i;
}

tide_tt_row *tide__tt_find_top(const tide_tt *t, tide_tt_by by, unsigned pool, size_t most,
			       size_t *n)
{
	tide_tt_row *v = tide__alloc(t->n + 1, sizeof *v);
	*n = 0;
	if (!v)
		return NULL;
	for (size_t i = 0; i < t->n; i++) {
		uint64_t x = value_of(t, &t->ops[i], by, pool);
		tide_tt_row *last = *n ? &v[*n - 1] : NULL;
		if (!x)
			continue;
		if (!last || !same_op(t, last->op, (uint32_t)i))
			v[(*n)++] = (tide_tt_row){ x, (uint32_t)i };
		else if (x > last->value)
			*last = (tide_tt_row){ x, (uint32_t)i };
	}
	if (*n)
		qsort(v, *n, sizeof *v, highest_first);
	*n = *n < most ? *n : most;
	return v;
}

static int most_first(const void *a, const void *b)
{
	const tide_tt_count *x = a, *y = b;
	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return (x->name.i > y->name.i) - (x->name.i < y->name.i);
}

tide_tt_count *tide__tt_count_by_name(const tide_tt *t, size_t *n)
{
	tide_map rows = { 0 };
	tide_tt_count *v = NULL;
	size_t cap = 0;
	bool ok = true;
	*n = 0;
	for (size_t i = 0; ok && i < t->n; i++) {
		tide_str name = t->m->spans.name[t->ops[i].span];
		uint32_t row = tide__map_get(&rows, name.i);
		if (!row) {
			ok = TIDE_ROOM(v, cap, *n + 1) &&
			     tide__map_put(&rows, name.i, (uint32_t)*n + 1);
			if (!ok)
				break;
			v[(*n)++] = (tide_tt_count){ name, 0 };
			row = (uint32_t)*n;
		}
		v[row - 1].n++;
	}
	tide__map_free(&rows);
	if (!ok) {
		tide__free(v);
		return NULL;
	}
	if (*n)
		qsort(v, *n, sizeof *v, most_first);
	return v;
}

void tide__tt_find_parts_at_peak(const tide_tt *t, unsigned pool, tide_tt_parts *out)
{
	const tide_model *m = t->m;
	const tide_tt_peak *k = &t->peak[pool];
	memset(out, 0, sizeof *out);
	if (!k->state)
		return;
	size_t position = tide__memory_event_from(m, m->pool_states.t[k->state - 1]);
	for (size_t i = 0; i < position; i++) {
		uint32_t a = m->memory_events.row[i];
		if (m->allocs.pool[a].i != k->pool)
			continue;
		uint64_t *to = m->allocs.flags[a] & TIDE_ALLOC_BEFORE	   ? &out->before
			       : m->allocs.role[a] == TIDE_ROLE_PARAMETER  ? &out->weights
			       : m->allocs.role[a] == TIDE_ROLE_ACTIVATION ? &out->activations
			       : m->allocs.span[a].i			   ? &out->arguments
									   : &out->other;
		*to += m->memory_events.kind[i] == TIDE_MEMORY_ALLOC ? m->allocs.size[a]
								     : -m->allocs.size[a];
	}
	for (size_t i = position;
	     i < m->memory_events.n && m->memory_events.kind[i] == TIDE_MEMORY_ALLOC; i++) {
		uint32_t a =
			m->memory_events.row[i]; /* existed before the first block, which includes
					       * it */
		if (!(m->allocs.flags[a] & TIDE_ALLOC_BEFORE) || m->allocs.pool[a].i != k->pool)
			break;
		out->before += m->allocs.size[a];
	}
}

/* ---- weights against activations, over operations ---- */

static void count_event(const tide_model *m, size_t i, tide_tt_share *pools)
{
	uint32_t a = m->memory_events.row[i];
	tide_tt_share *x = &pools[m->allocs.pool[a].i];
	bool before = m->allocs.flags[a] & TIDE_ALLOC_BEFORE;
	uint64_t *to = before					   ? &x->rest
		       : m->allocs.role[a] == TIDE_ROLE_PARAMETER  ? &x->weights
		       : m->allocs.role[a] == TIDE_ROLE_ACTIVATION ? &x->activations
								   : &x->rest;
	*to += m->memory_events.kind[i] == TIDE_MEMORY_ALLOC ? m->allocs.size[a]
							     : -m->allocs.size[a];
}

/* Returns true if event i is before an operation that begins at t. Memory from before the log is
 * known from the first block. */
static bool is_earlier(const tide_model *m, size_t i, int64_t t)
{
	int64_t at = tide__memory_event_time(m, i);
	return at < t || (at == t && m->memory_events.kind[i] == TIDE_MEMORY_ALLOC &&
			  m->allocs.flags[m->memory_events.row[i]] & TIDE_ALLOC_BEFORE);
}

bool tide__tt_find_shares(const tide_tt *t, unsigned pool, tide_tt_share *out)
{
	const tide_model *m = t->m;
	tide_tt_share *pools = tide__calloc(m->pools.n, sizeof *pools);
	size_t event = 0;
	for (size_t i = 0; pools && i < t->n; i++) {
		int64_t at = m->spans.t0[t->ops[i].span];
		while (event < m->memory_events.n && is_earlier(m, event, at)) {
			if (m->memory_events.kind[event] <= TIDE_MEMORY_FREE)
				count_event(m, event, pools);
			event++;
		}
		uint32_t state = t->ops[i].state[pool];
		out[i] = state ? pools[m->pool_states.pool[state - 1].i] : (tide_tt_share){ 0 };
	}
	tide__free(pools);
	return pools != NULL;
}
