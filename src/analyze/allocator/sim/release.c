// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Releases segments to the device: everything in the cache, enough for an oversize request, and
 * garbage collection by age. docs/analyses/whatif.md states each rule. */
#include "analyze/allocator/sim/impl.h"

#include "base/mem.h"

/* Give a free plain segment back; it is one block. */
static void release_segment(tide_sim *s, uint32_t i)
{
	block *k = &s->blocks[i];

	s->d.give(s->d.user, tide__sim_where_of(s, k->bin), k->addr, k->size);
	s->st.reserved -= k->size;
	s->st.segments--;
	s->st.n_seg_free++;
	tide__sim_take_free(s, i);
	tide__sim_drop_block(s, i);
}

/* Releases every completely free segment of a bin, in (size, address) order. */
static void release_bin(tide_sim *s, uint32_t b)
{
	tide_ord_pos p = tide__ord_first(&s->bins[b].free);
	const tide_ord *e;

	while ((e = tide__ord_at(&s->bins[b].free, p))) {
		tide_ord at = *e;

		if (s->blocks[at.value].range || !tide__sim_whole(&s->blocks[at.value])) {
			p = tide__ord_next(&s->bins[b].free, p);
			continue;
		}
		release_segment(s, at.value);
		p = tide__ord_lower(&s->bins[b].free, at.major, at.minor);
	}
}

static void release_half(tide_sim *s, uint32_t bp)
{
	for (uint32_t i = 0; i < s->bpools[bp].n; i++)
		release_bin(s, s->bpools[bp].bins[i]);
	tide__sim_unmap_pool(s, &s->bpools[bp]);
}

/* Waits for streams: every requested free completes now. */
static void finish_pending(tide_sim *s)
{
	while (s->n_pending)
		tide__sim_free(s, s->blocks[s->pending[s->n_pending - 1]].id);
}

/* Releases the whole cache: the default pool's large segments, then its small ones, then finished
 * private pools, small before large. */
void tide__sim_release_all(tide_sim *s)
{
	finish_pending(s);
	if (s->released)
		return;
	if (s->n_pools) {
		release_half(s, 1);
		release_half(s, 0);
	}
	for (uint32_t p = 1; p < s->n_pools; p++) {
		if (!s->done[p])
			continue;
		release_half(s, 2 * p);
		release_half(s, 2 * p + 1);
	}
	s->released = true;
}

/* With max_split_size: releases one oversize block that is large enough, else the largest ones
 * until their sum is. Returns false if that is impossible. */
bool tide__sim_release_oversize(tide_sim *s, uint32_t b, uint64_t size)
{
	if (s->c.max_split_size == TIDE_SIM_NO_SPLIT_MAX)
		return false;
	uint64_t want = size < s->c.max_split_size ? s->c.max_split_size : size, got = 0;
	const tide_ord *e =
		tide__ord_at(&s->bins[b].free, tide__ord_lower(&s->bins[b].free, want, 0));

	if (e) {
		if (!tide__sim_whole(&s->blocks[e->value]))
			return false;
		release_segment(s, e->value);
		return true;
	}
	while (got < want && (e = tide__ord_last(&s->bins[b].free)) &&
	       e->major >= s->c.max_split_size && tide__sim_whole(&s->blocks[e->value])) {
		got += e->major;
		release_segment(s, e->value);
	}
	return got >= want;
}

struct ages {
	uint64_t total, n;
};

static uint64_t age(const tide_sim *s, const block *k)
{
	return s->bpools[1].searches - k->gc_base;
}

static struct ages sum_ages(const tide_sim *s)
{
	struct ages a = { 0, 0 };

	for (uint32_t i = 0; i < s->bpools[1].n; i++) {
		const tide_ordset *set = &s->bins[s->bpools[1].bins[i]].free;
		tide_ord_pos p = tide__ord_first(set);

		for (const tide_ord *e; (e = tide__ord_at(set, p)); p = tide__ord_next(set, p)) {
			if (!tide__sim_whole(&s->blocks[e->value]) || s->blocks[e->value].range)
				continue;
			a.total += age(s, &s->blocks[e->value]);
			a.n++;
		}
	}
	return a;
}

/* Releases whole large segments of at least average age; returns the bytes released. */
static uint64_t collect_once(tide_sim *s, struct ages *a)
{
	double limit = (double)a->total / (double)a->n;
	uint64_t got = 0;

	for (uint32_t i = 0; i < s->bpools[1].n; i++) {
		uint32_t b = s->bpools[1].bins[i];
		tide_ord_pos p = tide__ord_first(&s->bins[b].free);

		for (const tide_ord *e; (e = tide__ord_at(&s->bins[b].free, p));) {
			tide_ord at = *e;
			const block *k = &s->blocks[at.value];

			if (!tide__sim_whole(k) || k->range || (double)age(s, k) < limit) {
				p = tide__ord_next(&s->bins[b].free, p);
				continue;
			}
			got += k->size;
			a->total -= age(s, k);
			a->n--;
			release_segment(s, at.value);
			p = tide__ord_lower(&s->bins[b].free, at.major, at.minor);
		}
	}
	return got;
}

void tide__sim_collect_garbage(tide_sim *s)
{
	uint64_t limit = (uint64_t)(s->c.gc_threshold * (double)s->c.allowed), got = 0, once;

	if (s->n_pools == 0 || s->st.reserved <= limit)
		return;
	uint64_t target = s->st.reserved - limit;
	struct ages a = sum_ages(s);

	while (got < target && a.n && (once = collect_once(s, &a)) > 0)
		got += once;
	s->st.gc_bytes += got;
}

tide_code tide__sim_empty_cache(tide_sim *s)
{
	tide__sim_release_all(s);
	return s->failed ? TIDE_ENOMEM : TIDE_OK;
}

/* Free whole segments by address, of those in `at` (address -> place + 1): into found[place]. */
static void find_listed(const tide_sim *s, const tide_map *at, uint32_t *found)
{
	for (uint32_t b = 0; b < s->n_bins; b++) {
		const tide_ordset *set = &s->bins[b].free;
		tide_ord_pos p = tide__ord_first(set);

		for (const tide_ord *e; (e = tide__ord_at(set, p)); p = tide__ord_next(set, p)) {
			uint32_t k = tide__map_get(at, e->minor);

			if (k && !found[k - 1] && tide__sim_whole(&s->blocks[e->value]) &&
			    !s->blocks[e->value].range)
				found[k - 1] = e->value;
		}
	}
}

size_t tide__sim_release_listed(tide_sim *s, const uint64_t *addr, size_t n)
{
	tide_map at = { 0 };
	uint32_t *found = tide__calloc(n, sizeof *found);
	bool ok = found;
	size_t k = 0;

	for (size_t i = 0; i < n && ok; i++)
		if (!tide__map_get(&at, addr[i]))
			ok = tide__map_put(&at, addr[i], (uint32_t)i + 1);
	if (ok)
		find_listed(s, &at, found);
	for (; ok && k < n && found[k]; k++)
		release_segment(s, found[k]);
	s->failed |= !ok;
	tide__map_free(&at);
	tide__free(found);
	return k;
}
