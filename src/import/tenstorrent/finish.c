// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finishes the log: open spans end, lifetimes become allocations and memory events in order of
 * time, marks get their position among memory events, counts become facts. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/tenstorrent/ttlog_impl.h"
#include "model/mergesort.h"

/* ---- open spans ---- */

static bool close_ranks(ttlog *x)
{
	bool ok = true;
	x->unfinished = x->outside.stage.i != 0;
	for (size_t i = 0; ok && i < x->n_ranks; i++) {
		tt_rank *r = &x->ranks[i];
		x->unfinished += (r->stage.i != 0) + (r->submitted && !r->depth);
		ok = tide__ttlog_settle_rank(x, r) && tide__ttlog_dump_end(x, r);
		int64_t t = tide__ttlog_between(r);
		for (; ok && r->depth; r->depth--) {
			uint32_t s = r->stack[r->depth - 1].span;
			x->unfinished += r->stack[r->depth - 1].program;
			x->m->spans.t1[s] = t > x->m->spans.t1[s] ? t : x->m->spans.t1[s];
			x->m->spans.flags[s] |= TIDE_SPAN_OPEN;
		}
	}
	return ok;
}

/* Extends programs to the end of their operations: a damaged log may end an operation after its
 * program. Parents come before their children, so one pass from the end is enough. */
static void widen_parents(tide_spans *s)
{
	for (size_t i = s->n; i-- > 1;) {
		uint32_t p = s->parent[i].i;
		if (p && s->t1[p] < s->t1[i])
			s->t1[p] = s->t1[i];
	}
}

/* ---- allocations ---- */

static bool born_first(const void *ctx, uint32_t a, uint32_t b)
{
	const tt_life *l = ctx;
	if (l[a].born != l[b].born)
		return l[a].born < l[b].born;
	return l[a].lane != l[b].lane ? l[a].lane < l[b].lane : l[a].seq_born < l[b].seq_born;
}

static bool died_first(const void *ctx, uint32_t a, uint32_t b)
{
	const tt_life *l = ctx;
	if (l[a].died != l[b].died)
		return l[a].died < l[b].died;
	return l[a].lane != l[b].lane ? l[a].lane < l[b].lane : l[a].seq_died < l[b].seq_died;
}

static bool put_tensor(ttlog *x, const tt_life *l, uint32_t alloc)
{
	tide_tensors *t = &x->m->tensors;
	const tt_op *o = &x->ops[l->op - 1];
	uint32_t row = tide__push(t, &tide_tensors_desc);
	if (!row)
		return tide__ttlog_nomem(x);
	t->alloc[row].i = alloc;
	t->dims[row] = o->tensor_dims;
	t->ndim[row] = o->n_dims;
	t->dtype[row] = o->dtype;
	t->name[row] = o->results[0];
	t->role[row] = l->role;
	t->requires_grad[row] = 2;
	return true;
}

/* Addresses are unknown, so each allocation gets a distinct one. */
static bool put_alloc(ttlog *x, const tt_life *l, uint64_t *next)
{
	tide_allocs *a = &x->m->allocs;
	uint32_t row = tide__push(a, &tide_allocs_desc);
	if (!row)
		return tide__ttlog_nomem(x);
	a->addr[row] = *next;
	*next += l->size < UINT64_MAX / 2 - *next ? l->size
						  : 0; /* more than 2^63 is refused later */
	a->size[row] = a->requested[row] = l->size;
	a->born[row] = l->born;
	a->died[row] = l->died;
	a->pool[row].i = l->pool;
	a->span[row].i = l->span;
	a->free_span[row].i = l->free_span;
	a->lane[row].i = l->lane;
	a->role[row] = l->role;
	a->basis[row] = TIDE_BASIS_INFERRED;
	a->flags[row] = l->flags;
	return !l->op || put_tensor(x, l, row);
}

static bool put_event(ttlog *x, uint32_t row, uint8_t kind)
{
	size_t at;
	if (!tide__table_push(&x->m->memory_events, &tide_memory_events_desc, &at))
		return tide__ttlog_nomem(x);
	x->m->memory_events.row[at] = row;
	x->m->memory_events.kind[at] = kind;
	return true;
}

static bool birth_first(const tt_life *b, const tt_life *d)
{
	if (b->born != d->died)
		return b->born < d->died;
	return b->lane != d->lane ? b->lane < d->lane : b->seq_born < d->seq_died;
}

/* Merges allocations and frees, each in order. */
static bool put_events(ttlog *x, const uint32_t *births, size_t n, const uint32_t *deaths,
		       size_t n_deaths)
{
	const tt_life *l = x->lives;
	bool ok = true;
	uint32_t *row_of = tide__alloc(x->n_lives + 1, sizeof *row_of);
	if (!row_of)
		return tide__ttlog_nomem(x);
	for (size_t i = 0; i < n; i++)
		row_of[births[i]] = (uint32_t)i + 1;
	for (size_t i = 0, d = 0; ok && (i < n || d < n_deaths);) {
		bool birth = d == n_deaths || (i < n && birth_first(&l[births[i]], &l[deaths[d]]));
		ok = birth ? put_event(x, row_of[births[i]], TIDE_MEMORY_ALLOC)
			   : put_event(x, row_of[deaths[d]], TIDE_MEMORY_FREE);
		i += birth;
		d += !birth;
	}
	tide__free(row_of);
	return ok;
}

static bool allocations(ttlog *x)
{
	size_t n = x->n_lives ? x->n_lives - 1 : 0, dead = 0;
	uint64_t next = 1 << 20;
	if (!n)
		return true;
	uint32_t *births = tide__alloc(n, sizeof *births), *deaths = tide__alloc(n, sizeof *deaths),
		 *tmp = tide__alloc(n, sizeof *tmp);
	bool ok = births && deaths && tmp;
	for (size_t i = 0; ok && i < n; i++) {
		births[i] = (uint32_t)i + 1;
		if (x->lives[i + 1].died != TIDE_T_NEVER)
			deaths[dead++] = (uint32_t)i + 1;
	}
	if (ok) {
		tide__mergesort(births, tmp, n, born_first, x->lives);
		tide__mergesort(deaths, tmp, dead, died_first, x->lives);
	}
	for (size_t i = 0; ok && i < n; i++)
		ok = put_alloc(x, &x->lives[births[i]], &next);
	ok = ok && put_events(x, births, n, deaths, dead);
	tide__free(births);
	tide__free(deaths);
	tide__free(tmp);
	return ok || tide__ttlog_nomem(x);
}

/* ---- marks, attributes ---- */

static bool marks(ttlog *x)
{
	tide_marks *k = &x->m->marks;
	size_t event = 0;
	for (size_t i = 0; i < x->n_marks; i++) {
		const tt_mark *f = &x->marks[i];
		uint32_t row = tide__push(k, &tide_marks_desc);
		if (!row)
			return tide__ttlog_nomem(x);
		while (event < x->m->memory_events.n &&
		       tide__memory_event_time(x->m, event) <= f->t)
			event++;
		k->t[row] = f->t;
		k->value[row] = f->value;
		k->extra[row] = f->extra;
		k->position[row] = event;
		k->name[row] = f->name;
		k->text[row] = f->text;
		k->lane[row].i = f->lane;
		k->pool[row].i = f->pool;
		k->kind[row] = f->kind;
	}
	return true;
}

static bool attr_first(const void *ctx, uint32_t a, uint32_t b)
{
	const tide_attrs *t = ctx;
	return t->span[a].i != t->span[b].i ? t->span[a].i < t->span[b].i
					    : t->key[a].i < t->key[b].i;
}

/* Sorts attributes by span. Those of one rank are sorted already, those of several are not. */
static bool sort_attrs(ttlog *x)
{
	tide_attrs *t = &x->m->attrs;
	if (x->n_ranks < 2 || !t->n || t->n > UINT32_MAX)
		return true;
	uint32_t *perm = tide__alloc(t->n, sizeof *perm), *tmp = tide__alloc(t->n, sizeof *tmp);
	bool ok = perm && tmp;
	for (size_t i = 0; ok && i < t->n; i++)
		perm[i] = (uint32_t)i;
	if (ok) {
		tide__mergesort(perm, tmp, t->n, attr_first, t);
		ok = tide__table_permute(t, &tide_attrs_desc, perm, 0);
	}
	tide__free(perm);
	tide__free(tmp);
	return ok || tide__ttlog_nomem(x);
}

/* ---- facts ---- */

static bool facts(ttlog *x)
{
	const struct {
		const char *key;
		uint64_t n;
		bool always;
	} rows[] = {
		{ "tt.lines", x->line, true },
		{ "tt.op_lines", x->op_lines, true },
		{ "tt.blocks", x->blocks, true },
		{ "tt.deallocates", x->deallocates, true },
		{ "tt.get_devices", x->get_devices, true },
		{ "tt.ops_without_block", x->skipped, true },
		{ "tt.modules", x->dumps, true },
		{ "loss.tt_ops_without_block", x->blocks ? x->skipped : 0, false },
		{ "loss.tt_no_blocks", x->blocks ? 0 : x->op_lines + 1, false },
		{ "loss.tt_no_op_lines", x->op_lines ? 0 : x->blocks + 1, false },
		{ "loss.tt_partial_blocks", x->partial, false },
		{ "loss.tt_cut_lines", x->cut, false },
		{ "loss.tt_loose_states", x->loose, false },
		{ "loss.tt_unmatched", x->unmatched, false },
		{ "loss.tt_unfinished", x->repeats ? x->unfinished : 0, false },
		{ "loss.tt_unreadable_ops", x->unparsed, false },
		{ "loss.tt_modules_left_out", x->dump_left_out, false },
		{ "loss.tt_long_lines", x->long_lines, false },
		{ "loss.tt_results_only", x->results_only, false },
	};
	bool ok = true;
	for (size_t i = 0; ok && i < sizeof rows / sizeof *rows; i++)
		if (rows[i].n || rows[i].always)
			ok = tide__fact_set_number(x->m, rows[i].key, (int64_t)rows[i].n);
	if (ok && x->blocks)
		ok = tide__fact_text(x->m, "alloc.basis", x->basis);
	return (ok && tide__fact_text(x->m, "time.axis", tide__axis_text(TIDE_AXIS_OPS))) ||
	       tide__ttlog_nomem(x);
}

bool tide__ttlog_finish(ttlog *x)
{
	bool ok = close_ranks(x);
	widen_parents(&x->m->spans);
	x->m->axis = TIDE_AXIS_OPS;
	return ok && tide__ttlog_place_on_axis(x) && allocations(x) && marks(x) && sort_attrs(x) &&
	       facts(x);
}
