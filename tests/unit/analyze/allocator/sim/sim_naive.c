// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The simulator against a slow, obvious one: every block in one array in address order, every
 * search a walk over all of it. Random requests, settings, streams, pools and capacities; after
 * each request both must have put every block at the same address and taken the same segments. */
#include <stdlib.h>
#include <string.h>

#include "analyze/allocator/sim/sim.h"
#include "testing.h"

#define MIB (1024ull * 1024)

/* ---- the device: remembers what was asked of it ------------------------------------------ */

struct device {
	uint64_t capacity, used, next, hash;
};

static void note(struct device *d, uint64_t what, uint64_t addr, uint64_t size)
{
	d->hash = (d->hash ^ what ^ addr * 31 ^ size * 17) * 0x9e3779b97f4a7c15ull;
}

static uint64_t take(void *u, tide_sim_where w, uint64_t size)
{
	struct device *d = u;

	if (d->used + size > d->capacity)
		return 0;
	uint64_t at = d->next;

	d->next += (size + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
	d->used += size;
	note(d, 1, at, size);
	return at;
}

static uint64_t take_range(void *u, tide_sim_where w, uint64_t size)
{
	struct device *d = u;

	d->next += size;
	note(d, 2, d->next, size);
	return d->next - size;
}

static bool map(void *u, tide_sim_where w, uint64_t addr, uint64_t size)
{
	struct device *d = u;

	if (d->used + size > d->capacity)
		return false;
	d->used += size;
	note(d, 3, addr, size);
	return true;
}

static void give(void *u, tide_sim_where w, uint64_t addr, uint64_t size)
{
	struct device *d = u;

	d->used -= size;
	note(d, 4, addr, size);
}

/* ---- the slow simulator ------------------------------------------------------------------ */

enum { FREE, USED, PENDING, UNMAPPED };

struct piece {
	uint64_t addr, size, segment; /* segment = its first address */
	uint32_t id, stream, pool, born;
	bool small, range;
	int state;
};

struct naive {
	tide_sim_config c;
	struct device d;
	struct piece p[4096];
	size_t n;
	uint32_t searches[16];
	bool done[8];
};

static bool joined(const struct naive *v, size_t i, size_t j)
{
	return j < v->n && i < v->n && v->p[i].segment == v->p[j].segment;
}

static bool alone(const struct naive *v, size_t i)
{
	return !(i && joined(v, i - 1, i)) && !joined(v, i, i + 1);
}

static void drop(struct naive *v, size_t i)
{
	memmove(v->p + i, v->p + i + 1, (--v->n - i) * sizeof *v->p);
}

static size_t insert(struct naive *v, struct piece k)
{
	size_t i = 0;

	while (i < v->n && v->p[i].addr < k.addr)
		i++;
	assert_true(v->n < 4096);
	memmove(v->p + i + 1, v->p + i, (v->n++ - i) * sizeof *v->p);
	v->p[i] = k;
	return i;
}

static size_t merge(struct naive *v, size_t i)
{
	if (joined(v, i, i + 1) && v->p[i].state == v->p[i + 1].state &&
	    (v->p[i].state == FREE || v->p[i].state == UNMAPPED)) {
		v->p[i].size += v->p[i + 1].size;
		drop(v, i + 1);
	}
	if (i && joined(v, i - 1, i) && v->p[i].state == v->p[i - 1].state &&
	    (v->p[i].state == FREE || v->p[i].state == UNMAPPED)) {
		v->p[i].addr = v->p[i - 1].addr;
		v->p[i].size += v->p[i - 1].size;
		drop(v, i - 1);
		i--;
	}
	return i;
}

static uint32_t *counter(struct naive *v, uint32_t pool, bool small)
{
	return &v->searches[2 * pool + !small];
}

static void set_free(struct naive *v, size_t i)
{
	v->p[i].state = FREE;
	i = merge(v, i);
	v->p[i].born = *counter(v, v->p[i].pool, v->p[i].small);
}

static bool mine(const struct piece *k, uint32_t stream, uint32_t pool, bool small)
{
	return k->stream == stream && k->pool == pool && k->small == small;
}

static uint64_t reach(const struct naive *v, size_t i)
{
	return v->p[i].size +
	       (joined(v, i, i + 1) && v->p[i + 1].state == UNMAPPED ? v->p[i + 1].size : 0);
}

/* Smallest free piece (then lowest) that comes after (size, addr) in that order; n = none. */
static size_t after(const struct naive *v, uint64_t size, uint64_t addr, uint32_t stream,
		    uint32_t pool, bool small)
{
	size_t best = v->n;

	for (size_t i = 0; i < v->n; i++) {
		const struct piece *k = &v->p[i];

		if (k->state != FREE || !mine(k, stream, pool, small) || k->size < size ||
		    (k->size == size && k->addr < addr))
			continue;
		if (best == v->n || k->size < v->p[best].size ||
		    (k->size == v->p[best].size && k->addr < v->p[best].addr))
			best = i;
	}
	return best;
}

static size_t search(const struct naive *v, uint64_t size, uint32_t stream, uint32_t pool,
		     bool small)
{
	size_t i = after(v, size, 0, stream, pool, small), next;

	if (i == v->n)
		return i;
	while (v->c.expandable &&
	       (next = after(v, v->p[i].size, v->p[i].addr + 1, stream, pool, small)) != v->n &&
	       reach(v, next) < reach(v, i))
		i = next;
	if (size < v->c.max_split_size && v->p[i].size >= v->c.max_split_size)
		return v->n;
	if (size >= v->c.max_split_size && v->p[i].size >= size + v->c.max_non_split_rounding)
		return v->n;
	return i;
}

static void give_segment(struct naive *v, size_t i)
{
	give(&v->d, (tide_sim_where){ 0 }, v->p[i].addr, v->p[i].size);
	drop(v, i);
}

/* Whole pages inside a free piece go back to the device. */
static void unmap(struct naive *v, uint64_t addr)
{
	size_t i = 0;

	while (v->p[i].addr != addr)
		i++;
	struct piece k = v->p[i];
	uint64_t page = k.small ? 2 * MIB : 20 * MIB, at = k.addr - k.segment, end = at + k.size;
	uint64_t from = (at + page - 1) / page * page, to = end / page * page;

	if (from >= to)
		return;
	drop(v, i);
	struct piece part = k;

	part.born = *counter(v, k.pool, k.small);
	if (from > at) {
		part.size = from - at;
		insert(v, part);
	}
	if (end > to) {
		part.addr = k.segment + to;
		part.size = end - to;
		insert(v, part);
	}
	k.addr = k.segment + from;
	k.size = to - from;
	k.state = UNMAPPED;
	give(&v->d, (tide_sim_where){ 0 }, k.addr, k.size);
	i = merge(v, insert(v, k));
	if (alone(v, i))
		drop(v, i);
}

/* Free pieces of one half of a pool, in (stream, size, address) order. */
static size_t list_free(const struct naive *v, uint32_t pool, bool small, uint64_t out[4096])
{
	size_t n = 0;

	for (uint32_t stream = 0; stream < 3; stream++)
		for (size_t i = after(v, 0, 0, stream, pool, small); i != v->n;
		     i = after(v, v->p[i].size, v->p[i].addr + 1, stream, pool, small))
			out[n++] = v->p[i].addr;
	return n;
}

static void release_half(struct naive *v, uint32_t pool, bool small)
{
	static uint64_t list[4096];
	size_t n = list_free(v, pool, small, list);

	for (int ranges = 0; ranges < 2; ranges++)
		for (size_t k = 0; k < n; k++)
			for (size_t i = 0; i < v->n; i++) {
				if (v->p[i].addr != list[k] || v->p[i].state != FREE ||
				    v->p[i].range != ranges)
					continue;
				if (ranges)
					unmap(v, list[k]);
				else if (alone(v, i))
					give_segment(v, i);
				break;
			}
}

static void release_all(struct naive *v)
{
	for (size_t i = 0; i < v->n;)
		if (v->p[i].state == PENDING) {
			set_free(v, i);
			i = 0;
		} else {
			i++;
		}
	release_half(v, 0, false);
	release_half(v, 0, true);
	for (uint32_t p = 1; p < 3; p++)
		if (v->done[p]) {
			release_half(v, p, true);
			release_half(v, p, false);
		}
}

static bool release_oversize(struct naive *v, uint64_t size, uint32_t stream, uint32_t pool,
			     bool small)
{
	if (v->c.max_split_size == TIDE_SIM_NO_SPLIT_MAX)
		return false;
	uint64_t want = size < v->c.max_split_size ? v->c.max_split_size : size, got = 0;
	size_t i = after(v, want, 0, stream, pool, small);

	if (i != v->n) {
		if (!alone(v, i))
			return false;
		give_segment(v, i);
		return true;
	}
	while (got < want) {
		size_t largest = v->n;

		for (i = 0; i < v->n; i++)
			if (v->p[i].state == FREE && mine(&v->p[i], stream, pool, small) &&
			    (largest == v->n || v->p[i].size >= v->p[largest].size))
				largest = i;
		if (largest == v->n || v->p[largest].size < v->c.max_split_size ||
		    !alone(v, largest))
			break;
		got += v->p[largest].size;
		give_segment(v, largest);
	}
	return got >= want;
}

static void collect(struct naive *v)
{
	uint64_t limit = (uint64_t)(v->c.gc_threshold * (double)v->c.allowed), got = 0, target;
	static uint64_t list[4096];

	if (v->d.used <= limit)
		return;
	target = v->d.used - limit;
	for (;;) {
		uint64_t total = 0, n = 0, freed = 0;

		for (size_t i = 0; i < v->n; i++)
			if (v->p[i].state == FREE && !v->p[i].small && !v->p[i].pool &&
			    alone(v, i)) {
				total += v->searches[1] - v->p[i].born;
				n++;
			}
		if (got >= target || !n)
			return;
		size_t k = list_free(v, 0, false, list);

		for (size_t j = 0; j < k; j++)
			for (size_t i = 0; i < v->n; i++) {
				if (v->p[i].addr != list[j] || v->p[i].state != FREE ||
				    !alone(v, i) ||
				    (double)(v->searches[1] - v->p[i].born) <
					    (double)total / (double)n)
					continue;
				freed += v->p[i].size;
				give_segment(v, i);
				break;
			}
		if (!freed)
			return;
		got += freed;
	}
}

/* Map pages at the front of the unmapped piece at `addr`. */
static bool map_front(struct naive *v, uint64_t addr, uint64_t size)
{
	size_t i = 0;

	while (v->p[i].addr != addr)
		i++;
	struct piece k = v->p[i], rest = k;
	uint64_t page = k.small ? 2 * MIB : 20 * MIB, bytes = (size + page - 1) / page * page;

	if (!map(&v->d, (tide_sim_where){ 0 }, addr, bytes))
		return false;
	drop(v, i);
	if (bytes < k.size) {
		rest.addr += bytes;
		rest.size -= bytes;
		insert(v, rest);
	}
	k.size = bytes;
	set_free(v, insert(v, k));
	return true;
}

static uint64_t expand(struct naive *v, uint64_t size, uint32_t stream, uint32_t pool, bool small)
{
	uint64_t page = small ? 2 * MIB : 20 * MIB, start = 0;

	for (size_t i = 0; i < v->n && !start; i++) {
		uint64_t room = 0;

		if (v->p[i].state != UNMAPPED || !mine(&v->p[i], stream, pool, small))
			continue;
		size_t from = i && joined(v, i - 1, i) && v->p[i - 1].state == FREE ? i - 1 : i,
		       at = from;

		for (; at < v->n && joined(v, from, at) &&
		       (v->p[at].state == FREE || v->p[at].state == UNMAPPED);
		     at++)
			room += v->p[at].size;
		if (room >= size)
			start = v->p[from].addr;
	}
	if (!start) {
		uint64_t all = (v->c.capacity + v->c.capacity / 8 + page - 1) / page * page;

		start = take_range(&v->d, (tide_sim_where){ 0 }, all);
		insert(v, (struct piece){ start, all, start, 0, stream, pool, 0, small, true,
					  UNMAPPED });
		if (all < size)
			return 0;
	}
	for (;;) {
		size_t i = 0;

		while (v->p[i].addr != start)
			i++;
		uint64_t have = v->p[i].state == FREE ? v->p[i].size : 0;

		if (have >= size)
			return start;
		size_t u = have ? i + 1 : i;

		if (!map_front(v, v->p[u].addr,
			       v->p[u].size < size - have ? v->p[u].size : size - have))
			return 0;
	}
}

/* Address of a free piece fresh from the device; 0 = none. */
static uint64_t fresh(struct naive *v, uint64_t size, uint32_t stream, uint32_t pool, bool small)
{
	uint64_t bytes = tide__sim_segment(&v->c, size);

	if (v->c.allowed && v->d.used + bytes > v->c.allowed)
		return 0;
	if (v->c.expandable)
		return expand(v, size, stream, pool, small);
	uint64_t at = take(&v->d, (tide_sim_where){ 0 }, bytes);

	if (at)
		insert(v, (struct piece){ at, bytes, at, 0, stream, pool, 0, small, false, FREE });
	return at;
}

static bool naive_alloc(struct naive *v, uint32_t id, uint64_t asked, uint32_t stream,
			uint32_t pool)
{
	uint64_t size = tide__sim_round(&v->c, asked), at = 0;
	bool small = size <= MIB;

	if (v->c.gc_threshold > 0)
		++*counter(v, pool, small);
	size_t i = search(v, size, stream, pool, small);

	if (i == v->n) {
		if (v->c.gc_threshold > 0)
			collect(v);
		at = fresh(v, size, stream, pool, small);
		if (!at && release_oversize(v, size, stream, pool, small))
			at = fresh(v, size, stream, pool, small);
		if (!at) {
			release_all(v);
			at = fresh(v, size, stream, pool, small);
		}
		if (!at)
			return false;
		for (i = 0; v->p[i].addr != at; i++)
			;
	}
	uint64_t rest = v->p[i].size - size;

	if (small || v->c.expandable ? rest >= 512 : size < v->c.max_split_size && rest > MIB) {
		struct piece k = v->p[i];

		k.addr += size;
		k.size = rest;
		k.state = FREE;
		k.born = *counter(v, pool, small);
		v->p[i].size = size;
		insert(v, k);
	}
	v->p[i].state = USED;
	v->p[i].id = id;
	return true;
}

static size_t find_id(const struct naive *v, uint32_t id)
{
	for (size_t i = 0; i < v->n; i++)
		if ((v->p[i].state == USED || v->p[i].state == PENDING) && v->p[i].id == id)
			return i;
	return v->n;
}

/* ---- both ------------------------------------------------------------------------------- */

static uint64_t rng = 0x243f6a8885a308d3ull;

static uint64_t rnd(uint64_t n)
{
	rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
	return (rng >> 11) % n;
}

static uint64_t random_size(void)
{
	static const uint64_t top[] = { 2000, 100000, MIB, 2 * MIB, 9 * MIB, 30 * MIB, 80 * MIB };
	uint64_t t = top[rnd(7)];

	return rnd(4) ? 1 + rnd(t) : t;
}

static tide_sim_config random_config(void)
{
	tide_sim_config c = tide__sim_defaults();

	c.capacity = (100 + rnd(400)) * MIB;
	c.expandable = rnd(3) == 0;
	if (rnd(3) == 0)
		c.max_split_size = (20 + rnd(40)) * MIB;
	for (int i = 0; rnd(2) && i < TIDE_SIM_CLASSES; i++)
		c.roundup[i] = 1u << rnd(4);
	if (rnd(3) == 0) {
		c.gc_threshold = 0.1 * (double)(1 + rnd(8));
		c.allowed = c.capacity;
	}
	return c;
}

static void compare(const tide_sim *s, const struct naive *v, const struct device *d, int round,
		    int step)
{
	uint64_t addr, size, active = 0;
	const char *bad = tide__sim_check_state(s);

	if (bad)
		fail_msg("round %d step %d: %s", round, step, bad);
	for (size_t i = 0; i < v->n; i++) {
		const struct piece *k = &v->p[i];

		if (k->state != USED && k->state != PENDING)
			continue;
		active += k->size;
		if (!tide__sim_block(s, k->id, &addr, &size) || addr != k->addr || size != k->size)
			fail_msg("round %d step %d: block %u is at %llx + %llu, not at %llx + %llu",
				 round, step, k->id, (unsigned long long)addr,
				 (unsigned long long)size, (unsigned long long)k->addr,
				 (unsigned long long)k->size);
	}
	assert_int_equal(active, tide__sim_stats(s)->active);
	if (d->hash != v->d.hash || d->used != v->d.used)
		fail_msg("round %d step %d: the device was asked for other things", round, step);
}

static void play(tide_sim *s, struct naive *v, uint32_t n_ids)
{
	uint32_t id = (uint32_t)rnd(n_ids);
	size_t i = find_id(v, id);

	if (rnd(60) == 0) {
		tide__sim_empty_cache(s);
		release_all(v);
	} else if (rnd(200) == 0) {
		tide__sim_end_pool(s, 1);
		v->done[1] = true;
	} else if (i == v->n) {
		uint64_t size = random_size();
		uint32_t stream = rnd(4) ? 0 : (uint32_t)rnd(3),
			 pool = rnd(6) ? 0 : 1 + (uint32_t)rnd(2);
		tide_code rc = tide__sim_allocate(s, id, size, stream, pool);

		assert_int_equal(rc == TIDE_OK, naive_alloc(v, id, size, stream, pool));
	} else if (v->p[i].state == USED && rnd(5) == 0) {
		tide__sim_free_asked(s, id);
		v->p[i].state = PENDING;
	} else {
		tide__sim_free(s, id);
		set_free(v, i);
	}
}

static void test_same(void **state)
{
	static struct naive v;

	for (int round = 0; round < 1000; round++) {
		struct device d = { 0, 0, 1ull << 40, 0 };
		tide_sim_device dev = { &d, take, take_range, map, give };

		memset(&v, 0, sizeof v);
		v.c = random_config();
		d.capacity = v.c.capacity;
		v.d = d;
		tide_sim *s = tide__sim_new(&v.c, &dev, 80);

		for (int step = 0; step < 400; step++) {
			play(s, &v, 80);
			compare(s, &v, &d, round, step);
		}
		tide__sim_free_all(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_same) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
