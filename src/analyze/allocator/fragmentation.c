// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Computes the totals of an allocator (free_blocks.h) after every memory event and keeps them at
 * equal intervals. */
#include "analyze/allocator/fragmentation.h"

#include <string.h>

#include "analyze/memory/initial_state.h"
#include "base/error.h"
#include "base/mem.h"

struct sweep {
	uint32_t device;
	tide_gap_rows rows;
	tide_free_blocks g;
	tide_reserved r;
	size_t step; /* steps of it taken so far */
};

static void apply(struct sweep *s, size_t i)
{
	if (s->device == TIDE_ANY || tide__free_blocks_device(s->g.m, i) == s->device)
		tide__free_blocks_apply(&s->g, i);
}

/* ---- samples ----------------------------------------------------------------------------- */

/* Sets the reserved bytes of a device without segments to the last sample up to t. */
static void sampled_to(struct sweep *s, int64_t t)
{
	if (s->device == TIDE_ANY || s->r.devices[s->device] != TIDE_RESERVED_SAMPLES)
		return;
	for (; s->step < s->r.n && s->r.steps[s->step].t <= t; s->step++)
		if (s->r.steps[s->step].device == s->device)
			s->g.now.reserved = s->r.steps[s->step].bytes;
}

/* ---- points ------------------------------------------------------------------------------ */

/* Returns true unless memory event i is inside the rebuilding of an earlier state. */
static bool settled(const tide_model *m, size_t i)
{
	return i + 1 == m->memory_events.n || !tide__is_initial(m, i + 1);
}

/* Updates the totals after memory event i, unless the state from before the recording is not yet
 * complete. */
static void note(struct sweep *s, tide_fragmentation *out, size_t i, int64_t t)
{
	tide_fragmentation_point *p = &s->g.now;

	p->position = i + 1;
	p->t = t;
	if (!settled(s->g.m, i))
		return;
	p->largest_free = tide__free_blocks_largest(&s->g);
	if (p->reserved != TIDE_RESERVED_NONE && p->reserved > p->active &&
	    p->reserved - p->active > out->worst.reserved - out->worst.active)
		out->worst = *p;
}

static int64_t end_of_stretch(int64_t t_end, size_t i, size_t points)
{
	return (int64_t)((double)t_end * (double)(i + 1) / (double)points);
}

static void sweep_all(struct sweep *s, tide_fragmentation *out, size_t points)
{
	const tide_model *m = s->g.m;
	size_t next = 0;

	for (size_t i = 0; i < m->memory_events.n && !s->g.failed; i++) {
		int64_t t = tide__memory_event_time(m, i);

		while (next + 1 < points && t > end_of_stretch(m->t_end, next, points)) {
			sampled_to(s, end_of_stretch(m->t_end, next, points));
			out->p[next] = s->g.now;
			out->p[next].t = end_of_stretch(m->t_end, next, points);
			next++;
		}
		sampled_to(s, t);
		apply(s, i);
		note(s, out, i, t);
	}
	for (; next < points; next++) {
		int64_t t = next + 1 == points ? m->t_end : end_of_stretch(m->t_end, next, points);
		sampled_to(s, t);
		out->p[next] = s->g.now;
		out->p[next].t = t;
	}
	out->n = points;
}

/* Returns the memory event at which part i of `points` ends: without overflow, the last one at
 * the end. */
static size_t last_event(size_t events, size_t i, size_t points)
{
	return events / points * (i + 1) + events % points * (i + 1) / points;
}

/* Sweeps by memory events. No point is between the release of a segment and the re-creation of its
 * remaining parts, because that is one operation. */
static void sweep_by_events(struct sweep *s, tide_fragmentation *out, size_t points)
{
	const tide_model *m = s->g.m;

	for (size_t i = 0; i < m->memory_events.n && !s->g.failed; i++) {
		sampled_to(s, tide__memory_event_time(m, i));
		apply(s, i);
		note(s, out, i, tide__memory_event_time(m, i));
		if (i + 1 >= last_event(m->memory_events.n, out->n, points) && !s->g.kept &&
		    settled(m, i))
			out->p[out->n++] = s->g.now;
	}
}

typedef void sweeper(struct sweep *s, tide_fragmentation *out, size_t points);

static tide_code fragments(const tide_model *m, uint32_t device, size_t points, sweeper *go,
			   tide_fragmentation *out, tide_error *err)
{
	struct sweep s = { .device = device };

	memset(out, 0, sizeof *out);
	if (!points)
		points = 1;
	out->p = tide__calloc(points, sizeof *out->p);
	bool ok = tide__gap_rows_init(&s.rows, m) && out->p &&
		  tide__find_reserved(m, &s.r, NULL) == TIDE_OK;
	for (size_t d = 0; ok && d < m->devices.n; d++)
		if (s.rows.has[d] && (device == TIDE_ANY || d == device))
			out->source = TIDE_RESERVED_SEGMENTS;
	out->known = out->source == TIDE_RESERVED_SEGMENTS;
	s.g = tide__free_blocks_begin(m, &s.rows, out->known);
	if (ok && device != TIDE_ANY && s.r.devices[device] == TIDE_RESERVED_SAMPLES) {
		out->source = TIDE_RESERVED_SAMPLES;
		s.g.now.reserved = TIDE_RESERVED_NONE;
	}
	if (ok)
		go(&s, out, points);
	ok = ok && !s.g.failed;
	out->loose = s.g.n_loose;
	tide__reserved_free(&s.r);
	tide__gap_rows_free(&s.rows);
	tide__free_blocks_free(&s.g);
	if (!ok)
		tide__fragmentation_free(out);
	return ok ? TIDE_OK : tide__nomem(err);
}

tide_code tide__find_fragmentation(const tide_model *m, uint32_t device, size_t points,
				   tide_fragmentation *out, tide_error *err)
{
	return fragments(m, device, points, sweep_all, out, err);
}

tide_code tide__fragmentation_find_by_events(const tide_model *m, uint32_t device, size_t points,
					     tide_fragmentation *out, tide_error *err)
{
	size_t most = points < m->memory_events.n ? points : m->memory_events.n;

	return fragments(m, device, most, sweep_by_events, out, err);
}

void tide__fragmentation_free(tide_fragmentation *f)
{
	tide__free(f->p);
	memset(f, 0, sizeof *f);
}
