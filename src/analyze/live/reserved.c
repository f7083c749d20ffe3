// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/live/reserved.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/device_counter.h"
#include "model/strings.h"

#define SEVERAL UINT32_MAX

struct sources {
	const tide_model *m;
	tide_reserved *r;
	tide_map names;	   /* name of a device's counter -> the device */
	uint32_t *device;  /* by counter: the device whose reserved bytes it counts, 0 = none */
	uint32_t *counter; /* by device: the counter in use, 0 = none */
	uint32_t *pool;	   /* by device: its only pool, 0 = none or several */
	uint64_t *level;   /* by device */
};

/* ---- which counters ---- */

static bool name_counters(struct sources *x)
{
	const tide_model *m = x->m;
	uint32_t total = tide__strings_find(m->strings, "Total Reserved", 14);
	bool ok = true;
	for (uint32_t d = 1; ok && d < m->devices.n; d++) {
		uint32_t name = tide__device_counter_name(m, "reserved", d);
		if (name && !tide__map_get(&x->names, name))
			ok = tide__map_put(&x->names, name, d);
	}
	for (uint32_t c = 1; ok && c < m->counters.n; c++) {
		uint32_t name = m->counters.name[c].i;
		x->device[c] = name && name == total ? m->counters.device[c].i
						     : tide__map_get(&x->names, name);
	}
	return ok;
}

/* ---- choosing the source ---- */

/* A device's counter is the first that has samples, all of them numbers of bytes. */
static void choose_counters(struct sources *x)
{
	const tide_model *m = x->m;
	for (size_t i = 0; i < m->samples.n; i++)
		if (!tide__is_bytes(m->samples.value[i]))
			x->device[m->samples.counter[i].i] = 0;
	for (size_t i = 0; i < m->samples.n; i++) {
		uint32_t c = m->samples.counter[i].i, d = x->device[c];
		if (d && (!x->counter[d] || c < x->counter[d]))
			x->counter[d] = c;
	}
}

static void choose_sources(struct sources *x)
{
	const tide_model *m = x->m;
	tide_reserved *r = x->r;
	for (size_t i = 1; i < m->segments.n; i++) {
		r->pools[m->segments.pool[i].i] = TIDE_RESERVED_SEGMENTS;
		r->devices[m->pools.device[m->segments.pool[i].i].i] = TIDE_RESERVED_SEGMENTS;
	}
	for (uint32_t d = 1; d < m->devices.n; d++)
		if (x->counter[d] && !r->devices[d])
			r->devices[d] = TIDE_RESERVED_SAMPLES;
	for (uint32_t p = 1; p < m->pools.n; p++) {
		uint32_t d = m->pools.device[p].i;
		x->pool[d] = x->pool[d] ? SEVERAL : p;
	}
	for (uint32_t d = 1; d < m->devices.n; d++) {
		x->pool[d] = x->pool[d] == SEVERAL ? 0 : x->pool[d];
		if (x->pool[d] && r->devices[d] == TIDE_RESERVED_SAMPLES)
			r->pools[x->pool[d]] = TIDE_RESERVED_SAMPLES;
	}
}

/* ---- steps ---- */

static bool is_segment(const tide_model *m, size_t i)
{
	return m->memory_events.kind[i] == TIDE_MEMORY_SEG_ALLOC ||
	       m->memory_events.kind[i] == TIDE_MEMORY_SEG_FREE;
}

static bool is_believed(const struct sources *x, size_t sample)
{
	uint32_t c = x->m->samples.counter[sample].i, d = x->device[c];
	return d && x->counter[d] == c && x->r->devices[d] == TIDE_RESERVED_SAMPLES;
}

static size_t count_steps(const struct sources *x)
{
	const tide_model *m = x->m;
	size_t n = 0;
	for (size_t i = 0; m->segments.n > 1 && i < m->memory_events.n; i++)
		n += is_segment(m, i);
	for (size_t i = 0; i < m->samples.n; i++)
		n += is_believed(x, i);
	return n;
}

static void put_samples(struct sources *x)
{
	const tide_model *m = x->m;
	for (size_t i = 0; i < m->samples.n; i++) {
		if (!is_believed(x, i))
			continue;
		x->r->steps[x->r->n++] =
			(tide_reserved_step){ .t = m->samples.t[i],
					      .bytes = (uint64_t)m->samples.value[i],
					      .change = (int64_t)i, /* order among equal times */
					      .device = x->device[m->samples.counter[i].i] };
	}
}

static int by_time(const void *a, const void *b)
{
	const tide_reserved_step *x = a, *y = b;
	int64_t l = x->t == y->t ? x->change : x->t, r = x->t == y->t ? y->change : y->t;
	return l < r ? -1 : l > r;
}

static void place_samples(struct sources *x)
{
	tide_reserved *r = x->r;
	bool sorted = true;
	for (size_t i = 1; i < r->n; i++)
		sorted &= r->steps[i - 1].t <= r->steps[i].t;
	if (!sorted)
		qsort(r->steps, r->n, sizeof *r->steps, by_time);
	for (size_t i = 0; i < r->n; i++) {
		tide_reserved_step *k = &r->steps[i];
		k->event = tide__memory_event_from(x->m, k->t);
		k->pool = x->pool[k->device];
	}
}

/* Merges the segments' changes into the samples by time, from the back, where there is space. */
static void put_segments(struct sources *x, size_t all)
{
	const tide_model *m = x->m;
	tide_reserved *r = x->r;
	size_t sample = r->n, at = all;
	for (size_t i = m->segments.n > 1 ? m->memory_events.n : 0; i-- > 0;) {
		if (!is_segment(m, i))
			continue;
		while (sample && r->steps[sample - 1].event > i)
			r->steps[--at] = r->steps[--sample];
		uint32_t row = m->memory_events.row[i], pool = m->segments.pool[row].i;
		int64_t size = (int64_t)m->segments.size[row];
		r->steps[--at] = (tide_reserved_step){
			.t = tide__memory_event_time(m, i),
			.event = i,
			.change = m->memory_events.kind[i] == TIDE_MEMORY_SEG_ALLOC ? size : -size,
			.device = m->pools.device[pool].i,
			.pool = pool
		};
	}
	r->n = all;
}

static void add_up(struct sources *x)
{
	for (size_t i = 0; i < x->r->n; i++) {
		tide_reserved_step *k = &x->r->steps[i];
		uint64_t *level = &x->level[k->device];
		if (x->r->devices[k->device] == TIDE_RESERVED_SEGMENTS)
			k->bytes = *level + (uint64_t)k->change;
		else
			k->change = (int64_t)(k->bytes - *level);
		*level = k->bytes;
	}
}

static bool find_steps(struct sources *x)
{
	size_t n = count_steps(x);
	x->r->steps = tide__calloc(n, sizeof *x->r->steps);
	if (!x->r->steps)
		return false;
	put_samples(x);
	place_samples(x);
	put_segments(x, n);
	add_up(x);
	return true;
}

tide_code tide__find_reserved(const tide_model *m, tide_reserved *out, tide_error *err)
{
	struct sources x = { .m = m, .r = out };
	*out = (tide_reserved){ .devices = tide__calloc(m->devices.n, 1),
				.pools = tide__calloc(m->pools.n, 1) };
	x.device = tide__calloc(m->counters.n, sizeof *x.device);
	x.counter = tide__calloc(m->devices.n, sizeof *x.counter);
	x.pool = tide__calloc(m->devices.n, sizeof *x.pool);
	x.level = tide__calloc(m->devices.n, sizeof *x.level);
	bool ok = out->devices && out->pools && x.device && x.counter && x.pool && x.level &&
		  name_counters(&x);
	if (ok) {
		choose_counters(&x);
		choose_sources(&x);
		ok = find_steps(&x);
	}
	tide__map_free(&x.names);
	tide__free(x.device);
	tide__free(x.counter);
	tide__free(x.pool);
	tide__free(x.level);
	if (ok)
		return TIDE_OK;
	tide__reserved_free(out);
	return tide__nomem(err);
}

void tide__reserved_free(tide_reserved *r)
{
	tide__free(r->devices);
	tide__free(r->pools);
	tide__free(r->steps);
	*r = (tide_reserved){ 0 };
}

uint64_t tide__reserved_at(const tide_reserved *r, uint32_t device, uint64_t position, int64_t t)
{
	bool segments = r->devices[device] == TIDE_RESERVED_SEGMENTS;
	uint64_t bytes = segments ? 0 : TIDE_RESERVED_NONE;
	for (size_t i = 0; i < r->n; i++) {
		const tide_reserved_step *k = &r->steps[i];
		if (k->device == device && (segments ? k->event < position : k->t <= t))
			bytes = k->bytes;
	}
	return bytes;
}

const char *tide__reserved_text(unsigned source)
{
	static const char *const texts[] = { NULL, "segments", "samples" };
	return source < sizeof texts / sizeof *texts ? texts[source] : NULL;
}
