// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/memory/curve.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/wide.h"

struct sweep {
	tide_curve *c;
	tide_reserved r;
	size_t step; /* steps of it taken so far */
	int64_t from, to;
	uint64_t live, reserved;
	uint32_t at; /* pixel of the current time */
	bool inside; /* `from` has passed */
};

static void hold(struct sweep *s)
{
	tide_curve *c = s->c;
	if (s->live > c->live[s->at])
		c->live[s->at] = s->live;
	if (s->reserved != TIDE_RESERVED_NONE &&
	    (c->reserved[s->at] == TIDE_RESERVED_NONE || s->reserved > c->reserved[s->at]))
		c->reserved[s->at] = s->reserved;
}

/* Advances to t: the current level also holds at the start of every pixel up to that of t. */
static void go_to(struct sweep *s, int64_t t)
{
	if (t < s->from)
		return;
	tide_u128 k = (tide_u128)(uint64_t)(t - s->from) * s->c->px / (uint64_t)(s->to - s->from);
	uint32_t pixel = k < s->c->px ? (uint32_t)k : s->c->px - 1;
	if (!s->inside)
		hold(s);
	s->inside = true;
	while (s->at < pixel) {
		s->at++;
		hold(s);
	}
}

/* Applies the device's changes of reserved bytes up to memory event i inclusive, but none after
 * `to`. */
static void reserve_to(struct sweep *s, uint32_t device, uint64_t i)
{
	for (; s->step < s->r.n && s->r.steps[s->step].event <= i; s->step++) {
		const tide_reserved_step *k = &s->r.steps[s->step];
		if (k->device != device || k->t > s->to)
			continue;
		go_to(s, k->t);
		s->reserved = k->bytes;
		if (k->t >= s->from)
			hold(s);
	}
}

/* Computes the change of the device's live bytes by memory event i. Returns false if it does not
 * affect them. */
static bool change(const tide_model *m, uint32_t device, size_t i, int64_t *bytes)
{
	bool taken;
	uint32_t row = tide__memory_event_life(m, i, &taken);
	*bytes = taken ? (int64_t)m->allocs.size[row] : -(int64_t)m->allocs.size[row];
	uint32_t pool = row ? m->allocs.pool[row].i : 0;
	return row && m->pools.device[pool].i == device && tide__pool_in_device(m, pool);
}

static void sweep(struct sweep *s, const tide_model *m, uint32_t device)
{
	for (size_t i = 0; i < m->memory_events.n; i++) {
		int64_t t = tide__memory_event_time(m, i), bytes;
		if (t > s->to)
			break;
		reserve_to(s, device, i);
		if (!change(m, device, i, &bytes))
			continue;
		go_to(s, t);
		s->live += (uint64_t)bytes;
		if (t >= s->from)
			hold(s);
	}
	reserve_to(s, device, UINT64_MAX);
	go_to(s, s->to);
}

static bool make(tide_curve *c, uint32_t px)
{
	c->px = px;
	c->live = tide__calloc(px, sizeof *c->live);
	c->reserved = tide__calloc(px, sizeof *c->reserved);
	return c->live && c->reserved;
}

tide_code tide__find_curve(const tide_model *m, uint32_t device, int64_t from, int64_t to,
			   uint32_t px, tide_curve *out, tide_error *err)
{
	struct sweep s = { .c = out, .from = from, .to = to };
	*out = (tide_curve){ 0 };
	if (!make(out, px) || tide__find_reserved(m, &s.r, NULL) != TIDE_OK) {
		tide__curve_free(out);
		return tide__nomem(err);
	}
	out->source = s.r.devices[device];
	if (out->source != TIDE_RESERVED_SEGMENTS) {
		s.reserved = TIDE_RESERVED_NONE;
		for (uint32_t i = 0; i < px; i++)
			out->reserved[i] = TIDE_RESERVED_NONE;
	}
	sweep(&s, m, device);
	tide__reserved_free(&s.r);
	return TIDE_OK;
}

void tide__curve_free(tide_curve *c)
{
	tide__free(c->live);
	tide__free(c->reserved);
	*c = (tide_curve){ 0 };
}

void tide__curve_keep_highest(const uint64_t *v, size_t n, uint64_t none, size_t parts,
			      uint64_t *out)
{
	size_t each = n / parts;
	for (size_t i = 0; i < parts; i++) {
		out[i] = 0;
		for (size_t k = i * each; k < (i + 1) * each; k++)
			if (v[k] > out[i] && v[k] != none)
				out[i] = v[k];
	}
}
