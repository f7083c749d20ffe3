// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Converts external_annotations, and their older form as events, to spans: START and END of named
 * ranges.
 *
 * A START waits for the next END of the same name and device, the innermost first. Ranges of one
 * device that nest share a lane; a range that crosses another (two threads) goes to a further lane.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/torchsnap/reader.h"
#include "import/torchsnap/replay/replay.h"

enum { MOST_LANES = 64 };

struct range {
	int64_t t0, t1, start; /* start: before it was raised to 0 */
	tide_str name;
	uint32_t device, order;
	uint32_t outer; /* the next open range of this name + 1 */
	uint8_t flags;
};

struct lane { /* one lane of one device; `open` is its innermost span */
	uint32_t device;
	tide_lane_id id;
	uint32_t open;
};

typedef struct notes {
	tide_model *m;
	TIDE_SNAP_VEC(struct range) ranges;
	TIDE_SNAP_VEC(struct lane) lanes;
	uint64_t dropped;
} notes;

/* Recognises events that begin or end a range: torch 2.4 wrote them as a stack of one frame,
 * whose function is START or END and whose file is the range's name. */
bool tide__snap_note_of(const tide_model *m, const tide_snap_event *e, uint32_t device,
			tide_snap_note *note)
{
	uint32_t frame = m->stacks.frame[e->stack].i;
	if (e->action != TIDE_SNAP_USER_DEFINED || !e->stack || m->stacks.parent[e->stack].i ||
	    e->time_us == TIDE_SNAP_NO_TIME || !m->frames.file[frame].i)
		return false;
	const char *stage = tide__text(m, m->frames.function[frame], NULL);
	*note = (tide_snap_note){ .time_us = e->time_us,
				  .name = m->frames.file[frame],
				  .device = device,
				  .stage = !strcmp(stage, "END") };
	return note->stage || !strcmp(stage, "START");
}

/* Begins a range, or ends the innermost open one of its name and device. */
static bool add_note(notes *n, tide_map *open, const tide_snap_note *note, int64_t base_us,
		     int64_t end)
{
	uint64_t key = (uint64_t)note->device << 32 | note->name.i;
	int64_t t = (note->time_us - base_us) * 1000;
	uint32_t top = tide__map_get(open, key);
	if (note->stage == 1 && top) {
		struct range *g = &n->ranges.v[top - 1];
		g->t1 = t > g->t0 ? t : g->t0;
		g->flags = 0;
		if (g->outer)
			return tide__map_put(open, key, g->outer);
		tide__map_del(open, key);
		return true;
	}
	if (!TIDE_SNAP_ROOM(n->ranges) ||
	    (!note->stage && !tide__map_put(open, key, (uint32_t)n->ranges.n + 1)))
		return false;
	struct range g = {
		.t0 = t, .t1 = t, .name = note->name, .device = note->device, .outer = top
	};
	if (note->stage == 0) { /* until its END comes */
		g.t1 = end > t ? end : t;
		g.flags = TIDE_SPAN_OPEN;
	} else if (note->stage == 1) { /* its START is missing */
		g.t0 = t > 0 ? 0 : t;
		g.flags = TIDE_SPAN_LOST;
	}
	g.order = (uint32_t)n->ranges.n;
	n->ranges.v[n->ranges.n++] = g;
	return true;
}

static bool pair_up(const tide_snap *s, int64_t base_us, int64_t end, bool events, notes *n)
{
	tide_map open = { 0 };
	tide_snap_note note;
	bool ok = true;
	for (size_t i = 0; i < s->notes.n && ok; i++)
		ok = add_note(n, &open, &s->notes.v[i], base_us, end);
	for (size_t t = 0; t < s->traces.n && events; t++)
		for (size_t i = 0; i < s->traces.v[t].n && ok; i++)
			if (tide__snap_note_of(n->m,
					       &s->events.v[tide__snap_event(&s->traces.v[t], i)],
					       s->traces.v[t].device, &note))
				ok = add_note(n, &open, &note, base_us, end);
	tide__map_free(&open);
	return ok;
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	if (x->t0 != y->t0)
		return x->t0 < y->t0 ? -1 : 1;
	if (x->t1 != y->t1)
		return x->t1 > y->t1 ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static struct lane *new_lane(notes *n, uint32_t device, unsigned number)
{
	tide_model *m = n->m;
	if (!TIDE_SNAP_ROOM(n->lanes))
		return NULL;
	uint32_t row = tide__push(&m->lanes, &tide_lanes_desc);
	if (!row)
		return NULL;
	m->lanes.device[row] = tide__snap_get_device(m, device);
	m->lanes.number[row] = number;
	m->lanes.kind[row] = TIDE_LANE_OTHER;
	m->lanes.name[row] = tide__intern(m, "annotations");
	if (!m->lanes.name[row].i || !m->lanes.device[row].i)
		return NULL;
	n->lanes.v[n->lanes.n] = (struct lane){ .device = device, .id = { row } };
	return &n->lanes.v[n->lanes.n++];
}

/* Returns the first lane of the device where the range fits between the open ones. NULL with *full
 * set if there are too many lanes; NULL without it if memory runs out. */
static struct lane *lane_for(notes *n, const struct range *g, bool *full)
{
	const tide_spans *t = &n->m->spans;
	unsigned used = 0;
	*full = false;
	for (size_t i = 0; i < n->lanes.n; i++) {
		struct lane *l = &n->lanes.v[i];
		if (l->device != g->device)
			continue;
		while (l->open && t->t1[l->open] <= g->t0)
			l->open = t->parent[l->open].i;
		if (!l->open || t->t1[l->open] >= g->t1)
			return l;
		used++;
	}
	*full = used >= MOST_LANES;
	return *full ? NULL : new_lane(n, g->device, used + 1);
}

static bool new_span(notes *n, const struct range *g)
{
	tide_model *m = n->m;
	bool full;
	struct lane *l = lane_for(n, g, &full);
	if (!l) {
		n->dropped += full;
		return full;
	}
	uint32_t row = tide__push(&m->spans, &tide_spans_desc);
	if (!row)
		return false;
	m->spans.t0[row] = g->t0;
	m->spans.t1[row] = g->t1;
	m->spans.lane[row] = l->id;
	m->spans.name[row] = g->name;
	m->spans.parent[row] = (tide_span_id){ l->open };
	m->spans.cat[row] = TIDE_CAT_USER;
	m->spans.flags[row] = g->flags;
	l->open = row;
	if (g->start < g->t0) {
		size_t at;
		tide_str key = tide__intern(m, "start_ns");
		if (!key.i || !tide__table_push(&m->attrs, &tide_attrs_desc, &at))
			return false;
		m->attrs.span[at] = (tide_span_id){ row };
		m->attrs.key[at] = key;
		m->attrs.number[at] = g->start;
	}
	if (g->t1 > m->t_end)
		m->t_end = g->t1;
	return true;
}

tide_code tide__snap_add_notes(const tide_snap *s, tide_model *m, int64_t base_us, int64_t end,
			       bool events, tide_error *err)
{
	notes n = { .m = m };
	bool ok = pair_up(s, base_us, end, events, &n);
	for (size_t i = 0; i < n.ranges.n && ok; i++) {
		struct range *g = &n.ranges.v[i];
		g->start = g->t0;
		g->t0 = g->t0 < 0 ? 0 : g->t0;
		g->t1 = g->t1 < 0 ? 0 : g->t1;
	}
	if (ok && n.ranges.n)
		qsort(n.ranges.v, n.ranges.n, sizeof *n.ranges.v, by_start);
	for (size_t i = 0; i < n.ranges.n && ok; i++)
		ok = new_span(&n, &n.ranges.v[i]);
	if (ok && n.dropped)
		ok = tide__fact_set_number(m, "loss.annotations", (int64_t)n.dropped);
	tide__free(n.ranges.v);
	tide__free(n.lanes.v);
	return ok ? TIDE_OK : tide__nomem(err);
}

tide_span_id tide__snap_span_at(const tide_model *m, tide_snap_spans *c, int64_t t)
{
	const tide_spans *s = &m->spans;
	if (!c->lane.i)
		return (tide_span_id){ 0 };
	for (; c->next < s->n && s->t0[c->next] <= t; c->next++)
		if (s->lane[c->next].i == c->lane.i)
			c->open = c->next;
	while (c->open && s->t1[c->open] <= t && !(s->flags[c->open] & TIDE_SPAN_OPEN))
		c->open = s->parent[c->open].i;
	return (tide_span_id){ c->open };
}
