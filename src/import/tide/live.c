// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/tide/live.h"

#include <string.h>

#include "base/mem.h"
#include "base/seed.h"

enum { FIRST_SLOTS = 1024 };

bool tide__live_init(tide_live *l, const uint64_t *const *size)
{
	*l = (tide_live){ .mask = FIRST_SLOTS - 1, .factor = tide__seed() | 1, .size = size };
	l->slots = tide__calloc(FIRST_SLOTS, sizeof *l->slots);
	return l->slots;
}

void tide__live_free(tide_live *l)
{
	for (size_t i = 0; i < l->n_pools; i++)
		tide__ordered_free(&l->pools[i]);
	tide__free(l->pools);
	tide__free(l->slots);
	*l = (tide_live){ 0 };
}

/* Returns the place of this address, or the free slot for it. */
static inline tide_place *probe(const tide_live *l, uint32_t pool, uint64_t addr)
{
	size_t i = tide__live_slot(l, pool, addr);
	while (l->slots[i].row && (l->slots[i].addr != addr || l->slots[i].pool != pool))
		i = (i + 1) & l->mask;
	return &l->slots[i];
}

uint32_t tide__live_find(const tide_live *l, uint32_t pool, uint64_t addr)
{
	const tide_place *p = probe(l, pool, addr);
	return p->alive ? p->row : 0;
}

uint32_t tide__live_take(tide_live *l, uint32_t pool, uint64_t addr)
{
	tide_place *p = probe(l, pool, addr);
	if (!p->alive)
		return 0;
	p->alive = 0;
	l->n_alive--;
	return p->row;
}

/* Removes a place; later entries that probed past it move back. */
static void forget(tide_live *l, tide_place *p)
{
	size_t i = (size_t)(p - l->slots);
	l->n--;
	for (size_t j = i;;) {
		l->slots[i] = (tide_place){ 0 };
		for (;;) {
			j = (j + 1) & l->mask;
			if (!l->slots[j].row)
				return;
			size_t home = tide__live_slot(l, l->slots[j].pool, l->slots[j].addr);
			if (((j - home) & l->mask) >= ((j - i) & l->mask))
				break;
		}
		l->slots[i] = l->slots[j];
		i = j;
	}
}

static bool pool_room(tide_live *l, uint32_t pool)
{
	if (pool < l->n_pools)
		return true;
	size_t n = pool + 1;
	if (!TIDE_RESIZE(l->pools, n))
		return false;
	memset(l->pools + l->n_pools, 0, (n - l->n_pools) * sizeof *l->pools);
	l->n_pools = n;
	return true;
}

/* ---- a full table: grow it, or remove unused places ---- */

static bool refill(tide_live *l, tide_place *old, size_t n_old, bool alive_only)
{
	if (alive_only)
		for (size_t i = 0; i < l->n_pools; i++)
			tide__ordered_clear(&l->pools[i]);
	l->n = 0;
	for (size_t i = 0; i < n_old; i++) {
		tide_place *p = &old[i];
		if (!p->row || (alive_only && !p->alive))
			continue;
		if (alive_only && p->extent && !tide__ordered_add(&l->pools[p->pool], p->addr))
			return false;
		*probe(l, p->pool, p->addr) = *p;
		l->n++;
	}
	return true;
}

static bool make_room(tide_live *l)
{
	size_t n_old = l->mask + 1;
	bool purge = l->n_alive <= l->n / 2;
	tide_place *old = l->slots;
	size_t n = purge ? n_old : n_old * 2;
	tide_place *p = tide__calloc(n, sizeof *p);
	if (!p)
		return false;
	l->slots = p;
	l->mask = n - 1;
	bool ok = refill(l, old, n_old, purge);
	tide__free(old);
	return ok;
}

/* ---- a new or larger place ---- */

static uint64_t clip(uint64_t size)
{
	return size < TIDE_EXTENT_MAX ? size : TIDE_EXTENT_MAX;
}

/* Returns the bytes that the place reserves for itself. */
static uint64_t kept(const tide_live *l, const tide_place *p)
{
	uint64_t size = clip((*l->size)[p->row]);
	return p->alive && size < p->extent ? size : p->extent;
}

/* Shortens the neighbour below so that it ends at addr. Returns false if it is live and reaches
 * beyond. */
static bool clear_below(tide_live *l, uint32_t pool, uint64_t addr)
{
	uint64_t key;
	if (!tide__ordered_below(&l->pools[pool], addr, &key))
		return true;
	tide_place *p = probe(l, pool, key);
	uint64_t gap = addr - key;
	if (p->extent <= gap)
		return true;
	if (p->alive && kept(l, p) > gap)
		return false;
	p->extent = gap & TIDE_EXTENT_MAX;
	return true;
}

/* Removes unused places that begin inside (addr, addr + size). Returns false if a live one is among
 * them. */
static bool clear_above(tide_live *l, uint32_t pool, uint64_t addr, uint64_t size)
{
	uint64_t key;
	while (tide__ordered_above(&l->pools[pool], addr, &key) && key - addr < size) {
		tide_place *p = probe(l, pool, key);
		if (p->alive && kept(l, p))
			return false;
		tide__ordered_del(&l->pools[pool], key);
		if (p->alive) /* zero bytes: it stays and reserves nothing */
			p->extent = 0;
		else
			forget(l, p);
	}
	return true;
}

static bool put_slow(tide_live *l, uint32_t pool, uint64_t addr, uint64_t size, uint32_t row,
		     tide_claim *c)
{
	if (!pool_room(l, pool))
		return false;
	size = clip(size);
	c->overlaps = size && (!clear_below(l, pool, addr) || !clear_above(l, pool, addr, size));
	if (l->n >= (l->mask + 1) / 2 && !make_room(l))
		return false;
	tide_place *p = probe(l, pool, addr);
	if (!p->row) {
		l->n++;
		*p = (tide_place){ .addr = addr, .pool = pool & 0xffff };
	}
	bool claims = size && !c->overlaps;
	if (claims && !p->extent && !tide__ordered_add(&l->pools[pool], addr))
		return false;
	if (c->overlaps && p->extent) {
		tide__ordered_del(&l->pools[pool], addr);
		p->extent = 0;
	}
	if (claims)
		p->extent = size & TIDE_EXTENT_MAX;
	p->row = row;
	p->alive = 1;
	l->n_alive++;
	return true;
}

bool tide__live_put(tide_live *l, uint32_t pool, uint64_t addr, uint64_t size, uint32_t row,
		    tide_claim *c)
{
	tide_place *p = probe(l, pool, addr);
	*c = (tide_claim){ 0 };
	if (p->alive) {
		c->before = p->row;
		p->alive = 0;
		l->n_alive--;
	}
	if (__builtin_expect(p->row && size <= p->extent, 1)) {
		p->row = row;
		p->alive = 1;
		l->n_alive++;
		return true;
	}
	return put_slow(l, pool, addr, size, row, c);
}

uint32_t tide__live_drop(tide_live *l, uint32_t pool, uint64_t addr)
{
	tide_place *p = probe(l, pool, addr);
	if (!p->alive)
		return 0;
	uint32_t row = p->row;
	if (p->extent)
		tide__ordered_del(&l->pools[pool], addr);
	forget(l, p);
	l->n_alive--;
	return row;
}

uint32_t tide__live_below(const tide_live *l, uint32_t pool, uint64_t addr)
{
	uint64_t key = addr;
	while (pool < l->n_pools && tide__ordered_below(&l->pools[pool], key, &key)) {
		const tide_place *p = probe(l, pool, key);
		if (p->alive)
			return p->row;
	}
	return 0;
}

uint32_t tide__live_above(const tide_live *l, uint32_t pool, uint64_t addr)
{
	uint64_t key = addr;
	while (pool < l->n_pools && tide__ordered_above(&l->pools[pool], key, &key)) {
		const tide_place *p = probe(l, pool, key);
		if (p->alive)
			return p->row;
	}
	return 0;
}
