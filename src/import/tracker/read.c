// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Converts the sections of a profile to rows. Times stay those of the document. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "import/tracker/tracker_impl.h"

enum { LANES_MOST = 4096 };
#define MB INT64_C(1048576)

/* ---- moments ---- */

/* Reads the time of a record: Unix nanoseconds if it has them, else its timestamp. */
static bool moment(const trk *t, jsonr_slice ns, jsonr_slice iso, int64_t *out)
{
	bool zoned;
	if (tide__tracker_parse_number(t, ns, 1, out))
		return *out >= 0 && *out < INT64_MAX / 2;
	if (!tide__tracker_parse_iso(t, iso, out, &zoned))
		return false;
	*out += zoned ? 0 : t->zone;
	return true;
}

/* A record with both times shows the zone of the timestamps. */
static bool learn_zone(trk *t, jsonr_slice list, const char *ns_name)
{
	const char *names[] = { ns_name, "timestamp" };
	jsonr_slice v[2], key, first;
	int64_t ns, iso;
	bool zoned;
	jsonr_walk w = tide__tracker_walk(t, list);
	if (!tide__tracker_next(t, &w, &key, &first) ||
	    !tide__tracker_find_fields(t, first, names, 2, v))
		return t->rc == TIDE_OK;
	if (!tide__tracker_parse_number(t, v[0], 1, &ns) || ns < 0 || ns >= INT64_MAX / 2)
		return true;
	t->unix_time = true;
	if (tide__tracker_parse_iso(t, v[1], &iso, &zoned) && !zoned)
		t->zone =
			(ns - iso + (ns > iso ? 500000000 : -500000000)) / 1000000000 * 1000000000;
	return true;
}

/* ---- operations ---- */

static uint32_t new_lane(trk *t, int64_t number)
{
	uint32_t row = tide__push(&t->m->lanes, &tide_lanes_desc);
	if (!row) {
		tide__tracker_nomem(t);
		return 0;
	}
	t->m->lanes.process[row].i = 1;
	t->m->lanes.number[row] = number;
	t->m->lanes.kind[row] = TIDE_LANE_THREAD;
	return row;
}

/* Returns the lane of a thread; those without one, and those past the limit, share one. */
static uint32_t lane(trk *t, jsonr_slice thread)
{
	int64_t number;
	if (!tide__tracker_parse_number(t, thread, 1, &number) || t->m->lanes.n > LANES_MOST) {
		if (!t->lane_of_none)
			t->lane_of_none = new_lane(t, 0);
		return t->lane_of_none;
	}
	uint32_t row = tide__map_get(&t->lanes, (uint64_t)number);
	if (!row && (row = new_lane(t, number)) && !tide__map_put(&t->lanes, (uint64_t)number, row))
		tide__tracker_nomem(t);
	return row;
}

static void attr(trk *t, uint32_t span, const char *key, tide_str text, int64_t number)
{
	size_t row;
	tide_str k = tide__intern(t->m, key);
	if (!k.i || !tide__table_push(&t->m->attrs, &tide_attrs_desc, &row)) {
		tide__tracker_nomem(t);
		return;
	}
	t->m->attrs.span[row].i = span;
	t->m->attrs.key[row] = k;
	t->m->attrs.text[row] = text;
	t->m->attrs.number[row] = number;
}

static void attr_text(trk *t, uint32_t span, const char *key, jsonr_slice v)
{
	tide_str text;
	if (v.type == '"' && v.n)
		attr(t, span, key, tide__tracker_intern(t, v), 0);
	else if ((text = tide__tracker_intern_shape(t, v)).i)
		attr(t, span, key, text, 0);
}

static void attr_number(trk *t, uint32_t span, const char *key, jsonr_slice v, int64_t scale)
{
	int64_t n;
	if (tide__tracker_parse_number(t, v, scale, &n))
		attr(t, span, key, (tide_str){ 0 }, n);
}

/* Adds one span. Returns 0 if the record has no time or memory ran out. */
static uint32_t put_span(trk *t, jsonr_slice start_ns, jsonr_slice timestamp, jsonr_slice duration,
			 jsonr_slice thread, tide_str name, uint8_t cat)
{
	int64_t t0, took = 0;
	if (!moment(t, start_ns, timestamp, &t0)) {
		t->bad++;
		return 0;
	}
	bool known = tide__tracker_parse_number(t, duration, 1000, &took) && took >= 0 &&
		     took < INT64_MAX / 2 - t0;
	uint32_t in = lane(t, thread), row = in ? tide__push(&t->m->spans, &tide_spans_desc) : 0;
	uint8_t *open = row ? TIDE_PUSH(t, open) : NULL;
	if (!open) {
		tide__tracker_nomem(t);
		return 0;
	}
	int64_t *id = TIDE_PUSH(t, ids);
	if (!id) {
		tide__tracker_nomem(t);
		return 0;
	}
	*id = 0;
	*open = !known;
	t->without_end += !known;
	t->m->spans.flags[row] = known ? 0 : TIDE_SPAN_NO_END;
	t->m->spans.t0[row] = t0;
	t->m->spans.t1[row] = known ? t0 + took : t0;
	t->m->spans.lane[row].i = in;
	t->m->spans.name[row] = name;
	t->m->spans.cat[row] = cat;
	return row;
}

static void log_entry(trk *t, jsonr_slice entry)
{
	enum { NAME, START, STAMP, TOOK, THREAD, ID, TYPE, DELTA, IN, OUT, N_IN, N_OUT, N };
	static const char *const names[N] = { "name",	      "start_ns",	 "timestamp",
					      "duration_us",  "thread",		 "operation_id",
					      "module_type",  "memory_delta_mb", "input_shapes",
					      "output_shape", "num_inputs",	 "num_outputs" };
	jsonr_slice v[N];
	if (!tide__tracker_find_fields(t, entry, names, N, v))
		return;
	uint32_t row = put_span(t, v[START], v[STAMP], v[TOOK], v[THREAD],
				tide__tracker_intern(t, v[NAME]), TIDE_CAT_OP);
	if (!row)
		return;
	if (!tide__tracker_parse_number(t, v[ID], 1, &t->ids[row]))
		t->ids[row] = 0;
	attr_number(t, row, "operation_id", v[ID], 1);
	attr_text(t, row, "module_type", v[TYPE]);
	attr_number(t, row, "memory_delta_bytes", v[DELTA], MB);
	attr_text(t, row, "input_shapes", v[IN]);
	attr_text(t, row, "output_shape", v[OUT]);
	attr_number(t, row, "num_inputs", v[N_IN], 1);
	attr_number(t, row, "num_outputs", v[N_OUT], 1);
}

static void operation_run(trk *t, jsonr_slice run, tide_str name)
{
	enum { START, STAMP, TOOK, THREAD, DELTA, PRE, POST, PEAK, TAKEN, GIVEN, N };
	static const char *const names[N] = { "start_ns",	   "timestamp",
					      "duration_us",	   "thread",
					      "memory_delta_mb",   "pre_total_mb",
					      "post_total_mb",	   "peak_total_mb",
					      "tensors_allocated", "tensors_deallocated" };
	jsonr_slice v[N];
	if (!tide__tracker_find_fields(t, run, names, N, v))
		return;
	uint32_t row = put_span(t, v[START], v[STAMP], v[TOOK], v[THREAD], name, TIDE_CAT_USER);
	if (!row)
		return;
	if (!t->open[row] &&
	    !tide__map_put(&t->timed, name.i, tide__map_get(&t->timed, name.i) + 1))
		tide__tracker_nomem(t);
	attr_number(t, row, "memory_delta_bytes", v[DELTA], MB);
	attr_number(t, row, "pre_total_bytes", v[PRE], MB);
	attr_number(t, row, "post_total_bytes", v[POST], MB);
	attr_number(t, row, "peak_total_bytes", v[PEAK], MB);
	attr_number(t, row, "tensors_allocated", v[TAKEN], 1);
	attr_number(t, row, "tensors_deallocated", v[GIVEN], 1);
}

/* ---- snapshots ---- */

static void learn_devices(trk *t, jsonr_slice tensors, tide_str device)
{
	static const char *const names[] = { "tensor_id" };
	jsonr_slice none, one, id;
	jsonr_val v;
	jsonr_walk w = tide__tracker_walk(t, tensors);
	while (device.i && tide__tracker_next(t, &w, &none, &one))
		if (tide__tracker_find_fields(t, one, names, 1, &id) && id.type == '0' &&
		    tide__jsonr_parse_slice(&t->c, id, &v) && !v.text &&
		    !tide__map_put(&t->devices, (uint64_t)v.num, device.i))
			tide__tracker_nomem(t);
}

static void snapshot(trk *t, jsonr_slice snap)
{
	enum { TIME, STAMP, NAME, DEVICES, BYTES, TOTAL, N };
	static const char *const names[N] = { "time_ns",	  "timestamp",	 "checkpoint_name",
					      "device_breakdown", "total_bytes", "total_mb" };
	static const char *const parts[] = { "total_bytes", "total_mb", "tensors" };
	jsonr_slice v[N], key, one, p[3];
	int64_t at;
	uint64_t bytes, all, sum = 0;
	if (!tide__tracker_find_fields(t, snap, names, N, v))
		return;
	if (!moment(t, v[TIME], v[STAMP], &at)) {
		t->bad++;
		return;
	}
	trk_snap *s = TIDE_PUSH(t, snaps);
	if (!s) {
		tide__tracker_nomem(t);
		return;
	}
	*s = (trk_snap){ .t = at,
			 .name = tide__tracker_intern(t, v[NAME]),
			 .first = t->n_totals,
			 .first_listed = t->n_listed };
	jsonr_walk w = tide__tracker_walk(t, v[DEVICES]);
	while (w.object && tide__tracker_next(t, &w, &key, &one)) {
		tide_str device = tide__tracker_intern(t, key);
		if (!device.i || !tide__tracker_find_fields(t, one, parts, 3, p))
			continue;
		learn_devices(t, p[2], device);
		bool known = tide__tracker_parse_bytes(t, p[0], p[1], &bytes);
		if (t->list && !tide__tracker_add_list(t, p[2], device, known ? bytes : 0))
			return;
		if (!known)
			continue;
		trk_total *x = TIDE_PUSH(t, totals);
		if (!x) {
			tide__tracker_nomem(t);
			return;
		}
		*x = (trk_total){ device, bytes };
		sum = bytes > UINT64_MAX - sum ? UINT64_MAX : sum + bytes;
	}
	if (t->list && tide__tracker_parse_bytes(t, v[BYTES], v[TOTAL], &all) && all > sum &&
	    !tide__tracker_add_rest(t, all - sum))
		return;
	s = &t->snaps[t->n_snaps - 1];
	s->n = t->n_totals - s->first;
	s->n_listed = t->n_listed - s->first_listed;
}

/* ---- tensors ---- */

bool tide__tracker_parse_bytes(const trk *t, jsonr_slice bytes, jsonr_slice mb, uint64_t *out)
{
	int64_t n;
	if ((!tide__tracker_parse_number(t, bytes, 1, &n) &&
	     !tide__tracker_parse_number(t, mb, MB, &n)) ||
	    n < 0)
		return false;
	*out = (uint64_t)n;
	return true;
}

uint8_t tide__tracker_role(const trk *t, jsonr_slice purpose)
{
	if (purpose.type == '"' && tide__tracker_is(t, purpose, "weight"))
		return TIDE_ROLE_PARAMETER;
	for (uint8_t r = TIDE_ROLE_PARAMETER; r <= TIDE_ROLE_WORKSPACE; r++)
		if (purpose.type == '"' && tide__tracker_is(t, purpose, tide__role_text(r)))
			return r;
	return TIDE_ROLE_UNKNOWN;
}

static uint8_t dtype_of(const trk *t, jsonr_slice v)
{
	if (v.type == '"' && v.n > 6 && !memcmp(t->c.s.b + v.at, "torch.", 6)) {
		v.at += 6;
		v.n -= 6;
	}
	for (uint8_t d = 1; d <= TIDE_DTYPE_BFP4; d++)
		if (v.type == '"' && tide__tracker_is(t, v, tide__dtype_text(d)))
			return d;
	return TIDE_DTYPE_UNKNOWN;
}

static bool put_dim(trk *t, int64_t d)
{
	tide_model *m = t->m;
	if (!TIDE_ROOM(m->dims, m->cap_dims, m->n_dims + 1))
		return tide__tracker_nomem(t);
	m->dims[m->n_dims++] = (uint64_t)d;
	return true;
}

uint32_t tide__tracker_add_tensor(trk *t, jsonr_slice shape, jsonr_slice dtype, jsonr_slice grad,
				  uint8_t role)
{
	tide_model *m = t->m;
	jsonr_slice none, one;
	int64_t d;
	if (shape.type != '[')
		return 0;
	uint32_t row = tide__push(&m->tensors, &tide_tensors_desc);
	if (!row) {
		tide__tracker_nomem(t);
		return 0;
	}
	m->tensors.dims[row] = m->n_dims;
	m->tensors.dtype[row] = dtype_of(t, dtype);
	m->tensors.role[row] = role;
	m->tensors.requires_grad[row] = grad.type != '0'		     ? 2
					: tide__tracker_is(t, grad, "true")  ? 1
					: tide__tracker_is(t, grad, "false") ? 0
									     : 2;
	jsonr_walk w = tide__tracker_walk(t, shape);
	while (m->tensors.ndim[row] < 64 && tide__tracker_next(t, &w, &none, &one))
		if (tide__tracker_parse_number(t, one, 1, &d) && d >= 0 && put_dim(t, d))
			m->tensors.ndim[row]++;
	return row;
}

/* Returns the device from the record, else from a snapshot that lists the tensor. */
static tide_str device_of(trk *t, jsonr_slice id, jsonr_slice said)
{
	jsonr_val v;
	tide_str device = tide__tracker_intern(t, said);
	if (!device.i && tide__jsonr_parse_slice(&t->c, id, &v) && !v.text)
		device.i = tide__map_get(&t->devices, (uint64_t)v.num);
	return device;
}

static trk_where where_of(trk *t, jsonr_slice op, jsonr_slice id, jsonr_slice thread,
			  jsonr_slice order)
{
	trk_where w = { .op = tide__tracker_intern(t, op) };
	if (!tide__tracker_parse_number(t, id, 1, &w.id))
		w.id = 0;
	if (!tide__tracker_parse_number(t, thread, 1, &w.thread))
		w.thread = TRK_NO_THREAD;
	if (!tide__tracker_parse_number(t, order, 1, &w.order))
		w.order = 0;
	return w;
}

/* Every `allocated` begins a lifetime unless one is open; the next `deallocated` ends it. */
static void lives_of(trk *t, jsonr_slice events, trk_life like)
{
	enum { KIND, TIME, STAMP, OP, ID, THREAD, ORDER, N };
	static const char *const names[N] = { "event_type",   "time_ns", "timestamp", "operation",
					      "operation_id", "thread",	 "order" };
	jsonr_slice none, one, v[N];
	int64_t at;
	bool alive = false;
	jsonr_walk w = tide__tracker_walk(t, events);
	while (tide__tracker_next(t, &w, &none, &one) &&
	       tide__tracker_find_fields(t, one, names, N, v)) {
		bool born = v[KIND].type && tide__tracker_is(t, v[KIND], "allocated");
		bool died = v[KIND].type && tide__tracker_is(t, v[KIND], "deallocated");
		if (!born && !died)
			continue;
		if (!moment(t, v[TIME], v[STAMP], &at)) {
			t->bad++;
			continue;
		}
		if (born == alive || (died && at < t->lives[t->n_lives - 1].born)) {
			t->repeated++;
			continue;
		}
		alive = born;
		trk_where where = where_of(t, v[OP], v[ID], v[THREAD], v[ORDER]);
		if (died) {
			t->lives[t->n_lives - 1].died = at;
			t->lives[t->n_lives - 1].freed = where;
			continue;
		}
		trk_life *l = TIDE_PUSH(t, lives);
		if (!l) {
			tide__tracker_nomem(t);
			return;
		}
		*l = like;
		l->born = at;
		l->died = TIDE_T_NEVER;
		l->made = where;
	}
}

static void lifecycle(trk *t, jsonr_slice id, jsonr_slice life)
{
	enum { BYTES, SIZE, DEVICE, SHAPE, DTYPE, GRAD, PURPOSE, ROLE, FROM, EVENTS, N };
	static const char *const names[N] = { "size_bytes",  "size_mb",	      "device",	 "shape",
					      "dtype",	     "requires_grad", "purpose", "role",
					      "role_source", "events" };
	jsonr_slice v[N];
	trk_life like = { 0 };
	if (!tide__tracker_find_fields(t, life, names, N, v))
		return;
	if (!tide__tracker_parse_bytes(t, v[BYTES], v[SIZE], &like.size)) {
		t->bad++;
		return;
	}
	/* "role" is recorded, or inferred from the recording; a document without it has a guess by
	 * shape only */
	bool recorded = v[FROM].type && tide__tracker_is(t, v[FROM], "recorded");
	like.role = tide__tracker_role(t, v[ROLE].type ? v[ROLE] : v[PURPOSE]);
	like.flags = recorded	    ? 0
		     : v[ROLE].type ? TIDE_ALLOC_ROLE_CONCLUDED
		     : like.role    ? TIDE_ALLOC_ROLE_GUESSED
				    : 0;
	like.device = device_of(t, id, v[DEVICE]);
	like.tensor = tide__tracker_add_tensor(t, v[SHAPE], v[DTYPE], v[GRAD],
					       recorded ? like.role : TIDE_ROLE_UNKNOWN);
	lives_of(t, v[EVENTS], like);
}

/* ---- the document ---- */

static void metadata(trk *t, jsonr_slice v)
{
	enum { FIRST = 1, LAST = 6, N = 8 }; /* counts of omitted entries in the document */
	static const char *const names[N] = { "generated_at",
					      "tensor_lifecycles_left_out",
					      "snapshots_left_out",
					      "operations_left_out",
					      "operation_runs_left_out",
					      "operation_log_left_out",
					      "start_ns",
					      "end_ns" };
	jsonr_slice f[N];
	int64_t n;
	char text[64];
	if (!tide__tracker_find_fields(t, v, names, N, f))
		return;
	if (f[0].type == '"' && f[0].n < sizeof text) {
		snprintf(text, sizeof text, "%.*s", (int)f[0].n, t->c.s.b + f[0].at);
		if (!tide__fact_text(t->m, "tracker.generated_at", text))
			tide__tracker_nomem(t);
	}
	if (!tide__tracker_parse_number(t, f[LAST], 1, &t->start) || t->start < 0 ||
	    !tide__tracker_parse_number(t, f[LAST + 1], 1, &t->end) || t->end >= INT64_MAX / 2)
		t->end = t->start - 1;
	for (int i = FIRST; i < LAST; i++) {
		snprintf(text, sizeof text, "loss.%s", names[i]);
		if (tide__tracker_parse_number(t, f[i], 1, &n) && n > 0 &&
		    !tide__fact_set_number(t->m, text, n))
			tide__tracker_nomem(t);
	}
}

static void each(trk *t, jsonr_slice list, void (*take)(trk *, jsonr_slice))
{
	jsonr_slice none, one;
	jsonr_walk w = tide__tracker_walk(t, list);
	while (!w.object && tide__tracker_next(t, &w, &none, &one))
		take(t, one);
}

static void operations(trk *t, jsonr_slice all)
{
	jsonr_slice key, runs, none, one;
	jsonr_walk w = tide__tracker_walk(t, all);
	while (w.object && tide__tracker_next(t, &w, &key, &runs)) {
		tide_str name = tide__tracker_intern(t, key);
		jsonr_walk in = tide__tracker_walk(t, runs);
		while (!in.object && tide__tracker_next(t, &in, &none, &one))
			operation_run(t, one, name);
	}
}

bool tide__tracker_read(trk *t)
{
	enum { META, SNAPS, OPS, LOG, LIVES, PYTORCH, SUMMARY, N };
	static const char *const names[N] = {
		"metadata",	    "snapshots",	  "operation_allocations", "operation_log",
		"tensor_lifecycle", "pytorch_operations", "operation_summary"
	};
	jsonr_slice v[N], key, one;
	size_t p = jsonr_ws(t->c.s.b, 0), e = tide__jsonr_parse_value(&t->c, p, &one);
	char first = t->c.s.b[p];
	if (first != '{' && first != '[')
		return tide__tracker_fail(t, p);
	if (e == JSONR_FAIL) /* the walk reports the damaged byte */
		one = (jsonr_slice){ (uint32_t)p, 1, first };
	if (!tide__tracker_find_fields(t, one, names, N, v))
		return false;
	metadata(t, v[META]);
	if (!learn_zone(t, v[LOG], "start_ns") || !learn_zone(t, v[SNAPS], "time_ns"))
		return false;
	each(t, v[LOG], log_entry);
	operations(t, v[OPS]);
	jsonr_walk w = tide__tracker_walk(t, v[LIVES]);
	t->list = !w.object || !tide__tracker_next(t, &w, &key, &one);
	each(t, v[SNAPS], snapshot);
	w = tide__tracker_walk(t, v[LIVES]);
	while (w.object && tide__tracker_next(t, &w, &key, &one))
		lifecycle(t, key, one);
	return t->rc == TIDE_OK && tide__tracker_read_sums(t, v[PYTORCH], v[SUMMARY]);
}
