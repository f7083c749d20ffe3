// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Adds rows of parsed blocks to the model's tables, in input order, in one thread. Data that can
 * only be resolved at the end (order, links, pairs, names) goes to scratch vectors for finish.c. */
#include <string.h>

#include "base/mem.h"
#include "import/kineto/kineto_impl.h"
#include "import/kineto/keywords.h"

/* Interns a text in the model; returns false if memory runs out. */
static bool intern(kin_build *b, jsonr_text *t, uint32_t *id)
{
	*id = 0;
	if (!t || !t->len)
		return true;
	if (!t->global)
		t->global = tide__intern_n(b->m, t->s, t->len).i;
	*id = t->global;
	return *id != 0;
}

/* Returns the number for an id (never 0), equal for equal ids of one document; 0 if memory ran
 * out. */
static uint32_t id_number(kin_build *b, uint64_t id)
{
	if (b->part <= 1 && id < UINT32_C(1) << 31)
		return (uint32_t)id + 1;
	uint64_t key = id + (uint64_t)b->part * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t n = tide__map_get(&b->ids, key);
	if (n)
		return n;
	n = UINT32_MAX - b->last_id;
	if (n <= UINT32_C(1) << 31 || !tide__map_put(&b->ids, key, n))
		return 0;
	b->last_id++;
	return n;
}

/* ---- lanes, processes, devices, counters ---- */

/* Returns a pid, tid, device or stream as a small number. */
static uint32_t small(kin_build *b, jsonr_val v)
{
	uint32_t text = 0;
	if (v.text && !intern(b, v.text, &text))
		return 0;
	tide_map *map = v.text ? &b->strs : &b->nums;
	uint64_t key = v.text ? text : (uint64_t)v.num;
	uint32_t n = tide__map_get(map, key);
	if (n)
		return n;
	n = b->n_small + 1;
	if (!tide__map_put(map, key, n))
		return 0;
	return b->n_small = n;
}

static uint32_t process_row(kin_build *b, jsonr_val pid)
{
	uint32_t k = small(b, pid), row = k ? tide__map_get(&b->process_of, k) : 0, text;
	if (row || !k)
		return row;
	row = tide__push(&b->m->processes, &tide_processes_desc);
	if (!row || !tide__map_put(&b->process_of, k, row) || !intern(b, pid.text, &text))
		return 0;
	b->m->processes.pid[row] = pid.text ? -1 : pid.num;
	b->m->processes.parent_pid[row] = b->m->processes.rank[row] = -1;
	b->m->processes.world[row] = -1;
	b->m->processes.command[row].i = text;
	return row;
}

uint32_t tide__kineto_get_device_row(kin_build *b, unsigned kind, int64_t index)
{
	uint64_t key = tide__mix((uint64_t)index) ^ kind;
	uint32_t row = tide__map_get(&b->device_of, key);
	if (row)
		return row;
	row = tide__push(&b->m->devices, &tide_devices_desc);
	if (!row || !tide__map_put(&b->device_of, key, row))
		return 0;
	b->m->devices.index[row] = index;
	b->m->devices.kind[row] = (uint8_t)kind;
	return row;
}

uint32_t tide__kineto_get_counter_row(kin_build *b, uint32_t name, uint32_t unit, uint32_t device)
{
	uint64_t key = (uint64_t)device << 32 | name;
	uint32_t row = tide__map_get(&b->counter_of, key);
	if (row)
		return row;
	row = tide__push(&b->m->counters, &tide_counters_desc);
	if (!row || !tide__map_put(&b->counter_of, key, row))
		return 0;
	b->m->counters.name[row].i = name;
	b->m->counters.unit[row].i = unit;
	b->m->counters.device[row].i = device;
	return row;
}

static tide_map *lane_map(kin_build *b, const kin_lane *l)
{
	unsigned k = l->kind != TIDE_LANE_OTHER	   ? l->kind
		     : l->cat == TIDE_CAT_SYNC	   ? 4
		     : l->cat == TIDE_CAT_COUNTERS ? 5
						   : 6;
	return &b->lane_of[k];
}

/* finish (device_kind) decides which kind of device the stream's number refers to. */
static bool fill_lane(kin_build *b, const kin_lane *l, uint32_t row)
{
	tide_lanes *t = &b->m->lanes;
	uint32_t text;
	bool stream = l->kind == TIDE_LANE_STREAM || l->cat == TIDE_CAT_SYNC;
	t->kind[row] = l->kind;
	t->number[row] = l->b.text ? -1 : l->b.num;
	if (!intern(b, l->b.text, &text))
		return false;
	t->name[row].i = text;
	if (stream)
		t->device[row].i =
			tide__kineto_get_device_row(b, TIDE_DEVICE_CUDA, l->a.text ? -1 : l->a.num);
	else
		t->process[row].i = process_row(b, l->a);
	return stream ? t->device[row].i : t->process[row].i;
}

/* Created on first use; 0 if memory runs out. */
static uint32_t lane_row(kin_build *b, kin_lane *l)
{
	if (l->global)
		return l->global;
	uint32_t x = small(b, l->a), y = small(b, l->b);
	if (!x || !y)
		return 0;
	tide_map *map = lane_map(b, l);
	uint64_t key = (uint64_t)x << 32 | y;
	uint32_t row = tide__map_get(map, key);
	if (!row) {
		row = tide__push(&b->m->lanes, &tide_lanes_desc);
		if (!row || !fill_lane(b, l, row) || !tide__map_put(map, key, row))
			return 0;
	}
	return l->global = row;
}

/* ---- rows ---- */

static bool grow_spans(kin_build *b)
{
	tide_spans *s = &b->m->spans;
	if (s->n >= UINT32_MAX - 1 || !tide__table_reserve(s, &tide_spans_desc, 1))
		return false;
	if (!TIDE_RESIZE(b->link, s->cap))
		return false;
	if (b->want & TIDE_WANT_ARGS) {
		if (!TIDE_RESIZE(b->m->span_src, s->cap))
			return false;
		b->m->span_src[0] = 0;
	}
	if (b->want & TIDE_WANT_RAW) {
		if (!TIDE_RESIZE(b->m->span_raw, s->cap))
			return false;
		b->m->span_raw[0] = (tide_raw){ -1, -1, -1 };
	}
	b->link[0] = 0;
	b->cap_link = s->cap;
	return true;
}

static void saw(kin_build *b, int64_t t0, int64_t t1)
{
	if (t0 < b->t_min)
		b->t_min = t0;
	if (t1 > b->t_max)
		b->t_max = t1;
}

/* finish writes parent, cause and stack, so their pages need not exist while the columns grow. */
static uint32_t put_span(kin_build *b, int64_t t0, int64_t t1, uint32_t lane, uint32_t name,
			 unsigned cat, uint64_t src)
{
	tide_spans *s = &b->m->spans;
	if (s->n >= b->cap_link && !grow_spans(b))
		return 0;
	uint32_t i = (uint32_t)s->n++;
	s->t0[i] = t0;
	s->t1[i] = t1;
	s->lane[i].i = lane;
	s->name[i].i = name;
	s->cat[i] = (uint8_t)cat;
	s->flags[i] = 0;
	b->link[i] = 0;
	if (b->m->span_src)
		b->m->span_src[i] = src + 1;
	saw(b, t0, t1);
	return i;
}

static bool put_attrs(kin_build *b, uint32_t span, const kin_attr *a, size_t n)
{
	tide_attrs *t = &b->m->attrs;
	for (size_t i = 0; i < n; i++) {
		size_t row;
		uint32_t key, text;
		if (!intern(b, a[i].key, &key) || !intern(b, a[i].text, &text) ||
		    !tide__table_push(t, &tide_attrs_desc, &row))
			return false;
		t->span[row].i = span;
		t->key[row].i = key;
		t->text[row].i = text;
		t->number[row] = a[i].number;
	}
	return true;
}

static bool put_ref(kin_build *b, uint32_t span, uint64_t id, unsigned what)
{
	kin_ref *r = TIDE_PUSH(b, refs);
	if (r)
		*r = (kin_ref){ id, span, what };
	return r;
}

static bool add_span(kin_build *b, const kin_row *r, const kin_attr *a, const tide_raw *raw)
{
	uint32_t lane = lane_row(b, r->lane), name;
	if (!(b->want & TIDE_WANT_SPANS)) {
		saw(b, r->ts, r->ts + r->dur);
		return true;
	}
	if (!lane || !intern(b, r->name, &name))
		return false;
	uint32_t i = put_span(b, r->ts, r->ts + r->dur, lane, name, r->cat, r->src);
	if (!i)
		return false;
	if (r->flags & KIN_HAS_ID && !(b->link[i] = id_number(b, r->id)))
		return false;
	if (r->cat == TIDE_CAT_PYTHON) /* until spans are sorted: the caller's number */
		b->m->spans.parent[i].i = r->flags & KIN_HAS_CALLER ? id_number(b, r->ext) : 0;
	if (r->flags & (KIN_HAS_EXT | KIN_HAS_SEQ | KIN_HAS_REC)) {
		uint64_t id = r->flags & KIN_HAS_SEQ ? r->ext : id_number(b, r->ext);
		if (!(r->flags & KIN_HAS_SEQ && !(b->want & TIDE_WANT_FLOWS)) &&
		    !put_ref(b, i, id, r->flags))
			return false;
	}
	if (b->m->span_raw)
		b->m->span_raw[i] = (tide_raw){ (int64_t)(b->events + r->index),
						raw ? raw->corr : -1, raw ? raw->stream : -1 };
	return put_attrs(b, i, a, r->n_attrs);
}

static bool add_flow(kin_build *b, const kin_row *r)
{
	kin_flow *f = TIDE_PUSH(b, flows);
	uint32_t lane = lane_row(b, r->lane);
	if (!f || !lane)
		return false;
	*f = (kin_flow){ .id = id_number(b, r->id),
			 .ts = r->ts,
			 .lane = lane,
			 .in = r->kind == KIN_FLOW_IN,
			 .kind = r->cat };
	return f->id;
}

static bool add_memory(kin_build *b, const kin_row *r, const kin_mem *mem)
{
	kin_memory_event *v = TIDE_PUSH(b, memory_events);
	uint32_t lane = lane_row(b, r->lane);
	if (!v || !lane)
		return false;
	*v = (kin_memory_event){ .mem = *mem, .ts = r->ts, .lane = lane };
	saw(b, r->ts, r->ts);
	return true;
}

/* Names a counter "name" if it has one value, else "name.key" for each value. */
static bool add_counter(kin_build *b, const kin_row *r, const kin_attr *a)
{
	for (uint32_t i = 0; i < r->n_attrs; i++) {
		char text[512];
		size_t row, n = r->name ? r->name->len : 0, k = a[i].key->len;
		uint32_t name;
		if (r->n_attrs == 1 || n + k + 2 > sizeof text) {
			if (!intern(b, r->n_attrs == 1 && n ? r->name : a[i].key, &name))
				return false;
		} else {
			memcpy(text, r->name ? r->name->s : "", n);
			text[n] = '.';
			memcpy(text + n + 1, a[i].key->s, k);
			name = tide__intern_n(b->m, text, n + 1 + k).i;
		}
		uint32_t counter = name ? tide__kineto_get_counter_row(b, name, 0, 0) : 0;
		if (!counter || !tide__table_push(&b->m->samples, &tide_samples_desc, &row))
			return false;
		b->m->samples.t[row] = r->ts;
		b->m->samples.counter[row].i = counter;
		memcpy(&b->m->samples.value[row], &a[i].number, sizeof(double));
	}
	saw(b, r->ts, r->ts);
	return true;
}

static bool add_instant(kin_build *b, const kin_row *r)
{
	uint32_t row = tide__push(&b->m->marks, &tide_marks_desc), name;
	if (!row || !intern(b, r->name, &name))
		return false;
	b->m->marks.t[row] = r->ts;
	b->m->marks.name[row].i = name;
	b->m->marks.kind[row] = r->cat;
	b->m->marks.value[row] = r->cat != TIDE_MARK_ANNOTATION ? (int64_t)r->id : 0;
	b->m->marks.extra[row] = -1;
	if (r->lane && !(b->m->marks.lane[row].i = lane_row(b, r->lane)))
		return false;
	saw(b, r->ts, r->ts);
	return true;
}

static bool add_half(kin_build *b, const kin_row *r)
{
	kin_half *h = TIDE_PUSH(b, halves);
	if (!h)
		return false;
	*h = (kin_half){ .ts = r->ts, .id = r->id, .src = r->src, .kind = r->kind, .cat = r->cat };
	h->lane = lane_row(b, r->lane);
	saw(b, r->ts, r->ts);
	return h->lane && intern(b, r->name, &h->name);
}

/* Maps a track to the thread it belongs to (render/export/chrome_memory_owner.c). */
static bool add_track(kin_build *b, const kin_row *r)
{
	kin_lane of = { .kind = TIDE_LANE_THREAD, .a = r->lane->a, .b = { .num = (int64_t)r->id } };
	uint32_t row = lane_row(b, &of), x = small(b, r->lane->a), y = small(b, r->lane->b);
	tide_map *map = lane_map(b, &of);
	uint64_t key = (uint64_t)x << 32 | y;
	return row && x && y && (tide__map_get(map, key) || tide__map_put(map, key, row));
}

static bool add_name(kin_build *b, const kin_row *r)
{
	kin_name *n = TIDE_PUSH(b, names);
	if (!n)
		return false;
	*n = (kin_name){ .a = small(b, r->lane->a), .b = small(b, r->lane->b), .kind = r->kind };
	return n->a && n->b && intern(b, r->name, &n->name);
}

static bool add_window(kin_build *b, const kin_row *r)
{
	if (b->n_windows >= KIN_WINDOWS_MAX)
		return true;
	kin_window *w = TIDE_PUSH(b, windows);
	if (!w)
		return false;
	*w = (kin_window){ .ts = r->ts,
			   .dur = r->dur,
			   .ops = r->flags & KIN_HAS_ID ? (int64_t)r->id : -1 };
	return intern(b, r->name, &w->name.i);
}

static bool add_row(kin_build *b, const kin_row *r, const kin_attr *a, const kin_mem *mem,
		    const tide_raw *raw)
{
	switch ((kin_kind)r->kind) {
	case KIN_SPAN:
		return add_span(b, r, a, raw);
	case KIN_FLOW_OUT:
	case KIN_FLOW_IN:
		return add_flow(b, r);
	case KIN_MEMORY:
		return add_memory(b, r, mem);
	case KIN_COUNTER:
		return add_counter(b, r, a);
	case KIN_INSTANT:
		return add_instant(b, r);
	case KIN_BEGIN:
	case KIN_END:
	case KIN_ASYNC_BEGIN:
	case KIN_ASYNC_END:
		return add_half(b, r);
	case KIN_NAME_THREAD:
	case KIN_NAME_PROCESS:
	case KIN_LABEL_PROCESS:
		return add_name(b, r);
	case KIN_TRACK_OF:
		return add_track(b, r);
	case KIN_PROFILER:
		return add_window(b, r);
	}
	return true;
}

bool tide__kineto_add(kin_build *b, const kin_out *o)
{
	const kin_attr *a = o->attrs;
	const kin_mem *mem = o->mems;
	size_t spans = 0;
	for (size_t i = 0; i < o->n_rows; i++) {
		const kin_row *r = &o->rows[i];
		if (!add_row(b, r, a, mem, spans < o->n_raws ? &o->raws[spans] : NULL))
			return false;
		if (r->n_attrs)
			a += r->n_attrs;
		if (r->kind == KIN_MEMORY)
			mem++;
		spans += r->kind == KIN_SPAN;
	}
	for (size_t i = 0; i < o->n_metas; i++) {
		if (b->n_metas >= KIN_METAS_MAX) {
			b->loss[KIN_LOSS_META] += o->n_metas - i;
			break;
		}
		kin_meta *m = TIDE_PUSH(b, metas);
		if (!m)
			return false;
		*m = o->metas[i];
	}
	for (unsigned i = 0; i < o->seen.n; i++)
		tide__kineto_saw(&b->seen, o->seen.at[i].type, o->seen.at[i].device);
	b->seen.hip |= o->seen.hip;
	if (o->seen.any)
		saw(b, o->seen.t_min, o->seen.t_max);
	for (int i = 0; i < KIN_N_LOSS; i++)
		b->loss[i] += o->loss[i];
	b->events += o->events;
	return true;
}

void tide__kineto_build_fini(kin_build *b)
{
	tide__free(b->link);
	tide__free(b->refs);
	tide__free(b->flows);
	tide__free(b->halves);
	tide__free(b->memory_events);
	tide__free(b->before);
	tide__free(b->names);
	tide__free(b->metas);
	tide__free(b->windows);
	tide__map_free(&b->ids);
	tide__map_free(&b->nums);
	tide__map_free(&b->strs);
	for (size_t i = 0; i < sizeof b->lane_of / sizeof *b->lane_of; i++)
		tide__map_free(&b->lane_of[i]);
	tide__map_free(&b->device_of);
	tide__map_free(&b->process_of);
	tide__map_free(&b->counter_of);
}
