// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Debug annotations are an event's arguments: the same names and values as in the args of a Chrome
 * trace. */
#include "import/perfetto/perfetto_impl.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum {
	E_CATEGORY = 3,
	E_ARG = 4,
	E_NAME = 10,
	E_CATEGORY_TEXT = 22,
	E_NAME_TEXT = 23,
	E_FLOW_OLD = 36,
	E_END_OLD = 42,
	E_FLOW = 47,
	E_END = 48,
	E_LEGACY = 6
};
enum {
	A_NAME = 1,
	A_BOOL = 2,
	A_UINT = 3,
	A_INT = 4,
	A_DOUBLE = 5,
	A_TEXT = 6,
	A_POINTER = 7,
	A_JSON = 9,
	A_NAME_TEXT = 10,
	A_DICT = 11,
	A_ARRAY = 12,
	A_INTERNED = 17
};
enum { MOST_DEEP = 16 };

/* ---- JSON ---- */

void tide__pf_put(pf_out *o, const char *s, size_t n)
{
	if (!n)
		return;
	if (o->failed || !TIDE_ROOM(o->s, o->cap, o->n + n)) {
		o->failed = true;
		return;
	}
	memcpy(o->s + o->n, s, n);
	o->n += n;
}

void tide__pf_puts(pf_out *o, const char *s)
{
	tide__pf_put(o, s, strlen(s));
}

void tide__pf_int(pf_out *o, int64_t v)
{
	char text[24];
	tide__pf_put(o, text, (size_t)snprintf(text, sizeof text, "%" PRId64, v));
}

void tide__pf_double(pf_out *o, double v)
{
	char text[40];
	if (isfinite(v))
		tide__pf_put(o, text, (size_t)snprintf(text, sizeof text, "%.17g", v));
	else
		tide__pf_puts(o, "null");
}

void tide__pf_time(pf_out *o, int64_t ns)
{
	char text[32];
	tide__pf_put(o, text,
		     (size_t)snprintf(text, sizeof text, "%s%" PRIu64 ".%03" PRIu64,
				      ns < 0 ? "-" : "",
				      (ns < 0 ? -(uint64_t)ns : (uint64_t)ns) / 1000,
				      (ns < 0 ? -(uint64_t)ns : (uint64_t)ns) % 1000));
}

void tide__pf_text(pf_out *o, pf_text t)
{
	size_t from = 0;
	if (!t.n)
		t.s = (const uint8_t *)"";
	tide__pf_put(o, "\"", 1);
	for (size_t i = 0; i < t.n; i++) {
		char code[8];
		if (t.s[i] >= 0x20 && t.s[i] != '"' && t.s[i] != '\\')
			continue;
		tide__pf_put(o, (const char *)t.s + from, i - from);
		from = i + 1;
		snprintf(code, sizeof code, "\\u%04x", t.s[i]);
		tide__pf_put(o, code, 6);
	}
	tide__pf_put(o, (const char *)t.s + from, t.n - from);
	tide__pf_put(o, "\"", 1);
}

/* ---- annotations ---- */

static pf_text arg_name(pf_trace *t, uint32_t generation, tide_pb in)
{
	tide_pb_field f;
	pf_text name = { 0 };
	while (tide__pb_next(&in, &f)) {
		if (f.number == A_NAME && f.type == TIDE_PB_VARINT)
			name = tide__pf_interned(t, generation, PF_ARG, f.value);
		else if (f.number == A_NAME_TEXT && f.type == TIDE_PB_BYTES)
			name = (pf_text){ f.data, f.n };
	}
	return name;
}

static bool is(pf_text t, const char *s)
{
	return t.n == strlen(s) && !memcmp(t.s, s, t.n);
}

typedef struct writing {
	pf_trace *t;
	pf_out *o;
	uint32_t generation;
	unsigned depth;
} writing;

static void put_value(writing *w, tide_pb in);

static void put_many(writing *w, tide_pb in, unsigned field)
{
	tide_pb_field f;
	bool some = false;
	tide__pf_puts(w->o, field == A_DICT ? "{" : "[");
	while (tide__pb_next(&in, &f)) {
		if (f.number != field || f.type != TIDE_PB_BYTES)
			continue;
		if (some)
			tide__pf_puts(w->o, ",");
		some = true;
		if (field == A_DICT) {
			tide__pf_text(w->o, arg_name(w->t, w->generation, tide__pb_message(&f)));
			tide__pf_puts(w->o, ":");
		}
		put_value(w, tide__pb_message(&f));
	}
	tide__pf_puts(w->o, field == A_DICT ? "}" : "]");
}

static void put_scalar(writing *w, const tide_pb_field *f)
{
	char text[24];
	switch (f->number) {
	case A_BOOL:
		tide__pf_puts(w->o, f->value ? "true" : "false");
		break;
	case A_UINT:
	case A_POINTER:
		snprintf(text, sizeof text, "%" PRIu64, f->value);
		tide__pf_puts(w->o, text);
		break;
	case A_INT:
		tide__pf_int(w->o, (int64_t)f->value);
		break;
	case A_DOUBLE:
		tide__pf_double(w->o, tide__pb_double(f));
		break;
	case A_INTERNED:
		tide__pf_text(w->o, tide__pf_interned(w->t, w->generation, PF_STRING, f->value));
		break;
	default:
		tide__pf_text(w->o, (pf_text){ f->data, f->type == TIDE_PB_BYTES ? f->n : 0 });
		break;
	}
}

static bool is_value(const tide_pb_field *f)
{
	switch (f->number) {
	case A_BOOL:
	case A_UINT:
	case A_INT:
	case A_POINTER:
	case A_INTERNED:
		return f->type == TIDE_PB_VARINT;
	case A_DOUBLE:
		return f->type == TIDE_PB_FIXED64;
	case A_TEXT:
	case A_JSON:
	case A_DICT:
	case A_ARRAY:
		return f->type == TIDE_PB_BYTES;
	default:
		return false;
	}
}

static void put_value(writing *w, tide_pb in)
{
	tide_pb_field f;
	for (tide_pb rest = in; tide__pb_next(&rest, &f);) {
		if (!is_value(&f))
			continue;
		if (f.number != A_DICT && f.number != A_ARRAY) {
			put_scalar(w, &f);
			return;
		}
		if (w->depth == MOST_DEEP)
			break;
		w->depth++;
		put_many(w, in, f.number);
		w->depth--;
		return;
	}
	tide__pf_puts(w->o, "null");
}

/* Returns the first whole number in an annotation: 2, or 2 of "Agent 2". */
static int64_t number_in(pf_trace *t, uint32_t generation, tide_pb in)
{
	tide_pb_field f;
	while (tide__pb_next(&in, &f)) {
		pf_text s = { 0 };
		if (f.number == A_UINT || f.number == A_INT || f.number == A_POINTER)
			return (int64_t)f.value;
		if (f.number == A_INTERNED)
			s = tide__pf_interned(t, generation, PF_STRING, f.value);
		else if (f.number == A_TEXT && f.type == TIDE_PB_BYTES)
			s = (pf_text){ f.data, f.n };
		for (size_t i = 0; i < s.n; i++) {
			int64_t v = 0;
			if (s.s[i] < '0' || s.s[i] > '9')
				continue;
			for (; i < s.n && s.s[i] >= '0' && s.s[i] <= '9' && v < INT32_MAX; i++)
				v = v * 10 + (s.s[i] - '0');
			return v;
		}
	}
	return 0;
}

/* Returns Kineto's name of one of rocprofv3's arguments, NULL for others. */
static const char *rocprof_name(pf_text name)
{
	return is(name, "agent")			    ? "device"
	       : is(name, "queue") || is(name, "stream_ID") ? "stream"
	       : is(name, "corr_id")			    ? "correlation"
							    : NULL;
}

bool tide__pf_annotations(pf_trace *t, pf_out *o, const pf_event *e, bool rocprof, bool some)
{
	writing w = { .t = t, .o = o, .generation = e->generation };
	tide_pb in = tide__pb_of(e->at, e->n);
	tide_pb_field f;
	while (tide__pb_next(&in, &f)) {
		if (f.number != E_ARG || f.type != TIDE_PB_BYTES)
			continue;
		tide_pb arg = tide__pb_message(&f);
		pf_text name = arg_name(t, e->generation, arg);
		const char *other = rocprof ? rocprof_name(name) : NULL;
		if (some)
			tide__pf_puts(o, ",");
		some = true;
		tide__pf_text(o, other ? (pf_text){ (const uint8_t *)other, strlen(other) } : name);
		tide__pf_puts(o, ":");
		if (other)
			tide__pf_int(o, number_in(t, e->generation, arg));
		else
			put_value(&w, arg);
	}
	return some;
}

static void about_arg(pf_args *a, pf_text name)
{
	a->correlation |= is(name, "correlation") || is(name, "corr_id");
	a->device |= is(name, "device");
	a->stream |= is(name, "stream");
	a->grid |= is(name, "grid");
	a->cbid |= is(name, "cbid");
	a->sync |= is(name, "cuda_sync_kind");
}

pf_args tide__pf_about(pf_trace *t, const pf_event *e)
{
	pf_args a = { 0 };
	tide_pb in = tide__pb_of(e->at, e->n);
	tide_pb_field f, v;
	while (tide__pb_next(&in, &f)) {
		if (f.number == E_NAME_TEXT && f.type == TIDE_PB_BYTES)
			a.name = (pf_text){ f.data, f.n };
		else if (f.number == E_NAME)
			a.name = tide__pf_interned(t, e->generation, PF_NAME, f.value);
		else if (f.number == E_LEGACY && !a.name.n)
			for (tide_pb old = tide__pb_message(&f); tide__pb_next(&old, &v);)
				a.name = v.number == 1 ? tide__pf_interned(t, e->generation,
									   PF_NAME, v.value)
						       : a.name;
		else if (f.number == E_CATEGORY_TEXT && f.type == TIDE_PB_BYTES && !a.category.n)
			a.category = (pf_text){ f.data, f.n };
		else if (f.number == E_CATEGORY && !a.category.n) {
			uint64_t iid;
			tide_pb list =
				f.type == TIDE_PB_BYTES ? tide__pb_list(&f) : tide__pb_of(0, 0);
			if (f.type != TIDE_PB_BYTES)
				iid = f.value;
			else if (!tide__pb_varint(&list, &iid))
				continue;
			a.category = tide__pf_interned(t, e->generation, PF_CATEGORY, iid);
		} else if (f.number == E_ARG && f.type == TIDE_PB_BYTES) {
			about_arg(&a, arg_name(t, e->generation, tide__pb_message(&f)));
		} else if (f.number == E_FLOW || f.number == E_END || f.number == E_FLOW_OLD ||
			   f.number == E_END_OLD) {
			a.flow = a.flow ? a.flow : f.value;
		}
	}
	return a;
}
