// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/kineto/live.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/seed.h"

/* Returns the last range that starts at or before addr, 0 if there is none. */
static uint32_t floor_of(const kin_live *l, uint64_t addr)
{
	uint32_t i = l->root, best = 0;
	while (i) {
		const kin_live_node *k = &l->nodes[i];
		if (k->addr <= addr)
			best = i;
		i = k->addr <= addr ? k->right : k->left;
	}
	return best;
}

static uint32_t new_node(kin_live *l)
{
	uint32_t i = l->free;
	if (i) {
		l->free = l->nodes[i].left;
		return i;
	}
	if (!TIDE_ROOM(l->nodes, l->cap, l->n + 2))
		return 0;
	return (uint32_t)++l->n;
}

/* Walks down to the first node of lower rank and splits the nodes below it at the address. */
static void insert(kin_live *l, uint32_t i)
{
	kin_live_node *v = l->nodes, *k = &v[i];
	uint32_t *at = &l->root;
	while (*at && v[*at].rank >= k->rank)
		at = k->addr < v[*at].addr ? &v[*at].left : &v[*at].right;
	uint32_t rest = *at, *less = &k->left, *more = &k->right;
	*at = i;
	while (rest) {
		if (v[rest].addr < k->addr) {
			*less = rest;
			less = &v[rest].right;
			rest = *less;
		} else {
			*more = rest;
			more = &v[rest].left;
			rest = *more;
		}
	}
	*less = *more = 0;
}

bool tide__kineto_live_add(kin_live *l, uint64_t addr, uint64_t size, bool *overlaps)
{
	*overlaps = true;
	if (addr > UINT64_MAX - size)
		return true;
	uint32_t below = floor_of(l, size ? addr + size - 1 : addr);
	if (below &&
	    (l->nodes[below].addr >= addr || l->nodes[below].addr + l->nodes[below].size > addr))
		return true;
	*overlaps = false;
	uint32_t i = new_node(l);
	if (!i)
		return false;
	l->nodes[i] = (kin_live_node){ .addr = addr,
				       .size = size,
				       .rank = (uint32_t)tide__mix(addr ^ tide__seed()) };
	insert(l, i);
	return true;
}

void tide__kineto_live_del(kin_live *l, uint64_t addr)
{
	kin_live_node *v = l->nodes;
	uint32_t *at = &l->root;
	while (*at && v[*at].addr != addr)
		at = addr < v[*at].addr ? &v[*at].left : &v[*at].right;
	uint32_t i = *at;
	if (!i)
		return;
	uint32_t a = v[i].left, b = v[i].right;
	while (a && b) { /* join: the node with the higher rank becomes the parent */
		bool up = v[a].rank >= v[b].rank;
		*at = up ? a : b;
		at = up ? &v[a].right : &v[b].left;
		*(up ? &a : &b) = *at;
	}
	*at = a ? a : b;
	v[i].left = l->free;
	l->free = i;
}

void tide__kineto_live_fini(kin_live *l)
{
	tide__free(l->nodes);
	*l = (kin_live){ 0 };
}
