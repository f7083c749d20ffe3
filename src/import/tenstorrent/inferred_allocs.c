// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Infers allocations and frees from the states of a pool before and after an operation.
 *
 * A rise is one allocation of the operation; it holds the operation's results unless their type
 * says that they are in another pool. An operation that changes nothing may return its operand: its
 * result then has the operand's allocation. A fall frees, in this order: the operands' memory (for
 * a deallocate: its operand), remainders that rounding left of earlier frees, the newest value, the
 * newest weight (weights first inside a const-eval program). A free smaller than the allocation
 * splits it. So after every block the live bytes of a pool equal those of the block, even if the
 * wrong allocation was chosen. An operation that allocates and frees shows its net change only. */
#include "base/mem.h"
#include "import/tenstorrent/ttlog_impl.h"

static void unlink_life(ttlog *x, tt_pool *p, uint32_t i)
{
	tt_life *l = &x->lives[i];
	if (l->prev)
		x->lives[l->prev].next = l->next;
	else
		p->live[l->list] = l->next;
	if (l->next)
		x->lives[l->next].prev = l->prev;
	l->prev = l->next = 0;
}

static void link_life(ttlog *x, tt_pool *p, uint32_t i)
{
	tt_life *l = &x->lives[i];
	uint32_t *head = &p->live[l->list];
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

static int64_t time_of(const ttlog *x, const tt_rank *r, const tt_owner *by)
{
	return by->span ? x->m->spans.t0[by->span] : r->now;
}

/* ---- which value it holds ---- */

static uint64_t key_of(const tt_owner *by, unsigned pool, tide_str value)
{
	return ((uint64_t)by->instance * TT_POOLS + pool) << 32 | value.i;
}

static const tt_op *op_of(const ttlog *x, const tt_owner *by)
{
	return by->op ? &x->ops[by->op - 1] : NULL;
}

/* Returns whether the operation's results may be in this pool. */
static bool holds(const tt_op *o, unsigned pool)
{
	return o && o->n_results && (o->pool == pool || o->pool == TT_POOL_UNKNOWN);
}

static bool name_life(ttlog *x, uint32_t i, unsigned pool, const tt_owner *by)
{
	const tt_op *o = op_of(x, by);
	for (unsigned k = 0; k < o->n_results; k++)
		if (!tide__map_put(&x->life_of, key_of(by, pool, o->results[k]), i))
			return tide__ttlog_nomem(x);
	return true;
}

/* Returns the live allocation of an operand in this pool, 0 if there is none. */
static uint32_t life_of(const ttlog *x, const tt_rank *r, unsigned pool, const tt_owner *by,
			unsigned operand)
{
	uint32_t i = tide__map_get(&x->life_of, key_of(by, pool, op_of(x, by)->operands[operand]));
	return i && x->lives[i].died == TIDE_T_NEVER && x->lives[i].pool == r->pools[pool].row ? i
											       : 0;
}

/* ---- a rise, or nothing ---- */

static bool take(ttlog *x, tt_rank *r, unsigned pool, uint64_t bytes, const tt_owner *by,
		 bool before)
{
	uint32_t i = new_life(x);
	if (!i)
		return false;
	bool named = holds(op_of(x, by), pool), weight = before || by->role == TIDE_ROLE_PARAMETER;
	x->lives[i] = (tt_life){ .size = bytes,
				 .born = before ? 0 : time_of(x, r, by),
				 .died = TIDE_T_NEVER,
				 .seq_born = before ? 0 : ++x->seq,
				 .pool = r->pools[pool].row,
				 .span = by->span,
				 .lane = r->lane,
				 .op = named ? by->op : 0,
				 .list = weight ? TT_WEIGHTS : TT_VALUES,
				 .role = before ? TIDE_ROLE_UNKNOWN : by->role,
				 .flags = before ? TIDE_ALLOC_BEFORE : 0 };
	link_life(x, &r->pools[pool], i);
	return !named || name_life(x, i, pool, by);
}

static bool hand_on(ttlog *x, tt_rank *r, unsigned pool, const tt_owner *by)
{
	const tt_op *o = op_of(x, by);
	if (!holds(o, pool) || !o->n_operands)
		return true;
	uint32_t i = life_of(x, r, pool, by, 0);
	return !i || name_life(x, i, pool, by);
}

/* ---- a fall ---- */

static void end_life(ttlog *x, const tt_rank *r, tt_life *l, const tt_owner *by)
{
	l->died = time_of(x, r, by);
	if (l->died < l->born)
		l->died = l->born;
	l->seq_died = ++x->seq;
	l->free_span = by->span;
}

/* Frees up to `need` bytes of an allocation. Returns the bytes freed. */
static uint64_t free_some(ttlog *x, tt_rank *r, unsigned pool, uint32_t i, uint64_t need,
			  const tt_owner *by)
{
	tt_pool *p = &r->pools[pool];
	tt_life *l = &x->lives[i];
	if (need >= l->size) {
		unlink_life(x, p, i);
		end_life(x, r, l, by);
		return l->size;
	}
	uint32_t part = new_life(x);
	if (!part)
		return 0;
	l = &x->lives[i];
	x->lives[part] = *l;
	x->lives[part].size = need;
	x->lives[part].prev = x->lives[part].next = 0;
	l->size -= need;
	end_life(x, r, &x->lives[part], by);
	if (l->list != TT_RESTS && l->size <= 2 * x->resolution * p->banks) {
		unlink_life(x, p, i);
		l->list = TT_RESTS;
		link_life(x, p, i);
	}
	return need;
}

static bool give(ttlog *x, tt_rank *r, unsigned pool, uint64_t need, const tt_owner *by)
{
	tt_pool *p = &r->pools[pool];
	bool inside = by->role == TIDE_ROLE_PARAMETER;
	const uint8_t order[] = { TT_RESTS, inside ? TT_WEIGHTS : TT_VALUES,
				  inside ? TT_VALUES : TT_WEIGHTS };
	const tt_op *o = op_of(x, by);
	for (unsigned k = 0; o && need && k < o->n_operands; k++) {
		uint32_t i = life_of(x, r, pool, by, k);
		if (i)
			need -= free_some(x, r, pool, i, need, by);
	}
	for (unsigned k = 0; k < sizeof order; k++)
		while (need && x->rc == TIDE_OK && p->live[order[k]])
			need -= free_some(x, r, pool, p->live[order[k]], need, by);
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
	return now == was ? hand_on(x, r, pool, by) : give(x, r, pool, (was - now) * p->banks, by);
}
