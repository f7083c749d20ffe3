// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/curve.h"

#include "base/error.h"
#include "base/mem.h"

__extension__ typedef unsigned __int128 wide; /* pixels × ns does not fit 64 bits */

struct sweep {
	tide_curve *c;
	uint64_t live, reserved;
	uint32_t at; /* the pixel that time has reached */
	bool inside; /* `from` has passed */
};

static void hold(struct sweep *s)
{
	tide_curve *c = s->c;
	if (s->live > c->live[s->at])
		c->live[s->at] = s->live;
	if (s->reserved > c->reserved[s->at])
		c->reserved[s->at] = s->reserved;
}

/* What held until now also held at the start of every pixel up to that of t. */
static void go_to(struct sweep *s, int64_t t, int64_t from, int64_t to)
{
	if (t < from)
		return;
	wide k = (wide)(uint64_t)(t - from) * s->c->px / (uint64_t)(to - from);
	uint32_t pixel = k < s->c->px ? (uint32_t)k : s->c->px - 1;
	if (!s->inside)
		hold(s);
	s->inside = true;
	while (s->at < pixel) {
		s->at++;
		hold(s);
	}
}

static bool has_segments(const tide_model *m, uint32_t device)
{
	for (size_t i = 1; i < m->segments.n; i++)
		if (m->pools.device[m->segments.pool[i].i].i == device)
			return true;
	return false;
}

/* Bytes that move i adds to the device; false if it is not about it. */
static bool change(const tide_model *m, uint32_t device, size_t i, int64_t *bytes, bool *segment)
{
	unsigned kind = m->moves.kind[i];
	uint32_t row = m->moves.row[i];
	*segment = kind == TIDE_MOVE_SEG_ALLOC || kind == TIDE_MOVE_SEG_FREE;
	if (!*segment && kind != TIDE_MOVE_ALLOC)
		row = tide__move_ends(m, i);
	if (!row)
		return false;
	uint32_t pool = *segment ? m->segments.pool[row].i : m->allocs.pool[row].i;
	int64_t size = (int64_t)(*segment ? m->segments.size[row] : m->allocs.size[row]);
	*bytes = kind == TIDE_MOVE_ALLOC || kind == TIDE_MOVE_SEG_ALLOC ? size : -size;
	return m->pools.device[pool].i == device;
}

tide_code tide__curve(const tide_model *m, uint32_t device, int64_t from, int64_t to, uint32_t px,
		      tide_curve *out, tide_error *err)
{
	*out = (tide_curve){ .px = px, .segments = has_segments(m, device) };
	struct sweep s = { .c = out };
	out->live = tide__calloc(px, sizeof *out->live);
	out->reserved = tide__calloc(px, sizeof *out->reserved);
	if (!out->live || !out->reserved) {
		tide__curve_free(out);
		return tide__nomem(err);
	}
	for (size_t i = 0; i < m->moves.n; i++) {
		int64_t t = tide__move_time(m, i), bytes;
		bool segment;
		if (t > to)
			break;
		if (!change(m, device, i, &bytes, &segment))
			continue;
		go_to(&s, t, from, to);
		*(segment ? &s.reserved : &s.live) += (uint64_t)bytes;
		if (t >= from)
			hold(&s);
	}
	go_to(&s, to, from, to);
	return TIDE_OK;
}

void tide__curve_free(tide_curve *c)
{
	tide__free(c->live);
	tide__free(c->reserved);
	*c = (tide_curve){ 0 };
}
