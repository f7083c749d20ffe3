// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* tide__model_check: every invariant of model.h, one function each.
 *
 * Tests call it after every import; it is written to be obvious, not fast (O(n log n)). */
#include "model/model.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/ordered.h"
#include "model/strings.h"

struct check {
	const tide_model *m;
	tide_error *err;
};

static tide_code broken(const struct check *c, const char *rule, const char *table, size_t row,
			const char *what)
{
	return tide__fail(c->err, TIDE_ECORRUPT, TIDE_NO_OFFSET, "%s: %s row %zu: %s", rule, table,
			  row, what);
}

/* ---- ids in range, none rows ---- */

/* Columns of ids and the tables they refer to. Every table begins with its number of rows. */
#define STRINGS SIZE_MAX /* refers to the model's texts, not to a table */
#define R(table, column, of)                                                                     \
	{                                                                                        \
#table, #column, offsetof(tide_model, table), offsetof(tide_##table, column), of \
	}
#define OF(table) offsetof(tide_model, table)
static const struct range {
	const char *table, *column;
	size_t at, ids; /* of the table in the model, of the column's pointer in the table */
	size_t of;	/* OF(table), or STRINGS */
} ranges[] = {
	R(frames, function, STRINGS),	  R(frames, file, STRINGS),
	R(stacks, frame, OF(frames)),	  R(stacks, parent, OF(stacks)),
	R(processes, command, STRINGS),	  R(processes, host, STRINGS),
	R(devices, name, STRINGS),	  R(pools, device, OF(devices)),
	R(pools, name, STRINGS),	  R(lanes, process, OF(processes)),
	R(lanes, device, OF(devices)),	  R(lanes, name, STRINGS),
	R(spans, lane, OF(lanes)),	  R(spans, name, STRINGS),
	R(spans, parent, OF(spans)),	  R(spans, cause, OF(spans)),
	R(spans, stack, OF(stacks)),	  R(allocs, pool, OF(pools)),
	R(allocs, span, OF(spans)),	  R(allocs, free_span, OF(spans)),
	R(allocs, stack, OF(stacks)),	  R(allocs, lane, OF(lanes)),
	R(allocs, stream, OF(lanes)),	  R(segments, pool, OF(pools)),
	R(segments, stack, OF(stacks)),	  R(segments, stream, OF(lanes)),
	R(pendings, alloc, OF(allocs)),	  R(counters, name, STRINGS),
	R(counters, unit, STRINGS),	  R(counters, lane, OF(lanes)),
	R(counters, device, OF(devices)), R(samples, counter, OF(counters)),
	R(marks, name, STRINGS),	  R(marks, text, STRINGS),
	R(marks, lane, OF(lanes)),	  R(marks, pool, OF(pools)),
	R(marks, stack, OF(stacks)),	  R(tensors, alloc, OF(allocs)),
	R(tensors, name, STRINGS),	  R(views, alloc, OF(allocs)),
	R(views, name, STRINGS),	  R(flows, from, OF(spans)),
	R(flows, to, OF(spans)),	  R(attrs, span, OF(spans)),
	R(attrs, key, STRINGS),		  R(attrs, text, STRINGS),
	R(facts, key, STRINGS),		  R(facts, text, STRINGS),
	R(pool_states, pool, OF(pools)),  R(pool_states, span, OF(spans)),
	R(documents, kind, STRINGS),	  R(documents, text, STRINGS),
	R(documents, lane, OF(lanes)),	  R(op_totals, name, STRINGS),
	R(op_totals, shapes, STRINGS),	  R(uses, alloc, OF(allocs)),
	R(uses, span, OF(spans)),	  R(referrers, alloc, OF(allocs)),
	R(referrers, path, STRINGS),
};
#undef OF
#undef R

static size_t rows_of(const tide_model *m, size_t table)
{
	size_t n;
	memcpy(&n, (const char *)m + table, sizeof n);
	return n;
}

static tide_code check_range(const struct check *c, const struct range *r)
{
	const char *table = (const char *)c->m + r->at;
	size_t n = rows_of(c->m, r->at);
	size_t limit = r->of == STRINGS ? (size_t)tide__strings_count(c->m->strings) + 1
					: rows_of(c->m, r->of);
	const uint32_t *ids;
	memcpy(&ids, table + r->ids, sizeof ids);
	for (size_t i = 0; i < n; i++)
		if (ids[i] >= limit)
			return tide__fail(c->err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
					  "ids: %s row %zu: %s %u is out of range", r->table, i,
					  r->column, ids[i]);
	return TIDE_OK;
}

static tide_code check_ids(const struct check *c)
{
	tide_code rc = TIDE_OK;
	for (size_t i = 0; rc == TIDE_OK && i < sizeof ranges / sizeof *ranges; i++)
		rc = check_range(c, &ranges[i]);
	return rc;
}

static tide_code check_none_rows(const struct check *c)
{
	const struct {
		const char *name;
		size_t n;
	} tables[] = {
#define T(st, member, COLUMNS, none, doc) { #member, none ? c->m->member.n : 1 },
		TIDE_TABLES(T)
#undef T
	};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		if (!tables[i].n)
			return broken(c, "ids", tables[i].name, 0, "the none row is missing");
	return TIDE_OK;
}

static tide_code check_stacks(const struct check *c)
{
	for (size_t i = 1; i < c->m->stacks.n; i++)
		if (c->m->stacks.parent[i].i >= i)
			return broken(c, "ids", "stacks", i, "the parent is not a smaller id");
	return TIDE_OK;
}

static tide_code check_tensors(const struct check *c)
{
	const tide_tensors *t = &c->m->tensors;
	for (size_t i = 1; i < t->n; i++)
		if (t->ndim[i] &&
		    (t->dims[i] > c->m->n_dims || t->ndim[i] > c->m->n_dims - t->dims[i]))
			return broken(c, "ids", "tensors", i, "dimensions are out of range");
	return TIDE_OK;
}

static tide_code check_views(const struct check *c)
{
	const tide_views *v = &c->m->views;
	for (size_t i = 1; i < v->n; i++) {
		uint64_t size = c->m->allocs.size[v->alloc[i].i];
		if (!v->alloc[i].i || v->offset[i] > size || v->bytes[i] > size - v->offset[i])
			return broken(c, "V1", "views", i, "it is outside its allocation");
		if (v->ndim[i] &&
		    (v->dims[i] > c->m->n_dims || v->ndim[i] > c->m->n_dims - v->dims[i]))
			return broken(c, "ids", "views", i, "dimensions are out of range");
	}
	return TIDE_OK;
}

/* ---- S1, S2: spans ---- */

static const char *wrong_span(const tide_spans *s, size_t i)
{
	size_t p = s->parent[i].i;
	if (s->t0[i] > s->t1[i])
		return "it ends before it starts";
	if (i > 1 && s->t0[i] < s->t0[i - 1])
		return "it starts before its predecessor";
	if (!p)
		return NULL;
	if (p >= i)
		return "its parent comes after it";
	if (s->lane[p].i != s->lane[i].i)
		return "its parent is on another lane";
	if (s->t0[p] > s->t0[i] || s->t1[p] < s->t1[i])
		return "its parent does not contain it";
	return NULL;
}

static tide_code check_spans(const struct check *c)
{
	const tide_spans *s = &c->m->spans;
	for (size_t i = 1; i < s->n; i++) {
		const char *what = wrong_span(s, i);
		if (what)
			return broken(c, "S1", "spans", i, what);
		if (s->cause[i].i == i)
			return broken(c, "S2", "spans", i, "it is its own cause");
	}
	return TIDE_OK;
}

/* ---- A1, M1, M2: lives and memory events ---- */

static tide_code check_lives(const struct check *c)
{
	const tide_allocs *a = &c->m->allocs;
	const tide_segments *s = &c->m->segments;
	for (size_t i = 1; i < a->n; i++) {
		if (a->born[i] > a->died[i])
			return broken(c, "A1", "allocs", i, "it died before it was born");
		if (a->requested[i] > a->size[i])
			return broken(c, "A1", "allocs", i, "more was requested than it has");
	}
	for (size_t i = 1; i < s->n; i++)
		if (s->born[i] > s->died[i])
			return broken(c, "A1", "segments", i, "it died before it was born");
	return TIDE_OK;
}

static tide_code check_events(const struct check *c)
{
	const tide_model *m = c->m;
	const size_t limit[] = { m->allocs.n, m->allocs.n, m->pendings.n, m->segments.n,
				 m->segments.n };
	int64_t before = INT64_MIN;
	for (size_t i = 0; i < m->memory_events.n; i++) {
		uint32_t row = m->memory_events.row[i];
		if (m->memory_events.kind[i] > TIDE_MEMORY_SEG_FREE)
			return broken(c, "M1", "memory_events", i, "unknown kind");
		if (!row || row >= limit[m->memory_events.kind[i]])
			return broken(c, "M1", "memory_events", i, "its row is out of range");
		int64_t t = tide__memory_event_time(m, i);
		if (t < before)
			return broken(c, "M1", "memory_events", i, "time goes back");
		before = t;
	}
	return TIDE_OK;
}

/* seen[row]: 0 not seen, 1 allocated, 2 also freed. */
static tide_code check_pairs(const struct check *c, uint8_t *seen, size_t n, const int64_t *died,
			     uint8_t on, uint8_t off, const char *table)
{
	const tide_memory_events *v = &c->m->memory_events;
	memset(seen, 0, n);
	for (size_t i = 0; i < v->n; i++) {
		uint32_t row = v->row[i];
		if (v->kind[i] == on && seen[row]++ != 0)
			return broken(c, "M2", table, row, "it has two allocations");
		if (v->kind[i] == off && seen[row]++ != 1)
			return broken(c, "M2", table, row,
				      "it is freed twice, or before it is allocated");
	}
	for (size_t i = 1; i < n; i++)
		if (seen[i] != (died[i] == TIDE_T_NEVER ? 1 : 2))
			return broken(c, "M2", table, i,
				      "its memory events do not agree with its death");
	return TIDE_OK;
}

static tide_code check_all_pairs(const struct check *c)
{
	const tide_model *m = c->m;
	size_t n = m->allocs.n > m->segments.n ? m->allocs.n : m->segments.n;
	uint8_t *seen = tide__alloc(n, 1);
	if (!seen)
		return tide__nomem(c->err);
	tide_code rc = check_pairs(c, seen, m->allocs.n, m->allocs.died, TIDE_MEMORY_ALLOC,
				   TIDE_MEMORY_FREE, "allocs");
	if (!rc)
		rc = check_pairs(c, seen, m->segments.n, m->segments.died, TIDE_MEMORY_SEG_ALLOC,
				 TIDE_MEMORY_SEG_FREE, "segments");
	tide__free(seen);
	return rc;
}

/* ---- M3: live allocations do not overlap ---- */

struct pool_live {
	tide_ordered addrs;
	tide_map rows;
};

static const char *arrive(const tide_allocs *a, struct pool_live *p, uint32_t row, bool *nomem)
{
	uint64_t addr = a->addr[row], other;
	if (tide__map_get(&p->rows, addr))
		return "it is where another live one is";
	if (tide__ordered_below(&p->addrs, addr, &other) &&
	    addr - other < a->size[tide__map_get(&p->rows, other)])
		return "it begins inside another live one";
	if (tide__ordered_above(&p->addrs, addr, &other) && other - addr < a->size[row])
		return "it reaches into another live one";
	*nomem = !tide__ordered_add(&p->addrs, addr) || !tide__map_put(&p->rows, addr, row);
	return NULL;
}

static tide_code sweep(const struct check *c, struct pool_live *pools)
{
	const tide_allocs *a = &c->m->allocs;
	const tide_memory_events *v = &c->m->memory_events;
	for (size_t i = 0; i < v->n; i++) {
		uint32_t row = v->row[i];
		bool nomem = false;
		if (v->kind[i] > TIDE_MEMORY_FREE || !a->size[row] ||
		    a->flags[row] & (TIDE_ALLOC_OVERLAPS | TIDE_ALLOC_SAMPLED))
			continue;
		struct pool_live *p = &pools[a->pool[row].i];
		if (v->kind[i] == TIDE_MEMORY_FREE) {
			tide__ordered_del(&p->addrs, a->addr[row]);
			tide__map_del(&p->rows, a->addr[row]);
			continue;
		}
		const char *what = arrive(a, p, row, &nomem);
		if (nomem)
			return tide__nomem(c->err);
		if (what)
			return broken(c, "M3", "allocs", row, what);
	}
	return TIDE_OK;
}

static tide_code check_overlaps(const struct check *c)
{
	size_t n = c->m->pools.n;
	struct pool_live *pools = tide__calloc(n, sizeof *pools);
	if (!pools)
		return tide__nomem(c->err);
	tide_code rc = sweep(c, pools);
	for (size_t i = 0; i < n; i++) {
		tide__ordered_free(&pools[i].addrs);
		tide__map_free(&pools[i].rows);
	}
	tide__free(pools);
	return rc;
}

/* ---- K1, T1: marks, attributes, flows ---- */

static tide_code check_marks(const struct check *c)
{
	const tide_marks *k = &c->m->marks;
	for (size_t i = 1; i < k->n; i++) {
		if (i > 1 && k->t[i] < k->t[i - 1])
			return broken(c, "K1", "marks", i, "time goes back");
		if (i > 1 && k->position[i] < k->position[i - 1])
			return broken(c, "K1", "marks", i, "its position goes back");
		if (k->position[i] > c->m->memory_events.n)
			return broken(c, "K1", "marks", i, "its position is out of range");
	}
	return TIDE_OK;
}

static tide_code check_pool_states(const struct check *c)
{
	const tide_pool_states *s = &c->m->pool_states;
	for (size_t i = 1; i < s->n; i++)
		if (s->t[i] < s->t[i - 1])
			return broken(c, "P1", "pool_states", i, "time goes back");
	return TIDE_OK;
}

static tide_code check_uses(const struct check *c)
{
	const tide_uses *u = &c->m->uses;
	for (size_t i = 0; i < u->n; i++) {
		uint32_t a = u->alloc[i].i;
		if (i && (u->t[i] < u->t[i - 1] || u->position[i] < u->position[i - 1]))
			return broken(c, "U1", "uses", i, "it goes back");
		if (u->position[i] > c->m->memory_events.n)
			return broken(c, "U1", "uses", i, "its position is out of range");
		if (!a || u->t[i] < c->m->allocs.born[a] || u->t[i] > c->m->allocs.died[a])
			return broken(c, "U1", "uses", i, "its allocation is not alive");
	}
	return TIDE_OK;
}

static tide_code check_links(const struct check *c)
{
	const tide_attrs *a = &c->m->attrs;
	const tide_flows *f = &c->m->flows;
	for (size_t i = 1; i < a->n; i++)
		if (a->span[i].i < a->span[i - 1].i ||
		    (a->span[i].i == a->span[i - 1].i && a->key[i].i < a->key[i - 1].i))
			return broken(c, "T1", "attrs", i, "not sorted by span and key");
	for (size_t i = 1; i < f->n; i++)
		if (f->from[i].i < f->from[i - 1].i ||
		    (f->from[i].i == f->from[i - 1].i && f->to[i].i < f->to[i - 1].i))
			return broken(c, "T1", "flows", i, "not sorted by from and to");
	return TIDE_OK;
}

tide_code tide__model_check(const tide_model *m, tide_error *err)
{
	static tide_code (*const checks[])(const struct check *) = {
		check_none_rows, check_ids,   check_stacks,	 check_tensors,	  check_views,
		check_spans,	 check_lives, check_events,	 check_all_pairs, check_overlaps,
		check_marks,	 check_links, check_pool_states, check_uses,
	};
	const struct check c = { m, err };
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
		tide_code rc = checks[i](&c);
		if (rc)
			return rc;
	}
	return TIDE_OK;
}
