// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reserved bytes against a slow, obvious recomputation on random models: some devices have
 * segments, some a counter (or two, or one with impossible values), some nothing; samples are in
 * any order. Every analysis that gives reserved bytes is compared, so that all agree. */
#include <math.h>

#include "analyze/memory/curve.h"
#include "analyze/allocator/fragmentation.h"
#include "analyze/allocator/oom.h"
#include "analyze/live/usage.h"
#include "base/mem.h"
#include "memory_model.h"
#include "testing.h"

enum { ROUNDS = 150 };

/* ---- random counters ---- */

static void add_samples(struct mm *x, uint32_t counter)
{
	tide_model *m = x->m;
	uint32_t n = mm_random(x, 20), bad = mm_random(x, 40);
	static const double nonsense[] = { -1, 0.5, NAN, INFINITY, 1e300 };
	for (uint32_t i = 0; i < n; i++) {
		size_t row;
		tide__table_push(&m->samples, &tide_samples_desc, &row);
		m->samples.counter[row].i = counter;
		m->samples.t[row] = (int64_t)mm_random(x, (uint32_t)m->t_end + 3);
		m->samples.value[row] =
			i == bad ? nonsense[mm_random(x, 5)] : mm_random(x, 9) * 1e6;
	}
}

static void add_counter(struct mm *x, const char *name, uint32_t device)
{
	uint32_t c = tide__push(&x->m->counters, &tide_counters_desc);
	x->m->counters.name[c] = tide__intern(x->m, name);
	x->m->counters.device[c].i = device;
	add_samples(x, c);
}

/* Devices: 1 cuda:0 (has segments, if any), 2 tt:0 (several pools), 3 cpu:0, 4 npu:7 (one pool). */
static tide_model *model(uint32_t seed)
{
	struct mm x = { .m = memory_model(seed, 10 + seed), .seed = seed * 77 + 5 };
	tide_model *m = x.m;
	uint32_t d = tide__push(&m->devices, &tide_devices_desc);
	m->devices.kind[d] = TIDE_DEVICE_OTHER;
	m->devices.index[d] = 7;
	m->devices.name[d] = tide__intern(m, "npu");
	for (uint32_t p = 1; p < m->pools.n; p++) /* the heap becomes the one pool of npu */
		if (m->pools.device[p].i == 3)
			m->pools.device[p].i = 4;
	const struct {
		const char *name;
		uint32_t device;
	} all[] = { { "torch.reserved_bytes.cuda:0", 0 },
		    { "torch.reserved_bytes.tt:0", 0 },
		    { "torch.reserved_bytes.npu:7", 0 },
		    { "torch.reserved_bytes.npu:8", 0 },
		    { "torch.reserved_bytes", 0 },
		    { "Total Reserved", 2 },
		    { "Total Reserved", 0 },
		    { "Total Allocated", 4 } };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (mm_random(&x, 3))
			add_counter(&x, all[i].name, all[i].device);
	return m;
}

/* ---- the oracle ---- */

struct step {
	int64_t t;
	uint64_t event, bytes; /* it is, or comes before, this event */
};

struct steps {
	unsigned source;
	struct step v[2000];
	size_t n;
};

static bool is_of(const tide_model *m, uint32_t c, uint32_t d)
{
	static const char *const names[] = { "", "cuda:0", "tt:0", "cpu:0", "npu:7" };
	const char *name = tide__text(m, m->counters.name[c], NULL);
	if (!strcmp(name, "Total Reserved"))
		return d && m->counters.device[c].i == d;
	return d && !strncmp(name, "torch.reserved_bytes.", 21) && !strcmp(name + 21, names[d]);
}

static bool is_good(const tide_model *m, uint32_t c)
{
	size_t n = 0;
	for (size_t i = 0; i < m->samples.n; i++) {
		double v = m->samples.value[i];
		if (m->samples.counter[i].i != c)
			continue;
		n++;
		if (!(v >= 0 && v < 1e15 && v == floor(v)))
			return false;
	}
	return n > 0;
}

static void segment_steps(const tide_model *m, uint32_t d, struct steps *s)
{
	uint64_t now = 0;
	for (uint64_t i = 0; i < m->memory_events.n; i++) {
		uint32_t row = m->memory_events.row[i];
		unsigned kind = m->memory_events.kind[i];
		if ((kind != TIDE_MEMORY_SEG_ALLOC && kind != TIDE_MEMORY_SEG_FREE) ||
		    m->pools.device[m->segments.pool[row].i].i != d)
			continue;
		now += kind == TIDE_MEMORY_SEG_ALLOC ? m->segments.size[row]
						     : -m->segments.size[row];
		s->v[s->n++] = (struct step){ tide__memory_event_time(m, i), i, now };
	}
}

/* Always the earliest sample that is left, the first of equals. */
static void sample_steps(const tide_model *m, uint32_t c, struct steps *s)
{
	bool *done = calloc(m->samples.n + 1, 1);
	for (;;) {
		size_t best = SIZE_MAX;
		for (size_t i = 0; i < m->samples.n; i++)
			if (!done[i] && m->samples.counter[i].i == c &&
			    (best == SIZE_MAX || m->samples.t[i] < m->samples.t[best]))
				best = i;
		if (best == SIZE_MAX)
			break;
		done[best] = true;
		uint64_t event = 0;
		while (event < m->memory_events.n &&
		       tide__memory_event_time(m, event) < m->samples.t[best])
			event++;
		s->v[s->n++] = (struct step){ m->samples.t[best], event,
					      (uint64_t)m->samples.value[best] };
	}
	free(done);
}

static void steps_of(const tide_model *m, uint32_t d, struct steps *s)
{
	s->n = 0;
	s->source = TIDE_RESERVED_UNKNOWN;
	for (uint32_t i = 1; i < m->segments.n; i++)
		if (m->pools.device[m->segments.pool[i].i].i == d)
			s->source = TIDE_RESERVED_SEGMENTS;
	if (s->source) {
		segment_steps(m, d, s);
		return;
	}
	for (uint32_t c = 1; c < m->counters.n; c++)
		if (is_of(m, c, d) && is_good(m, c)) {
			s->source = TIDE_RESERVED_SAMPLES;
			sample_steps(m, c, s);
			return;
		}
}

static uint64_t start_of(const struct steps *s)
{
	return s->source == TIDE_RESERVED_SEGMENTS ? 0 : TIDE_RESERVED_NONE;
}

static bool passed(const struct steps *s, size_t i, uint64_t position, int64_t t)
{
	return s->source == TIDE_RESERVED_SEGMENTS ? s->v[i].event < position : s->v[i].t <= t;
}

static uint64_t held(const struct steps *s, uint64_t position, int64_t t)
{
	uint64_t v = start_of(s);
	for (size_t i = 0; i < s->n && passed(s, i, position, t); i++)
		v = s->v[i].bytes;
	return v;
}

static uint64_t higher(uint64_t a, uint64_t b)
{
	return a == TIDE_RESERVED_NONE ? b : b == TIDE_RESERVED_NONE ? a : a > b ? a : b;
}

/* ---- the checks ---- */

static void check_level(const tide_model *m, const struct steps *s, const tide_level *l,
			uint64_t position, int64_t t)
{
	uint64_t most = start_of(s);
	for (size_t i = 0; i < s->n && passed(s, i, position, t); i++)
		most = higher(most, s->v[i].bytes);
	assert_int_equal(l->source, s->source);
	assert_int_equal(l->reserved, held(s, position, t));
	assert_int_equal(l->reserved_peak, most);
	uint64_t at = l->peak_position;
	assert_int_equal(l->peak_reserved,
			 at ? held(s, at, tide__memory_event_time(m, at - 1)) : start_of(s));
}

/* The highest known value in [from, to): the bytes held at its begin, and every step inside. */
static uint64_t highest(const struct steps *s, int64_t from, int64_t to)
{
	uint64_t carried = start_of(s), most = TIDE_RESERVED_NONE;
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].t < from)
			carried = s->v[i].bytes;
		else if (s->v[i].t < to)
			most = higher(most, s->v[i].bytes);
	}
	return higher(most, carried);
}

static void check_usage(const tide_model *m, const struct steps *s, uint32_t d, uint32_t seed)
{
	size_t buckets = 1 + seed % 9;
	uint64_t position = seed % (m->memory_events.n + 1);
	int64_t t = (int64_t)(seed % ((uint64_t)m->t_end + 2));
	tide_usage u;
	assert_int_equal(tide__find_usage(m, UINT64_MAX, buckets, &u, NULL), TIDE_OK);
	check_level(m, s, &u.devices[d], m->memory_events.n, INT64_MAX);
	for (size_t b = 0; b < buckets; b++) {
		double n = (double)m->t_end + 1, width = n / (double)buckets;
		int64_t from = b ? (int64_t)(n * (double)b / (double)buckets) : INT64_MIN;
		int64_t to = b + 1 == buckets ? INT64_MAX
					      : (int64_t)(n * (double)(b + 1) / (double)buckets);
		assert_true(width > 0);
		assert_int_equal(u.reserved_series[d * buckets + b], highest(s, from, to));
	}
	for (uint32_t p = 1; p < m->pools.n; p++) { /* the only pool of a device has all of it */
		if (m->pools.device[p].i != d || s->source != TIDE_RESERVED_SAMPLES)
			continue;
		bool only = d == 4;
		assert_int_equal(u.pools[p].source, only ? s->source : TIDE_RESERVED_UNKNOWN);
		assert_int_equal(u.pools[p].reserved,
				 only ? u.devices[d].reserved : TIDE_RESERVED_NONE);
		assert_int_equal(u.pools[p].reserved_peak,
				 only ? u.devices[d].reserved_peak : TIDE_RESERVED_NONE);
	}
	tide__usage_free(&u);
	assert_int_equal(tide__find_usage(m, position, 0, &u, NULL), TIDE_OK);
	int64_t then = position >= m->memory_events.n ? INT64_MAX
		       : position		      ? tide__memory_event_time(m, position - 1)
						      : INT64_MIN;
	check_level(m, s, &u.devices[d], position, then);
	tide__usage_free(&u);
	position = tide__position_at(m, t);
	assert_int_equal(tide__usage_find_at(m, position, t, 0, &u, NULL), TIDE_OK);
	check_level(m, s, &u.devices[d], position, t);
	tide__usage_free(&u);
}

static void check_curve(const tide_model *m, const struct steps *s, uint32_t d, uint32_t seed)
{
	struct mm x = { .seed = seed };
	int64_t from = mm_random(&x, (uint32_t)m->t_end + 1);
	int64_t to = from + 1 + mm_random(&x, (uint32_t)m->t_end + 1);
	uint32_t px = 1 + mm_random(&x, 12);
	tide_curve c;
	assert_int_equal(tide__find_curve(m, d, from, to, px, &c, NULL), TIDE_OK);
	assert_int_equal(c.source, s->source);
	for (uint32_t k = 0; k < px; k++) {
		uint64_t carried = start_of(s), most = TIDE_RESERVED_NONE;
		for (size_t i = 0; i < s->n && s->v[i].t <= to; i++) {
			int64_t at = (s->v[i].t - from) * px / (to - from);
			at = at >= px ? px - 1 : at;
			if (s->v[i].t < from || at < k)
				carried = s->v[i].bytes;
			else if (at == k)
				most = higher(most, s->v[i].bytes);
		}
		assert_int_equal(c.reserved[k], higher(most, carried));
	}
	tide__curve_free(&c);
}

static uint64_t active_after(const tide_model *m, uint64_t position, uint32_t d)
{
	uint64_t n = 0;
	for (uint64_t i = 0; i < position; i++) {
		uint32_t row = m->memory_events.row[i];
		if (m->memory_events.kind[i] > TIDE_MEMORY_FREE ||
		    m->pools.device[m->allocs.pool[row].i].i != d)
			continue;
		n += m->memory_events.kind[i] == TIDE_MEMORY_ALLOC ? m->allocs.size[row]
								   : -m->allocs.size[row];
	}
	return n;
}

/* Event i, if there is one, is of an allocation from before the recording. */
static bool rebuilds(const tide_model *m, uint64_t i)
{
	return i < m->memory_events.n && m->memory_events.kind[i] == TIDE_MEMORY_ALLOC &&
	       m->allocs.flags[m->memory_events.row[i]] & TIDE_ALLOC_BEFORE;
}

static void check_fragments(const tide_model *m, const struct steps *s, uint32_t d, uint32_t seed)
{
	size_t points = 1 + seed % 7;
	uint64_t most = 0;
	tide_fragmentation f;
	assert_int_equal(tide__find_fragmentation(m, d, points, &f, NULL), TIDE_OK);
	assert_int_equal(f.source, s->source);
	assert_int_equal(f.known, s->source == TIDE_RESERVED_SEGMENTS);
	for (size_t i = 0; s->source && i < points; i++)
		assert_int_equal(f.p[i].reserved,
				 held(s, tide__position_at(m, f.p[i].t), f.p[i].t));
	for (uint64_t position = 1;
	     s->source == TIDE_RESERVED_SAMPLES && position <= m->memory_events.n; position++) {
		uint64_t now = held(s, position, tide__memory_event_time(m, position - 1));
		uint64_t used = active_after(m, position, d);
		if (rebuilds(m, position)) /* a state that never was */
			continue;
		if (now != TIDE_RESERVED_NONE && now > used && now - used > most)
			most = now - used;
	}
	if (s->source == TIDE_RESERVED_SAMPLES)
		assert_int_equal(f.worst.reserved - f.worst.active, most);
	tide__fragmentation_free(&f);
}

static bool note(void *user, const tide_oom *o)
{
	*(tide_oom *)user = *o;
	return true;
}

/* The cause without segments: all that is reserved and not allocated counts as free. */
static tide_oom_cause sampled_cause(const tide_oom *o, uint64_t reserved)
{
	if (reserved == TIDE_RESERVED_NONE || o->device_free < 0)
		return TIDE_OOM_UNKNOWN;
	uint64_t in_use = o->at.active < reserved ? o->at.active : reserved;
	return (uint64_t)o->device_free + reserved - in_use >= o->asked ? TIDE_OOM_FRAGMENTED
									: TIDE_OOM_FULL;
}

static void check_oom(tide_model *m, const struct steps *s, uint32_t d, uint32_t seed)
{
	uint32_t pool = 1, k;
	tide_oom o;
	while (pool < m->pools.n && m->pools.device[pool].i != d)
		pool++;
	if (pool == m->pools.n)
		return;
	k = tide__push(&m->marks, &tide_marks_desc);
	m->marks.kind[k] = TIDE_MARK_OOM;
	m->marks.t[k] = (int64_t)(seed % ((uint64_t)m->t_end + 1));
	m->marks.position[k] = tide__position_at(m, m->marks.t[k]);
	m->marks.pool[k].i = pool;
	m->marks.value[k] = 1 << 20;
	m->marks.extra[k] = seed % 2 ? -1 : 1000;
	assert_int_equal(tide__find_oom(m, k, TIDE_BY_OP, 3, &o, NULL), TIDE_OK);
	uint64_t want = held(s, m->marks.position[k], m->marks.t[k]);
	assert_int_equal(o.source, s->source);
	assert_int_equal(o.reserved, want);
	if (want == TIDE_RESERVED_NONE)
		assert_int_equal(o.unallocated, TIDE_RESERVED_NONE);
	else
		assert_int_equal(o.unallocated, want > o.at.allocated ? want - o.at.allocated : 0);
	assert_int_equal(o.capacity,
			 want == TIDE_RESERVED_NONE || o.device_free < 0 ? 0 : want + 1000);
	if (s->source == TIDE_RESERVED_SEGMENTS) /* and the blocks give the same */
		assert_int_equal(o.at.reserved, want);
	else
		assert_int_equal(o.cause, sampled_cause(&o, want));
	tide__oom_free(&o);
	assert_int_equal(tide__find_ooms(m, d, note, &o, NULL),
			 TIDE_OK); /* and so does the sweep */
	assert_int_equal(o.mark, k);
	assert_int_equal(o.source, s->source);
	assert_int_equal(o.reserved, want);
}

static void check_log(const tide_model *m)
{
	tide_reserved r;
	assert_int_equal(tide__find_reserved(m, &r, NULL), TIDE_OK);
	for (size_t i = 1; i < r.n; i++) {
		assert_true(r.steps[i - 1].t <= r.steps[i].t);
		assert_true(r.steps[i - 1].event <= r.steps[i].event);
	}
	for (uint32_t d = 0; d < m->devices.n; d++) {
		uint64_t level = 0;
		for (size_t i = 0; i < r.n; i++)
			if (r.steps[i].device == d) {
				level += (uint64_t)r.steps[i].change;
				assert_int_equal(r.steps[i].bytes, level);
			}
	}
	tide__reserved_free(&r);
}

static void all_views_agree(void **state)
{
	static struct steps s;
	unsigned seen[3] = { 0 };
	for (uint32_t seed = 1; seed <= ROUNDS; seed++) {
		tide_model *m = model(seed);
		check_log(m);
		for (uint32_t d = 0; d < m->devices.n; d++) {
			steps_of(m, d, &s);
			seen[s.source]++;
			check_usage(m, &s, d, seed * 31);
			check_curve(m, &s, d, seed);
			check_fragments(m, &s, d, seed);
			check_oom(m, &s, d, seed * 17);
		}
		tide__model_free(m);
	}
	for (int i = 0; i < 3; i++)
		assert_true(seen[i] > ROUNDS / 2);
}

/* ---- the n-th allocation fails ---- */

static void no_memory(void **state)
{
	tide_model *m = model(30);
	tide_code rc = TIDE_ENOMEM;
	uint64_t n = 0;
	while (rc != TIDE_OK) {
		tide_reserved r;
		tide__mem_fail_at(++n);
		rc = tide__find_reserved(m, &r, NULL);
		tide__mem_fail_at(0);
		assert_true(rc == TIDE_OK || rc == TIDE_ENOMEM);
		tide__reserved_free(&r);
	}
	assert_true(n > 6);
	tide__model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_views_agree),
		cmocka_unit_test(no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
