// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The lanes of one parser (interned, never moved, found by hash) and what it found in a block. */
#include <string.h>

#include "base/mem.h"
#include "base/seed.h"
#include "import/kineto/kineto_impl.h"

/* ---- lanes ---- */

static uint64_t val_hash(jsonr_val v)
{
	return v.text ? v.text->hash : tide__mix((uint64_t)v.num ^ tide__seed());
}

static uint64_t lane_hash(unsigned kind, unsigned cat, jsonr_val a, jsonr_val b)
{
	return tide__mix(val_hash(a) * 3 + val_hash(b) * 5 + kind * 64 + cat);
}

static bool same(jsonr_val x, jsonr_val y)
{
	return x.text == y.text && (x.text || x.num == y.num);
}

static bool is_lane(const kin_lane *l, unsigned kind, unsigned cat, jsonr_val a, jsonr_val b)
{
	return same(l->b, b) && same(l->a, a) && l->kind == kind && l->cat == cat;
}

static bool lanes_grow(kin_lanes *l)
{
	size_t slots = l->slots ? (l->mask + 1) * 2 : 64;
	kin_lane **big = tide__calloc(slots, sizeof *big);
	if (!big)
		return false;
	for (size_t i = 0; l->slots && i <= l->mask; i++) {
		kin_lane *e = l->slots[i];
		if (!e)
			continue;
		size_t at = lane_hash(e->kind, e->cat, e->a, e->b) & (slots - 1);
		while (big[at])
			at = (at + 1) & (slots - 1);
		big[at] = e;
	}
	tide__free(l->slots);
	l->slots = big;
	l->mask = slots - 1;
	return true;
}

kin_lane *tide__kineto_get_lane(kin_lanes *l, unsigned kind, unsigned cat, jsonr_val a, jsonr_val b)
{
	if (l->last[kind & 7] && is_lane(l->last[kind & 7], kind, cat, a, b))
		return l->last[kind & 7];
	if ((!l->slots || l->n >= l->mask / 2) && !lanes_grow(l))
		return NULL;
	size_t at = lane_hash(kind, cat, a, b) & l->mask;
	for (kin_lane *e; (e = l->slots[at]); at = (at + 1) & l->mask)
		if (is_lane(e, kind, cat, a, b))
			return l->last[kind & 7] = e;
	kin_lane *e = tide__jsonr_arena_take(&l->arena, sizeof *e);
	if (!e)
		return NULL;
	*e = (kin_lane){ .a = a, .b = b, .kind = (uint8_t)kind, .cat = (uint8_t)cat };
	l->slots[at] = e;
	l->n++;
	return l->last[kind & 7] = e;
}

void tide__kineto_lanes_fini(kin_lanes *l)
{
	tide__jsonr_arena_fini(&l->arena);
	tide__free(l->slots);
	*l = (kin_lanes){ 0 };
}

void tide__kineto_parser_fini(kin_parser *p)
{
	tide__jsonr_fini(&p->json);
	tide__kineto_lanes_fini(&p->lanes);
}

/* ---- content of a block ---- */

void tide__kineto_out_clear(kin_out *o)
{
	o->n_rows = o->n_attrs = o->n_mems = o->n_raws = o->n_metas = 0;
	o->events = 0;
	o->seen.n = 0;
	memset(o->loss, 0, sizeof o->loss);
}

void tide__kineto_out_fini(kin_out *o)
{
	tide__free(o->rows);
	tide__free(o->attrs);
	tide__free(o->mems);
	tide__free(o->raws);
	tide__free(o->metas);
	*o = (kin_out){ 0 };
}
