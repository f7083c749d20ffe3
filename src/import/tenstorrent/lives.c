// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Infers allocations and frees from the states of a pool before and after an operation.
 *
 * A rise is one allocation of the operation. A fall frees, in this order: the operands' memory (for
 * a deallocate: its operand), remainders of earlier frees, the newest. A free smaller than the
 * allocation splits it. So after every block the live bytes of a pool equal those of the block,
 * even if the wrong allocation was chosen. An operation that allocates and frees shows its net
 * change only. */
#include "base/mem.h"
#include "import/tenstorrent/ttlog_impl.h"

static void unlink_life(ttlog *x, tt_pool *p, uint32_t i)
{
	tt_life *l = &x->lives[i];
	uint32_t *head = l->rest ? &p->rests : &p->live;
	if (l->prev)
		x->lives[l->prev].next = l->next;
	else
		*head = l->next;
	if (l->next)
		x->lives[l->next].prev = l->prev;
	l->prev = l->next = 0;
}

static void link_life(ttlog *x, tt_pool *p, uint32_t i)
{
	tt_life *l = &x->lives[i];
	uint32_t *head = l->rest ? &p->rests : &p->live;
	l->prev = 0;
	l->next = *head;
	if (*head)
		x->lives[*head].prev = i;
	*head = i;
}

static uint32_t new_life(ttlog *x)
{
	if (!x->n_lives)
		x->n_lives = 1; /* row 0 is none */
	if (x->n_lives >= UINT32_MAX / 2 || !TIDE_ROOM(x->lives, x->cap_lives, x->n_lives + 1)) {
		tide__ttlog_nomem(x);
		return 0;
	}
	return (uint32_t)x->n_lives++;
}

static int64_t time_of(const ttlog *x, const tt_owner *by)
{
	return by->span ? x->m->spans.t0[by->span] : x->now;
}

/* ---- a rise ---- */

static bool take(ttlog *x, tt_rank *r, unsigned pool, uint64_t bytes, const tt_owner *by,
		 bool before)
{
	uint32_t i = new_life(x);
	if (!i)
		return false;
	const tt_op *o = by->op ? &x->ops[by->op - 1] : NULL;
	bool holds = o && o->result.i && o->pool == pool;
	tt_life *l = &x->lives[i];
	*l = (tt_life){ .size = bytes,
			.born = before ? 0 : time_of(x, by),
			.died = TIDE_T_NEVER,
			.seq_born = before ? 0 : ++x->seq,
			.pool = r->pools[pool].row,
			.span = by->span,
			.lane = r->lane,
			.op = holds ? by->op : 0,
			.role = before ? TIDE_ROLE_UNKNOWN : by->role,
			.flags = before ? TIDE_ALLOC_BEFORE : 0 };
	link_life(x, &r->pools[pool], i);
	if (!holds)
		return true;
	l->key = (uint64_t)by->instance << 32 | o->result.i;
	return tide__map_put(&x->life_of, l->key, i) || tide__ttlog_nomem(x);
}

/* ---- a fall ---- */

static void end_life(ttlog *x, tt_life *l, const tt_owner *by)
{
	l->died = time_of(x, by);
	if (l->died < l->born)
		l->died = l->born;
	l->seq_died = ++x->seq;
	l->free_span = by->span;
}

/* Free up to `need` bytes of one; the bytes that were. */
static uint64_t free_some(ttlog *x, tt_pool *p, uint32_t i, uint64_t need, const tt_owner *by)
{
	tt_life *l = &x->lives[i];
	if (need >= l->size) {
		need = l->size;
		unlink_life(x, p, i);
		if (l->key && tide__map_get(&x->life_of, l->key) == i)
			tide__map_del(&x->life_of, l->key);
		end_life(x, l, by);
		return need;
	}
	uint32_t part = new_life(x);
	if (!part)
		return 0;
	l = &x->lives[i];
	if (!l->rest) {
		unlink_life(x, p, i);
		l->rest = true;
		link_life(x, p, i);
		l = &x->lives[i];
	}
	x->lives[part] = *l;
	x->lives[part].size = need;
	x->lives[part].key = 0;
	x->lives[part].prev = x->lives[part].next = 0;
	l->size -= need;
	end_life(x, &x->lives[part], by);
	return need;
}

static uint64_t free_operands(ttlog *x, tt_rank *r, unsigned pool, uint64_t need,
			      const tt_owner *by)
{
	tt_pool *p = &r->pools[pool];
	const tt_op *o = by->op ? &x->ops[by->op - 1] : NULL;
	for (unsigned k = 0; o && need && k < o->n_operands; k++) {
		uint64_t key = (uint64_t)by->instance << 32 | o->operands[k].i;
		uint32_t i = tide__map_get(&x->life_of, key);
		if (i && x->lives[i].died == TIDE_T_NEVER && x->lives[i].pool == p->row)
			need -= free_some(x, p, i, need, by);
	}
	return need;
}

static bool give(ttlog *x, tt_rank *r, unsigned pool, uint64_t need, const tt_owner *by)
{
	tt_pool *p = &r->pools[pool];
	need = free_operands(x, r, pool, need, by);
	while (need && x->rc == TIDE_OK && p->rests)
		need -= free_some(x, p, p->rests, need, by);
	while (need && x->rc == TIDE_OK && (p->live || p->rests))
		need -= free_some(x, p, p->live ? p->live : p->rests, need, by);
	return x->rc == TIDE_OK;
}

bool tide__ttlog_change(ttlog *x, tt_rank *r, unsigned pool, uint64_t now, const tt_owner *by)
{
	tt_pool *p = &r->pools[pool];
	static const tt_owner nobody = { 0 };
	uint64_t was = p->block ? p->last : 0;
	p->last = now;
	if (!p->block)
		return !now || take(x, r, pool, now * p->banks, &nobody, true);
	if (now > was)
		return take(x, r, pool, (now - was) * p->banks, by, false);
	return now == was || give(x, r, pool, (was - now) * p->banks, by);
}
