// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Applies each event of a snapshot to the model: rows of segments and allocations, their memory
 * events, marks. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "import/torchsnap/reader.h"
#include "import/torchsnap/replay/replay_impl.h"

typedef tide_replay replay;
typedef tide_replay_device device;

#define SMALL_SEGMENT (UINT64_C(2) << 20) /* of small pools; large ones take more */
#define ODD_MAX	      (UINT64_C(1) << 60) /* bytes of overlapping allocations, so that sums fit */

static tide_code nomem(replay *r)
{
	return tide__nomem(r->err);
}

/* ---- devices, pools, streams ---- */

tide_device_id tide__snap_get_device(tide_model *m, uint32_t number)
{
	bool host = number == TIDE_SNAP_HOST;
	int64_t index = host ? 0 : number;
	uint8_t kind = host ? TIDE_DEVICE_HOST : TIDE_DEVICE_CUDA;
	for (uint32_t i = 1; i < m->devices.n; i++)
		if (m->devices.kind[i] == kind && m->devices.index[i] == index)
			return (tide_device_id){ i };
	uint32_t row = tide__push(&m->devices, &tide_devices_desc);
	if (row) {
		m->devices.kind[row] = kind;
		m->devices.index[row] = index;
	}
	return (tide_device_id){ row };
}

static tide_pool_id new_pool(replay *r, device *d, uint64_t id)
{
	tide_model *m = r->m;
	char name[48] = "DRAM";
	bool host = d->number == TIDE_SNAP_HOST;
	if (host)
		strcpy(name, "pinned");
	else if (id)
		snprintf(name, sizeof name, "private (%u, %u)", (unsigned)(id >> 30),
			 (unsigned)(id & 0x3fffffff));
	uint32_t row = tide__push(&m->pools, &tide_pools_desc);
	if (!row)
		return (tide_pool_id){ 0 };
	m->pools.device[row] = d->id;
	m->pools.name[row] = tide__intern(m, name);
	m->pools.kind[row] = host ? TIDE_POOL_PINNED : id ? TIDE_POOL_PRIVATE : TIDE_POOL_DRAM;
	return (tide_pool_id){ m->pools.name[row].i ? row : 0 };
}

/* Returns the pool row of a pool id; 0 if memory ran out. */
tide_pool_id tide__replay_pool(replay *r, device *d, uint64_t id)
{
	enum { MOST = 4096 }; /* more pools share the default pool; only hostile input has them */
	tide_pool_id pool = { tide__map_get(&d->pools, id) };
	if (pool.i)
		return pool;
	if (d->pools.n >= MOST)
		return (tide_pool_id){ tide__map_get(&d->pools, 0) }; /* made first */
	pool = new_pool(r, d, id);
	return pool.i && tide__map_put(&d->pools, id, pool.i) ? pool : (tide_pool_id){ 0 };
}

tide_lane_id tide__replay_lane(replay *r, device *d, uint16_t stream)
{
	tide_model *m = r->m;
	if (d->lanes[stream])
		return (tide_lane_id){ d->lanes[stream] };
	char name[40];
	snprintf(name, sizeof name, "stream %lld", (long long)r->s->streams.v[stream]);
	uint32_t row = tide__push(&m->lanes, &tide_lanes_desc);
	if (!row)
		return (tide_lane_id){ 0 };
	m->lanes.device[row] = d->id;
	m->lanes.number[row] = r->s->streams.v[stream];
	m->lanes.kind[row] = TIDE_LANE_STREAM;
	m->lanes.name[row] = tide__intern(m, name);
	if (!m->lanes.name[row].i)
		return (tide_lane_id){ 0 };
	d->lanes[stream] = row;
	return (tide_lane_id){ row };
}

/* ---- rows ---- */

static tide_code add_event(replay *r, uint8_t kind, uint32_t row)
{
	tide_memory_events *mv = &r->m->memory_events;
	if (mv->n == mv->cap && !tide__table_reserve(mv, &tide_memory_events_desc, 1))
		return nomem(r);
	mv->row[mv->n] = row;
	mv->kind[mv->n++] = kind;
	return TIDE_OK;
}

/* Fills the next alloc row and adds its ALLOC event. */
tide_code tide__replay_alloc(replay *r, const struct tide_replay_row *a)
{
	tide_allocs *t = &r->m->allocs;
	if (t->n >= r->end_allocs)
		return tide__fail(r->err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
				  "more allocations than events");
	uint32_t i = (uint32_t)t->n++;
	t->addr[i] = a->addr;
	t->size[i] = a->size;
	t->requested[i] = a->requested < a->size ? a->requested : a->size;
	t->born[i] = r->now;
	t->died[i] = TIDE_T_NEVER;
	t->pool[i] = a->pool;
	t->span[i] = a->span;
	t->free_span[i] = (tide_span_id){ 0 };
	t->lane[i] = (tide_lane_id){ 0 };
	t->stack[i] = (tide_stack_id){ a->stack };
	t->stream[i] = a->stream;
	t->role[i] = TIDE_ROLE_UNKNOWN;
	t->flags[i] = a->flags;
	t->basis[i] = TIDE_BASIS_EXACT;
	if (a->flags & TIDE_ALLOC_OVERLAPS)
		r->odd_bytes += a->size;
	if (r->odd_bytes > ODD_MAX)
		return tide__fail(r->err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
				  "the allocations overlap each other by over 2^60 bytes");
	return add_event(r, TIDE_MEMORY_ALLOC, i);
}

/* Records the free at this time, inside the currently open annotation. */
static void note_free(replay *r, device *d, uint32_t alloc)
{
	if (r->m->allocs.flags[alloc] & TIDE_ALLOC_ASKED)
		return; /* its bytes were freed when the free was requested */
	tide_span_id span = tide__snap_span_at(r->m, &d->spans, r->now);
	if (span.i)
		r->m->allocs.free_span[alloc] = span;
}

static tide_code end_alloc(replay *r, device *d, uint32_t alloc, uint8_t flag)
{
	note_free(r, d, alloc);
	r->m->allocs.died[alloc] = r->now;
	r->m->allocs.flags[alloc] |= flag;
	if (r->m->allocs.flags[alloc] & TIDE_ALLOC_OVERLAPS)
		r->odd_bytes -= r->m->allocs.size[alloc];
	return add_event(r, TIDE_MEMORY_FREE, alloc);
}

/* ---- segments ---- */

static tide_code new_segment(replay *r, device *d, uint64_t addr, uint64_t size,
			     const tide_geo_area *a, uint32_t stack, uint8_t flags)
{
	tide_segments *t = &r->m->segments;
	uint32_t row = tide__push(t, &tide_segments_desc);
	if (!row || !tide__ordered_put(&d->segments, addr, row))
		return nomem(r);
	t->addr[row] = addr;
	t->size[row] = size;
	t->born[row] = r->now;
	t->died[row] = TIDE_T_NEVER;
	t->pool[row] = a->pool;
	t->stack[row] = (tide_stack_id){ stack };
	t->stream[row] = a->stream;
	t->kind[row] = a->host	       ? TIDE_SEGMENT_HOST
		       : a->expandable ? TIDE_SEGMENT_EXPANDABLE
		       : a->small      ? TIDE_SEGMENT_SMALL
				       : TIDE_SEGMENT_LARGE;
	t->flags[row] = flags;
	return add_event(r, TIDE_MEMORY_SEG_ALLOC, row);
}

static tide_code end_segment(replay *r, uint32_t row)
{
	r->m->segments.died[row] = r->now;
	return add_event(r, TIDE_MEMORY_SEG_FREE, row);
}

/* Finds the recorded final segment that covers the end of a mapped range (which may have shrunk or
 * grown), or the one that existed before the history. Returns NULL if there is none. */
static const tide_snap_segment *final_at(const replay *r, const device *d, uint64_t addr,
					 uint64_t size, bool mapped)
{
	tide_ordered_pos p = tide__ordered_floor(&d->final, addr + (mapped && size ? size - 1 : 0));
	if (!tide__ordered_ok(p))
		return NULL;
	const tide_snap_segment *g = &r->s->segments.v[tide__ordered_val(&d->final, p)];
	if (mapped != g->expandable)
		return NULL;
	if (mapped)
		return g->addr + g->size > addr ? g : NULL;
	return g->addr == addr && g->size == size ? g : NULL;
}

/* Finds the recorded final segment of a range. An address can be released and taken again for
 * another pool: a segment taken in the history is a final one only if its event matches. */
static const tide_snap_segment *final_of(const replay *r, const device *d, uint64_t addr,
					 uint64_t size, bool mapped, uint32_t event)
{
	if (mapped || event == TIDE_BASE_NO_EVENT)
		return final_at(r, d, addr, size, mapped);
	uint32_t i = d->base.stay.n ? tide__map_get(&d->base.stay, (uint64_t)event + 1) : 0;
	return i ? &r->s->segments.v[i - 1] : NULL;
}

/* Returns an event, or a blank one for TIDE_BASE_NO_EVENT. */
static const tide_snap_event *event_at(const replay *r, uint32_t event)
{
	static const tide_snap_event none = { 0 };
	return event < r->s->events.n ? &r->s->events.v[event] : &none;
}

static uint64_t pool_id_of(const replay *r, uint32_t event)
{
	if (!(event_at(r, event)->extra & TIDE_SNAP_HAS_EXTRA))
		return 0;
	return tide__snap_extra_of(r->s, event)->pool;
}

/* Finds pool, stream and kind of a range from the final state, else from the event. */
static bool describe(replay *r, device *d, uint64_t addr, uint64_t size, bool mapped,
		     uint32_t event, tide_geo_area *a)
{
	const tide_snap_segment *g = final_of(r, d, addr, size, mapped, event);
	uint64_t pool = g ? g->pool : pool_id_of(r, event);
	*a = (tide_geo_area){ .expandable = mapped, .host = d->number == TIDE_SNAP_HOST };
	a->small = g ? g->kind == TIDE_SEGMENT_SMALL : size == SMALL_SEGMENT;
	a->stream = tide__replay_lane(r, d, g ? g->stream : event_at(r, event)->stream);
	a->pool = tide__replay_pool(r, d, pool);
	return a->pool.i && a->stream.i;
}

tide_code tide__replay_segment(replay *r, device *d, uint64_t addr, uint64_t size, bool mapped,
			       uint32_t event, uint32_t stack, uint8_t flags)
{
	tide_geo_area a;
	bool added;
	uint32_t area = mapped ? tide__geo_beside(&d->geo, addr, size) : 0;
	if (area)
		a = d->geo.areas.v[area];
	else if (!describe(r, d, addr, size, mapped, event, &a))
		return nomem(r);
	else
		area = tide__geo_add_area(&d->geo, &a);
	if (!area || !tide__geo_add(&d->geo, addr, size, area, &added))
		return nomem(r);
	return added ? new_segment(r, d, addr, size, &a, stack, flags) : TIDE_OK;
}

static tide_code on_segment_alloc(replay *r, device *d, uint32_t event)
{
	const tide_snap_event *e = &r->s->events.v[event];
	return tide__replay_segment(r, d, e->addr, e->size, e->action == TIDE_SNAP_SEGMENT_MAP,
				    event, e->stack, 0);
}

/* Unmaps a range: rows inside it end, rows partly inside end and their remainder continues as
 * new rows. */
static tide_code unmap_row(replay *r, device *d, uint32_t row, uint64_t addr, uint64_t size)
{
	tide_segments *t = &r->m->segments;
	uint64_t from = t->addr[row], to = from + t->size[row], end = addr + size;
	tide_geo_area a = { .pool = t->pool[row],
			    .stream = t->stream[row],
			    .expandable = t->kind[row] == TIDE_SEGMENT_EXPANDABLE,
			    .small = t->kind[row] == TIDE_SEGMENT_SMALL,
			    .host = t->kind[row] == TIDE_SEGMENT_HOST };
	uint32_t stack = t->stack[row].i;
	tide_code rc = end_segment(r, row);
	(void)tide__ordered_del(&d->segments, from);
	if (!rc && from < addr)
		rc = new_segment(r, d, from, addr - from, &a, stack, TIDE_SEGMENT_PART);
	if (!rc && to > end)
		rc = new_segment(r, d, end, to - end, &a, stack, TIDE_SEGMENT_PART);
	return rc;
}

static tide_code on_segment_unmap(replay *r, device *d, uint32_t event)
{
	const tide_snap_event *e = &r->s->events.v[event];
	uint64_t end = e->addr + e->size, found = 0;
	tide_segments *t = &r->m->segments;
	tide_ordered_pos p = tide__ordered_floor(&d->segments, e->addr);
	if (!tide__ordered_ok(p))
		p = tide__ordered_ceil(&d->segments, e->addr);
	while (tide__ordered_ok(p) && tide__ordered_key(&d->segments, p) < end) {
		uint32_t row = tide__ordered_val(&d->segments, p);
		uint64_t to = t->addr[row] + t->size[row];
		if (to > e->addr) {
			tide_code rc = unmap_row(r, d, row, e->addr, e->size);
			if (rc)
				return rc;
			found++;
		}
		p = tide__ordered_ceil(&d->segments, to > end ? end : to);
	}
	d->geo.mismatches += !found;
	return tide__geo_remove(&d->geo, e->addr, e->size) ? TIDE_OK : nomem(r);
}

static tide_code on_segment_free(replay *r, device *d, uint32_t event)
{
	const tide_snap_event *e = &r->s->events.v[event];
	tide_ordered_pos p = tide__ordered_floor(&d->segments, e->addr);
	if (!tide__ordered_ok(p) || tide__ordered_key(&d->segments, p) != e->addr) {
		d->geo.mismatches++;
		return TIDE_OK;
	}
	uint32_t row = tide__ordered_val(&d->segments, p);
	uint64_t size = r->m->segments.size[row];
	d->geo.mismatches += size != e->size;
	tide__ordered_del_at(&d->segments, p);
	tide_code rc = end_segment(r, row);
	if (rc)
		return rc;
	return tide__geo_remove(&d->geo, e->addr, size) ? TIDE_OK : nomem(r);
}

/* ---- allocations ---- */

tide_pool_id tide__replay_pool_in(replay *r, device *d, uint32_t area, uint32_t event)
{
	if (area)
		return d->geo.areas.v[area].pool;
	return tide__replay_pool(r, d, pool_id_of(r, event));
}

static tide_code on_alloc(replay *r, device *d, uint32_t event)
{
	const tide_snap_event *e = &r->s->events.v[event];
	uint32_t id = (uint32_t)r->m->allocs.n;
	uint32_t known = d->base.known.n ? tide__map_get(&d->base.known, (uint64_t)event + 1) : 0;
	uint64_t size = known ? r->s->blocks.v[known - 1].size : 0;
	if (!size && e->extra & TIDE_SNAP_HAS_EXTRA)
		size = tide__snap_extra_of(r->s, event)->block;
	if (size < e->size || size > UINT64_MAX - e->addr)
		size = 0; /* its block is unknown: the rules decide */
	tide_geo_taken t;
	if (!tide__geo_take(&d->geo, e->addr, e->size, size, id, &t))
		return nomem(r);
	if (t.grown)
		r->m->allocs.size[t.grown] += t.grown_by;
	tide_code rc = t.displaced ? end_alloc(r, d, t.displaced, TIDE_ALLOC_REUSED) : TIDE_OK;
	if (rc)
		return rc;
	struct tide_replay_row a = { .addr = e->addr,
				     .size = t.size,
				     .requested = e->size,
				     .pool = tide__replay_pool_in(r, d, t.area, event),
				     .stream = tide__replay_lane(r, d, e->stream),
				     .stack = e->stack,
				     .span = tide__snap_span_at(r->m, &d->spans, r->now),
				     .flags = t.overlaps ? TIDE_ALLOC_OVERLAPS : 0 };
	return a.pool.i && a.stream.i ? tide__replay_alloc(r, &a) : nomem(r);
}

tide_code tide__replay_ask(replay *r, uint32_t alloc)
{
	if (r->m->allocs.flags[alloc] & TIDE_ALLOC_ASKED)
		return TIDE_OK; /* once is enough */
	r->m->allocs.flags[alloc] |= TIDE_ALLOC_ASKED;
	uint32_t row = tide__push(&r->m->pendings, &tide_pendings_desc);
	if (!row)
		return nomem(r);
	r->m->pendings.alloc[row] = (tide_alloc_id){ alloc };
	r->m->pendings.t[row] = r->now;
	return add_event(r, TIDE_MEMORY_FREE_ASKED, row);
}

/* Adds one memory event for a free that completes at once, two for one that waits for a stream. */
static tide_code on_free_requested(replay *r, device *d, uint32_t event)
{
	const tide_snap_event *e = &r->s->events.v[event];
	if (d->next < d->trace.n) {
		const tide_snap_event *f = &r->s->events.v[tide__snap_event(&d->trace, d->next)];
		if (f->action == TIDE_SNAP_FREE_COMPLETED && f->addr == e->addr)
			return TIDE_OK;
	}
	uint32_t alloc = tide__geo_at(&d->geo, e->addr);
	if (!alloc) {
		d->geo.mismatches++;
		return TIDE_OK;
	}
	note_free(r, d, alloc);
	return tide__replay_ask(r, alloc);
}

static tide_code on_free_completed(replay *r, device *d, uint32_t event)
{
	uint32_t alloc;
	if (!tide__geo_give(&d->geo, r->s->events.v[event].addr, &alloc))
		return nomem(r);
	return alloc ? end_alloc(r, d, alloc, 0) : TIDE_OK;
}

/* ---- marks ---- */

static uint32_t new_mark(replay *r, uint8_t kind, const tide_snap_event *e)
{
	tide_marks *t = &r->m->marks;
	uint32_t row = tide__push(t, &tide_marks_desc);
	if (!row)
		return 0;
	t->t[row] = r->now;
	t->position[row] = r->m->memory_events.n;
	t->kind[row] = kind;
	t->stack[row] = (tide_stack_id){ e->stack };
	return row;
}

static tide_code on_oom(replay *r, device *d, uint32_t event)
{
	const tide_snap_event *e = &r->s->events.v[event];
	uint32_t row = new_mark(r, TIDE_MARK_OOM, e);
	if (!row)
		return nomem(r);
	r->m->marks.value[row] = (int64_t)e->size;
	r->m->marks.extra[row] = e->addr <= INT64_MAX ? (int64_t)e->addr : -1;
	r->m->marks.pool[row] = tide__replay_pool_in(r, d, 0, event);
	r->m->marks.lane[row] = tide__replay_lane(r, d, e->stream);
	r->m->marks.name[row] = tide__intern(r->m, "out of memory");
	return r->m->marks.name[row].i && r->m->marks.pool[row].i ? TIDE_OK : nomem(r);
}

static tide_code on_moment(replay *r, device *d, uint32_t event)
{
	const tide_snap_event *e = &r->s->events.v[event];
	tide_snap_note note;
	if (r->timed && tide__snap_note_of(r->m, e, d->number, &note))
		return TIDE_OK; /* a span has it */
	bool snap = e->action == TIDE_SNAP_SNAPSHOT;
	uint32_t row = new_mark(r, snap ? TIDE_MARK_SNAPSHOT : TIDE_MARK_ANNOTATION, e);
	if (!row)
		return nomem(r);
	r->m->marks.name[row] = tide__intern(r->m, tide__snap_action_text[e->action]);
	if (e->extra & TIDE_SNAP_HAS_EXTRA)
		r->m->marks.text[row] = tide__snap_extra_of(r->s, event)->metadata;
	return r->m->marks.name[row].i ? TIDE_OK : nomem(r);
}

static tide_code on_unknown(replay *r, device *d, uint32_t event)
{
	(void)d;
	(void)event;
	r->unknown_actions++;
	return TIDE_OK;
}

/* compile_context applies to a run of events: adds a mark wherever it changes. */
static tide_code on_context(replay *r, device *d, uint32_t event, const tide_snap_extra *x)
{
	tide_str context = x ? x->context : (tide_str){ 0 };
	if (context.i == d->context.i)
		return TIDE_OK;
	d->context = context;
	uint32_t row = new_mark(r, TIDE_MARK_ANNOTATION, &r->s->events.v[event]);
	if (!row)
		return nomem(r);
	r->m->marks.name[row] = tide__intern(r->m, "compile_context");
	r->m->marks.text[row] = context;
	return r->m->marks.name[row].i ? TIDE_OK : nomem(r);
}

/* Stores user_metadata of an alloc or an annotation, which describes its content. */
static tide_code on_metadata(replay *r, uint32_t alloc, const tide_snap_extra *x)
{
	uint32_t row = tide__push(&r->m->tensors, &tide_tensors_desc);
	if (!row)
		return nomem(r);
	r->m->tensors.alloc[row] = (tide_alloc_id){ alloc };
	r->m->tensors.name[row] = x->metadata;
	r->m->tensors.requires_grad[row] = 2;
	return TIDE_OK;
}

/* Names the allocation alive at its address, long after it was made. */
static tide_code on_annotate(replay *r, device *d, uint32_t event)
{
	const tide_snap_event *e = &r->s->events.v[event];
	uint32_t alloc = e->extra & TIDE_SNAP_NO_ADDR ? 0 : tide__geo_at(&d->geo, e->addr);
	if (!alloc || !(e->extra & TIDE_SNAP_HAS_EXTRA))
		return on_moment(r, d, event);
	const tide_snap_extra *x = tide__snap_extra_of(r->s, event);
	return x->metadata.i ? on_metadata(r, alloc, x) : TIDE_OK;
}

/* ---- all of them ---- */

tide_code tide__replay_event(replay *r, device *d, uint32_t event)
{
	static tide_code (*const handlers[])(replay *, device *, uint32_t) = {
		[TIDE_SNAP_ALLOC] = on_alloc,
		[TIDE_SNAP_FREE_REQUESTED] = on_free_requested,
		[TIDE_SNAP_FREE_COMPLETED] = on_free_completed,
		[TIDE_SNAP_SEGMENT_ALLOC] = on_segment_alloc,
		[TIDE_SNAP_SEGMENT_FREE] = on_segment_free,
		[TIDE_SNAP_SEGMENT_MAP] = on_segment_alloc,
		[TIDE_SNAP_SEGMENT_UNMAP] = on_segment_unmap,
		[TIDE_SNAP_SNAPSHOT] = on_moment,
		[TIDE_SNAP_OOM] = on_oom,
		[TIDE_SNAP_USER_DEFINED] = on_moment,
		[TIDE_SNAP_ANNOTATE] = on_annotate,
		[TIDE_SNAP_UNKNOWN] = on_unknown,
	};
	const tide_snap_event *e = &r->s->events.v[event];
	const tide_snap_extra *x =
		e->extra & TIDE_SNAP_HAS_EXTRA ? tide__snap_extra_of(r->s, event) : NULL;
	tide_code rc = x || d->context.i ? on_context(r, d, event, x) : TIDE_OK;
	if (!rc)
		rc = handlers[e->action](r, d, event);
	if (!rc && x && x->metadata.i && e->action == TIDE_SNAP_ALLOC)
		rc = on_metadata(r, (uint32_t)r->m->allocs.n - 1, x);
	return rc;
}
