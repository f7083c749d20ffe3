// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The allocator simulator on streams made by hand: each row is a script, its settings and what must
 * come out. Scripts: "a1:600K" allocate id 1 (stream 0, pool 0); "a1:600K@2" on stream 2;
 * "a1:600K#1" in pool 1; "f1" free; "p1" free requested; "e" empty the cache; "d1" pool 1 is done.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/allocator/sim/replay.h"
#include "analyze/allocator/sim/requests.h"
#include "analyze/allocator/sim/sim.h"
#include "analyze/allocator/sim/serve.h"
#include "base/mem.h"
#include "testing.h"

#define K 1024ull
#define M (1024 * K)
#define G (1024 * M)

struct device {
	uint64_t capacity, used, next;
};

static uint64_t take(void *u, tide_sim_where w, uint64_t size)
{
	struct device *d = u;

	if (d->capacity && d->used + size > d->capacity)
		return 0;
	d->used += size;
	d->next += (size + 2 * M - 1) / (2 * M) * (2 * M);
	return d->next - (size + 2 * M - 1) / (2 * M) * (2 * M);
}

static uint64_t range(void *u, tide_sim_where w, uint64_t size)
{
	struct device *d = u;

	d->next += size;
	return d->next - size;
}

static bool map(void *u, tide_sim_where w, uint64_t addr, uint64_t size)
{
	struct device *d = u;

	if (d->capacity && d->used + size > d->capacity)
		return false;
	d->used += size;
	return true;
}

static void give(void *u, tide_sim_where w, uint64_t addr, uint64_t size)
{
	((struct device *)u)->used -= size;
}

static uint64_t bytes(const char *s, char **end)
{
	uint64_t v = strtoull(s, end, 10);

	if (**end == 'K' || **end == 'M' || **end == 'G')
		v *= *(*end)++ == 'K' ? K : (*end)[-1] == 'M' ? M : G;
	return v;
}

/* Play one word of a script. */
static tide_code play(tide_sim *s, const char *w)
{
	char *end, op = *w;
	uint32_t id = (uint32_t)strtoul(w + 1, &end, 10), stream = 0, pool = 0;

	if (op == 'f')
		return tide__sim_free(s, id);
	if (op == 'e')
		return tide__sim_empty_cache(s);
	if (op == 'd')
		return tide__sim_end_pool(s, id);
	if (op == 'p') {
		tide__sim_free_asked(s, id);
		return TIDE_OK;
	}
	uint64_t size = bytes(end + 1, &end);

	if (*end == '@')
		stream = (uint32_t)strtoul(end + 1, &end, 10);
	if (*end == '#')
		pool = (uint32_t)strtoul(end + 1, &end, 10);
	return tide__sim_allocate(s, id, size, stream, pool);
}

struct row {
	const char *name, *settings;
	uint64_t capacity;
	const char *script;
	uint64_t reserved, active, segments, retries, ooms, largest, split;
};

static const struct row rows[] = {
	{ "nothing", "", 0, "", 0, 0, 0, 0, 0, 0, 0 },
	{ "smallest block is 512", "", 0, "a1:1", 2 * M, 512, 1, 0, 0, 2 * M - 512, 2 * M - 512 },
	{ "1 MiB is small", "", 0, "a1:1M", 2 * M, M, 1, 0, 0, M, M },
	{ "over 1 MiB takes 20", "", 0, "a1:1049088", 20 * M, 1049088, 1, 0, 0, 20 * M - 1049088,
	  20 * M - 1049088 },
	{ "just below 10 MiB takes 20", "", 0, "a1:9M", 20 * M, 9 * M, 1, 0, 0, 11 * M, 11 * M },
	{ "10 MiB takes 10", "", 0, "a1:10M", 10 * M, 10 * M, 1, 0, 0, 0, 0 },
	{ "large rounds to 2 MiB", "", 0, "a1:11M", 12 * M, 12 * M, 1, 0, 0, 0, 0 },
	{ "a rest of exactly 1 MiB stays with its block", "", 0, "a1:20M f1 a2:19M", 20 * M, 20 * M,
	  1, 0, 0, 0, 0 },
	{ "a rest over 1 MiB is split off", "", 0, "a1:20M f1 a2:18M", 20 * M, 18 * M, 1, 0, 0,
	  2 * M, 2 * M },
	{ "best fit takes the smaller hole", "", 0, "a1:30M a2:12M f1 f2 a3:11M", 42 * M, 12 * M, 2,
	  0, 0, 30 * M, 0 },
	{ "neighbours merge", "", 0, "a1:4M a2:4M a3:4M a4:4M a5:4M f2 f4 f3", 20 * M, 8 * M, 1, 0,
	  0, 12 * M, 12 * M },
	{ "a free segment is not split bytes", "", 0, "a1:4M a2:4M f1 f2", 20 * M, 0, 1, 0, 0,
	  20 * M, 0 },
	{ "streams do not share", "", 0, "a1:12M f1 a2:12M@1", 24 * M, 12 * M, 2, 0, 0, 12 * M, 0 },
	{ "pools do not share", "", 0, "a1:12M f1 a2:12M#1", 24 * M, 12 * M, 2, 0, 0, 12 * M, 0 },
	{ "the cache is released for a request", "", 30 * M, "a1:20M f1 a2:22M", 22 * M, 22 * M, 1,
	  1, 0, 0, 0 },
	{ "split segments cannot be released", "", 30 * M, "a1:20M f1 a2:4M a3:22M", 20 * M, 4 * M,
	  1, 1, 1, 16 * M, 16 * M },
	{ "private pools are not released", "", 30 * M, "a1:20M#1 f1 a2:22M", 20 * M, 0, 1, 1, 1,
	  20 * M, 0 },
	{ "private pools that are done are", "", 30 * M, "a1:20M#1 f1 d1 a2:22M", 22 * M, 22 * M, 1,
	  1, 0, 0, 0 },
	{ "empty_cache", "", 0, "a1:20M a2:600K f1 e", 2 * M, 600 * K, 1, 0, 0, 2 * M - 600 * K,
	  2 * M - 600 * K },
	{ "a pending free still holds its block", "", 0, "a1:12M p1 a2:12M", 24 * M, 24 * M, 2, 0,
	  0, 0, 0 },
	{ "a release waits for pending frees", "", 30 * M, "a1:20M p1 a2:22M", 22 * M, 22 * M, 1, 1,
	  0, 0, 0 },
	{ "large segments can be smaller", "large_segment_size_mb:12", 0, "a1:5M", 12 * M, 5 * M, 1,
	  0, 0, 7 * M, 7 * M },
	{ "large segments can be larger", "large_segment_size_mb:40", 0, "a1:5M", 40 * M, 5 * M, 1,
	  0, 0, 35 * M, 35 * M },
	{ "oversize blocks are not split", "max_split_size_mb:20", 0, "a1:64M f1 a2:30M", 94 * M,
	  30 * M, 2, 0, 0, 64 * M, 0 },
	{ "oversize within 20 MiB is taken whole", "max_split_size_mb:20", 0, "a1:40M f1 a2:30M",
	  40 * M, 40 * M, 1, 0, 0, 0, 0 },
	{ "oversize slack can be widened", "max_split_size_mb:20,max_non_split_rounding_mb:64", 0,
	  "a1:64M f1 a2:30M", 64 * M, 64 * M, 1, 0, 0, 0, 0 },
	{ "oversize is kept from small requests", "max_split_size_mb:20", 0, "a1:64M f1 a2:10M",
	  74 * M, 10 * M, 2, 0, 0, 64 * M, 0 },
	{ "one oversize block is released first", "max_split_size_mb:20", 120 * M,
	  "a1:64M a2:40M f1 f2 a3:19M", 84 * M, 20 * M, 2, 0, 0, 64 * M, 0 },
	{ "as many oversize blocks as it takes", "max_split_size_mb:20", 120 * M,
	  "a1:64M a2:40M f1 f2 a3:90M", 90 * M, 90 * M, 1, 0, 0, 0, 0 },
	{ "oversize blocks of another stream do not help", "max_split_size_mb:20", 120 * M,
	  "a1:64M a2:40M f1 f2 a3:30M@1", 30 * M, 30 * M, 1, 1, 0, 0, 0 },
	{ "roundup", "roundup_power2_divisions:4", 0, "a1:1200K", 20 * M, 1280 * K, 1, 0, 0,
	  20 * M - 1280 * K, 20 * M - 1280 * K },
	{ "roundup per size", "roundup_power2_divisions:[1:0,2:2,4:4,>:4]", 0, "a1:1200K a2:2100K",
	  20 * M, 1200 * K + 3 * M, 1, 0, 0, 20 * M - 3 * M - 1200 * K, 20 * M - 3 * M - 1200 * K },
	{ "expandable grows by pages", "expandable_segments:True", 0, "a1:30M a2:5M", 40 * M,
	  35 * M, 1, 0, 0, 5 * M, 0 },
	{ "expandable reuses what it has", "expandable_segments:True", 0, "a1:30M f1 a2:35M",
	  40 * M, 35 * M, 1, 0, 0, 5 * M, 0 },
	{ "expandable small pages", "expandable_segments:True", 0,
	  "a1:600K a2:600K a3:600K a4:600K", 4 * M, 2400 * K, 1, 0, 0, 4 * M - 2400 * K, 0 },
	{ "expandable splits down to 512", "expandable_segments:True", 0, "a1:20M f1 a2:20479K",
	  20 * M, 20479 * K, 1, 0, 0, K, 0 },
	{ "expandable gives whole pages back", "expandable_segments:True", 0,
	  "a1:30M a2:30M a3:5M f2 e", 40 * M + 20 * M, 35 * M, 1, 0, 0, 15 * M, 0 },
	{ "expandable fills a hole first", "expandable_segments:True", 80 * M,
	  "a1:20M a2:40M a3:20M f2 e a4:30M", 80 * M, 70 * M, 1, 0, 0, 10 * M, 0 },
	{ "expandable needs a whole run", "expandable_segments:True", 80 * M,
	  "a1:20M a2:40M a3:20M f2 e a4:50M", 40 * M, 40 * M, 1, 1, 1, 0, 0 },
	{ "expandable gives all back", "expandable_segments:True", 0, "a1:50M f1 e", 0, 0, 0, 0, 0,
	  0, 0 },
	{ "expandable out of memory", "expandable_segments:True", 30 * M, "a1:15M a2:15M", 20 * M,
	  15 * M, 1, 1, 1, 5 * M, 0 },
	{ "an id in use is refused", "", 0, "a1:1K a1:1K", 2 * M, K, 1, 0, 0, 2 * M - K,
	  2 * M - K },
	{ "freeing twice is nothing", "", 0, "a1:1K f1 f1", 2 * M, 0, 1, 0, 0, 2 * M, 0 },
	{ "more than there is", "", 0, "a1:9000000000G", 0, 0, 0, 0, 1, 0, 0 },
};

static void same(const char *row, const char *what, uint64_t got, uint64_t want)
{
	if (got != want)
		fail_msg("%s: %s is %llu, not %llu", row, what, (unsigned long long)got,
			 (unsigned long long)want);
}

static void play_script(tide_sim *s, const struct row *r)
{
	char words[256];

	snprintf(words, sizeof words, "%s", r->script);
	for (char *save, *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		play(s, w);
		const char *bad = tide__sim_check_state(s);

		if (bad)
			fail_msg("%s: after %s: %s", r->name, w, bad);
	}
}

static void check_row(const struct row *r)
{
	struct device d = { r->capacity, 0, 1ull << 40 };
	tide_sim_device dev = { &d, take, range, map, give };
	tide_sim_config c = tide__sim_defaults();
	uint64_t largest, split;

	assert_int_equal(tide__sim_parse(&c, r->settings, NULL), TIDE_OK);
	c.capacity = r->capacity;
	tide_sim *s = tide__sim_new(&c, &dev, 64);

	assert_non_null(s);
	play_script(s, r);
	const tide_sim_stats *st = tide__sim_stats(s);

	tide__sim_free_blocks(s, &largest, &split);
	same(r->name, "reserved", st->reserved, r->reserved);
	same(r->name, "active", st->active, r->active);
	same(r->name, "segments", st->segments, r->segments);
	same(r->name, "retries", st->retries, r->retries);
	same(r->name, "ooms", st->ooms, r->ooms);
	same(r->name, "largest free", largest, r->largest);
	same(r->name, "inactive split", split, r->split);
	same(r->name, "the device's own count", d.used, r->reserved);
	tide__sim_free_all(s);
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		check_row(&rows[i]);
}

/* Garbage collection: the segment that lay unused longest goes, the fresh one stays. */
static void test_gc(void **state)
{
	struct device d = { 0, 0, 1ull << 40 };
	tide_sim_device dev = { &d, take, range, map, give };
	tide_sim_config c = tide__sim_defaults();

	c.gc_threshold = 0.5;
	c.allowed = 200 * M;
	tide_sim *s = tide__sim_new(&c, &dev, 64);

	play(s, "a1:60M");
	play(s, "a2:50M");
	play(s, "f1"); /* old */
	for (uint32_t i = 0; i < 5; i++) {
		play(s, "a3:40M"); /* first: a new segment (110 MiB > 100 MiB); later: from the
				      cache */
		play(s, "f3");
	}
	same("gc", "reserved", tide__sim_stats(s)->reserved, 50 * M + 60 * M);
	play(s, "a4:70M"); /* 110 > 100: collect */
	same("gc", "given back", tide__sim_stats(s)->gc_bytes, 60 * M);
	same("gc", "reserved after", tide__sim_stats(s)->reserved, 50 * M + 70 * M);
	tide__sim_free_all(s);
}

static const struct {
	uint64_t size;
	const char *settings;
	uint64_t want;
} rounds[] = {
	{ 0, "", 512 },
	{ 511, "", 512 },
	{ 512, "", 512 },
	{ 513, "", 1024 },
	{ 1200, "roundup_power2_divisions:4", 1536 }, /* 1200 < 512 * 4: to 512 only */
	{ 4000, "roundup_power2_divisions:4", 4096 }, /* 2048 .. 4096 in steps of 512 */
	{ 5000, "roundup_power2_divisions:4", 5120 },
	{ 3 * M + 1, "roundup_power2_divisions:2", 4 * M },
	{ 4 * M, "roundup_power2_divisions:2", 4 * M },
	{ 3 * M + 1, "roundup_power2_divisions:1", 3 * M + 512 },
	{ 100 * G + 1, "roundup_power2_divisions:[>:2]", 128 * G },
	{ UINT64_MAX, "", UINT64_MAX },
};

static void test_round(void **state)
{
	for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
		tide_sim_config c = tide__sim_defaults();

		assert_int_equal(tide__sim_parse(&c, rounds[i].settings, NULL), TIDE_OK);
		same(rounds[i].settings, "rounded", tide__sim_round(&c, rounds[i].size),
		     rounds[i].want);
	}
}

/* Adjacent mapped ranges of an expandable segment from before the recording are one segment, and a
 * block may cross their border; with another kind, pool or stream, or with a gap, they are two. */
static const struct {
	const char *name;
	uint8_t kind;
	uint32_t pool, stream; /* of the second one; those of the first are 1, 1 */
	uint64_t addr;
	size_t segments;
} stretches[] = {
	{ "one segment", TIDE_SEGMENT_EXPANDABLE, 1, 1, 4 * M, 1 },
	{ "another pool", TIDE_SEGMENT_EXPANDABLE, 2, 1, 4 * M, 2 },
	{ "another stream", TIDE_SEGMENT_EXPANDABLE, 1, 2, 4 * M, 2 },
	{ "a gap", TIDE_SEGMENT_EXPANDABLE, 1, 1, 6 * M, 2 },
	{ "plain", TIDE_SEGMENT_LARGE, 1, 1, 4 * M, 2 },
};

static void push_event(tide_model *m, uint8_t kind, uint32_t row)
{
	size_t i;

	tide__table_push(&m->memory_events, &tide_memory_events_desc, &i);
	m->memory_events.kind[i] = kind;
	m->memory_events.row[i] = row;
}

static void test_stretches(void **state)
{
	for (size_t i = 0; i < sizeof stretches / sizeof *stretches; i++) {
		tide_model *m = tide__model_new();
		tide_requests *q;
		tide_error err;

		tide__push(&m->devices, &tide_devices_desc);
		for (uint32_t k = 1; k <= 2; k++) {
			uint32_t pool = tide__push(&m->pools, &tide_pools_desc);
			m->pools.device[pool].i = 1;
			m->pools.kind[pool] = k == 1 ? TIDE_POOL_DRAM : TIDE_POOL_PRIVATE;
			uint32_t lane = tide__push(&m->lanes, &tide_lanes_desc);
			m->lanes.kind[lane] = TIDE_LANE_STREAM;
			m->lanes.number[lane] = k;
		}
		for (uint32_t k = 0; k < 2; k++) {
			uint32_t s = tide__push(&m->segments, &tide_segments_desc);
			m->segments.addr[s] = k ? stretches[i].addr : 2 * M;
			m->segments.size[s] = 2 * M;
			m->segments.died[s] = TIDE_T_NEVER;
			m->segments.pool[s].i = k ? stretches[i].pool : 1;
			m->segments.stream[s].i = k ? stretches[i].stream : 1;
			m->segments.kind[s] = stretches[i].kind;
			m->segments.flags[s] = TIDE_SEGMENT_BEFORE;
			push_event(m, TIDE_MEMORY_SEG_ALLOC, s);
		}
		uint32_t a = tide__push(&m->allocs, &tide_allocs_desc);
		m->allocs.addr[a] = 3 * M;
		m->allocs.size[a] = m->allocs.requested[a] = 2 * M;
		m->allocs.died[a] = TIDE_T_NEVER;
		m->allocs.pool[a].i = m->allocs.stream[a].i = 1;
		m->allocs.flags[a] = TIDE_ALLOC_BEFORE;
		push_event(m, TIDE_MEMORY_ALLOC, a);
		assert_int_equal(tide__requests_new(m, (tide_device_id){ 1 }, &q, &err), TIDE_OK);
		same(stretches[i].name, "segments", q->n_before, stretches[i].segments);
		same(stretches[i].name, "loose blocks", q->n_loose, stretches[i].segments - 1);
		tide__requests_free(q);
		tide__model_free(m);
	}
}

/* ---- where ranges of old segments begin ---- */

static uint64_t slow_begin(const tide_requests *q, size_t i)
{
	const tide_before *b = &q->before[i];
	uint64_t floor = i ? b[-1].addr + b[-1].size : 0, lowest = b->addr;
	uint64_t page = b->small ? TIDE_SIM_SMALL_SEG : TIDE_SIM_LARGE_SEG;

	for (size_t k = 0; k < i; k++)
		if (q->before[k].expandable && q->before[k].pool == b->pool &&
		    q->before[k].stream == b->stream && q->before[k].small == b->small)
			return b->addr; /* not the first */
	for (size_t k = 0; b->expandable && k < q->n_taken; k++) {
		const tide_taken *t = &q->taken[k];

		if (t->expandable && !t->freed && t->pool == b->pool && t->stream == b->stream &&
		    t->small == b->small && t->addr >= floor && t->addr < lowest &&
		    (b->addr - t->addr) % page == 0)
			lowest = t->addr;
	}
	return lowest;
}

static void test_ranges(void **state)
{
	uint64_t rng = 88172645463325252u, begin[12], moved = 0;

	for (int round = 0; round < 2000; round++) {
		tide_before before[12] = { 0 };
		tide_taken taken[30] = { 0 };
		tide_requests q = { .recorded = tide__sim_defaults(),
				    .before = before,
				    .taken = taken };

		rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
		for (uint64_t at = 0; q.n_before < 12; q.n_before++) {
			rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
			at += (1 + (rng >> 20) % 40) * M;
			before[q.n_before] = (tide_before){ .addr = at,
							    .size = 2 * M,
							    .stream = rng >> 8 & 1,
							    .pool = rng >> 9 & 1,
							    .small = rng >> 10 & 1,
							    .expandable = rng >> 11 & 3 };
			at += 2 * M;
		}
		for (; q.n_taken < 30; q.n_taken++) {
			rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
			const tide_before *b = &before[(rng >> 40) % 12];
			uint64_t page = b->small ? TIDE_SIM_SMALL_SEG : TIDE_SIM_LARGE_SEG;
			uint64_t below = (rng >> 20) % 4 * page + (rng >> 30) % 8 / 7;

			taken[q.n_taken] =
				(tide_taken){ .addr = b->addr > below ? b->addr - below : 1,
					      .size = 2 * M,
					      .stream = rng >> 8 & 1,
					      .pool = rng >> 9 & 1,
					      .small = rng >> 10 & 1,
					      .expandable = rng >> 11 & 3,
					      .freed = !(rng >> 13 & 7) };
		}
		assert_true(tide__sim_find_ranges(&q, begin));
		for (size_t i = 0; i < q.n_before; i++) {
			assert_int_equal(begin[i], slow_begin(&q, i));
			moved += begin[i] < before[i].addr;
		}
	}
	assert_true(moved > 300);
}

/* Settings as in a snapshot's facts. */
static const struct {
	const char *key, *text; /* text NULL: the number */
	int64_t number;
	const char *described;
	bool known;
} recorded[] = {
	{ "allocator.max_split_size", NULL, -1, "default", true },
	{ "allocator.max_split_size", NULL, 128 * (int64_t)M, "max_split_size_mb:128", true },
	{ "allocator.max_non_split_rounding_size", NULL, 40 * (int64_t)M,
	  "max_non_split_rounding_mb:40", false },
	{ "allocator.expandable_segments", NULL, 1, "expandable_segments:True", true },
	{ "allocator.expandable_segments", NULL, 0, "default", true },
	{ "allocator.garbage_collection_threshold", "0.8", 0, "garbage_collection_threshold:0.8",
	  false },
	{ "allocator.garbage_collection_threshold", "1", 0, "default", false },
	{ "allocator.roundup_power2_divisions", "1:0,32768:8,65536:8", 0,
	  "roundup_power2_divisions:[1:0,2:0,4:0,8:0,16:0,32:0,64:0,128:0,256:0,512:0,1024:0,"
	  "2048:0,4096:0,8192:0,16384:0,32768:8]",
	  false },
	{ "allocator.roundup_power2_divisions", "1:1048576,2:2097152,4:3,3:4", 0,
	  "roundup_power2_divisions:[1:1048576,2:0,4:0,8:0,16:0,32:0,64:0,128:0,256:0,512:0,"
	  "1024:0,2048:0,4096:0,8192:0,16384:0,32768:0]",
	  false },
	{ "allocator.PYTORCH_CUDA_ALLOC_CONF", "large_segment_size_mb:12", 0,
	  "large_segment_size_mb:12", false },
	{ "allocator.other", "x", 0, "default", false },
};

static void test_recorded(void **state)
{
	for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
		tide_model *m = tide__model_new();
		tide_sim_config c;
		char text[400];

		if (recorded[i].text)
			tide__fact_text(m, recorded[i].key, recorded[i].text);
		else
			tide__fact_set_number(m, recorded[i].key, recorded[i].number);
		assert_int_equal(tide__sim_read_recorded(m, &c), recorded[i].known);
		tide__sim_describe(&c, text, sizeof text);
		assert_string_equal(text, recorded[i].described);
		tide__model_free(m);
	}
}

static const struct {
	const char *text, *described; /* NULL = refused */
} settings[] = {
	{ "large_segment_size_mb:12,max_split_size_mb:15",
	  "max_split_size_mb:15,large_segment_size_mb:12" },
	{ "max_split_size_mb:15,large_segment_size_mb:12",
	  "max_split_size_mb:15,large_segment_size_mb:12" },
	{ "large_segment_size_mb:40", "large_segment_size_mb:40" },
	{ "large_segment_size_mb:10", NULL }, /* as PyTorch 2.13 */
	{ "max_split_size_mb:30,large_segment_size_mb:40", NULL },
	{ "pinned_use_background_threads:True,graph_capture_record_stream_reuse:True", "default" },
	{ "", "default" },
	{ "expandable_segments:True", "expandable_segments:True" },
	{ "expandable_segments=false", "default" },
	{ "max_split_size_mb:128,expandable_segments:true",
	  "expandable_segments:True,max_split_size_mb:128" },
	{ "max_split_size_mb:19", NULL },
	{ "max_split_size_mb:", NULL },
	{ "max_split_size_mb", NULL },
	{ "roundup_power2_divisions:3", NULL },
	{ "roundup_power2_divisions:[256:1,512:2", NULL },
	{ "roundup_power2_divisions:[3:1]", NULL },
	{ "roundup_power2_divisions:[]", NULL },
	{ "roundup_power2_divisions:[1:1,>:2]",
	  "roundup_power2_divisions:2" }, /* > begins at the last size named */
	{ "roundup_power2_divisions:[1:1,2:4,>:2]",
	  "roundup_power2_divisions:[1:1,2:2,4:2,8:2,16:2,32:2,64:2,128:2,256:2,512:2,1024:2,2048:"
	  "2,4096:2,"
	  "8192:2,16384:2,32768:2]" },
	{ "garbage_collection_threshold:0.8", "garbage_collection_threshold:0.8" },
	{ "garbage_collection_threshold:1", NULL },
	{ "garbage_collection_threshold:nan", NULL },
	{ "no_such_setting:1", NULL },
};

static void test_settings(void **state)
{
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
		tide_sim_config c = tide__sim_defaults(), before = c;
		tide_error err = { 0 };
		char text[400];
		tide_code rc = tide__sim_parse(&c, settings[i].text, &err);

		if ((rc == TIDE_OK) != (settings[i].described != NULL))
			fail_msg("%s: %s", settings[i].text, rc == TIDE_OK ? "accepted" : err.text);
		if (rc != TIDE_OK) {
			assert_true(tide__sim_config_equals(&c, &before));
			assert_true(err.text[0]);
			continue;
		}
		tide__sim_describe(&c, text, sizeof text);
		assert_string_equal(text, settings[i].described);
	}
}

/* Each allocation of the simulator itself may fail: one code, no crash, no leak. */
static void test_exhaustion(void **state)
{
	struct row r = { "exhaustion", "expandable_segments:True", 80 * M,
			 "a1:20M a2:40M@1 a3:600K#1 f2 e a4:50M p3 f1 a5:1K a6:900K f6 e" };

	for (uint64_t n = 1; n < 40; n++) {
		struct device d = { r.capacity, 0, 1ull << 40 };
		tide_sim_device dev = { &d, take, range, map, give };
		tide_sim_config c = tide__sim_defaults();
		char words[256];

		tide__sim_parse(&c, r.settings, NULL);
		tide__mem_fail_at(n);
		tide_sim *s = tide__sim_new(&c, &dev, 64);

		snprintf(words, sizeof words, "%s", r.script);
		for (char *save, *w = strtok_r(words, " ", &save); s && w;
		     w = strtok_r(NULL, " ", &save))
			if (play(s, w) == TIDE_ENOMEM)
				break;
		tide__mem_fail_at(0);
		tide__sim_free_all(s);
	}
}

/* Thousands of holes that are too small: a request skips them without looking into each. (A search
 * through 40000 holes for each of as many requests takes a minute.) Holes are found again, lowest
 * first, when something fits or grows. */
static void many_holes(void **state)
{
	enum { HOLES = 20000 };
	struct device d = { .next = 1 << 20 };
	const tide_sim_device dev = { &d, take, range, map, give };
	tide_sim_config c = tide__sim_defaults();
	tide_error err = { 0 };
	uint64_t at, size, last = 0, first = 0;
	assert_int_equal(tide__sim_parse(&c, "expandable_segments:True", &err), TIDE_OK);
	tide_sim *s = tide__sim_new(&c, &dev, 4 * HOLES);
	for (uint32_t i = 0; i < 2 * HOLES; i++)
		assert_int_equal(tide__sim_allocate(s, i, 20 * M, 0, 0), TIDE_OK);
	for (uint32_t i = 0; i < 2 * HOLES; i += 2)
		tide__sim_free(s, i);
	tide__sim_empty_cache(s);
	tide__sim_block(s, 2 * HOLES - 1, &last, &size);
	for (uint32_t i = 0; i < HOLES; i++) {
		assert_int_equal(tide__sim_allocate(s, 2 * HOLES + i, 40 * M, 0, 0), TIDE_OK);
		assert_true(tide__sim_block(s, 2 * HOLES + i, &at, &size) && at > last);
	}
	tide__sim_block(s, 1, &first, &size);
	assert_int_equal(tide__sim_allocate(s, 3 * HOLES, 20 * M, 0, 0), TIDE_OK);
	assert_true(tide__sim_block(s, 3 * HOLES, &at, &size) &&
		    at == first - 20 * M); /* the lowest */
	tide__sim_free(s, 5);		   /* two holes and what was between them */
	assert_int_equal(tide__sim_allocate(s, 3 * HOLES + 1, 60 * M, 0, 0), TIDE_OK);
	assert_true(tide__sim_block(s, 3 * HOLES + 1, &at, &size) && at == first + 60 * M);
	assert_null(tide__sim_check_state(s));
	tide__sim_free_all(s);
}

/* New segments lie below older ones: of two equal free blocks, the newer segment's is taken, and
 * the older segment becomes free as a whole. */
static void test_downwards(void **state)
{
	enum { A = TIDE_REQ_ALLOC, F = TIDE_REQ_FREE };
	tide_request r[] = {
		{ .kind = A, .id = 1, .size = 9 * M },
		{ .kind = A, .id = 2, .size = 9 * M },
		{ .kind = A, .id = 3, .size = 9 * M },
		{ .kind = A, .id = 4, .size = 9 * M },
		{ .kind = F, .id = 1 },
		{ .kind = F, .id = 3 },
		{ .kind = A, .id = 5, .size = 9 * M },
		{ .kind = F, .id = 2 },
		{ .kind = A, .id = 6, .size = 18 * M },
	};
	uint64_t addr[sizeof r / sizeof *r] = { 0 };
	tide_requests q = { .r = r, .addr = addr, .n = sizeof r / sizeof *r, .n_ids = 7 };
	tide_sim_config c = tide__sim_defaults();
	tide_sim_result out;
	assert_int_equal(tide__sim_run(&q, &c, TIDE_BEFORE_AGAIN, &out), TIDE_OK);
	assert_int_equal(out.st.reserved_peak, 40 * M);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_downwards), cmocka_unit_test(many_holes),
		cmocka_unit_test(test_rows),	  cmocka_unit_test(test_gc),
		cmocka_unit_test(test_stretches), cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_recorded),  cmocka_unit_test(test_round),
		cmocka_unit_test(test_settings),  cmocka_unit_test(test_exhaustion),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
