// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/torchsnap/replay/geometry.h"

#include "base/mem.h"
#include "import/torchsnap/reader.h"

#define MIN_BLOCK 512u
#define SMALL_MAX (UINT64_C(1) << 20) /* requests up to this come from small pools */

typedef tide_geo_block block;

void tide__geo_init(tide_geo *g, const tide_snap_settings *set)
{
	*g = (tide_geo){ .set = set };
}

void tide__geo_free(tide_geo *g)
{
	tide__ordered_free(&g->index);
	tide__map_free(&g->odd);
	tide__free(g->blocks.v);
	tide__free(g->spare.v);
	tide__free(g->areas.v);
	tide__free(g->mapped.v);
}

uint32_t tide__geo_add_area(tide_geo *g, const tide_geo_area *a)
{
	if (!g->areas.n) { /* 0 = none */
		if (!TIDE_SNAP_ROOM(g->areas))
			return 0;
		g->areas.v[g->areas.n++] = (tide_geo_area){ 0 };
	}
	for (size_t i = 0; a->expandable && i < g->mapped.n; i++) {
		const tide_geo_area *b = &g->areas.v[g->mapped.v[i]];
		if (b->pool.i == a->pool.i && b->stream.i == a->stream.i && b->small == a->small)
			return g->mapped.v[i];
	}
	if (g->areas.n >= UINT32_MAX || !TIDE_SNAP_ROOM(g->areas) || !TIDE_SNAP_ROOM(g->mapped))
		return 0;
	if (a->expandable)
		g->mapped.v[g->mapped.n++] = (uint32_t)g->areas.n;
	g->areas.v[g->areas.n] = *a;
	return (uint32_t)g->areas.n++;
}

/* ---- rules ---- */

static unsigned log2_floor(uint64_t x)
{
	return 63u - (unsigned)__builtin_clzll(x);
}

uint64_t tide__geo_round(const tide_snap_settings *set, uint64_t n)
{
	if (set->exact)
		return n;
	if (n < MIN_BLOCK)
		return MIN_BLOCK;
	unsigned log = log2_floor(n), i = log > 20 ? log - 20 : 0;
	uint64_t div = set->divisions[i < 16 ? i : 15];
	if (div > 1 && div < SMALL_MAX && n > MIN_BLOCK * div) {
		if (!(n & (n - 1)))
			return n;
		uint64_t step = (UINT64_C(1) << log) >> log2_floor(div);
		if (!step)
			return UINT64_C(2) << log;
		return (n + step - 1) & ~(step - 1);
	}
	return (n + MIN_BLOCK - 1) & ~(uint64_t)(MIN_BLOCK - 1);
}

static bool splits_fine(const tide_geo *g, const tide_geo_area *a)
{
	return a->small || a->expandable || g->set->expandable || g->set->exact;
}

/* Returns true if taking `size` out of a free block of `have` leaves a free block. */
static bool splits(const tide_geo *g, const tide_geo_area *a, uint64_t size, uint64_t have)
{
	if (g->set->exact)
		return have > size;
	if (a->host)
		return false;
	if (splits_fine(g, a))
		return have - size >= MIN_BLOCK;
	return size < g->set->max_split && have - size > SMALL_MAX;
}

/* ---- blocks ---- */

static block *at(const tide_geo *g, tide_ordered_pos p)
{
	return &g->blocks.v[tide__ordered_val(&g->index, p)];
}

/* Returns the block that holds addr, or NULL. */
static block *holder(const tide_geo *g, uint64_t addr, tide_ordered_pos *p)
{
	*p = tide__ordered_floor(&g->index, addr);
	if (!tide__ordered_ok(*p))
		return NULL;
	block *b = at(g, *p);
	return addr - b->addr < b->size ? b : NULL;
}

static bool insert(tide_geo *g, block b)
{
	uint32_t slot;
	if (g->spare.n) {
		slot = g->spare.v[--g->spare.n];
	} else {
		if (!TIDE_SNAP_ROOM(g->blocks))
			return false;
		slot = (uint32_t)g->blocks.n++;
	}
	g->blocks.v[slot] = b;
	return tide__ordered_put(&g->index, b.addr, slot);
}

static bool erase(tide_geo *g, tide_ordered_pos p)
{
	uint32_t slot = tide__ordered_val(&g->index, p);
	tide__ordered_del_at(&g->index, p);
	if (!TIDE_SNAP_ROOM(g->spare))
		return false;
	g->spare.v[g->spare.n++] = slot;
	return true;
}

static bool joinable(const block *a, const block *b)
{
	return !a->alloc && !b->alloc && a->area && a->area == b->area &&
	       a->addr + a->size == b->addr;
}

/* Merges the free block at p with its free neighbours. */
static bool merge(tide_geo *g, tide_ordered_pos p)
{
	tide_ordered_pos next = tide__ordered_next(&g->index, p);
	if (tide__ordered_ok(next) && joinable(at(g, p), at(g, next))) {
		at(g, p)->size += at(g, next)->size;
		if (!erase(g, next)) /* p stays valid: it is before it */
			return false;
	}
	tide_ordered_pos prev = tide__ordered_prev(&g->index, p);
	if (tide__ordered_ok(prev) && joinable(at(g, prev), at(g, p))) {
		at(g, prev)->size += at(g, p)->size;
		return erase(g, p);
	}
	return true;
}

/* Splits the block that holds addr (if any) at addr. */
static bool cut(tide_geo *g, uint64_t addr)
{
	tide_ordered_pos p;
	block *b = holder(g, addr, &p);
	if (!b || b->addr == addr)
		return true;
	block tail = *b;
	tail.size -= addr - b->addr;
	tail.addr = addr;
	b->size = addr - b->addr;
	return insert(g, tail);
}

static bool overlaps_any(const tide_geo *g, uint64_t addr, uint64_t size)
{
	tide_ordered_pos p;
	if (holder(g, addr, &p))
		return true;
	p = tide__ordered_ceil(&g->index, addr);
	return tide__ordered_ok(p) && tide__ordered_key(&g->index, p) - addr < size;
}

uint32_t tide__geo_beside(const tide_geo *g, uint64_t addr, uint64_t size)
{
	tide_ordered_pos p;
	const block *b = addr ? holder(g, addr - 1, &p) : NULL;
	if (b && b->area && g->areas.v[b->area].expandable)
		return b->area;
	b = holder(g, addr + size, &p);
	return b && b->area && g->areas.v[b->area].expandable ? b->area : 0;
}

bool tide__geo_add(tide_geo *g, uint64_t addr, uint64_t size, uint32_t area, bool *added)
{
	*added = size && !overlaps_any(g, addr, size);
	if (!*added) {
		g->mismatches++;
		return true;
	}
	if (!insert(g, (block){ .addr = addr, .size = size, .area = area }))
		return false;
	return !g->areas.v[area].expandable || merge(g, tide__ordered_floor(&g->index, addr));
}

bool tide__geo_remove(tide_geo *g, uint64_t addr, uint64_t size)
{
	tide_ordered_pos p;
	block *b = holder(g, addr, &p);
	if (b && !b->alloc && !cut(g, addr))
		return false;
	b = holder(g, addr + size, &p);
	if (b && !b->alloc && !cut(g, addr + size))
		return false;
	p = tide__ordered_ceil(&g->index, addr);
	while (tide__ordered_ok(p) && tide__ordered_key(&g->index, p) - addr < size) {
		b = at(g, p);
		if (b->alloc) {
			g->mismatches += b->area != 0;
			b->area = 0;
			p = tide__ordered_next(&g->index, p);
			continue;
		}
		uint64_t key = b->addr;
		if (!erase(g, p))
			return false;
		p = tide__ordered_ceil(&g->index, key);
	}
	return true;
}

/* ---- allocations ---- */

/* Keeps a live block separate whose range overlaps others. */
static bool take_odd(tide_geo *g, uint64_t addr, uint32_t alloc, tide_geo_taken *t)
{
	g->mismatches++;
	t->overlaps = true;
	return tide__map_put(&g->odd, addr, alloc);
}

/* Takes a block outside all known segments, with the rounded request as its size. */
static bool take_orphan(tide_geo *g, uint64_t addr, uint32_t alloc, tide_geo_taken *t)
{
	t->area = 0;
	if (overlaps_any(g, addr, t->size))
		return take_odd(g, addr, alloc, t);
	return insert(g, (block){ .addr = addr, .size = t->size, .alloc = alloc });
}

/* Serves `alloc` from the free block b (at p), and splits it if the rules say so. b->addr is the
 * address. */
static bool serve(tide_geo *g, block *b, uint64_t requested, uint64_t known, uint32_t alloc,
		  tide_geo_taken *t)
{
	const tide_geo_area *a = &g->areas.v[b->area];
	uint64_t size = tide__geo_round(g->set, requested);
	uint64_t rule =
		(a->host && !g->set->exact) || size > b->size || !splits(g, a, size, b->size)
			? b->size
			: size;
	t->area = b->area;
	if (requested > b->size || known > b->size) {
		t->size = known ? known : size;
		return take_odd(g, b->addr, alloc, t);
	}
	g->mismatches += !g->set->exact && (size > b->size || (known && known != rule));
	t->size = known ? known : rule;
	b->alloc = alloc;
	if (t->size == b->size)
		return true;
	block rest = { .addr = b->addr + t->size, .size = b->size - t->size, .area = b->area };
	b->size = t->size;
	return insert(g, rest);
}

/* Handles an address inside a free block: the block before it may be longer than assumed. */
static bool grow_soft(tide_geo *g, tide_ordered_pos p, uint64_t addr, tide_geo_taken *t)
{
	block *b = at(g, p);
	uint64_t gap = addr - b->addr;
	tide_ordered_pos prev = tide__ordered_prev(&g->index, p);
	if (!tide__ordered_ok(prev) || gap > SMALL_MAX)
		return false;
	block *before = at(g, prev);
	if (!before->soft || !before->alloc || before->area != b->area ||
	    before->addr + before->size != b->addr)
		return false;
	before->size += gap;
	before->soft = false;
	t->grown = before->alloc;
	t->grown_by = gap;
	return true;
}

/* b (at p) holds addr, or it is NULL. */
static bool take(tide_geo *g, block *b, tide_ordered_pos p, uint64_t addr, uint64_t requested,
		 uint64_t known, uint32_t alloc, tide_geo_taken *t)
{
	if (!b)
		return take_orphan(g, addr, alloc, t);
	if (b->alloc)
		return take_odd(g, addr, alloc, t);
	if (b->addr < addr) {
		bool grown = grow_soft(g, p, addr, t);
		g->mismatches += !grown && !g->set->exact;
		if (!cut(g, addr))
			return false;
		if (grown) { /* the gap now belongs to the older block */
			p = tide__ordered_prev(&g->index, tide__ordered_floor(&g->index, addr));
			if (!erase(g, p))
				return false;
		}
		b = holder(g, addr, &p);
	}
	return serve(g, b, requested, known, alloc, t);
}

bool tide__geo_take(tide_geo *g, uint64_t addr, uint64_t requested, uint64_t known, uint32_t alloc,
		    tide_geo_taken *t)
{
	tide_ordered_pos p;
	uint32_t displaced = 0;
	*t = (tide_geo_taken){ .size = known ? known : tide__geo_round(g->set, requested) };
	block *b = holder(g, addr, &p);
	if ((b && b->alloc && b->addr == addr) || (g->odd.n && tide__map_get(&g->odd, addr))) {
		g->mismatches++;
		if (!tide__geo_give(g, addr, &displaced))
			return false;
		b = holder(g, addr, &p);
	}
	bool ok = take(g, b, p, addr, requested, known, alloc, t);
	t->displaced = displaced;
	return ok;
}

bool tide__geo_place(tide_geo *g, uint64_t addr, uint64_t size, bool at_least, uint64_t next,
		     uint32_t alloc, tide_geo_taken *t)
{
	tide_ordered_pos p;
	*t = (tide_geo_taken){ .size = size };
	block *b = holder(g, addr, &p);
	if (!b)
		return take_orphan(g, addr, alloc, t);
	if (b->alloc || size > b->size - (addr - b->addr))
		return take_odd(g, addr, alloc, t);
	uint64_t end = b->addr + b->size;
	const tide_geo_area *a = &g->areas.v[b->area];
	uint64_t gap = (next > addr && next < end ? next : end) - addr;
	gap = gap > size ? gap - size : 0;
	bool soft = at_least && !splits_fine(g, a);
	if (soft && gap <= SMALL_MAX) { /* no free block of a large pool is that short */
		t->size += gap;
		soft = false;
	}
	if (at_least && a->host)
		t->size = end - addr;
	t->area = b->area;
	if (!cut(g, addr) || !cut(g, addr + t->size))
		return false;
	b = holder(g, addr, &p);
	b->alloc = alloc;
	b->soft = soft;
	return true;
}

uint32_t tide__geo_at(const tide_geo *g, uint64_t addr)
{
	tide_ordered_pos p;
	const block *b = holder(g, addr, &p);
	return b && b->alloc && b->addr == addr ? b->alloc : tide__map_get(&g->odd, addr);
}

bool tide__geo_give(tide_geo *g, uint64_t addr, uint32_t *alloc)
{
	tide_ordered_pos p;
	*alloc = g->odd.n ? tide__map_del(&g->odd, addr) : 0;
	if (*alloc)
		return true;
	block *b = holder(g, addr, &p);
	if (!b || !b->alloc || b->addr != addr) {
		g->mismatches++;
		return true;
	}
	*alloc = b->alloc;
	b->alloc = 0;
	b->soft = false;
	return b->area ? merge(g, p) : erase(g, p);
}

/* ---- the end ---- */

uint64_t tide__geo_compare(const tide_geo *g, const tide_snap *s, tide_snap_own own)
{
	uint64_t same = 0, recorded = 0;
	for (size_t i = 0; i < own.n; i++) {
		const tide_snap_segment *seg = &s->segments.v[own.v[i]];
		recorded += seg->n_blocks;
		for (uint32_t k = 0; k < seg->n_blocks; k++) {
			const tide_snap_block *r = &s->blocks.v[seg->first_block + k];
			tide_ordered_pos p;
			const block *b = holder(g, r->addr, &p);
			same += b && b->addr == r->addr && b->size == r->size &&
				!b->alloc == !r->state;
		}
	}
	uint64_t ours = g->index.n + g->odd.n;
	return recorded - same + (ours > same ? ours - same : 0);
}
