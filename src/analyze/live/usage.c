// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/live/usage.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"

struct sweep {
	const tide_model *m;
	tide_usage *u;
	tide_reserved r;
	size_t step;	   /* steps of it taken so far */
	uint64_t position; /* memory events applied so far */
	size_t bucket;	   /* current bucket of the series */
	int64_t until;	   /* time at which that bucket ends */
};

/* ---- one level ---- */

static void on_alloc(struct sweep *s, tide_level *l, uint64_t size, uint64_t requested)
{
	l->allocs++;
	l->alloc_bytes += size;
	l->bytes += size;
	l->requested += requested;
	l->count++;
	if (l->bytes > l->peak) {
		l->peak = l->bytes;
		l->peak_position = s->position;
	}
	if (l->peak_position == s->position) {
		l->peak_requested = l->requested;
		l->peak_count = l->count;
		l->peak_reserved = l->reserved;
	}
}

static void on_free(tide_level *l, uint64_t size, uint64_t requested)
{
	l->frees++;
	l->free_bytes += size;
	l->bytes -= size;
	l->requested -= requested;
	l->count--;
}

/* Raises *v to the higher value; unknown is lower than any number. */
static void raise(uint64_t *v, uint64_t to)
{
	if (to != TIDE_RESERVED_NONE && (*v == TIDE_RESERVED_NONE || to > *v))
		*v = to;
}

static void on_reserved(tide_level *l, uint64_t bytes)
{
	l->reserved = bytes;
	raise(&l->reserved_peak, bytes);
}

/* ---- series ---- */

/* Returns the time at which bucket b ends: (b + 1)/buckets of [0, t_end]. */
static int64_t bucket_end(const tide_model *m, size_t b, size_t buckets)
{
	double span = (double)(m->t_end > 0 ? m->t_end : 0) + 1;
	return b + 1 >= buckets ? INT64_MAX : (int64_t)(span * (double)(b + 1) / (double)buckets);
}

/* Counts every device's value from now on in the current bucket. */
static void fill(struct sweep *s)
{
	tide_usage *u = s->u;
	for (size_t d = 0; d < u->n_devices; d++) {
		raise(&u->live_series[d * u->buckets + s->bucket], u->devices[d].bytes);
		raise(&u->reserved_series[d * u->buckets + s->bucket], u->devices[d].reserved);
	}
}

static void go_to(struct sweep *s, int64_t t)
{
	while (t >= s->until) {
		s->bucket++;
		s->until = bucket_end(s->m, s->bucket, s->u->buckets);
		fill(s);
	}
}

/* ---- the sweep ---- */

static void apply(struct sweep *s, uint32_t row, bool taken)
{
	const tide_model *m = s->m;
	uint32_t pool = m->allocs.pool[row].i, device = m->pools.device[pool].i;
	tide_level *l[] = { &s->u->pools[pool], &s->u->devices[device] };
	int n = tide__pool_in_device(m, pool) ? 2 : 1;
	for (int i = 0; i < n; i++) {
		if (taken)
			on_alloc(s, l[i], m->allocs.size[row], m->allocs.requested[row]);
		else
			on_free(l[i], m->allocs.size[row], m->allocs.requested[row]);
	}
	if (s->u->buckets)
		raise(&s->u->live_series[device * s->u->buckets + s->bucket], l[1]->bytes);
}

static void take_step(struct sweep *s, const tide_reserved_step *k)
{
	tide_usage *u = s->u;
	if (u->buckets)
		go_to(s, k->t);
	on_reserved(&u->devices[k->device], k->bytes);
	if (k->pool) {
		tide_level *p = &u->pools[k->pool];
		uint64_t was = p->reserved == TIDE_RESERVED_NONE ? 0 : p->reserved;
		on_reserved(p, was + (uint64_t)k->change);
	}
	if (u->buckets)
		raise(&u->reserved_series[k->device * u->buckets + s->bucket], k->bytes);
}

/* Applies reserved bytes up to event i, inclusive. */
static void reserve_to(struct sweep *s, uint64_t i)
{
	for (; s->step < s->r.n && s->r.steps[s->step].event <= i; s->step++)
		take_step(s, &s->r.steps[s->step]);
}

/* Applies the samples after the last memory event up to time t. */
static void reserve_until(struct sweep *s, uint64_t position, int64_t t)
{
	for (; s->step < s->r.n; s->step++) {
		const tide_reserved_step *k = &s->r.steps[s->step];
		bool sample = s->u->devices[k->device].source == TIDE_RESERVED_SAMPLES;
		if (sample ? k->t <= t : k->event < position)
			take_step(s, k);
	}
}

static void sweep(struct sweep *s, uint64_t position, int64_t t)
{
	const tide_model *m = s->m;
	for (uint64_t i = 0; i < position; i++) {
		bool made;
		uint32_t row = tide__memory_event_life(m, i, &made);
		s->position = i + 1;
		reserve_to(s, i);
		if (!row)
			continue;
		if (s->u->buckets)
			go_to(s, tide__memory_event_time(m, i));
		apply(s, row, made);
	}
	reserve_until(s, position, t);
	if (s->u->buckets)
		go_to(s, m->t_end);
}

static void peak_times(const tide_model *m, tide_level *l, size_t n)
{
	for (size_t i = 0; i < n; i++)
		l[i].peak_t =
			l[i].peak_position ? tide__memory_event_time(m, l[i].peak_position - 1) : 0;
}

static bool make(tide_usage *u, const tide_model *m, size_t buckets)
{
	u->n_pools = m->pools.n;
	u->n_devices = m->devices.n;
	u->buckets = buckets;
	u->pools = tide__calloc(u->n_pools, sizeof *u->pools);
	u->devices = tide__calloc(u->n_devices, sizeof *u->devices);
	if (buckets) {
		u->live_series = tide__calloc(u->n_devices, buckets * sizeof(uint64_t));
		u->reserved_series = tide__calloc(u->n_devices, buckets * sizeof(uint64_t));
	}
	return u->pools && u->devices && (!buckets || (u->live_series && u->reserved_series));
}

/* With segments, reserved bytes are known from the start: 0. */
static void begin_reserved(tide_usage *u, const tide_reserved *r)
{
	for (size_t i = 0; i < u->n_devices + u->n_pools; i++) {
		bool device = i < u->n_devices;
		size_t k = device ? i : i - u->n_devices;
		tide_level *l = device ? &u->devices[k] : &u->pools[k];
		l->source = device ? r->devices[k] : r->pools[k];
		if (l->source == TIDE_RESERVED_SEGMENTS)
			continue;
		l->reserved = l->peak_reserved = l->reserved_peak = TIDE_RESERVED_NONE;
		for (size_t b = 0; device && b < u->buckets; b++)
			u->reserved_series[k * u->buckets + b] = TIDE_RESERVED_NONE;
	}
}

tide_code tide__usage_find_at(const tide_model *m, uint64_t position, int64_t t, size_t buckets,
			      tide_usage *out, tide_error *err)
{
	struct sweep s = { .m = m, .u = out, .until = bucket_end(m, 0, buckets ? buckets : 1) };
	*out = (tide_usage){ .position = position < m->memory_events.n ? position
								       : m->memory_events.n };
	if (!make(out, m, buckets) || tide__find_reserved(m, &s.r, NULL) != TIDE_OK) {
		tide__usage_free(out);
		return tide__nomem(err);
	}
	begin_reserved(out, &s.r);
	sweep(&s, out->position, t);
	peak_times(m, out->pools, out->n_pools);
	peak_times(m, out->devices, out->n_devices);
	tide__reserved_free(&s.r);
	return TIDE_OK;
}

tide_code tide__find_usage(const tide_model *m, uint64_t position, size_t buckets, tide_usage *out,
			   tide_error *err)
{
	int64_t t = position >= m->memory_events.n ? INT64_MAX
		    : position			   ? tide__memory_event_time(m, position - 1)
						   : INT64_MIN;
	return tide__usage_find_at(m, position, t, buckets, out, err);
}

void tide__usage_free(tide_usage *u)
{
	tide__free(u->pools);
	tide__free(u->devices);
	tide__free(u->live_series);
	tide__free(u->reserved_series);
	*u = (tide_usage){ 0 };
}

uint32_t tide__usage_highest(const tide_usage *u)
{
	uint32_t best = 0;
	for (uint32_t d = 0; d < u->n_devices; d++)
		if (u->devices[d].peak > u->devices[best].peak)
			best = d;
	return best;
}

uint64_t tide__position_at(const tide_model *m, int64_t t)
{
	uint64_t lo = 0;
	TIDE_SEARCH(lo, m->memory_events.n, mid, tide__memory_event_time(m, mid) <= t);
	return lo;
}
