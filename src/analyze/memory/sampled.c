// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/memory/sampled.h"

#include "analyze/live/reserved.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/device_counter.h"

/* By counter: its device (0 = none, or the counter is ignored), and working space */
struct counters {
	uint32_t *device; /* the device whose live bytes it counts */
	uint32_t *peak;	  /* the device whose peak it counts */
	int64_t *last;
	int64_t *look; /* by device */
};

static void choose(const tide_model *m, struct counters *k)
{
	for (size_t c = 0; c < m->counters.n; c++)
		k->last[c] = INT64_MIN;
	for (uint32_t d = 1; d < m->devices.n; d++) {
		uint32_t c = tide__device_counter(m, "allocated", d),
			 p = tide__device_counter(m, "peak", d);
		if (c && !k->device[c])
			k->device[c] = d;
		if (p && !k->peak[p])
			k->peak[p] = d;
	}
	for (size_t i = 0; i < m->samples.n; i++) {
		uint32_t c = m->samples.counter[i].i;
		if (!tide__is_bytes(m->samples.value[i]) || m->samples.t[i] < k->last[c])
			k->device[c] = k->peak[c] = 0;
		k->last[c] = m->samples.t[i];
	}
}

static void add(tide_sampled *s, uint32_t d, int64_t t, uint64_t bytes, bool by_now)
{
	tide_sampled_device *x = &s->devices[d];
	s->any += !x->n++;
	if (!by_now)
		return;
	x->bytes = bytes;
	if (x->peak == TIDE_SAMPLED_NONE || bytes > x->peak) {
		x->peak = bytes;
		x->peak_t = t;
	}
}

static void add_all(const tide_model *m, tide_sampled *s, const uint32_t *device, int64_t t)
{
	for (size_t i = 0; i < m->samples.n; i++) {
		uint32_t d = device[m->samples.counter[i].i];
		if (d)
			add(s, d, m->samples.t[i], (uint64_t)m->samples.value[i],
			    m->samples.t[i] <= t);
	}
}

/* ---- peak counters ---- */

static void own_peaks(const tide_model *m, tide_sampled *s, const uint32_t *peak, int64_t t)
{
	for (size_t i = 0; i < m->samples.n; i++) {
		uint32_t d = peak[m->samples.counter[i].i];
		tide_sampled_device *x = &s->devices[d];
		if (!d || !x->n || m->samples.t[i] > t)
			continue;
		uint64_t bytes = (uint64_t)m->samples.value[i];
		if (x->own_peak == TIDE_SAMPLED_NONE || bytes > x->own_peak) {
			x->own_peak = bytes;
			x->own_told = m->samples.t[i];
		}
	}
}

/* A device is observed at its samples; a peak is recorded at a sample, after its value. */
static void own_stretches(const tide_model *m, tide_sampled *s, const uint32_t *device,
			  int64_t *look)
{
	for (size_t i = 0; i < m->samples.n; i++) {
		uint32_t d = device[m->samples.counter[i].i];
		tide_sampled_device *x = &s->devices[d];
		if (!d || x->own_peak == TIDE_SAMPLED_NONE || m->samples.t[i] > x->own_told)
			continue;
		x->own_since = look[d];
		look[d] = m->samples.t[i];
	}
	/* The start comes first, even if a sample has a negative time. */
	for (size_t d = 0; d < s->n_devices; d++)
		if (s->devices[d].own_since > s->devices[d].own_told)
			s->devices[d].own_since = s->devices[d].own_told;
}

/* ---- over time ---- */

static size_t bucket_at(const tide_model *m, int64_t t, size_t buckets)
{
	double span = (double)(m->t_end > 0 ? m->t_end : 0) + 1;
	double b = (double)(t > 0 ? t : 0) * (double)buckets / span;
	return b < (double)buckets ? (size_t)b : buckets - 1;
}

static void raise(uint64_t *v, uint64_t to)
{
	if (*v == TIDE_SAMPLED_NONE || to > *v)
		*v = to;
}

/* A sample is valid until the next one of its device, in all intervals between them. */
static void carry(uint64_t *series, size_t from, size_t to, uint64_t bytes)
{
	for (size_t b = from; b <= to; b++)
		raise(&series[b], bytes);
}

static void draw(const tide_model *m, tide_sampled *s, const uint32_t *device, size_t *at,
		 uint64_t *level)
{
	for (size_t i = 0; i < m->samples.n; i++) {
		uint32_t d = device[m->samples.counter[i].i];
		if (!d)
			continue;
		uint64_t *series = s->series + d * s->buckets;
		size_t b = bucket_at(m, m->samples.t[i], s->buckets);
		if (level[d] != TIDE_SAMPLED_NONE)
			carry(series, at[d], b, level[d]);
		at[d] = b;
		level[d] = (uint64_t)m->samples.value[i];
		raise(&series[b], level[d]);
	}
	for (uint32_t d = 1; d < s->n_devices; d++)
		if (level[d] != TIDE_SAMPLED_NONE)
			carry(s->series + d * s->buckets, at[d], s->buckets - 1, level[d]);
}

static bool draw_all(const tide_model *m, tide_sampled *s, const uint32_t *device)
{
	size_t *at = tide__calloc(s->n_devices, sizeof *at);
	uint64_t *level = tide__calloc(s->n_devices, sizeof *level);
	s->series = tide__calloc(s->n_devices, s->buckets * sizeof *s->series);
	bool ok = at && level && s->series;
	for (size_t i = 0; ok && i < s->n_devices * s->buckets; i++)
		s->series[i] = TIDE_SAMPLED_NONE;
	for (size_t d = 0; ok && d < s->n_devices; d++)
		level[d] = TIDE_SAMPLED_NONE;
	if (ok)
		draw(m, s, device, at, level);
	tide__free(at);
	tide__free(level);
	return ok;
}

static bool solve(const tide_model *m, int64_t t, tide_sampled *s, struct counters *k)
{
	for (size_t d = 0; d < s->n_devices; d++) {
		tide_sampled_device *x = &s->devices[d];
		x->bytes = x->peak = x->own_peak = TIDE_SAMPLED_NONE;
	}
	choose(m, k);
	add_all(m, s, k->device, t);
	own_peaks(m, s, k->peak, t);
	own_stretches(m, s, k->device, k->look);
	return !s->buckets || !s->any || draw_all(m, s, k->device);
}

tide_code tide__find_sampled(const tide_model *m, int64_t t, size_t buckets, tide_sampled *out,
			     tide_error *err)
{
	*out = (tide_sampled){ .n_devices = m->devices.n, .buckets = buckets };
	out->devices = tide__calloc(m->devices.n, sizeof *out->devices);
	struct counters k = { .device = tide__calloc(m->counters.n, sizeof *k.device),
			      .peak = tide__calloc(m->counters.n, sizeof *k.peak),
			      .last = tide__calloc(m->counters.n, sizeof *k.last),
			      .look = tide__calloc(m->devices.n, sizeof *k.look) };
	bool ok = out->devices && k.device && k.peak && k.last && k.look && solve(m, t, out, &k);
	tide__free(k.device);
	tide__free(k.peak);
	tide__free(k.last);
	tide__free(k.look);
	if (ok)
		return TIDE_OK;
	tide__sampled_free(out);
	return tide__nomem(err);
}

void tide__sampled_free(tide_sampled *s)
{
	tide__free(s->devices);
	tide__free(s->series);
	*s = (tide_sampled){ 0 };
}
