// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes memory as Chrome trace JSON: an instant and a point of a curve for every memory event;
 * marks and counters.
 *
 * Readers find the op of a memory event by its thread and time, so it is written where its op is:
 * on the track of the span, which for a free is that of the freeing thread. A free outside any op
 * is written on a thread with nothing open: the allocation's if that is one. */
#include <stdio.h>
#include <string.h>

#include "analyze/live/reserved.h"
#include "base/mem.h"
#include "model/strings.h"
#include "render/export/chrome.h"

/* Device types as c10 numbers them; a kind without a number is PrivateUse1. */
static int64_t device_type(unsigned kind)
{
	static const uint8_t types[] = {
		[TIDE_DEVICE_HOST] = 0, [TIDE_DEVICE_CUDA] = 1, [TIDE_DEVICE_HIP] = 6,
		[TIDE_DEVICE_XPU] = 12, [TIDE_DEVICE_MPS] = 13, [TIDE_DEVICE_MTIA] = 19
	};
	bool known = kind == TIDE_DEVICE_HOST || (kind < sizeof types && types[kind]);
	return known ? types[kind] : 20;
}

/* Writes the name of a device's curve, or of its separate memory (L1; 0 = none). Returns buf. */
static char *curve_name(const tide_model *m, uint32_t device, uint32_t pool, char *buf, size_t n)
{
	char name[64];
	snprintf(buf, n, pool ? "memory %s %.60s" : "memory %s",
		 tide__export_device(m, (tide_device_id){ device }, name, sizeof name),
		 pool ? tide__text(m, m->pools.name[pool], NULL) : "");
	return buf;
}

static void curve_point(chrome *c, size_t event, uint32_t pool, uint64_t bytes)
{
	char name[140];
	uint32_t device = c->m->pools.device[pool].i;
	begin_on(c, "C", (tide_lane_id){ 0 });
	if (tide__pool_in_device(c->m, pool))
		pool = 0;
	tide__json_kstr(&c->j, "name", curve_name(c->m, device, pool, name, sizeof name));
	ts(c, tide__memory_event_time(c->m, event));
	begin_args(c);
	tide__json_kuint(&c->j, "allocated", bytes);
	end_args(c);
}

/* ---- where an event is written ---- */

typedef struct sweep {	/* open spans of every lane as time advances */
	uint32_t *last; /* owned; per lane: last span begun */
	uint32_t next;	/* next span to begin */
	uint32_t idle;	/* lane last found with nothing open */
	bool state;	/* no history, only a final state */
} sweep;

/* Returns true if a span is open on the lane at t. Times never go back, so ended spans are
 * dropped. */
static bool open_at(const tide_model *m, const sweep *w, uint32_t lane, int64_t t)
{
	uint32_t *i = &w->last[lane];
	while (*i && tide__span_end(m, *i) < t)
		*i = m->spans.parent[*i].i;
	return *i != 0;
}

enum { MOST_LOOKED_AT = 64 }; /* lanes; a thread of its own after that */

/* Returns a thread of the same process with nothing open at t, 0 if there is none. Times never go
 * back. */
static uint32_t idle_lane(const tide_model *m, sweep *w, uint32_t lane, int64_t t)
{
	const tide_spans *s = &m->spans;
	for (; w->next < s->n && s->t0[w->next] <= t; w->next++)
		w->last[s->lane[w->next].i] = w->next;
	if (lane && !open_at(m, w, lane, t))
		return lane;
	for (uint32_t k = 0, l = w->idle; k < MOST_LOOKED_AT && k < m->lanes.n; k++, l++) {
		l = l && l < m->lanes.n ? l : 1;
		if (l < m->lanes.n && m->lanes.kind[l] == TIDE_LANE_THREAD &&
		    m->lanes.process[l].i == m->lanes.process[lane].i && !open_at(m, w, l, t))
			return w->idle = l;
	}
	return 0;
}

static void begin_memory_event(chrome *c, sweep *w, uint32_t row, bool add, int64_t t)
{
	const tide_allocs *a = &c->m->allocs;
	uint32_t lane = a->lane[row].i, span = add ? a->span[row].i : a->free_span[row].i;
	uint32_t track = span ? c->nest.track[span] : 0;
	if (track && c->m->lanes.kind[c->m->spans.lane[span].i] == TIDE_LANE_THREAD) {
		begin_event(c, "i", c->pid[track], c->tid[track]);
		return;
	}
	uint32_t idle = add ? lane : idle_lane(c->m, w, lane, t);
	if (idle || !lane)
		begin_on(c, "i", (tide_lane_id){ idle });
	else
		begin_event(c, "i", tide__chrome_pid(c, lane), 1999999999);
}

/* Allocations from before the recording have no event: they are in the totals. Without a history
 * there would be no event and no total, so then they have one. */
static void memory_event(chrome *c, sweep *w, size_t i, uint64_t *used, const uint64_t *reserved)
{
	const tide_model *m = c->m;
	bool add;
	uint32_t row = tide__memory_event_life(m, i, &add);
	uint32_t pool = m->allocs.pool[row].i, d = m->pools.device[pool].i;
	bool host = m->devices.kind[d] == TIDE_DEVICE_HOST;
	int64_t bytes = (int64_t)m->allocs.size[row];
	uint64_t *sum = &used[tide__pool_in_device(m, pool) ? d : m->devices.n + pool];
	*sum += (uint64_t)(add ? bytes : -bytes);
	if (add && !w->state && m->allocs.flags[row] & TIDE_ALLOC_BEFORE)
		return;
	begin_memory_event(c, w, row, add, tide__memory_event_time(m, i));
	tide__json_kstr(&c->j, "cat", "cpu_instant_event");
	tide__json_kstr(&c->j, "s", "t");
	tide__json_kstr(&c->j, "name", "[memory]");
	ts(c, tide__memory_event_time(m, i));
	begin_args(c);
	tide__json_kint(&c->j, "Bytes", add ? bytes : -bytes);
	tide__json_kuint(&c->j, "Addr", m->allocs.addr[row]);
	tide__json_kint(&c->j, "Device Type", device_type(m->devices.kind[d]));
	tide__json_kint(&c->j, "Device Id", host ? -1 : apart(c, c->device[d]));
	tide__json_kuint(&c->j, "Total Allocated", *sum);
	if (reserved[d] != TIDE_RESERVED_NONE)
		tide__json_kuint(&c->j, "Total Reserved", reserved[d]);
	end_args(c);
	curve_point(c, i, pool, *sum);
}

static bool is_total(const tide_model *m, uint32_t counter, const char *what)
{
	return m->counters.device[counter].i &&
	       !strcmp(tide__text(m, m->counters.name[counter], NULL), what);
}

/* Unknown reserved bytes are not written; the host has none, as in PyTorch's own traces. */
bool tide__chrome_write_memory(chrome *c)
{
	const tide_model *m = c->m;
	tide_reserved r = { 0 };
	/* of every device, then of every pool */
	uint64_t *used = tide__calloc(m->devices.n + m->pools.n, sizeof *used);
	uint64_t *reserved = tide__calloc(m->devices.n, sizeof *reserved);
	sweep w = { .last = tide__calloc(m->lanes.n, sizeof *w.last),
		    .next = 1,
		    .state = tide__fact_find(m, "loss.no_history") >= 0 };
	bool ok = used && reserved && w.last && tide__find_reserved(m, &r, NULL) == TIDE_OK;
	for (size_t d = 0; ok && d < m->devices.n; d++)
		if (r.devices[d] != TIDE_RESERVED_SEGMENTS &&
		    m->devices.kind[d] != TIDE_DEVICE_HOST)
			reserved[d] = TIDE_RESERVED_NONE;
	for (size_t i = 0, k = 0; ok && i < m->memory_events.n; i++) {
		for (; k < r.n && r.steps[k].event <= i; k++)
			reserved[r.steps[k].device] = r.steps[k].bytes;
		if (m->memory_events.kind[i] == TIDE_MEMORY_ALLOC || tide__memory_event_ends(m, i))
			memory_event(c, &w, i, used, reserved);
	}
	tide__reserved_free(&r);
	tide__free(used);
	tide__free(reserved);
	tide__free(w.last);
	return ok;
}

void tide__chrome_write_marks(chrome *c)
{
	const tide_model *m = c->m;
	for (uint32_t i = 1; i < m->marks.n; i++) {
		begin_on(c, "i", m->marks.lane[i]);
		tide__json_kstr(&c->j, "cat", tide__mark_kind_text(m->marks.kind[i]));
		tide__json_kstr(&c->j, "s", "p");
		kstr(c, "name", m->marks.name[i]);
		ts(c, m->marks.t[i]);
		begin_args(c);
		tide__json_kint(&c->j, "value", m->marks.value[i]);
		if (m->marks.kind[i] != TIDE_MARK_ANNOTATION)
			tide__json_kint(&c->j, "tidemark_mark", m->marks.kind[i]);
		if (m->marks.text[i].i)
			kstr(c, "text", m->marks.text[i]);
		end_args(c);
	}
}

/* Marks the counters that the memory events above already cover; NULL if memory runs out. */
static uint8_t *memory_curves(const tide_model *m)
{
	uint8_t *skip = tide__calloc(m->counters.n, 1);
	uint8_t *named = tide__calloc((size_t)tide__strings_count(m->strings) + 1, 1);
	for (uint32_t d = 1; named && d < m->devices.n; d++) {
		char name[80];
		curve_name(m, d, 0, name, sizeof name);
		named[tide__strings_find(m->strings, name, strlen(name))] = 1;
	}
	for (uint32_t k = 1; skip && named && m->allocs.n > 1 && k < m->counters.n; k++) {
		uint32_t name = m->counters.name[k].i;
		skip[k] = (name && named[name]) || is_total(m, k, "Total Allocated") ||
			  is_total(m, k, "Total Reserved");
	}
	if (!named) {
		tide__free(skip);
		skip = NULL;
	}
	tide__free(named);
	return skip;
}

bool tide__chrome_write_samples(chrome *c)
{
	const tide_model *m = c->m;
	uint8_t *skip = memory_curves(m);
	for (size_t i = 0; skip && i < m->samples.n; i++) {
		uint32_t k = m->samples.counter[i].i;
		if (skip[k])
			continue;
		begin_on(c, "C", m->counters.lane[k]);
		kstr(c, "name", m->counters.name[k]);
		ts(c, m->samples.t[i]);
		begin_args(c);
		tide__json_key(&c->j, "value");
		tide__json_double(&c->j, m->samples.value[i]);
		end_args(c);
	}
	tide__free(skip);
	return skip != NULL;
}
