// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/tide/live.h"

#include <string.h>

#include "base/mem.h"
#include "base/seed.h"

enum { FIRST_SLOTS = 1024, WIDEST = 9 };

bool tide__live_init(tide_live *l, const uint64_t *const *size)
{
	*l = (tide_live){ .mask = FIRST_SLOTS - 1,
			  .factor = tide__seed() | 1,
			  .grain = WIDEST,
			  .n_leaves = 1,
			  .size = size };
	l->slots = tide__calloc(FIRST_SLOTS, sizeof *l->slots);
	if (!l->slots || !TIDE_ROOM(l->leaves, l->cap_leaves, 1))
		return false;
	memset(l->leaves, 0, sizeof *l->leaves);
	return true;
}

void tide__live_free(tide_live *l)
{
	for (size_t i = 0; i < l->n_pools; i++)
		tide__ordered_free(&l->pools[i]);
	tide__free(l->pools);
	tide__free(l->leaves);
	tide__free(l->slots);
	*l = (tide_live){ 0 };
}

/* ---- bits ---- */

static inline uint64_t bit(unsigned i)
{
	return UINT64_C(1) << i;
}

/* Bits i and above; none for i = 64. */
static inline uint64_t from(unsigned i)
{
	return i < TIDE_LEAF ? ~UINT64_C(0) << i : 0;
}

static inline uint64_t lowest(uint64_t bits)
{
	return bits & -bits;
}

static inline unsigned highest(uint64_t bits)
{
	return 63 - (unsigned)__builtin_clzll(bits);
}

/* ---- finding leaves ---- */

static inline uint64_t key_of(const tide_live *l, uint64_t addr)
{
	return addr >> l->grain >> 6;
}

static inline unsigned place_of(const tide_live *l, uint64_t addr)
{
	return (unsigned)(addr >> l->grain) & (TIDE_LEAF - 1);
}

/* Returns the slot of this leaf, or the free slot for it. */
static inline tide_live_slot *probe(const tide_live *l, uint32_t pool, uint64_t key)
{
	uint64_t hash = tide__live_hash(l, pool, key);
	uint32_t tag = tide__live_tag(hash, key);
	size_t i = tide__live_home(l, hash, key);
	for (;; i = (i + 1) & l->mask) {
		tide_live_slot *s = &l->slots[i];
		if (!s->leaf)
			return s;
		const tide_leaf *leaf = &l->leaves[s->leaf];
		if (s->tag == tag && leaf->key == key && leaf->pool == pool)
			return s;
	}
}

static inline tide_leaf *leaf_at(const tide_live *l, uint32_t pool, uint64_t key)
{
	return &l->leaves[probe(l, pool, key)->leaf];
}

/* Returns the leaf of the address if something is alive there, else NULL. An address between two
 * grains was never put. */
static inline tide_leaf *alive_at(const tide_live *l, uint32_t pool, uint64_t addr)
{
	tide_leaf *leaf = leaf_at(l, pool, key_of(l, addr));
	bool whole = !(addr & (bit(l->grain) - 1));
	return whole && leaf->alive & bit(place_of(l, addr)) ? leaf : NULL;
}

uint32_t tide__live_find(const tide_live *l, uint32_t pool, uint64_t addr)
{
	const tide_leaf *leaf = alive_at(l, pool, addr);
	return leaf ? leaf->row[place_of(l, addr)] : 0;
}

uint32_t tide__live_take(tide_live *l, uint32_t pool, uint64_t addr)
{
	tide_leaf *leaf = alive_at(l, pool, addr);
	if (!leaf)
		return 0;
	leaf->alive &= ~bit(place_of(l, addr));
	l->n_alive--;
	return leaf->row[place_of(l, addr)];
}

/* ---- making leaves ---- */

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

static void seat(tide_live *l, uint32_t leaf)
{
	uint64_t key = l->leaves[leaf].key;
	uint64_t hash = tide__live_hash(l, l->leaves[leaf].pool, key);
	*probe(l, l->leaves[leaf].pool, key) = (tide_live_slot){ leaf, tide__live_tag(hash, key) };
}

/* Removes the leaves where nothing is alive. */
static bool purge(tide_live *l)
{
	size_t n = 1;
	for (size_t i = 0; i < l->n_pools; i++)
		tide__ordered_clear(&l->pools[i]);
	for (size_t i = 1; i < l->n_leaves; i++) {
		if (!l->leaves[i].alive)
			continue;
		if (n != i)
			l->leaves[n] = l->leaves[i];
		tide_leaf *leaf = &l->leaves[n];
		if (leaf->ordered &&
		    !tide__ordered_put(&l->pools[leaf->pool], leaf->key, (uint32_t)n))
			return false;
		n++;
	}
	l->n_leaves = n;
	return true;
}

/* Handles a full table: doubles it, unless half of the leaves can be removed. */
static bool make_room(tide_live *l)
{
	size_t alive = 0, n = l->mask + 1;
	for (size_t i = 1; i < l->n_leaves; i++)
		alive += l->leaves[i].alive != 0;
	bool few = alive <= l->n_leaves / 2;
	tide_live_slot *slots = tide__calloc(few ? n : 2 * n, sizeof *slots);
	if (!slots || l->n_leaves > UINT32_MAX / 2) {
		tide__free(slots);
		return false;
	}
	tide__free(l->slots);
	l->slots = slots;
	l->mask = (few ? n : 2 * n) - 1;
	bool ok = !few || purge(l);
	for (size_t i = 1; i < l->n_leaves; i++)
		seat(l, (uint32_t)i);
	return ok;
}

/* Returns the leaf of this key, a new one if there is none yet; NULL if memory runs out. */
static tide_leaf *leaf_for(tide_live *l, uint32_t pool, uint64_t key)
{
	uint32_t at = probe(l, pool, key)->leaf;
	if (__builtin_expect(at != 0, 1))
		return &l->leaves[at];
	if ((l->n_leaves >= (l->mask + 1) / 2 && !make_room(l)) || !pool_room(l, pool) ||
	    !TIDE_ROOM(l->leaves, l->cap_leaves, l->n_leaves + 1))
		return NULL;
	tide_leaf *leaf = &l->leaves[l->n_leaves];
	memset(leaf, 0, sizeof *leaf);
	leaf->key = key;
	leaf->pool = pool;
	seat(l, (uint32_t)l->n_leaves++);
	return leaf;
}

/* Notes that claims begin in this leaf. */
static bool order(tide_live *l, tide_leaf *leaf)
{
	if (leaf->ordered)
		return true;
	leaf->ordered = 1;
	return tide__ordered_put(&l->pools[leaf->pool], leaf->key, (uint32_t)(leaf - l->leaves));
}

/* ---- the grain ---- */

static uint64_t clip(uint64_t size)
{
	return size < TIDE_EXTENT_MAX ? size : TIDE_EXTENT_MAX;
}

/* Moves what is alive in a leaf of the former grain to where it is now. */
static bool move(tide_live *l, const tide_leaf *old, unsigned grain)
{
	for (uint64_t left = old->alive; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		uint64_t addr = (old->key << 6 | i) << grain;
		tide_leaf *leaf = leaf_for(l, old->pool, key_of(l, addr));
		if (!leaf)
			return false;
		unsigned place = place_of(l, addr);
		leaf->alive |= bit(place);
		leaf->row[place] = old->row[i];
		if (!(old->claims & bit(i)))
			continue;
		uint64_t size = (*l->size)[old->row[i]];
		uint64_t last = place + ((clip(size) - 1) >> l->grain);
		leaf->claims |= bit(place);
		if (last < TIDE_LEAF)
			leaf->ends |= bit((unsigned)last);
		else
			leaf->span = clip(size);
		if (!order(l, leaf))
			return false;
	}
	return true;
}

/* Takes the largest grain that divides this address too. */
static bool refine(tide_live *l, uint64_t addr)
{
	tide_live old = *l;
	if (!tide__live_init(l, old.size)) {
		tide__live_free(&old);
		return false;
	}
	l->grain = (unsigned)__builtin_ctzll(addr);
	l->n_alive = old.n_alive;
	bool ok = true;
	for (size_t i = 1; ok && i < old.n_leaves; i++)
		ok = move(l, &old.leaves[i], old.grain);
	tide__live_free(&old);
	return ok;
}

/* ---- claims ---- */

/* Removes the claim that begins at place i. One that continues in the next leaf is the last of its
 * leaf, so the next end, if there is one, is its own. */
static void unclaim(tide_leaf *leaf, unsigned i)
{
	leaf->claims &= ~bit(i);
	leaf->ends &= ~lowest(leaf->ends & from(i));
}

/* Returns true if the claim at place s has a live row of more than `gap` bytes. A claim may be
 * larger than its row. */
static bool holds(const tide_live *l, const tide_leaf *leaf, unsigned s, uint64_t gap)
{
	return leaf->alive & bit(s) && clip((*l->size)[leaf->row[s]]) > gap;
}

/* Shortens the claim at place s, which may reach place i of its leaf or beyond: it ends before i.
 * Returns false if it is live and reaches there. */
static bool cut_before(const tide_live *l, tide_leaf *leaf, unsigned s, unsigned i)
{
	uint64_t end = lowest(leaf->ends & from(s));
	if (end && end < bit(i))
		return true;
	if (holds(l, leaf, s, (uint64_t)(i - s) << l->grain))
		return false;
	leaf->ends = (leaf->ends & ~end) | bit(i - 1);
	return true;
}

/* Makes the last claim of an earlier leaf end at addr, if it reaches further. Returns false if it is
 * live and reaches there. */
static bool cut_leaf_below(const tide_live *l, tide_leaf *leaf, uint64_t addr)
{
	unsigned s = highest(leaf->claims);
	if (leaf->ends & from(s))
		return true;
	uint64_t gap = addr - ((leaf->key << 6 | s) << l->grain);
	if (gap >= leaf->span)
		return true;
	if (holds(l, leaf, s, gap))
		return false;
	leaf->span = gap;
	return true;
}

/* Returns the nearest leaf below (step -1) or above (step 1) the key in which a claim begins, NULL
 * if there is none. Leaves that have lost all their claims leave the set. */
static tide_leaf *neighbour(tide_live *l, uint32_t pool, uint64_t key, int step)
{
	tide_ordered *o = &l->pools[pool];
	for (;;) {
		if (key == (step < 0 ? 0 : UINT64_MAX))
			return NULL;
		tide_ordered_pos p =
			step < 0 ? tide__ordered_floor(o, key - 1) : tide__ordered_ceil(o, key + 1);
		if (!tide__ordered_ok(p))
			return NULL;
		tide_leaf *leaf = &l->leaves[tide__ordered_val(o, p)];
		if (leaf->claims)
			return leaf;
		leaf->ordered = 0;
		tide__ordered_del_at(o, p);
	}
}

/* Makes room below addr, which is in `leaf`. Returns false if a live claim reaches there. */
static bool clear_below(tide_live *l, tide_leaf *leaf, uint64_t addr)
{
	unsigned i = place_of(l, addr);
	uint64_t below = leaf->claims & ~from(i);
	if (below)
		return cut_before(l, leaf, highest(below), i);
	tide_leaf *before = leaf->key ? leaf_at(l, leaf->pool, leaf->key - 1) : l->leaves;
	if (!before->claims)
		before = neighbour(l, leaf->pool, leaf->key, -1);
	return !before || cut_leaf_below(l, before, addr);
}

/* Removes the claims that begin in `range` of the leaf. Returns false if a live one is among
 * them. */
static bool clear_range(tide_leaf *leaf, uint64_t range)
{
	uint64_t c = leaf->claims & range;
	if (c & leaf->alive)
		return false;
	for (; c; c &= c - 1)
		unclaim(leaf, (unsigned)__builtin_ctzll(c));
	return true;
}

/* Removes the claims in the leaves after `leaf` that begin before place `end`, counted in grains
 * from address 0. Returns false if a live one is among them. */
static bool clear_above(tide_live *l, const tide_leaf *leaf, uint64_t end)
{
	uint32_t pool = leaf->pool;
	uint64_t key = leaf->key;
	tide_leaf *next;
	while ((next = neighbour(l, pool, key, 1)) && next->key << 6 < end) {
		key = next->key;
		uint64_t n = end - (key << 6);
		if (!clear_range(next, n < TIDE_LEAF ? ~from((unsigned)n) : from(0)))
			return false;
	}
	return true;
}

/* Claims [addr, addr + size) of the leaf. *overlaps: a live claim is in the way. Returns false if
 * memory runs out. */
static bool claim(tide_live *l, tide_leaf *leaf, uint64_t addr, uint64_t size, bool *overlaps)
{
	unsigned i = place_of(l, addr);
	uint64_t n = ((clip(size) - 1) >> l->grain) + 1;
	bool inside = n <= TIDE_LEAF - i, had = leaf->claims & bit(i);
	if (had) { /* within its former claim: nothing else is there */
		uint64_t end = lowest(leaf->ends & from(i));
		if (inside && end >= bit(i + (unsigned)n - 1)) {
			leaf->ends = (leaf->ends & ~end) | bit(i + (unsigned)n - 1);
			return true;
		}
		if (!end && clip(size) <= leaf->span)
			return true;
		unclaim(leaf, i);
	}
	uint64_t range = from(i) & ~(inside ? from(i + (unsigned)n) : 0);
	uint64_t end = (addr >> l->grain) + n;
	*overlaps = (!had && !clear_below(l, leaf, addr)) || !clear_range(leaf, range) ||
		    (!inside && !clear_above(l, leaf, end < n ? UINT64_MAX : end));
	if (*overlaps)
		return true;
	leaf->claims |= bit(i);
	if (inside)
		leaf->ends |= bit(i + (unsigned)n - 1);
	else
		leaf->span = clip(size);
	return order(l, leaf);
}

bool tide__live_put(tide_live *l, uint32_t pool, uint64_t addr, uint64_t size, uint32_t row,
		    tide_claim *c)
{
	*c = (tide_claim){ 0 };
	if (__builtin_expect(addr & (bit(l->grain) - 1), 0) && !refine(l, addr))
		return false;
	tide_leaf *leaf = leaf_for(l, pool, key_of(l, addr));
	if (!leaf)
		return false;
	unsigned i = place_of(l, addr);
	if (leaf->alive & bit(i)) {
		c->before = leaf->row[i];
		leaf->alive &= ~bit(i);
		l->n_alive--;
	}
	if (size && !claim(l, leaf, addr, size, &c->overlaps))
		return false;
	if (!size && leaf->claims & bit(i))
		unclaim(leaf, i);
	leaf->row[i] = row;
	leaf->alive |= bit(i);
	l->n_alive++;
	return true;
}

/* ---- neighbours ---- */

uint32_t tide__live_drop(tide_live *l, uint32_t pool, uint64_t addr)
{
	tide_leaf *leaf = alive_at(l, pool, addr);
	if (!leaf)
		return 0;
	unsigned i = place_of(l, addr);
	leaf->alive &= ~bit(i);
	if (leaf->claims & bit(i))
		unclaim(leaf, i);
	l->n_alive--;
	return leaf->row[i];
}

/* Returns the places of live claims. */
static uint64_t claimed(const tide_leaf *leaf)
{
	return leaf->alive & leaf->claims;
}

uint32_t tide__live_below(tide_live *l, uint32_t pool, uint64_t addr)
{
	uint64_t key = key_of(l, addr), inside = addr & (bit(l->grain) - 1);
	const tide_leaf *leaf = leaf_at(l, pool, key);
	uint64_t below = claimed(leaf) & ~from(place_of(l, addr) + (inside != 0));
	while (!below && pool < l->n_pools && (leaf = neighbour(l, pool, key, -1))) {
		key = leaf->key;
		below = claimed(leaf);
	}
	return below ? leaf->row[highest(below)] : 0;
}

uint32_t tide__live_above(tide_live *l, uint32_t pool, uint64_t addr)
{
	uint64_t key = key_of(l, addr);
	const tide_leaf *leaf = leaf_at(l, pool, key);
	uint64_t above = claimed(leaf) & from(place_of(l, addr) + 1);
	while (!above && pool < l->n_pools && (leaf = neighbour(l, pool, key, 1))) {
		key = leaf->key;
		above = claimed(leaf);
	}
	return above ? leaf->row[__builtin_ctzll(above)] : 0;
}
