// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Converts one event object to at most one row.
 *
 * Members may come in any order; if a member occurs twice, the last one counts.
 * Arguments are read in place when phase and category are known by then (Kineto writes them last),
 * else after the object's end. */
#include "import/kineto/event.h"

#include <string.h>

#include "import/kineto/shape.h"
#include "import/json/value.h"

/* ---- members ---- */

static inline size_t time_value(kin_parser *c, size_t p, int64_t *ns, uint8_t *state,
				jsonr_slice *v)
{
	p = jsonr_value(&c->json, p, v);
	if (p == JSONR_FAIL)
		return p;
	const char *t = c->json.s.b + v->at;
	*state = jsonr_simple_ns(t, v->n, ns) ? JSONR_NUM_OK
					      : (uint8_t)tide__jsonr_parse_ns(t, v->n, ns);
	return p;
}

static size_t args_value(kin_parser *c, kin_event *e, size_t p)
{
	jsonr_slice v;
	bool known = e->ph && (e->has_cat || e->ph == 'M');
	bool skip = e->ph == 'X' && e->cat == TIDE_CAT_OVERHEAD;
	if (c->json.s.b[p] != '{' || !known || skip) {
		e->args = c->json.s.b[p] == '{' && !skip ? p : 0;
		return tide__jsonr_parse_value(&c->json, p, &v);
	}
	e->args = 0;
	c->out->n_attrs = e->attr0; /* arguments that come twice: the last ones count */
	e->has = 0;
	return tide__kineto_read_args(c, e, p);
}

#define KEY2(a, b)	 ((uint32_t)(a) | (uint32_t)(b) << 8)
#define KEY3(a, b, c)	 (KEY2(a, b) | (uint32_t)(c) << 16)
#define KEY4(a, b, c, d) (KEY3(a, b, c) | (uint32_t)(d) << 24)

/* Returns a member's name of up to four bytes as a number; 0 for a longer one. */
static inline uint32_t short_key(const char *b, jsonr_slice key)
{
	uint32_t w;
	memcpy(&w, b + key.at, sizeof w);
	if (key.n > 4 || key.n == 0)
		return 0;
	return key.n == 4 ? w : w & ((1u << (8 * key.n)) - 1);
}

static inline size_t member(kin_parser *c, kin_event *e, jsonr_slice key, size_t p)
{
	jsonr_slice v;
	e->keys++;
	switch (short_key(c->json.s.b, key)) {
	case KEY2('t', 's'):
		return time_value(c, p, &e->ts, &e->ts_state, &e->ts_at);
	case KEY3('d', 'u', 'r'):
		e->keys_at_dur = e->keys;
		return time_value(c, p, &e->dur, &e->dur_state, &e->dur_at);
	case KEY4('a', 'r', 'g', 's'):
		return args_value(c, e, p);
	case KEY4('n', 'a', 'm', 'e'):
		return jsonr_value(&c->json, p, &e->name);
	case KEY3('p', 'i', 'd'):
		return jsonr_value(&c->json, p, &e->pid);
	case KEY3('t', 'i', 'd'):
		return jsonr_value(&c->json, p, &e->tid);
	case KEY2('i', 'd'):
		return jsonr_value(&c->json, p, &e->id);
	case KEY2('p', 'h'):
		p = jsonr_value(&c->json, p, &v);
		if (p != JSONR_FAIL)
			e->ph = v.type == '"' && v.n == 1 ? c->json.s.b[v.at] : '?';
		return p;
	case KEY3('c', 'a', 't'):
		p = jsonr_value(&c->json, p, &v);
		if (p != JSONR_FAIL) {
			unsigned cat =
				kin_word_find(tide__kineto_cat_words(), c->json.s.b + v.at, v.n);
			e->cat = cat ? (uint8_t)cat : TIDE_CAT_OTHER;
			e->cat_text = v;
			e->has_cat = true;
		}
		return p;
	default:
		return jsonr_value(&c->json, p, &v);
	}
}

/* ---- rows ---- */

static kin_row *new_row(kin_parser *c, const kin_event *e, kin_kind kind)
{
	kin_row *r = TIDE_PUSH(c->out, rows);
	if (!r) {
		jsonr_nomem(&c->json);
		return NULL;
	}
	*r = (kin_row){ .ts = e->ts,
			.kind = (uint8_t)kind,
			.cat = e->cat,
			.src = c->base + e->at,
			.index = (uint32_t)(c->out->events - 1),
			.n_attrs = (uint32_t)(c->out->n_attrs - e->attr0) };
	return r;
}

static bool set_name(kin_parser *c, kin_row *r, jsonr_slice name)
{
	r->name = NULL;
	if (!name.type || !name.n)
		return true;
	r->name = tide__jsonr_slice_text(&c->json, name);
	return r->name || jsonr_oom(&c->json);
}

static bool value_or_zero(kin_parser *c, jsonr_slice v, jsonr_val *out)
{
	*out = (jsonr_val){ 0 };
	return !v.type || tide__jsonr_parse_slice(&c->json, v, out) || jsonr_oom(&c->json);
}

static bool thread_lane(kin_parser *c, const kin_event *e, unsigned kind, unsigned cat, kin_row *r)
{
	jsonr_val pid, tid;
	bool known = e->middle && kind == TIDE_LANE_THREAD;
	if (known && e->middle->lane) {
		r->lane = e->middle->lane;
		return true;
	}
	if (!value_or_zero(c, e->pid, &pid) || !value_or_zero(c, e->tid, &tid))
		return false;
	r->lane = tide__kineto_get_lane(&c->lanes, kind, cat, pid, tid);
	if (known)
		e->middle->lane = r->lane;
	return r->lane || jsonr_oom(&c->json);
}

/* Parses "stream 7", the name of a stream's thread in old traces. */
static jsonr_val stream_value(jsonr_val v)
{
	int64_t n;
	if (v.text && v.text->len > 7 && !memcmp(v.text->s, "stream ", 7) &&
	    tide__jsonr_parse_i64(v.text->s + 7, v.text->len - 7, &n) == JSONR_NUM_OK)
		return (jsonr_val){ .num = n };
	return v;
}

/* Finds device and stream from the arguments, else from pid and tid. */
static bool stream_lane(kin_parser *c, const kin_event *e, unsigned kind, unsigned cat, kin_row *r)
{
	jsonr_val device = { .num = e->num[KIN_KEY_DEVICE] },
		  stream = { .num = e->num[KIN_KEY_STREAM] };
	if (!kin_has(e, KIN_KEY_DEVICE) && !value_or_zero(c, e->pid, &device))
		return false;
	if (!kin_has(e, KIN_KEY_STREAM)) {
		if (!value_or_zero(c, e->tid, &stream))
			return false;
		stream = stream_value(stream);
	}
	r->lane = tide__kineto_get_lane(&c->lanes, kind, cat, device, stream);
	return r->lane || jsonr_oom(&c->json);
}

static bool set_lane(kin_parser *c, const kin_event *e, kin_row *r)
{
	if (tide__cat_is_gpu(e->cat) || e->cat == TIDE_CAT_GPU_USER)
		return stream_lane(c, e, TIDE_LANE_STREAM, 0, r);
	if (e->cat == TIDE_CAT_SYNC)
		return stream_lane(c, e, TIDE_LANE_OTHER, TIDE_CAT_SYNC, r);
	if (e->cat == TIDE_CAT_COUNTERS)
		return thread_lane(c, e, TIDE_LANE_OTHER, TIDE_CAT_COUNTERS, r);
	return thread_lane(c, e, TIDE_LANE_THREAD, 0, r);
}

static void set_id(kin_row *r, uint64_t id)
{
	r->id = id;
	r->flags |= KIN_HAS_ID;
}

static void set_ext(kin_row *r, uint64_t ext, unsigned flags)
{
	r->ext = ext;
	r->flags |= (uint8_t)flags;
}

static int64_t external_id(const kin_event *e)
{
	return kin_has(e, KIN_KEY_EXT)	     ? e->num[KIN_KEY_EXT]
	       : kin_has(e, KIN_KEY_EXT_OLD) ? e->num[KIN_KEY_EXT_OLD]
					     : 0;
}

static int64_t correlation(const kin_event *e)
{
	if (e->cat == TIDE_CAT_OTHER && kin_has(e, KIN_KEY_CORR_XLA) &&
	    e->num[KIN_KEY_CORR_XLA] > 0)
		return e->num[KIN_KEY_CORR_XLA];
	return kin_has(e, KIN_KEY_CORR) ? e->num[KIN_KEY_CORR] : -1;
}

/* Launches and device rows are matched by correlation, ops by External id. */
static void set_ids(const kin_event *e, kin_row *r)
{
	int64_t ext = external_id(e), corr = correlation(e);
	if (e->cat == TIDE_CAT_OP || e->cat == TIDE_CAT_USER) {
		if (ext > 0)
			set_id(r, (uint64_t)ext);
		if (kin_has(e, KIN_KEY_SEQ) && e->num[KIN_KEY_SEQ] >= 0)
			set_ext(r, (uint64_t)e->num[KIN_KEY_SEQ],
				KIN_HAS_SEQ | (kin_has(e, KIN_KEY_FWD) && e->num[KIN_KEY_FWD] > 0
						       ? KIN_IS_BWD
						       : 0));
		return;
	}
	if (e->cat == TIDE_CAT_PYTHON) {
		if (kin_has(e, KIN_KEY_PY_ID) && e->num[KIN_KEY_PY_ID] >= 0)
			set_id(r, (uint64_t)e->num[KIN_KEY_PY_ID]);
		if (kin_has(e, KIN_KEY_PY_PARENT) && e->num[KIN_KEY_PY_PARENT] >= 0)
			set_ext(r, (uint64_t)e->num[KIN_KEY_PY_PARENT], KIN_HAS_CALLER);
		return;
	}
	if (e->cat == TIDE_CAT_OTHER && corr > 0 && kin_has(e, KIN_KEY_CORR_XLA))
		set_id(r, (uint64_t)corr);
	bool gpu = tide__cat_is_gpu(e->cat);
	if (corr >= 0 && (gpu || e->cat == TIDE_CAT_RUNTIME || e->cat == TIDE_CAT_DRIVER ||
			  e->cat == TIDE_CAT_SYNC))
		set_id(r, (uint64_t)corr);
	if (gpu && ext > 0)
		set_ext(r, (uint64_t)ext, KIN_HAS_EXT);
	if (e->cat == TIDE_CAT_SYNC && kin_has(e, KIN_KEY_WAIT_RECORD) &&
	    e->num[KIN_KEY_WAIT_RECORD] > 0)
		set_ext(r, (uint64_t)e->num[KIN_KEY_WAIT_RECORD], KIN_HAS_REC);
}

static bool keep_raw(kin_parser *c, const kin_event *e)
{
	tide_raw *r = TIDE_PUSH(c->out, raws);
	if (!r)
		return jsonr_oom(&c->json);
	*r = (tide_raw){ .event = -1,
			 .corr = correlation(e),
			 .stream = kin_has(e, KIN_KEY_STREAM) ? e->num[KIN_KEY_STREAM] : -1 };
	return true;
}

/* Keeps the row of the profiler's whole window for exports. It is no span, and t = 0 does not depend
 * on it. */
static bool emit_window(kin_parser *c, kin_event *e)
{
	c->out->n_attrs = e->attr0;
	if (e->dur_state != JSONR_NUM_OK || e->dur < 0 || e->dur > KIN_DUR_MAX)
		return true;
	kin_row *r = new_row(c, e, KIN_PROFILER);
	if (!r)
		return false;
	r->dur = e->dur;
	if (kin_has(e, KIN_KEY_OPS) && e->num[KIN_KEY_OPS] >= 0)
		set_id(r, (uint64_t)e->num[KIN_KEY_OPS]);
	return set_name(c, r, e->name);
}

static bool emit_span(kin_parser *c, kin_event *e)
{
	static const kin_loss losses[] = { [JSONR_NUM_NOT] = KIN_LOSS_BAD_DUR,
					   [JSONR_NUM_RANGE] = KIN_LOSS_ABSURD_DUR,
					   [KIN_MISSING] = KIN_LOSS_NO_DUR };
	kin_loss why = e->dur_state != JSONR_NUM_OK ? losses[e->dur_state]
		       : e->dur < 0		    ? KIN_LOSS_NEG_DUR
						    : KIN_LOSS_ABSURD_DUR;
	if (e->cat == KIN_CAT_SKIP)
		return emit_window(c, e);
	if (e->dur_state != JSONR_NUM_OK || e->dur < 0 || e->dur > KIN_DUR_MAX) {
		c->out->loss[why]++;
		c->out->n_attrs = e->attr0;
		return true;
	}
	kin_row *r = new_row(c, e, KIN_SPAN);
	if (!r || (c->want & TIDE_WANT_RAW && !keep_raw(c, e)))
		return false;
	r->dur = e->dur;
	set_ids(e, r);
	return set_name(c, r, e->name) && set_lane(c, e, r);
}

static bool is(const kin_parser *c, jsonr_slice v, const char *text)
{
	size_t n = strlen(text);
	return v.type == '"' && v.n == n && !memcmp(c->json.s.b + v.at, text, n);
}

/* Returns true for 2^48 bytes and more, which no device has: sums of such numbers would wrap. */
static bool is_absurd(int64_t bytes)
{
	return bytes >= INT64_C(1) << 48 || bytes <= -(INT64_C(1) << 48);
}

static bool emit_memory(kin_parser *c, kin_event *e)
{
#define GET(key, none) (kin_has(e, KIN_KEY_##key) ? e->num[KIN_KEY_##key] : (none))
	bool wanted = c->want & TIDE_WANT_MEMORY,
	     bad = !kin_has(e, KIN_KEY_MEM_BYTES) || is_absurd(e->num[KIN_KEY_MEM_BYTES]);
	if (bad) {
		c->out->loss[KIN_LOSS_MEMORY] += wanted;
		return true;
	}
	c->out->seen.hip |= GET(MEM_TYPE, 0) == KIN_HIP;
	if (!wanted) {
		tide__kineto_saw(&c->out->seen, (int32_t)GET(MEM_TYPE, 0),
				 (int32_t)GET(MEM_DEVICE, -1));
		tide__kineto_saw_time(&c->out->seen, e->ts);
		return true;
	}
	kin_row *r = new_row(c, e, KIN_MEMORY);
	kin_mem *m = r ? TIDE_PUSH(c->out, mems) : NULL;
	if (!m)
		return jsonr_oom(&c->json);
	*m = (kin_mem){ .bytes = GET(MEM_BYTES, 0),
			.total = GET(MEM_TOTAL, -1),
			.reserved = GET(MEM_RESERVED, -1),
			.addr = (uint64_t)GET(MEM_ADDR, -1),
			.type = (int32_t)GET(MEM_TYPE, 0),
			.device = (int32_t)GET(MEM_DEVICE, -1) };
#undef GET
	return thread_lane(c, e, TIDE_LANE_THREAD, 0, r);
}

static bool emit_instant(kin_parser *c, kin_event *e)
{
	if (is(c, e->name, "[memory]"))
		return emit_memory(c, e);
	kin_row *r = new_row(c, e, KIN_INSTANT);
	if (!r)
		return false;
	int64_t kind = kin_has(e, KIN_KEY_MARK) ? e->num[KIN_KEY_MARK] : TIDE_MARK_ANNOTATION;
	r->cat = kind > TIDE_MARK_UNKNOWN && kind <= TIDE_MARK_SNAPSHOT ? (uint8_t)kind
									: TIDE_MARK_ANNOTATION;
	r->id = kin_has(e, KIN_KEY_VALUE) ? (uint64_t)e->num[KIN_KEY_VALUE] : 0;
	return set_name(c, r, e->name) &&
	       (e->pid.type != '0' || thread_lane(c, e, TIDE_LANE_THREAD, 0, r));
}

static bool emit_counter(kin_parser *c, kin_event *e)
{
	kin_row *r = new_row(c, e, KIN_COUNTER);
	return r && set_name(c, r, e->name);
}

/* Skips flows that repeat other data: ac2g and its older names repeat the correlation, our
 * event_wait an argument. All others are kept. */
static bool emit_flow(kin_parser *c, kin_event *e)
{
	static const char *const launch[] = { "ac2g", "async_cpu_to_gpu", "async_gpu", "async",
					      "event_wait" };
	if (!(c->want & TIDE_WANT_FLOWS) || !e->id.type || e->ph == 't')
		return true;
	for (size_t i = 0; i < sizeof launch / sizeof *launch; i++)
		if (is(c, e->cat_text, launch[i]))
			return true;
	jsonr_val id;
	kin_row *r = new_row(c, e, e->ph == 's' ? KIN_FLOW_OUT : KIN_FLOW_IN);
	if (!r || !value_or_zero(c, e->id, &id))
		return jsonr_oom(&c->json);
	set_id(r, id.text ? id.text->hash : (uint64_t)id.num);
	r->cat = is(c, e->cat_text, "fwdbwd") ? TIDE_FLOW_FWD_BWD : TIDE_FLOW_OTHER;
	return thread_lane(c, e, TIDE_LANE_THREAD, 0, r);
}

static bool emit_half(kin_parser *c, kin_event *e)
{
	bool async = e->ph != 'B' && e->ph != 'E',
	     begin = e->ph == 'B' || e->ph == 'b' || e->ph == 'S';
	kin_row *r = new_row(c, e,
			     async ? (begin ? KIN_ASYNC_BEGIN : KIN_ASYNC_END)
				   : (begin ? KIN_BEGIN : KIN_END));
	if (!r || !set_name(c, r, e->name))
		return false;
	if (!async)
		return set_lane(c, e, r);
	jsonr_val id, pid, group = { .text = tide__jsonr_slice_text(&c->json, e->cat_text) };
	if (!group.text || !value_or_zero(c, e->id, &id) || !value_or_zero(c, e->pid, &pid))
		return jsonr_oom(&c->json);
	set_id(r, id.text ? id.text->hash : (uint64_t)id.num);
	r->lane = tide__kineto_get_lane(&c->lanes, TIDE_LANE_OTHER, TIDE_CAT_OTHER, pid, group);
	return r->lane || jsonr_oom(&c->json);
}

static bool emit_meta(kin_parser *c, kin_event *e)
{
	kin_kind kind = is(c, e->name, "thread_name")	   ? KIN_NAME_THREAD
			: is(c, e->name, "process_name")   ? KIN_NAME_PROCESS
			: is(c, e->name, "process_labels") ? KIN_LABEL_PROCESS
							   : KIN_SPAN;
	if (kind == KIN_SPAN || !e->label)
		return true;
	kin_row *r = new_row(c, e, kind);
	if (!r)
		return false;
	r->name = e->label;
	if (kind == KIN_NAME_THREAD && kin_has(e, KIN_KEY_TRACK_OF)) {
		r->kind = KIN_TRACK_OF;
		r->id = (uint64_t)e->num[KIN_KEY_TRACK_OF];
	}
	return thread_lane(c, e, TIDE_LANE_UNKNOWN, 0, r);
}

typedef bool emitter(kin_parser *c, kin_event *e);

/* Results of analyses in our own exports (render/export/overlay.h): not part of the trace. */
#define KIN_OVERLAY "tidemark_overlay"

static emitter *emitter_of(char ph)
{
	switch (ph) {
	case 'X':
		return emit_span;
	case 'i':
	case 'I':
	case 'R':
	case 'n':
	case 'T':
		return emit_instant;
	case 'C':
		return emit_counter;
	case 's':
	case 't':
	case 'f':
		return emit_flow;
	case 'B':
	case 'E':
	case 'b':
	case 'e':
	case 'S':
	case 'F':
		return emit_half;
	case 'M':
		return emit_meta;
	default:
		return NULL;
	}
}

static bool emit(kin_parser *c, kin_event *e)
{
	emitter *make = emitter_of(e->ph);
	kin_out *o = c->out;
	if (!e->ph && !e->keys) /* XLA writes {} after the last event */
		return true;
	o->events++;
	bool timed = e->ts_state == JSONR_NUM_OK && e->ts > -KIN_TS_MAX && e->ts < KIN_TS_MAX;
	if (!make || (e->ph != 'M' && !timed)) {
		o->loss[!e->ph ? KIN_LOSS_NO_PHASE : !make ? KIN_LOSS_PHASE : KIN_LOSS_TIME]++;
		o->n_attrs = e->attr0;
		return true;
	}
	if (e->cat == TIDE_CAT_OTHER && is(c, e->cat_text, KIN_OVERLAY)) {
		o->events--;
		o->n_attrs = e->attr0;
		return true;
	}
	size_t rows = o->n_rows;
	if (!make(c, e))
		return false;
	if (o->n_rows == rows)
		o->n_attrs = e->attr0;
	return true;
}

/* Clears only fields that are read before they are written: clearing all would cost as much as
 * parsing a member. */
static inline void begin(kin_event *e, size_t at, size_t attr0)
{
	e->at = at;
	e->attr0 = attr0;
	e->args = 0;
	e->has = 0;
	e->label = NULL;
	e->middle = NULL;
	e->keys = e->keys_at_dur = 0;
	e->ts_state = e->dur_state = KIN_MISSING;
	e->cat = TIDE_CAT_OTHER;
	e->ph = 0;
	e->has_cat = e->counter_args = false;
	e->name.type = e->pid.type = e->tid.type = e->id.type = e->cat_text.type = 0;
	e->ts_at.type = e->dur_at.type = 0;
	e->name.n = e->cat_text.n = e->cat_text.at = 0;
}

size_t tide__kineto_parse_event(kin_parser *c, size_t p)
{
	const char *b = c->json.s.b;
	kin_event e;
	begin(&e, p, c->out->n_attrs);
	size_t head = kin_known_head(c, &e, p);
	p = head ? jsonr_next(&c->json, head) : jsonr_ws(b, p + 1);
	if (p == JSONR_FAIL)
		goto fail;
	while (b[p] != '}') {
		jsonr_slice key;
		p = jsonr_member_key(&c->json, p, &key);
		if (p != JSONR_FAIL)
			p = member(c, &e, key, p);
		if (p != JSONR_FAIL)
			p = jsonr_next(&c->json, p);
		if (p == JSONR_FAIL)
			goto fail;
	}
	if (e.args && tide__kineto_read_args(c, &e, e.args) == JSONR_FAIL)
		goto fail;
	if (!head)
		kin_learn_head(c, &e);
	if (emit(c, &e))
		return p + 1;
fail:
	c->out->n_attrs = e.attr0;
	return JSONR_FAIL;
}
