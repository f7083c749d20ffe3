// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A plane is a device or a host, a line is a stream or a thread, an event has its name in the
 * plane's metadata. Each plane is read twice, because its lines come before its metadata. Times are
 * ps after a line's start and become ns, rounded down at both ends. */
#include "import/xplane/xplane.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/pb/pb.h"
#include "import/source.h"
#include "import/xla_names.h"
#include "model/span_parents.h"

enum { SPACE_PLANE = 1, SPACE_LAST = 4 };
enum { PLANE_NAME = 2, PLANE_LINE = 3, PLANE_EVENTS = 4, PLANE_STATS = 5, PLANE_STAT = 6 };
enum { LINE_ID = 1, LINE_NAME = 2, LINE_NS = 3, LINE_EVENT = 4, LINE_DISPLAY = 11 };
enum { EVENT_META = 1, EVENT_OFFSET = 2, EVENT_DURATION = 3, EVENT_STAT = 4 };
enum { META_NAME = 2, META_DISPLAY = 4, META_STAT = 5 };
enum { STAT_META = 1, STAT_DOUBLE = 2, STAT_UINT = 3, STAT_INT = 4, STAT_STR = 5, STAT_REF = 7 };
enum { LATEST = 4 }; /* no time is beyond INT64_MAX / LATEST ns */

typedef struct named { /* an entry of a plane's metadata */
	tide_str name;
	tide_pb stats;
} named;

typedef struct metadata {
	named *v; /* owned */
	size_t n, cap;
	tide_map of; /* id -> index + 1 */
} metadata;

typedef struct pending { /* a device row that waits for its launch */
	uint32_t span;
	uint64_t correlation;
} pending;

typedef struct keys { /* names of the stats that are used */
	tide_str correlation, copy, bytes, vendor, memory, type, pid, begin, op, module, category;
} keys;

typedef struct plane {
	tide_str name;
	metadata events, stats;
	tide_xla_device device;
	uint32_t device_row, process; /* one of them, or neither: the plane has no lanes */
	bool is_device, streams;
} plane;

typedef struct space {
	tide_model *m;
	const uint8_t *data;
	keys keys;
	pending *pending; /* owned */
	size_t n_pending, cap_pending;
	tide_map launches;	   /* correlation -> span */
	int64_t first, last, wall; /* ns; of all events; the wall clock's at 0 */
	uint64_t bad_times, undefined;
	bool hip;
	tide_code rc;
	tide_error *err;
} space;

static bool nomem(space *s)
{
	s->rc = tide__nomem(s->err);
	return false;
}

static bool whole(space *s, const tide_pb *p)
{
	if (!p->bad)
		return true;
	s->rc = tide__fail(s->err, TIDE_ECORRUPT, (uint64_t)(p->at - s->data),
			   "not a protobuf field");
	return false;
}

static tide_str intern(space *s, const tide_pb_field *f)
{
	return f->type == TIDE_PB_BYTES && f->n ? tide__intern_n(s->m, (const char *)f->data, f->n)
						: (tide_str){ 0 };
}

/* ---- metadata ---- */

/* Reads an entry of a map: key, and a message with a name. */
static bool put_metadata(space *s, metadata *list, const tide_pb_field *entry)
{
	tide_pb in = tide__pb_message(entry), value = { 0 };
	tide_pb_field f;
	uint64_t id = 0;
	named e = { 0 };
	while (tide__pb_next(&in, &f)) {
		if (f.number == 1)
			id = f.value;
		else if (f.number == 2)
			value = tide__pb_message(&f);
	}
	e.stats = value;
	for (tide_str display = { 0 }; tide__pb_next(&value, &f);) {
		if (f.number == META_NAME && !display.i)
			e.name = intern(s, &f);
		else if (f.number == META_DISPLAY && f.type == TIDE_PB_BYTES && f.n)
			e.name = display = intern(s, &f);
	}
	if (!whole(s, &in) || !whole(s, &value))
		return false;
	if (tide__map_get(&list->of, id))
		return true;
	if (!TIDE_ROOM(list->v, list->cap, list->n + 1) ||
	    !tide__map_put(&list->of, id, (uint32_t)list->n + 1))
		return nomem(s);
	list->v[list->n++] = e;
	return true;
}

static const named *metadata_of(space *s, const metadata *list, uint64_t id)
{
	static const named none;
	uint32_t i = tide__map_get(&list->of, id);
	s->undefined += !i;
	return i ? &list->v[i - 1] : &none;
}

/* ---- stats ---- */

typedef struct stat {
	tide_str key, text;
	uint64_t number;
} stat;

static bool read_stat(space *s, plane *p, const tide_pb_field *field, stat *out)
{
	tide_pb in = tide__pb_message(field);
	tide_pb_field f;
	*out = (stat){ 0 };
	while (tide__pb_next(&in, &f)) {
		if (f.number == STAT_META)
			out->key = metadata_of(s, &p->stats, f.value)->name;
		else if (f.number == STAT_UINT || f.number == STAT_INT)
			out->number = f.value;
		else if (f.number == STAT_STR)
			out->text = intern(s, &f);
		else if (f.number == STAT_REF)
			out->text = metadata_of(s, &p->stats, f.value)->name;
	}
	if (out->text.i) /* a number as a text */
		out->number = strtoull(tide__text(s->m, out->text, NULL), NULL, 10);
	return whole(s, &in);
}

/* ---- planes ---- */

static void plane_stat(space *s, plane *p, const stat *v)
{
	tide_devices *d = &s->m->devices;
	if (v->key.i == s->keys.begin.i && v->number < INT64_MAX / LATEST)
		s->wall = (int64_t)v->number;
	if (v->key.i == s->keys.pid.i && p->process && v->number <= INT32_MAX)
		s->m->processes.pid[p->process] = (int64_t)v->number;
	if (!p->device_row)
		return;
	if (v->key.i == s->keys.memory.i && v->number < UINT64_C(1) << 48)
		d->capacity[p->device_row] = v->number;
	if (v->key.i == s->keys.type.i && d->kind[p->device_row] == TIDE_DEVICE_CUDA)
		d->name[p->device_row] = v->text;
	s->hip |= v->key.i == s->keys.vendor.i && v->text.i &&
		  !strcmp(tide__text(s->m, v->text, NULL), "AMD");
}

static tide_str line_name(space *s, tide_pb line)
{
	tide_pb_field f;
	tide_str name = { 0 }, display = { 0 };
	while (tide__pb_next(&line, &f)) {
		name = f.number == LINE_NAME ? intern(s, &f) : name;
		display = f.number == LINE_DISPLAY ? intern(s, &f) : display;
	}
	return display.i ? display : name;
}

static bool has_events(tide_pb line)
{
	tide_pb_field f;
	while (tide__pb_next(&line, &f))
		if (f.number == LINE_EVENT)
			return true;
	return false;
}

static uint32_t device_row(space *s, const tide_xla_device *device)
{
	tide_devices *d = &s->m->devices;
	tide_str name = device->kind == TIDE_DEVICE_OTHER ? tide__intern(s->m, device->name)
							  : (tide_str){ 0 };
	for (uint32_t i = 1; i < d->n; i++)
		if (d->kind[i] == device->kind && d->index[i] == device->index &&
		    (!name.i || d->name[i].i == name.i))
			return i;
	uint32_t row = tide__push(d, &tide_devices_desc);
	if (row) {
		d->kind[row] = (uint8_t)device->kind;
		d->index[row] = device->index;
		d->name[row] = name;
	}
	return row;
}

static bool make_process(space *s, plane *p)
{
	tide_processes *t = &s->m->processes;
	p->process = tide__push(t, &tide_processes_desc);
	if (!p->process)
		return nomem(s);
	t->pid[p->process] = t->parent_pid[p->process] = -1;
	t->rank[p->process] = t->world[p->process] = -1;
	t->command[p->process] = p->name;
	return true;
}

/* First pass: name, metadata, and whether a line is a stream. */
static bool describe(space *s, plane *p, tide_pb in, bool *any)
{
	tide_pb_field f;
	tide_pb all = in;
	bool ok = true;
	while (ok && tide__pb_next(&in, &f)) {
		if (f.number == PLANE_NAME)
			p->name = intern(s, &f);
		else if (f.number == PLANE_EVENTS)
			ok = put_metadata(s, &p->events, &f);
		else if (f.number == PLANE_STATS)
			ok = put_metadata(s, &p->stats, &f);
		else if (f.number == PLANE_LINE && has_events(tide__pb_message(&f))) {
			*any = true;
			p->streams |= tide__xla_is_stream(
				tide__text(s->m, line_name(s, tide__pb_message(&f)), NULL));
		}
	}
	if (!ok || !whole(s, &in))
		return false;
	p->is_device = tide__xla_device(tide__text(s->m, p->name, NULL), &p->device);
	if (p->is_device && *any && !(p->device_row = device_row(s, &p->device)))
		return nomem(s);
	if (!p->is_device && *any && !make_process(s, p))
		return false;
	while (tide__pb_next(&all, &f)) {
		stat v;
		if (f.number != PLANE_STAT)
			continue;
		if (!read_stat(s, p, &f, &v))
			return false;
		plane_stat(s, p, &v);
	}
	return true;
}

/* ---- events ---- */

typedef struct line {
	plane *p;
	uint32_t lane;
	int64_t ns; /* start of the line */
	tide_xla_lane kind;
} line;

static bool put_attr(space *s, uint32_t span, tide_str key, tide_str text, int64_t number)
{
	size_t row;
	if (!tide__table_push(&s->m->attrs, &tide_attrs_desc, &row))
		return nomem(s);
	s->m->attrs.span[row].i = span;
	s->m->attrs.key[row] = key;
	s->m->attrs.text[row] = text;
	s->m->attrs.number[row] = number;
	return true;
}

static bool use_correlation(space *s, uint32_t span, uint64_t correlation, bool device)
{
	tide_spans *t = &s->m->spans;
	if (!device) {
		t->cat[span] = TIDE_CAT_RUNTIME;
		return tide__map_get(&s->launches, correlation) ||
		       tide__map_put(&s->launches, correlation, span) || nomem(s);
	}
	if (!TIDE_ROOM(s->pending, s->cap_pending, s->n_pending + 1))
		return nomem(s);
	s->pending[s->n_pending++] = (pending){ span, correlation };
	return true;
}

static bool use_stat(space *s, const line *l, uint32_t span, const stat *v)
{
	const keys *k = &s->keys;
	bool device = l->kind != TIDE_XLA_NO_DEVICE;
	if (v->key.i == k->correlation.i && v->number)
		return use_correlation(s, span, v->number, device);
	if (device && v->key.i == k->copy.i) {
		int64_t bytes = tide__xla_copy_bytes(tide__text(s->m, v->text, NULL));
		return bytes < 0 || !tide__cat_is_gpu(s->m->spans.cat[span]) ||
		       put_attr(s, span, k->bytes, (tide_str){ 0 }, bytes);
	}
	bool kept = v->key.i == k->op.i || v->key.i == k->module.i || v->key.i == k->category.i;
	return !device || !kept || !v->text.i || put_attr(s, span, v->key, v->text, 0);
}

static bool use_stats(space *s, const line *l, uint32_t span, tide_pb in, unsigned field)
{
	tide_pb_field f;
	while (tide__pb_next(&in, &f)) {
		stat v;
		if (f.number == field && (!read_stat(s, l->p, &f, &v) || !use_stat(s, l, span, &v)))
			return false;
	}
	return whole(s, &in);
}

static bool put_event(space *s, const line *l, tide_pb event)
{
	tide_pb in = event;
	tide_pb_field f;
	uint64_t meta = 0, offset = 0, duration = 0;
	while (tide__pb_next(&in, &f)) {
		meta = f.number == EVENT_META ? f.value : meta;
		offset = f.number == EVENT_OFFSET ? f.value : offset;
		duration = f.number == EVENT_DURATION ? f.value : duration;
	}
	if (!whole(s, &in))
		return false;
	if (offset > INT64_MAX / LATEST || duration > INT64_MAX / LATEST) {
		s->bad_times++;
		return true;
	}
	const named *name = metadata_of(s, &l->p->events, meta);
	tide_spans *t = &s->m->spans;
	uint32_t row = tide__push(t, &tide_spans_desc);
	if (!row)
		return nomem(s);
	t->t0[row] = l->ns + (int64_t)(offset / 1000);
	t->t1[row] = l->ns + (int64_t)((offset + duration) / 1000);
	t->lane[row].i = l->lane;
	t->name[row] = name->name;
	t->cat[row] =
		(uint8_t)(l->kind == TIDE_XLA_NO_DEVICE
				  ? TIDE_CAT_OTHER
				  : tide__xla_cat(l->kind, tide__text(s->m, name->name, NULL)));
	s->first = t->t0[row] < s->first ? t->t0[row] : s->first;
	s->last = t->t1[row] > s->last ? t->t1[row] : s->last;
	bool own = l->kind != TIDE_XLA_NO_DEVICE && name->stats.at;
	return use_stats(s, l, row, event, EVENT_STAT) &&
	       (!own || use_stats(s, l, row, name->stats, META_STAT));
}

static bool put_line(space *s, plane *p, tide_pb in)
{
	tide_lanes *t = &s->m->lanes;
	tide_pb all = in;
	tide_pb_field f;
	int64_t id = 0;
	line l = { .p = p };
	while (tide__pb_next(&in, &f)) {
		id = f.number == LINE_ID ? (int64_t)f.value : id;
		l.ns = f.number == LINE_NS ? (int64_t)f.value : l.ns;
	}
	if (!whole(s, &in) || !has_events(all))
		return s->rc == TIDE_OK;
	if (l.ns < -INT64_MAX / LATEST || l.ns > INT64_MAX / LATEST) {
		s->bad_times++;
		return true;
	}
	tide_str name = line_name(s, all);
	const char *text = tide__text(s->m, name, NULL);
	if (!(l.lane = tide__push(t, &tide_lanes_desc)))
		return nomem(s);
	l.kind = p->is_device ? tide__xla_lane(text, p->streams) : TIDE_XLA_NO_DEVICE;
	t->kind[l.lane] = p->is_device ? TIDE_LANE_STREAM : TIDE_LANE_THREAD;
	t->device[l.lane].i = p->device_row;
	t->process[l.lane].i = p->process;
	t->number[l.lane] = p->is_device ? tide__xla_lane_number(text, id, p->streams) : id;
	t->name[l.lane] = name;
	while (tide__pb_next(&all, &f))
		if (f.number == LINE_EVENT && f.type == TIDE_PB_BYTES &&
		    !put_event(s, &l, tide__pb_message(&f)))
			return false;
	return true;
}

static bool put_plane(space *s, tide_pb in)
{
	plane p = { 0 };
	tide_pb_field f;
	bool any = false, ok = describe(s, &p, in, &any);
	while (ok && any && tide__pb_next(&in, &f))
		if (f.number == PLANE_LINE && f.type == TIDE_PB_BYTES)
			ok = put_line(s, &p, tide__pb_message(&f));
	tide__free(p.events.v);
	tide__free(p.stats.v);
	tide__map_free(&p.events.of);
	tide__map_free(&p.stats.of);
	return ok;
}

/* ---- all of it ---- */

static bool make_keys(space *s)
{
	keys *k = &s->keys;
	const struct {
		tide_str *id;
		const char *name;
	} all[] = { { &k->correlation, "correlation_id" },
		    { &k->copy, "memcpy_details" },
		    { &k->bytes, "bytes" },
		    { &k->vendor, "device_vendor" },
		    { &k->memory, "memory_size" },
		    { &k->type, "device_type_string" },
		    { &k->pid, "process_id" },
		    { &k->begin, "profile_start_time" },
		    { &k->op, "hlo_op" },
		    { &k->module, "hlo_module" },
		    { &k->category, "hlo_category" } };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!(*all[i].id = tide__intern(s->m, all[i].name)).i)
			return nomem(s);
	return true;
}

static void link_launches(space *s)
{
	for (size_t i = 0; i < s->n_pending; i++)
		s->m->spans.cause[s->pending[i].span].i =
			tide__map_get(&s->launches, s->pending[i].correlation);
}

static bool finish(space *s)
{
	tide_model *m = s->m;
	if (s->first > s->last)
		s->first = s->last = 0;
	for (size_t i = 1; i < m->spans.n; i++) {
		m->spans.t0[i] -= s->first;
		m->spans.t1[i] -= s->first;
	}
	m->t_end = s->last - s->first;
	if (s->wall) { /* lines count from the profile's start, or from 1970 */
		m->wall0_ns = s->first >= s->wall ? s->first : s->wall + s->first;
		m->wall_known = true;
	}
	for (size_t i = 1; i < m->devices.n && s->hip; i++)
		if (m->devices.kind[i] == TIDE_DEVICE_CUDA)
			m->devices.kind[i] = TIDE_DEVICE_HIP;
	for (size_t i = 1; i < m->lanes.n && m->processes.n > 1; i++)
		if (!m->lanes.process[i].i)
			m->lanes.process[i].i = 1;
	link_launches(s);
	if (m->spans.n > 1 && !tide__find_span_parents(m, NULL, 0, NULL, 0))
		return nomem(s);
	tide__xla_mark_containers(m);
	const struct {
		const char *key;
		uint64_t n;
	} losses[] = { { "loss.bad_timestamps", s->bad_times },
		       { "loss.undefined_ids", s->undefined } };
	for (size_t i = 0; i < 2; i++)
		if (losses[i].n && !tide__fact_set_number(m, losses[i].key, (int64_t)losses[i].n))
			return nomem(s);
	return true;
}

tide_code tide__xplane_import(const uint8_t *data, size_t n, tide_model *m, tide_error *err)
{
	space s = { .m = m, .data = data, .err = err, .first = INT64_MAX, .last = INT64_MIN };
	tide_pb all = tide__pb_of(data, n);
	tide_pb_field f;
	bool ok = make_keys(&s);
	while (ok && tide__pb_next(&all, &f))
		if (f.number == SPACE_PLANE && f.type == TIDE_PB_BYTES)
			ok = put_plane(&s, tide__pb_message(&f));
	if (ok && whole(&s, &all))
		finish(&s);
	tide__free(s.pending);
	tide__map_free(&s.launches);
	return s.rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_whole_file in;
	tide_code rc = tide__source_read_all(path, opt->max_expanded, (size_t)4 << 30, 0, &in, err);
	if (!rc)
		rc = tide__xplane_import(in.data, in.n, m, err);
	tide__free(in.data);
	return rc;
}

static bool is_plane_name(const uint8_t *s, size_t n)
{
	static const char *const names[] = { "/device:", "/host:", "Task Environment" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (n >= strlen(names[i]) && !memcmp(s, names[i], strlen(names[i])))
			return true;
	return false;
}

/* A plane, whose name is among its first fields; it may continue beyond these bytes. */
static int sniff(const uint8_t *head, size_t n)
{
	tide_pb p = tide__pb_of(head, n);
	tide_pb_field f;
	uint64_t size;
	if (n < 4 || head[0] != (SPACE_PLANE << 3 | TIDE_PB_BYTES))
		return 0;
	p.at++;
	if (!tide__pb_varint(&p, &size))
		return 0;
	p.end = size < (uint64_t)(p.end - p.at) ? p.at + size : p.end;
	while (tide__pb_next(&p, &f) && f.number <= PLANE_NAME)
		if (f.number == PLANE_NAME)
			return f.type == TIDE_PB_BYTES && is_plane_name(f.data, f.n) ? 90 : 0;
	return 0;
}

const tide_importer tide__import_xplane = {
	.name = "xplane",
	.what = "profile of XLA (.xplane.pb of JAX and TensorFlow), plain, gzip or zstd",
	.sniff = sniff,
	.load = load,
};
