// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Releases segments to the device: everything in the cache, enough for an oversize request, and
 * garbage collection by age. docs/analyses/whatif.md states each rule. */
#include "analyze/allocator/sim/impl.h"

#include "base/mem.h"

/* Releases a free plain segment, which is one block. */
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

/* Releases the segment at p; returns the position of the entry after it. */
static tide_ordered_pos release_at(tide_sim *s, const tide_ordered *set, tide_ordered_pos p)
{
	uint64_t size = tide__ordered_key(set, p), addr = tide__ordered_minor(set, p);

	release_segment(s, tide__ordered_val(set, p));
	return tide__ordered_ceil2(set, size, addr);
}

/* Releases every completely free segment of a bin, in (size, address) order. */
static void release_bin(tide_sim *s, uint32_t b)
{
	const tide_ordered *set = &s->bins[b].free;
	tide_ordered_pos p = tide__ordered_first(set);

	while (tide__ordered_ok(p)) {
		uint32_t i = tide__ordered_val(set, p);

		if (s->blocks[i].range || !tide__sim_whole(&s->blocks[i]))
			p = tide__ordered_next(set, p);
		else
			p = release_at(s, set, p);
	}
}

static void release_half(tide_sim *s, uint32_t bp)
{
	for (uint32_t i = 0; i < s->bpools[bp].n; i++)
		release_bin(s, s->bpools[bp].bins[i]);
	tide__sim_unmap_pool(s, &s->bpools[bp]);
}

/* Simulates waiting for streams: every requested free completes now. */
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
	const tide_ordered *set = &s->bins[b].free;
	tide_ordered_pos p = tide__ordered_ceil2(set, want, 0);

	if (tide__ordered_ok(p)) {
		if (!tide__sim_whole(&s->blocks[tide__ordered_val(set, p)]))
			return false;
		release_segment(s, tide__ordered_val(set, p));
		return true;
	}
	while (got < want && tide__ordered_ok(p = tide__ordered_last(set)) &&
	       tide__ordered_key(set, p) >= s->c.max_split_size &&
	       tide__sim_whole(&s->blocks[tide__ordered_val(set, p)])) {
		got += tide__ordered_key(set, p);
		release_segment(s, tide__ordered_val(set, p));
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
		const tide_ordered *set = &s->bins[s->bpools[1].bins[i]].free;

		for (tide_ordered_pos p = tide__ordered_first(set); tide__ordered_ok(p);
		     p = tide__ordered_next(set, p)) {
			const block *k = &s->blocks[tide__ordered_val(set, p)];

			if (!tide__sim_whole(k) || k->range)
				continue;
			a.total += age(s, k);
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
		const tide_ordered *set = &s->bins[s->bpools[1].bins[i]].free;

		for (tide_ordered_pos p = tide__ordered_first(set); tide__ordered_ok(p);) {
			const block *k = &s->blocks[tide__ordered_val(set, p)];

			if (!tide__sim_whole(k) || k->range || (double)age(s, k) < limit) {
				p = tide__ordered_next(set, p);
				continue;
			}
			got += k->size;
			a->total -= age(s, k);
			a->n--;
			p = release_at(s, set, p);
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

/* Finds free whole segments at the addresses in `at` (address -> index + 1) and sets
 * found[index]. */
static void find_listed(const tide_sim *s, const tide_map *at, uint32_t *found)
{
	for (uint32_t b = 0; b < s->n_bins; b++) {
		const tide_ordered *set = &s->bins[b].free;

		for (tide_ordered_pos p = tide__ordered_first(set); tide__ordered_ok(p);
		     p = tide__ordered_next(set, p)) {
			uint32_t k = tide__map_get(at, tide__ordered_minor(set, p));
			uint32_t i = tide__ordered_val(set, p);

			if (k && !found[k - 1] && tide__sim_whole(&s->blocks[i]) &&
			    !s->blocks[i].range)
				found[k - 1] = i;
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
