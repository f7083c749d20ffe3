// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The table of live allocations against a plain list of them, on random streams: addresses that
 * are reused, close or far apart, of any alignment and at the end of the address space; sizes
 * within a leaf, beyond it and beyond many; frees that were lost, and frees of nothing; owners that
 * keep unused claims (frees) or not (drops). The list compares everything with everything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/tide/live.h"

enum { STEPS = 3000, POOLS = 3 };

struct block {
	uint64_t addr, claim; /* claim 0: it overlapped another, or has no bytes */
	unsigned pool;
	uint32_t row;
};

static struct block blocks[STEPS];
static size_t n_blocks;
static uint64_t sizes[STEPS + 1], seed;

static uint64_t rnd(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 24) % n;
}

/* ---- the list ---- */

static struct block *at(unsigned pool, uint64_t addr)
{
	for (size_t i = 0; i < n_blocks; i++)
		if (blocks[i].pool == pool && blocks[i].addr == addr)
			return &blocks[i];
	return NULL;
}

static uint32_t end(struct block *b)
{
	uint32_t row = b ? b->row : 0;
	if (b)
		*b = blocks[--n_blocks];
	return row;
}

static uint64_t clipped(uint64_t size)
{
	return size < TIDE_EXTENT_MAX ? size : TIDE_EXTENT_MAX;
}

static tide_claim put(unsigned pool, uint64_t addr, uint64_t size, uint32_t row)
{
	tide_claim c = { .before = end(at(pool, addr)) };
	size = clipped(size);
	for (size_t i = 0; i < n_blocks && size; i++) {
		const struct block *b = &blocks[i];
		bool above = b->addr > addr;
		uint64_t gap = above ? b->addr - addr : addr - b->addr;
		if (b->pool == pool && b->claim && gap < (above ? size : b->claim))
			c.overlaps = true;
	}
	blocks[n_blocks++] = (struct block){ addr, c.overlaps ? 0 : size, pool, row };
	return c;
}

/* The nearest claim below (or above) addr. */
static uint32_t nearest(unsigned pool, uint64_t addr, bool above)
{
	const struct block *best = NULL;
	for (size_t i = 0; i < n_blocks; i++) {
		const struct block *b = &blocks[i];
		if (b->pool != pool || !b->claim || (above ? b->addr <= addr : b->addr >= addr))
			continue;
		if (!best || (above ? b->addr < best->addr : b->addr > best->addr))
			best = b;
	}
	return best ? best->row : 0;
}

/* ---- streams ---- */

struct stream {
	uint64_t base, span, grain, most; /* addresses: base + grain * rnd(span); sizes: to most */
	unsigned whole, lost;		  /* of 100: sizes that fill grains; frees that are lost */
	bool drops;
};

static struct stream random_stream(void)
{
	static const uint64_t spans[] = { 8, 60, 300, 3000, 1 << 20, UINT64_C(1) << 40 };
	static const uint64_t most[] = { 1, 48, 1000, 5000, 1 << 20, UINT64_C(1) << 50 };
	struct stream s = { .base = rnd(3) ? UINT64_C(0x7f0000000000) : 0,
			    .span = spans[rnd(6)],
			    .grain = UINT64_C(1) << rnd(11),
			    .most = most[rnd(6)],
			    .whole = (unsigned)rnd(101),
			    .lost = (unsigned)rnd(40),
			    .drops = !rnd(3) };
	if (!rnd(8))
		s.base = UINT64_MAX - s.grain * s.span;
	return s;
}

static uint64_t an_address(const struct stream *s)
{
	uint64_t odd = rnd(500) ? 0 : rnd(32);
	return s->base + s->grain * rnd(s->span) + odd;
}

static const char *step(tide_live *l, const struct stream *s, uint32_t row)
{
	unsigned pool = (unsigned)rnd(POOLS);
	struct block *b = rnd(2) && n_blocks ? &blocks[rnd(n_blocks)] : NULL;
	uint64_t addr = b ? b->addr : an_address(s);
	pool = b ? b->pool : pool;
	if (tide__live_find(l, pool, addr) != (at(pool, addr) ? at(pool, addr)->row : 0))
		return "find";
	if (s->drops && tide__live_below(l, pool, addr) != nearest(pool, addr, false))
		return "below";
	if (s->drops && tide__live_above(l, pool, addr) != nearest(pool, addr, true))
		return "above";
	if (b && rnd(100) >= s->lost) {
		uint32_t got = s->drops && rnd(2) ? tide__live_drop(l, pool, addr)
						  : tide__live_take(l, pool, addr);
		return got == end(at(pool, addr)) ? NULL : "take";
	}
	uint64_t size = rnd(s->most + 1);
	if (rnd(100) < s->whole)
		size = (size + s->grain - 1) / s->grain * s->grain;
	sizes[row] = size;
	tide_claim got, want = put(pool, addr, size, row);
	if (!tide__live_put(l, pool, addr, size, row, &got))
		return "memory";
	if (got.before != want.before)
		return "before";
	if (got.overlaps != want.overlaps)
		return "overlaps";
	return l->n_alive == n_blocks ? NULL : "number alive";
}

int main(int argc, char **argv)
{
	static const uint64_t *column = sizes;
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t last = argc > 1 ? first : 400;
	for (uint64_t k = first; k <= last; k++) {
		tide_live l;
		seed = k * 7919;
		n_blocks = 0;
		struct stream s = random_stream();
		const char *bad = tide__live_init(&l, &column) ? NULL : "memory";
		uint32_t row = 1;
		for (; row <= STEPS && !bad; row++)
			bad = step(&l, &s, row);
		tide__live_free(&l);
		if (bad) {
			printf("seed %llu, step %u: %s differs\n", (unsigned long long)k, row - 1,
			       bad);
			return 1;
		}
	}
	return 0;
}
