// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes a snapshot's device_traces and annotations: the events before its state, in the order of
 * memory events. */
#include <stdlib.h>

#include "base/mem.h"
#include "model/strings.h"
#include "render/export/snapshot_writer.h"

struct event {
	enum word action;
	uint64_t addr, size, block; /* block: of an alloc whose block is longer, exact sizes only */
	uint32_t alloc;		    /* whose frames it has; 0: stack */
	tide_pool_id pool;
	tide_lane_id stream;
	uint32_t stack;
	tide_str metadata;
	int64_t t;
};

static void put_event(shot *s, const struct event *e)
{
	s->started = true;
	tide__pkl_dict(&s->p);
	tide__snapshot_write_word(s, W_action);
	tide__snapshot_write_word(s, e->action);
	tide__snapshot_write_uint(s, e->action == W_oom ? W_device_free : W_addr, e->addr);
	tide__snapshot_write_uint(s, W_size, e->size);
	tide__snapshot_write_stream(s, e->stream);
	tide__snapshot_write_time(s, e->t);
	tide__snapshot_write_word(s, W_compile_context);
	tide__pkl_text(&s->p, "N/A", 3);
	tide__snapshot_write_word(s, W_user_metadata);
	tide__snapshot_text(s, e->metadata);
	if (s->private) {
		tide__snapshot_write_word(s, W_pool_id);
		tide__snapshot_write_pool_id(s, e->pool);
	}
	if (e->block)
		tide__snapshot_write_uint(s, W_block_size, e->block);
	if (e->alloc)
		tide__snapshot_write_frames(s, e->alloc);
	else
		tide__snapshot_write_stack(s, e->stack);
	tide__pkl_dict_end(&s->p);
}

static void put_alloc_event(shot *s, enum word action, uint32_t alloc, int64_t t)
{
	const tide_allocs *a = &s->m->allocs;
	put_event(s, &(struct event){ .action = action,
				      .addr = a->addr[alloc],
				      .size = a->requested[alloc],
				      .block = s->exact && action == W_alloc &&
							       a->size[alloc] != a->requested[alloc]
						       ? a->size[alloc]
						       : 0,
				      .pool = a->pool[alloc],
				      .stream = a->stream[alloc],
				      .alloc = action == W_alloc ? alloc : 0,
				      .t = t });
}

static void put_stretch(shot *s, enum word action, uint32_t row, uint64_t addr, uint64_t end,
			int64_t t)
{
	const tide_segments *g = &s->m->segments;
	if (end > addr)
		put_event(s, &(struct event){ .action = action,
					      .addr = addr,
					      .size = end - addr,
					      .pool = g->pool[row],
					      .stream = g->stream[row],
					      .stack = g->stack[row].i,
					      .t = t });
}

/* Writes the release of a segment. Parts that a partial unmap left follow as new rows and stay. */
static void put_segment_end(shot *s, size_t event)
{
	const tide_segments *g = &s->m->segments;
	const tide_memory_events *v = &s->m->memory_events;
	uint32_t row = v->row[event];
	uint64_t at = g->addr[row], end = at + g->size[row];
	if (g->kind[row] != TIDE_SEGMENT_EXPANDABLE) {
		put_stretch(s, W_segment_free, row, at, end, g->died[row]);
		return;
	}
	for (size_t i = event + 1; i < v->n && v->kind[i] == TIDE_MEMORY_SEG_ALLOC; i++) {
		uint32_t part = v->row[i];
		if (!(g->flags[part] & TIDE_SEGMENT_PART) || g->addr[part] < at ||
		    g->addr[part] >= end)
			break;
		put_stretch(s, W_segment_unmap, row, at, g->addr[part], g->died[row]);
		at = g->addr[part] + g->size[part];
	}
	put_stretch(s, W_segment_unmap, row, at, end, g->died[row]);
}

static void put_memory_event(shot *s, size_t i)
{
	const tide_model *m = s->m;
	uint32_t row = m->memory_events.row[i];
	switch (m->memory_events.kind[i]) {
	case TIDE_MEMORY_ALLOC:
		if (!(m->allocs.flags[row] & TIDE_ALLOC_BEFORE))
			put_alloc_event(s, W_alloc, row, m->allocs.born[row]);
		break;
	case TIDE_MEMORY_FREE_ASKED:
		row = m->pendings.alloc[row].i;
		if (!s->asked[row] && (s->started || !(m->allocs.flags[row] & TIDE_ALLOC_BEFORE)))
			put_alloc_event(s, W_free_requested, row, tide__memory_event_time(m, i));
		s->asked[row] = 1; /* requested before the first event: nothing to write */
		break;
	case TIDE_MEMORY_FREE:
		if (!s->asked[row])
			put_alloc_event(s, W_free_requested, row, m->allocs.died[row]);
		put_alloc_event(s, W_free_completed, row, m->allocs.died[row]);
		break;
	case TIDE_MEMORY_SEG_ALLOC:
		if (!(m->segments.flags[row] & (TIDE_SEGMENT_BEFORE | TIDE_SEGMENT_PART)))
			put_stretch(s,
				    m->segments.kind[row] == TIDE_SEGMENT_EXPANDABLE
					    ? W_segment_map
					    : W_segment_alloc,
				    row, m->segments.addr[row],
				    m->segments.addr[row] + m->segments.size[row],
				    m->segments.born[row]);
		break;
	case TIDE_MEMORY_SEG_FREE:
		put_segment_end(s, i);
		break;
	}
}

static void put_mark(shot *s, uint32_t row)
{
	const tide_marks *k = &s->m->marks;
	bool oom = k->kind[row] == TIDE_MARK_OOM;
	put_event(s,
		  &(struct event){ .action = oom ? W_oom : W_snapshot,
				   .addr = oom && k->extra[row] > 0 ? (uint64_t)k->extra[row] : 0,
				   .size = oom && k->value[row] > 0 ? (uint64_t)k->value[row] : 0,
				   .pool = k->pool[row],
				   .stream = k->lane[row],
				   .stack = k->stack[row].i,
				   .t = k->t[row] });
}

static tide_pool_id event_pool(const tide_model *m, size_t i)
{
	uint32_t row = m->memory_events.row[i];
	uint8_t kind = m->memory_events.kind[i];
	if (kind == TIDE_MEMORY_SEG_ALLOC || kind == TIDE_MEMORY_SEG_FREE)
		return m->segments.pool[row];
	return m->allocs.pool[kind == TIDE_MEMORY_FREE_ASKED ? m->pendings.alloc[row].i : row];
}

/* ---- the device of an event ---- */

static uint32_t device_of_event(const shot *s, size_t i)
{
	return tide__snapshot_device(s, event_pool(s->m, i));
}

enum { NO_DEVICE = UINT32_MAX };

static uint32_t device_of_mark(const shot *s, size_t i)
{
	const tide_marks *k = &s->m->marks;
	if (k->kind[i] == TIDE_MARK_OOM)
		return k->pool[i].i ? tide__snapshot_device(s, k->pool[i]) : 0;
	return k->kind[i] == TIDE_MARK_SNAPSHOT ? 0 : NO_DEVICE;
}

/* Sorts rows [from, n) by device (counting sort); within a device they keep their order. */
static bool sort_rows(const shot *s, size_t from, size_t n,
		      uint32_t (*device)(const shot *s, size_t i), struct of_device *out)
{
	size_t devices = (size_t)s->devices + s->host;
	out->first = tide__calloc(devices + 2, sizeof *out->first);
	out->rows = tide__alloc(n, sizeof *out->rows);
	if (!out->first || !out->rows)
		return false;
	for (size_t i = from; i < n; i++)
		if (device(s, i) != NO_DEVICE)
			out->first[device(s, i) + 2]++;
	for (size_t d = 1; d <= devices; d++)
		out->first[d + 1] += out->first[d];
	for (size_t i = from; i < n; i++)
		if (device(s, i) != NO_DEVICE)
			out->rows[out->first[device(s, i) + 1]++] = (uint32_t)i;
	return true;
}

bool tide__snapshot_sort(shot *s)
{
	return s->m->memory_events.n < UINT32_MAX &&
	       sort_rows(s, 0, s->m->memory_events.n, device_of_event, &s->events) &&
	       sort_rows(s, 1, s->m->marks.n, device_of_mark, &s->marks);
}

/* Writes the events of a device. A mark comes before the memory event that follows it. */
void tide__snapshot_write_events(shot *s, uint32_t device)
{
	uint32_t mark = s->marks.first[device], event = s->events.first[device];
	s->started = false;
	tide__pkl_list(&s->p);
	for (;;) {
		bool events = event < s->events.first[device + 1],
		     marks = mark < s->marks.first[device + 1];
		if (marks &&
		    (!events || s->m->marks.position[s->marks.rows[mark]] <= s->events.rows[event]))
			put_mark(s, s->marks.rows[mark++]);
		else if (events)
			put_memory_event(s, s->events.rows[event++]);
		else
			break;
	}
	tide__pkl_list_end(&s->p);
}

/* ---- annotations ---- */

struct note {
	int64_t t;
	uint32_t span, order;
	bool end;
};

static int by_time(const void *a, const void *b)
{
	const struct note *x = a, *y = b;
	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Adds both ends of a span; a begin is sorted before the spans inside it, an end after them. */
static size_t ends_of(const shot *s, uint32_t span, struct note *out)
{
	const tide_model *m = s->m;
	int64_t t0 = m->spans.t0[span];
	tide_str key = { tide__strings_find(m->strings, "start_ns", 8) };
	int64_t at = key.i ? tide__attr_find(m, (tide_span_id){ span }, key) : -1;
	if (at >= 0)
		t0 = m->attrs.number[at];
	out[0] = (struct note){ t0, span, span, false };
	out[1] = (struct note){ m->spans.t1[span], span, UINT32_MAX - span, true };
	return m->spans.flags[span] & TIDE_SPAN_OPEN ? 1 : 2;
}

bool tide__snapshot_write_notes(shot *s)
{
	const tide_model *m = s->m;
	struct note *notes = tide__alloc(m->spans.n * 2, sizeof *notes);
	size_t n = 0;
	if (!notes)
		return false;
	for (uint32_t i = 1; i < m->spans.n && s->timed; i++)
		if (m->spans.cat[i] == TIDE_CAT_USER)
			n += ends_of(s, i, notes + n);
	qsort(notes, n, sizeof *notes, by_time);
	tide__pkl_list(&s->p);
	for (size_t i = 0; i < n; i++) {
		tide_device_id d = m->lanes.device[m->spans.lane[notes[i].span].i];
		tide__pkl_dict(&s->p);
		tide__snapshot_write_word(s, W_stage);
		tide__snapshot_write_word(s, notes[i].end ? W_END : W_START);
		tide__snapshot_write_word(s, W_name);
		tide__snapshot_text(s, m->spans.name[notes[i].span]);
		tide__snapshot_write_uint(s, W_device,
					  s->number[d.i] < s->devices ? s->number[d.i] : 0);
		tide__snapshot_write_time(s, notes[i].t);
		tide__pkl_dict_end(&s->p);
	}
	tide__pkl_list_end(&s->p);
	tide__free(notes);
	return true;
}
