// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Converts one record; its kind is the member of its envelope. Records that no analysis uses
 * (tensor descriptions, configurations) are skipped. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/json/text.h"
#include "import/torchtrace/torchtrace_impl.h"

enum { TEXT_MOST = 16 << 10, NAME_MOST = 1 << 10 };

bool tide__tt_nomem(tt *t)
{
	if (t->rc == TIDE_OK)
		t->rc = tide__nomem(t->err);
	return false;
}

/* ---- attributes ---- */

static bool attr(tt *t, uint32_t span, const char *key, tide_str text, int64_t number)
{
	tide_attrs *a = &t->m->attrs;
	size_t row;
	tide_str k = tide__intern(t->m, key);
	if (!span || !k.i || !tide__table_push(a, &tide_attrs_desc, &row))
		return tide__tt_nomem(t);
	a->span[row].i = span;
	a->key[row] = k;
	a->text[row] = text;
	a->number[row] = number;
	return true;
}

bool tide__tt_set_attr_number(tt *t, uint32_t span, const char *key, int64_t v)
{
	return attr(t, span, key, (tide_str){ 0 }, v == TIDE_FACT_EMPTY ? v + 1 : v);
}

bool tide__tt_attr_text(tt *t, uint32_t span, const char *key, const char *s, size_t n)
{
	tide_str text = tide__intern_n(t->m, s, n);
	if (n && !text.i)
		return tide__tt_nomem(t);
	return attr(t, span, key, text, n ? 0 : TIDE_FACT_EMPTY);
}

static bool room(tt *t, size_t n)
{
	return TIDE_ROOM(t->scratch, t->room, n ? n : 1) || tide__tt_nomem(t);
}

bool tide__tt_set_attr_string(tt *t, uint32_t span, const char *key, jsonr_node v, size_t most)
{
	if (v.type != '"')
		return true;
	if (!room(t, v.n))
		return false;
	size_t n = tide__jsonr_unescape(v.at, v.n, t->scratch);
	return tide__tt_attr_text(t, span, key, t->scratch, n < most ? n : most);
}

bool tide__tt_open_payload(tt *t, const tt_record *r, jsonr_node *v)
{
	return tide__jsonr_open(&t->payload, r->payload, r->n_payload, v) ||
	       (t->payload.why == JSONR_NOMEM && tide__tt_nomem(t));
}

bool tide__tt_copy_payload(tt *t, const tt_record *r, size_t most, size_t *n)
{
	bool start = true;
	size_t have = r->n_payload < most ? r->n_payload : most;
	*n = 0;
	if (!room(t, have))
		return false;
	for (size_t i = 0; i < have; i++) {
		if (!(start && r->payload[i] == '\t'))
			t->scratch[(*n)++] = r->payload[i];
		start = r->payload[i] == '\n';
	}
	while (*n && t->scratch[*n - 1] == '\n')
		--*n;
	return true;
}

/* ---- spans ---- */

static uint32_t push_span(tt *t, uint32_t lane, int64_t at, tide_str name, uint8_t cat)
{
	tide_spans *s = &t->m->spans;
	uint32_t row = name.i ? tide__push(s, &tide_spans_desc) : 0;
	if (!row) {
		tide__tt_nomem(t);
		return 0;
	}
	s->t0[row] = s->t1[row] = at;
	s->lane[row].i = lane;
	s->name[row] = name;
	s->cat[row] = cat;
	return row;
}

uint32_t tide__tt_add_note(tt *t, const tt_record *r, const char *name)
{
	uint32_t s = push_span(t, t->lane, t->now, tide__intern(t->m, name), TIDE_CAT_OTHER);
	if (s && r->compile_id[0])
		tide__tt_attr_text(t, s, "compile_id", r->compile_id, strlen(r->compile_id));
	if (s && r->attempt >= 0)
		tide__tt_set_attr_number(t, s, "attempt", r->attempt);
	return t->rc == TIDE_OK ? s : 0;
}

static uint32_t lane_of(tt *t, int64_t tid)
{
	tide_lanes *l = &t->m->lanes;
	uint32_t row = tid == 0 ? t->lane : tide__map_get(&t->lanes, (uint64_t)tid + 1);
	if (row)
		return row;
	row = tide__push(l, &tide_lanes_desc);
	if (!row || !tide__map_put(&t->lanes, (uint64_t)tid + 1, row)) {
		tide__tt_nomem(t);
		return 0;
	}
	l->process[row].i = t->process;
	l->number[row] = tid;
	l->kind[row] = TIDE_LANE_THREAD;
	return row;
}

static bool begin(tt *t, uint32_t lane, int64_t at, tide_str name, jsonr_node args)
{
	jsonr_node id;
	uint32_t span = push_span(t, lane, at, name, TIDE_CAT_OP);
	if (!span || !TIDE_ROOM(t->open, t->cap_open, t->n_open + 1))
		return tide__tt_nomem(t);
	t->open[t->n_open++] = (tt_open){ span, lane };
	t->m->spans.t1[span] = TIDE_T_NEVER;
	return !tide__jsonr_get(args, "compile_id", &id) ||
	       tide__tt_set_attr_string(t, span, "compile_id", id, NAME_MOST);
}

/* Ends the innermost open stage of that name; those begun after it end with it. */
static bool end(tt *t, uint32_t lane, int64_t at, tide_str name)
{
	tide_spans *s = &t->m->spans;
	size_t i = t->n_open;
	while (i && !(t->open[i - 1].lane == lane && s->name[t->open[i - 1].span].i == name.i))
		i--;
	if (!i) {
		t->lone_ends++;
		return true;
	}
	size_t keep = i - 1;
	for (size_t k = i - 1; k < t->n_open; k++) {
		uint32_t span = t->open[k].span;
		if (t->open[k].lane != lane) {
			t->open[keep++] = t->open[k];
			continue;
		}
		s->t1[span] = at > s->t0[span] ? at : s->t0[span];
		if (k > i - 1) {
			s->flags[span] |= TIDE_SPAN_UNWOUND;
			t->unended++;
		}
	}
	t->n_open = keep;
	return true;
}

/* ---- caches ---- */

static bool cache_note(tt *t, const tt_record *r, const char *cache, const char *state, size_t n)
{
	uint32_t s = tide__tt_add_note(t, r, "cache");
	return s && tide__tt_attr_text(t, s, "cache", cache, strlen(cache)) &&
	       tide__tt_attr_text(t, s, "state", state, n);
}

/* "fx_graph_cache_hit" -> "hit"; NULL: another name. */
static const char *after(jsonr_node name, const char *prefix, size_t *n)
{
	size_t p = strlen(prefix);
	*n = name.n > p ? name.n - p : 0;
	return *n && !memcmp(name.at, prefix, p) ? name.at + p : NULL;
}

static bool is_state(const char *s, size_t n)
{
	static const char *const states[] = { "hit", "miss", "bypass", "disabled" };
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		if (strlen(states[i]) == n && !memcmp(states[i], s, n))
			return true;
	return false;
}

static bool instant(tt *t, const tt_record *r, jsonr_node name)
{
	size_t n;
	const char *s = after(name, "autograd_cache_", &n);
	if (s && is_state(s, n))
		return cache_note(t, r, "autograd", s, n);
	return !tide__jsonr_is(name, "fx_graph_cache_disabled") ||
	       cache_note(t, r, "fx_graph", "disabled", 8);
}

/* ---- members ---- */

static bool event(tt *t, tt_record *r, jsonr_node member)
{
	jsonr_node e, name, ts, ph, tid, args;
	int64_t at, thread = 0;
	(void)member;
	if (!tide__tt_open_payload(t, r, &e) || !tide__jsonr_get(e, "name", &name) ||
	    name.type != '"' || !tide__jsonr_get(e, "ts", &ts) ||
	    !tide__jsonr_parse_number(ts, 1000, &at) || at < 0 || !tide__jsonr_get(e, "ph", &ph) ||
	    ph.type != '"' || ph.n != 1) {
		t->bad_payloads += t->rc == TIDE_OK;
		return t->rc == TIDE_OK;
	}
	t->now = at;
	tide__jsonr_get(e, "args", &args);
	if (tide__jsonr_get(e, "tid", &tid) &&
	    (!tide__jsonr_parse_number(tid, 1, &thread) || thread < 0))
		thread = 0;
	uint32_t lane = lane_of(t, thread);
	tide_str s = tide__intern_n(t->m, name.at, name.n < NAME_MOST ? name.n : NAME_MOST);
	if (!lane || !s.i)
		return tide__tt_nomem(t);
	return *ph.at == 'B'   ? begin(t, lane, at, s, args)
	       : *ph.at == 'E' ? end(t, lane, at, s)
	       : *ph.at == 'i' ? instant(t, r, name)
			       : true;
}

static bool intern(tt *t, tt_record *r, jsonr_node pair)
{
	jsonr_node key, text, id;
	jsonr_nodes w = tide__jsonr_walk(pair);
	int64_t number;
	(void)r;
	if (!tide__jsonr_next_node(&w, &key, &text) || text.type != '"' ||
	    !tide__jsonr_next_node(&w, &key, &id) || !tide__jsonr_parse_number(id, 1, &number) ||
	    number < 0) {
		t->bad_lines++;
		return true;
	}
	if (!room(t, text.n))
		return false;
	tide_str s =
		tide__intern_n(t->m, t->scratch, tide__jsonr_unescape(text.at, text.n, t->scratch));
	return (s.i && tide__map_put(&t->strs, (uint64_t)number + 1, s.i)) || tide__tt_nomem(t);
}

/* Finds "... at FILE:LINE" in the first line of a graph break. */
static bool break_place(tt *t, uint32_t s, size_t n)
{
	static const char lead[] = "Graph break in user code at ";
	size_t skip = sizeof lead - 1;
	const char *eol = memchr(t->scratch, '\n', n), *stop = eol ? eol : t->scratch + n;
	int64_t line = 0;
	if (n < skip || memcmp(t->scratch, lead, skip))
		return true;
	const char *colon = memrchr(t->scratch + skip, ':', (size_t)(stop - t->scratch) - skip);
	if (!colon)
		return true;
	for (const char *p = colon + 1; p < stop && *p >= '0' && *p <= '9' && line < INT32_MAX; p++)
		line = line * 10 + (*p - '0');
	return tide__tt_set_attr_number(t, s, "line", line) &&
	       tide__tt_attr_text(t, s, "file", t->scratch + skip,
				  (size_t)(colon - t->scratch) - skip);
}

static bool text_note(tt *t, const tt_record *r, const char *name, bool place)
{
	size_t n;
	uint32_t s = tide__tt_add_note(t, r, name);
	return s && tide__tt_copy_payload(t, r, TEXT_MOST, &n) &&
	       (!place || break_place(t, s, n)) &&
	       tide__tt_attr_text(t, s, "reason", t->scratch, n);
}

static bool graph_note(tt *t, tt_record *r)
{
	uint32_t s = tide__tt_add_note(t, r, "post_grad_graph");
	return s &&
	       tide__tt_set_attr_number(t, s, "ops", tide__tt_graph_ops(r->payload, r->n_payload));
}

static bool recompile_note(tt *t, const tt_record *r)
{
	jsonr_node list, key, v;
	size_t n;
	uint32_t s = tide__tt_add_note(t, r, "recompile");
	/* a list whose first reason is about the newest entry of the cache; newer logs: a text */
	tide__tt_open_payload(t, r, &list);
	jsonr_nodes w = tide__jsonr_walk(list);
	if (s && tide__jsonr_next_node(&w, &key, &v) && v.type == '"')
		return tide__tt_set_attr_string(t, s, "reason", v, TEXT_MOST);
	return s && tide__tt_copy_payload(t, r, TEXT_MOST, &n) &&
	       tide__tt_attr_text(t, s, "reason", t->scratch, n);
}

static bool artifact(tt *t, tt_record *r, jsonr_node member)
{
	jsonr_node name;
	size_t n;
	if (!tide__jsonr_get(member, "name", &name))
		return true;
	if (tide__jsonr_is(name, "dynamo_graph_break_reason"))
		return text_note(t, r, "graph_break", true);
	if (tide__jsonr_is(name, "recompile_reasons"))
		return recompile_note(t, r);
	if (tide__jsonr_is(name, "dynamo_error"))
		return text_note(t, r, "compile_error", false);
	/* newer logs have the graph after all passes as an artifact, older ones as a member */
	if (tide__jsonr_is(name, "inductor_post_grad_graph") ||
	    tide__jsonr_is(name, "after_post_grad_graph"))
		return graph_note(t, r);
	const char *state = after(name, "fx_graph_cache_", &n);
	return !state || !is_state(state, n) || cache_note(t, r, "fx_graph", state, n);
}

static bool member_graph(tt *t, tt_record *r, jsonr_node member)
{
	(void)member;
	return graph_note(t, r);
}

static bool output_code(tt *t, tt_record *r, jsonr_node member)
{
	jsonr_node name;
	tt_code c = tide__tt_code(r->payload, r->n_payload);
	uint32_t s = tide__tt_add_note(t, r, "output_code");
	tide__jsonr_get(member, "filename", &name);
	return s && tide__tt_set_attr_number(t, s, "kernels", c.kernels) &&
	       tide__tt_set_attr_number(t, s, "launches", c.launches) &&
	       tide__tt_set_attr_number(t, s, "external", c.external) &&
	       tide__tt_set_attr_string(t, s, "file", name, NAME_MOST);
}

/* Reads frames, outermost first; file names are ids of interned texts. */
static bool start(tt *t, tt_record *r, jsonr_node member)
{
	jsonr_node stack, key, f, v;
	tide_stack_id at = { 0 };
	int64_t line, file;
	if (!tide__jsonr_get(member, "stack", &stack))
		return true;
	jsonr_nodes w = tide__jsonr_walk(stack);
	while (tide__jsonr_next_node(&w, &key, &f)) {
		tide_str name = { 0 }, path = { 0 };
		if (tide__jsonr_get(f, "name", &v) && v.type == '"')
			name = tide__intern_n(t->m, v.at, v.n);
		if (tide__jsonr_get(f, "filename", &v) && tide__jsonr_parse_number(v, 1, &file) &&
		    file >= 0)
			path.i = tide__map_get(&t->strs, (uint64_t)file + 1);
		if (!tide__jsonr_get(f, "line", &v) || !tide__jsonr_parse_number(v, 1, &line) ||
		    line < 0 || line > UINT32_MAX)
			line = 0;
		tide_frame_id id = tide__frame_intern(t->m, name, path, (uint32_t)line);
		at = tide__stack_intern(t->m, at, id);
		if (!id.i || !at.i)
			return tide__tt_nomem(t);
	}
	uint32_t s = tide__tt_add_note(t, r, "dynamo_start");
	if (s)
		t->m->spans.stack[s] = at;
	return s;
}

static bool metrics(tt *t, tt_record *r, jsonr_node member)
{
	return tide__tt_read_metrics(t, r, member, "forward");
}

static bool backward(tt *t, tt_record *r, jsonr_node member)
{
	return tide__tt_read_metrics(t, r, member, "backward");
}

static const struct {
	const char *name;
	bool (*read)(tt *t, tt_record *r, jsonr_node member);
} members[] = {
	{ "chromium_event", event },
	{ "artifact", artifact },
	{ "str", intern },
	{ "dynamo_start", start },
	{ "compilation_metrics", metrics },
	{ "bwd_compilation_metrics", backward },
	{ "aot_autograd_backward_compilation_metrics", backward },
	{ "inductor_output_code", output_code },
	{ "inductor_post_grad_graph", member_graph },
};

bool tide__tt_record(tt *t, tt_record *r)
{
	jsonr_node key, v;
	jsonr_nodes w = tide__jsonr_walk(r->envelope);
	while (t->rc == TIDE_OK && tide__jsonr_next_node(&w, &key, &v))
		for (size_t i = 0; i < sizeof members / sizeof *members; i++)
			if (tide__jsonr_is(key, members[i].name)) {
				members[i].read(t, r, v);
				break;
			}
	t->bad_lines += w.bad;
	return t->rc == TIDE_OK;
}
