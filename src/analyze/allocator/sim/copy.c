// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Copies a simulator, so that requests can be tried on the copy. */
#include "analyze/allocator/sim/impl.h"

#include <string.h>

#include "base/mem.h"

size_t tide__sim_bytes(const tide_sim *s)
{
	return s->n_blocks * sizeof *s->blocks + s->n_ids * sizeof *s->of +
	       s->n_bins * sizeof(tide_ordered_node) + tide__map_bytes(&s->bin_of);
}

static void *duplicate(const void *p, size_t n, size_t size)
{
	void *q = tide__alloc(n, size);

	if (q && n && p)
		memcpy(q, p, n * size);
	return q;
}

static bool copy_bins(tide_sim *c, const tide_sim *s)
{
	bool ok = true;

	c->bins = tide__calloc(s->n_bins + 1, sizeof *c->bins);
	if (!c->bins)
		return false;
	c->cap_bins = s->n_bins + 1;
	for (; c->n_bins < s->n_bins; c->n_bins++) {
		bin *b = &c->bins[c->n_bins];

		b->stream = s->bins[c->n_bins].stream;
		b->bpool = s->bins[c->n_bins].bpool;
		ok &= tide__ordered_copy(&b->free, &s->bins[c->n_bins].free);
		ok &= tide__ordered_copy(&b->unmapped, &s->bins[c->n_bins].unmapped);
	}
	return ok;
}

static bool copy_pools(tide_sim *c, const tide_sim *s)
{
	bool ok = true;

	c->bpools = tide__calloc(2 * (size_t)s->n_pools, sizeof *c->bpools);
	c->done = duplicate(s->done, s->n_pools, 1);
	if (!c->bpools || !c->done)
		return false;
	c->n_pools = s->n_pools;
	for (uint32_t p = 0; p < 2 * s->n_pools; p++) {
		c->bpools[p] = s->bpools[p];
		c->bpools[p].cap = s->bpools[p].n;
		c->bpools[p].bins = duplicate(s->bpools[p].bins, s->bpools[p].n, sizeof(uint32_t));
		ok &= c->bpools[p].bins != NULL;
	}
	return ok;
}

tide_sim *tide__sim_copy(const tide_sim *s, const tide_sim_device *d)
{
	tide_sim *c = tide__calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->c = s->c;
	c->d = *d;
	c->st = s->st;
	c->failed = s->failed;
	c->released = s->released;
	c->spare = s->spare;
	c->cap_blocks = c->n_blocks = s->n_blocks;
	c->blocks = duplicate(s->blocks, s->n_blocks, sizeof *c->blocks);
	c->n_ids = s->n_ids;
	c->of = duplicate(s->of, s->n_ids, sizeof *c->of);
	c->cap_ranges = c->n_ranges = s->n_ranges;
	c->ranges = duplicate(s->ranges, s->n_ranges, sizeof *c->ranges);
	c->cap_pending = c->n_pending = s->n_pending;
	c->pending = duplicate(s->pending, s->n_pending, sizeof *c->pending);
	if (!c->blocks || !c->of || !c->ranges || !c->pending || !copy_pools(c, s) ||
	    !copy_bins(c, s) || !tide__map_copy(&c->bin_of, &s->bin_of)) {
		tide__sim_free_all(c);
		return NULL;
	}
	return c;
}
