// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Converts rows with the document's times to a model: time zero, sorted spans, allocations with
 * memory events, snapshots as marks and samples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/tracker/tracker_impl.h"
#include "model/span_parents.h"

enum { LANES_SEARCHED = 16 };

/* ---- time ---- */

static void see(int64_t t, int64_t *least, int64_t *most)
{
	*least = t < *least ? t : *least;
	*most = t > *most ? t : *most;
}

static void shift(trk *t)
{
	tide_model *m = t->m;
	int64_t least = INT64_MAX, most = INT64_MIN;
	for (size_t i = 1; i < m->spans.n; i++) {
		see(m->spans.t0[i], &least, &most);
		see(m->spans.t1[i], &least, &most);
	}
	for (size_t i = 0; i < t->n_snaps; i++)
		see(t->snaps[i].t, &least, &most);
	for (size_t i = 0; i < t->n_lives; i++) {
		see(t->lives[i].born, &least, &most);
		if (t->lives[i].died != TIDE_T_NEVER)
			see(t->lives[i].died, &least, &most);
	}
	if (t->end >= t->start &&
	    t->start <= least) { /* of the recording, not of its first event */
		see(t->start, &least, &most);
		see(t->end, &least, &most);
	}
	if (most < least)
		return;
	for (size_t i = 1; i < m->spans.n; i++) {
		m->spans.t0[i] -= least;
		m->spans.t1[i] -= least;
	}
	for (size_t i = 0; i < t->n_snaps; i++)
		t->snaps[i].t -= least;
	for (size_t i = 0; i < t->n_lives; i++) {
		t->lives[i].born -= least;
		if (t->lives[i].died != TIDE_T_NEVER)
			t->lives[i].died -= least;
	}
	m->t_end = most - least;
	m->wall0_ns = least;
	m->wall_known = t->unix_time;
}

/* ---- spans ---- */

/* Ends log entries without an end at the next one of their lane. */
static bool close_spans(trk *t)
{
	tide_model *m = t->m;
	int64_t *next = tide__alloc(m->lanes.n, sizeof *next);
	if (!next)
		return tide__tracker_nomem(t);
	for (size_t i = 0; i < m->lanes.n; i++)
		next[i] = -1;
	for (size_t i = m->spans.n - 1; i >= 1; i--) {
		uint32_t in = m->spans.lane[i].i;
		if (t->open[i] && m->spans.cat[i] == TIDE_CAT_OP && next[in] > m->spans.t0[i])
			m->spans.t1[i] = next[in];
		if (m->spans.cat[i] == TIDE_CAT_OP)
			next[in] = m->spans.t0[i];
	}
	tide__free(next);
	return true;
}

/* Sorts, then sets the ends that follow from the order, then nests. */
static bool nest(trk *t)
{
	tide_parent_column cols[] = { { t->ids, sizeof *t->ids }, { t->open, 1 } };
	if (t->m->spans.n < 2)
		return true;
	if (t->without_end && (!tide__find_span_parents(t->m, cols, 2, NULL, 0) || !close_spans(t)))
		return tide__tracker_nomem(t);
	return tide__find_span_parents(t->m, cols, 1, NULL, 0) || tide__tracker_nomem(t);
}

/* ---- memory ---- */

static uint8_t device_kind(const char *s)
{
	for (uint8_t k = TIDE_DEVICE_UNKNOWN; k <= TIDE_DEVICE_OTHER; k++)
		if (!strcmp(tide__device_kind_text(k), s))
			return k;
	return *s ? TIDE_DEVICE_OTHER : TIDE_DEVICE_UNKNOWN;
}

/* Parses "cuda:1" to kind and number; for an unknown kind, "npu:1", also the name. */
static bool name_device(tide_model *m, uint32_t d, tide_str device)
{
	char text[64];
	snprintf(text, sizeof text, "%s", tide__text(m, device, NULL));
	size_t n = strcspn(text, ":");
	m->devices.index[d] = text[n] ? strtol(text + n + 1, NULL, 10) : 0;
	text[n] = 0;
	m->devices.kind[d] = device_kind(text);
	if (m->devices.kind[d] == TIDE_DEVICE_OTHER)
		m->devices.name[d] = tide__intern(m, text);
	return m->devices.kind[d] != TIDE_DEVICE_OTHER || m->devices.name[d].i;
}

static uint32_t pool_of(trk *t, tide_str device)
{
	tide_model *m = t->m;
	uint32_t row = tide__map_get(&t->pools, (uint64_t)device.i + 1);
	if (row)
		return row;
	uint32_t d = tide__push(&m->devices, &tide_devices_desc);
	row = tide__push(&m->pools, &tide_pools_desc);
	if (!d || !row || !tide__map_put(&t->pools, (uint64_t)device.i + 1, row) ||
	    !name_device(m, d, device)) {
		tide__tracker_nomem(t);
		return 0;
	}
	bool host = m->devices.kind[d] == TIDE_DEVICE_HOST;
	m->pools.device[row].i = d;
	m->pools.kind[row] = host ? TIDE_POOL_HEAP : TIDE_POOL_DRAM;
	m->pools.name[row] = tide__intern(m, host ? "heap" : "DRAM");
	return m->pools.name[row].i || tide__tracker_nomem(t) ? row : 0;
}

/* The spans open at a time that only increases. */
struct finder {
	const trk *t;
	uint32_t *last; /* owned; per lane: the span that began last */
	uint32_t next;	/* the first that has not begun */
	int64_t at;
	tide_map by_id;	  /* operation_id -> span */
	tide_map by_name; /* name -> the span of it that began last */
};

static bool finder_init(struct finder *f, const trk *t)
{
	*f = (struct finder){ .t = t, .next = 1 };
	f->last = tide__calloc(t->m->lanes.n, sizeof *f->last);
	for (uint32_t s = 1; f->last && s < t->m->spans.n; s++)
		if (t->ids[s] && !tide__map_put(&f->by_id, (uint64_t)t->ids[s], s))
			return false;
	return f->last != NULL;
}

static void finder_fini(struct finder *f)
{
	tide__free(f->last);
	tide__map_free(&f->by_id);
	tide__map_free(&f->by_name);
}

static bool advance(struct finder *f, int64_t at)
{
	const tide_spans *s = &f->t->m->spans;
	f->at = at;
	for (; f->next < s->n && s->t0[f->next] <= at; f->next++) {
		f->last[s->lane[f->next].i] = f->next;
		if (!tide__map_put(&f->by_name, s->name[f->next].i, f->next))
			return false;
	}
	return true;
}

/* Returns the innermost span named `op` that is open on a lane, 0 if there is none. */
static uint32_t on_lane(struct finder *f, size_t lane, tide_str op)
{
	const tide_spans *s = &f->t->m->spans;
	while (f->last[lane] && s->t1[f->last[lane]] < f->at)
		f->last[lane] = s->parent[f->last[lane]].i;
	for (uint32_t i = f->last[lane]; i; i = s->parent[i].i)
		if (s->name[i].i == op.i)
			return i;
	return 0;
}

static uint32_t lane_of(const trk *t, const trk_where *w)
{
	return w->thread == TRK_NO_THREAD ? 0 : tide__map_get(&t->lanes, (uint64_t)w->thread);
}

/* Returns the named entry of the log; else the innermost operation of the name that ran then, on
 * the given thread or on one of the first lanes. */
static uint32_t span_of(struct finder *f, const trk_where *w)
{
	const tide_model *m = f->t->m;
	uint32_t best = 0, lane = lane_of(f->t, w);
	uint32_t entry = w->id ? tide__map_get(&f->by_id, (uint64_t)w->id) : 0;
	if (entry && m->spans.t0[entry] <= f->at && m->spans.t1[entry] >= f->at)
		return entry;
	if (!w->op.i || w->thread != TRK_NO_THREAD)
		return w->op.i && lane ? on_lane(f, lane, w->op) : 0;
	for (size_t i = 1; i < m->lanes.n && i <= LANES_SEARCHED; i++) {
		uint32_t s = on_lane(f, i, w->op);
		best = s > best ? s : best;
	}
	return best;
}

static int by_birth(const void *a, const void *b)
{
	const trk_life *x = a, *y = b;
	if (x->born != y->born)
		return x->born < y->born ? -1 : 1;
	return (x->made.order > y->made.order) - (x->made.order < y->made.order);
}

static int by_death(const void *a, const void *b)
{
	const trk_life *x = a, *y = b;
	return (x->died > y->died) - (x->died < y->died);
}

static bool put_alloc(trk *t, trk_life *l, uint32_t span, uint64_t *next)
{
	tide_model *m = t->m;
	uint32_t row, pool = pool_of(t, l->device);
	uint64_t take = (l->size + 511) / 512 * 512;
	if (!pool)
		return false;
	if (take > UINT64_MAX / 2 - *next) { /* more bytes than the address space has */
		t->bad++;
		return true;
	}
	if (!(row = tide__push(&m->allocs, &tide_allocs_desc)))
		return tide__tracker_nomem(t);
	m->allocs.addr[row] = *next;
	*next += take ? take : 512;
	m->allocs.size[row] = m->allocs.requested[row] = l->size;
	m->allocs.born[row] = l->born;
	m->allocs.died[row] = l->died;
	m->allocs.pool[row].i = pool;
	m->allocs.span[row].i = span;
	m->allocs.lane[row].i = span ? m->spans.lane[span].i : lane_of(t, &l->made);
	m->allocs.role[row] = l->role;
	m->allocs.flags[row] = l->flags;
	m->allocs.basis[row] = l->listed ? TIDE_BASIS_INFERRED : TIDE_BASIS_EXACT;
	l->row = row;
	if (l->tensor)
		m->tensors.alloc[l->tensor].i = row;
	return true;
}

/* A listed tensor belongs to the last run of its operation that began before the snapshot; where
 * the document has no runs, its stack is the operation's name. */
static bool place_listed(trk *t, const struct finder *f, const trk_life *l)
{
	tide_model *m = t->m;
	uint32_t span = tide__map_get(&f->by_name, l->made.op.i);
	m->allocs.span[l->row].i = span;
	if (span)
		m->allocs.lane[l->row] = m->spans.lane[span];
	if (span || !l->made.op.i)
		return true;
	tide_frame_id frame = tide__frame_intern(m, l->made.op, (tide_str){ 0 }, 0);
	m->allocs.stack[l->row] = tide__stack_intern(m, (tide_stack_id){ 0 }, frame);
	return m->allocs.stack[l->row].i || tide__tracker_nomem(t);
}

static bool births(trk *t, struct finder *f)
{
	uint64_t next = 1 << 20;
	if (t->n_lives)
		qsort(t->lives, t->n_lives, sizeof *t->lives, by_birth);
	for (size_t i = 0; i < t->n_lives; i++) {
		trk_life *l = &t->lives[i];
		if (!advance(f, l->born) || !put_alloc(t, l, span_of(f, &l->made), &next))
			return tide__tracker_nomem(t);
		if (l->row && l->listed && !place_listed(t, f, l))
			return false;
	}
	return true;
}

static bool deaths(trk *t, struct finder *f)
{
	if (t->n_lives)
		qsort(t->lives, t->n_lives, sizeof *t->lives, by_death);
	for (size_t i = 0; i < t->n_lives && t->lives[i].died != TIDE_T_NEVER; i++) {
		const trk_life *l = &t->lives[i];
		if (!advance(f, l->died))
			return tide__tracker_nomem(t);
		if (l->row)
			t->m->allocs.free_span[l->row].i = span_of(f, &l->freed);
	}
	return true;
}

static bool allocations(trk *t)
{
	struct finder f;
	bool ok = finder_init(&f, t) ? births(t, &f) : tide__tracker_nomem(t);
	finder_fini(&f);
	if (ok) {
		ok = finder_init(&f, t) ? deaths(t, &f) : tide__tracker_nomem(t);
		finder_fini(&f);
	}
	return ok;
}

typedef struct event {
	int64_t t, order;
	uint32_t row;
	uint8_t kind;
} event;

static int by_time(const void *a, const void *b)
{
	const event *x = a, *y = b;
	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->kind - y->kind;
}

static bool memory_events(trk *t)
{
	tide_model *m = t->m;
	size_t n = 0, row;
	event *v = tide__alloc(t->n_lives * 2 + 1, sizeof *v);
	bool ok = v != NULL;
	for (size_t i = 0; ok && i < t->n_lives; i++) {
		const trk_life *l = &t->lives[i];
		if (!l->row)
			continue;
		v[n++] = (event){ l->born, l->made.order, l->row, TIDE_MEMORY_ALLOC };
		if (l->died != TIDE_T_NEVER)
			v[n++] = (event){ l->died, l->freed.order, l->row, TIDE_MEMORY_FREE };
	}
	if (ok && n)
		qsort(v, n, sizeof *v, by_time);
	for (size_t i = 0; ok && i < n; i++) {
		ok = tide__table_push(&m->memory_events, &tide_memory_events_desc, &row);
		if (ok) {
			m->memory_events.row[row] = v[i].row;
			m->memory_events.kind[row] = v[i].kind;
		}
	}
	tide__free(v);
	return ok || tide__tracker_nomem(t);
}

/* ---- snapshots ---- */

static int snap_order(const void *a, const void *b)
{
	const trk_snap *x = a, *y = b;
	return (x->t > y->t) - (x->t < y->t);
}

static uint32_t counter_of(trk *t, tide_map *known, tide_str device)
{
	tide_model *m = t->m;
	uint32_t row = tide__map_get(known, device.i), pool = row ? 0 : pool_of(t, device);
	if (row)
		return row;
	row = pool ? tide__push(&m->counters, &tide_counters_desc) : 0;
	if (!row || !tide__map_put(known, device.i, row)) {
		tide__tracker_nomem(t);
		return 0;
	}
	m->counters.name[row] = tide__intern(m, "snapshot total");
	m->counters.unit[row] = tide__intern(m, "bytes");
	m->counters.device[row] = m->pools.device[pool];
	return (m->counters.name[row].i && m->counters.unit[row].i) || tide__tracker_nomem(t) ? row
											      : 0;
}

static bool put_totals(trk *t, const trk_snap *s, tide_map *known)
{
	size_t row;
	for (size_t i = s->first; i < s->first + s->n; i++) {
		uint32_t c = counter_of(t, known, t->totals[i].device);
		if (!c || !tide__table_push(&t->m->samples, &tide_samples_desc, &row))
			return tide__tracker_nomem(t);
		t->m->samples.t[row] = s->t;
		t->m->samples.value[row] = (double)t->totals[i].bytes;
		t->m->samples.counter[row].i = c;
	}
	return true;
}

static bool marks(trk *t)
{
	tide_model *m = t->m;
	tide_map known = { 0 };
	size_t position = 0;
	bool ok = true;
	for (size_t i = 0; ok && i < t->n_snaps; i++) {
		const trk_snap *s = &t->snaps[i];
		uint32_t row = tide__push(&m->marks, &tide_marks_desc);
		while (position < m->memory_events.n &&
		       tide__memory_event_time(m, position) <= s->t)
			position++;
		if (!row) {
			ok = tide__tracker_nomem(t);
			break;
		}
		m->marks.t[row] = s->t;
		m->marks.extra[row] = -1;
		m->marks.position[row] = position;
		m->marks.name[row] = s->name;
		m->marks.kind[row] = TIDE_MARK_CHECKPOINT;
		ok = put_totals(t, s, &known);
	}
	tide__map_free(&known);
	return ok;
}

/* ---- all of it ---- */

/* Drops tensors without an allocation. */
static void drop_loose_tensors(tide_model *m)
{
	tide_tensors *x = &m->tensors;
	size_t n = 1;
	for (size_t i = 1; i < x->n; i++) {
		if (!x->alloc[i].i)
			continue;
#define C(type, name, doc) x->name[n] = x->name[i];
		TIDE_TENSOR_COLUMNS(C)
#undef C
		n++;
	}
	x->n = n;
}

static bool losses(trk *t)
{
	static const char *const keys[] = { "loss.bad_records", "loss.repeated_lifecycle_events",
					    "loss.operations_without_duration" };
	uint64_t n[] = { t->bad, t->repeated, t->without_end };
	for (size_t i = 0; i < 3; i++)
		if (n[i] && !tide__fact_set_number(t->m, keys[i], (int64_t)n[i]))
			return tide__tracker_nomem(t);
	if (t->n_lives && t->lives[0].listed &&
	    !tide__fact_text(t->m, "alloc.basis",
			     "the tensors that snapshots list: exact at each snapshot, "
			     "unknown between them"))
		return tide__tracker_nomem(t);
	return tide__fact_text(t->m, "tracker.addresses", "made up: a profile has none") ||
	       tide__tracker_nomem(t);
}

bool tide__tracker_build(trk *t)
{
	shift(t);
	if (t->n_snaps)
		qsort(t->snaps, t->n_snaps, sizeof *t->snaps, snap_order);
	bool ok = tide__tracker_listed_lives(t) && nest(t) && allocations(t) && memory_events(t) &&
		  marks(t) && losses(t);
	drop_loose_tensors(t->m);
	return ok;
}
