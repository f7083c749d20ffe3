// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads the arguments of one event. Known whole numbers go into the event, arguments that analyses
 * need become attributes, and all others are skipped (tide__kineto_reread_args fetches them on
 * request). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/json/compact.h"
#include "import/kineto/event.h"
#include "import/json/value.h"

static bool add_attr(kin_parser *c, jsonr_text *key, bool coll, jsonr_slice v)
{
	kin_attr *a = key ? TIDE_PUSH(c->out, attrs) : NULL;
	if (!a)
		return jsonr_oom(&c->json);
	*a = (kin_attr){ .key = key, .coll = coll };
	if (v.type != '"' &&
	    tide__jsonr_parse_i64(c->json.s.b + v.at, v.n, &a->number) == JSONR_NUM_OK)
		return true;
	a->number = 0;
	a->text = tide__jsonr_slice_text(&c->json, v);
	if (!a->text)
		return jsonr_oom(&c->json);
	return true;
}

/* Adds a counter's value: the bits of a double. Text that is not a number is counted as lost. */
static bool add_sample(kin_parser *c, jsonr_slice key, jsonr_slice v)
{
	char buf[64], *end;
	size_t n = v.n < sizeof buf - 1 ? v.n : sizeof buf - 1;
	memcpy(buf, c->json.s.b + v.at, n);
	buf[n] = 0;
	double d = strtod(buf, &end);
	if (v.type == '{' || v.type == '[' || end == buf || *end || d != d) {
		c->out->loss[KIN_LOSS_COUNTER]++;
		return true;
	}
	kin_attr *a = TIDE_PUSH(c->out, attrs);
	if (!a)
		return jsonr_oom(&c->json);
	*a = (kin_attr){ .key = tide__jsonr_slice_text(&c->json, key) };
	memcpy(&a->number, &d, sizeof d);
	return a->key || jsonr_oom(&c->json);
}

/* Slices are passed by address, because copying one right after it was written stalls the
 * processor. */
static inline void take_number(kin_parser *c, kin_event *e, kin_key k, const jsonr_slice *v)
{
	int64_t n;
	uint64_t u;
	if (v->n && v->n <= 16 && jsonr_digits(c->json.s.b + v->at, v->n, &u)) {
		e->num[k] = (int64_t)u;
		e->has |= UINT64_C(1) << k;
		return;
	}
	jsonr_num rc = tide__jsonr_parse_i64(c->json.s.b + v->at, v->n, &n);
	if (rc == JSONR_NUM_RANGE)
		c->out->loss[KIN_LOSS_BIG_NUMBER]++;
	if (rc != JSONR_NUM_OK)
		return;
	e->num[k] = n;
	e->has |= UINT64_C(1) << k;
}

enum { SHAPE_MOST = 1000 }; /* bytes of an argument that is kept as text */

/* Adds shapes of ops and launch figures of kernels, on request. A very long one is replaced by its
 * length. */
static bool take_shape(kin_parser *c, const kin_event *e, unsigned k, const jsonr_slice *v)
{
	uint32_t cats;
	char many[40];
	if (!(c->want & (e->cat == TIDE_CAT_KERNEL ? TIDE_WANT_LAUNCH : TIDE_WANT_SHAPES)) ||
	    e->ph != 'X')
		return true;
	const char *text = tide__kineto_key_text((kin_key)k, &cats);
	if (!(e->cat < 31 && cats >> e->cat & 1))
		return true;
	jsonr_text *key = tide__jsonr_text(&c->json.texts, text, strlen(text));
	size_t len = v->type == '[' || v->type == '{'
			     ? tide__jsonr_compact(c->json.s.b + v->at, v->n, NULL, 0)
			     : v->n;
	if (len <= SHAPE_MOST)
		return add_attr(c, key, false, *v);
	kin_attr *a = key ? TIDE_PUSH(c->out, attrs) : NULL;
	if (!a)
		return jsonr_oom(&c->json);
	int n = snprintf(many, sizeof many, "(%zu bytes)", len);
	*a = (kin_attr){ .key = key, .text = tide__jsonr_text(&c->json.texts, many, (size_t)n) };
	return a->text || jsonr_oom(&c->json);
}

static inline bool take(kin_parser *c, kin_event *e, const jsonr_slice *key, const jsonr_slice *v)
{
	if (e->counter_args)
		return e->ph == 'C'
			       ? add_sample(c, *key, *v)
			       : add_attr(c, tide__jsonr_slice_text(&c->json, *key), false, *v);
	kin_key k = (kin_key)kin_word_find(c->keys, c->json.s.b + key->at, key->n);
	if (k == KIN_KEY_NONE)
		return true;
	if (k >= KIN_N_KEYS)
		return take_shape(c, e, k, v);
	if (k == KIN_KEY_NAME || k == KIN_KEY_LABELS) {
		if (e->ph == 'M' && v->type == '"')
			e->label = tide__jsonr_slice_text(&c->json, *v);
		return e->ph != 'M' || v->type != '"' || e->label || jsonr_oom(&c->json);
	}
	uint32_t cats;
	const char *text = tide__kineto_key_text(k, &cats);
	bool handle = k == KIN_KEY_STREAM && v->n > 1 &&
		      c->json.s.b[v->at + 1] == 'x'; /* "0x7f..": not a decimal number */
	if (!(cats & KIN_COLL) && !handle)
		take_number(c, e, k, v);
	else if (k == KIN_KEY_COLL_NAME)
		e->has |= UINT64_C(1) << k;
	bool wanted = cats & KIN_COLL ? e->cat == TIDE_CAT_OP || e->cat == TIDE_CAT_USER ||
						tide__cat_is_gpu(e->cat)
				      : e->cat < 31 && cats >> e->cat & 1;
	if (e->ph != 'X' || !wanted)
		return true;
	return add_attr(c, tide__jsonr_text(&c->json.texts, text, key->n), cats & KIN_COLL, *v);
}

/* Drops arguments of a collective if the event has no collective's name. */
static void drop_coll(kin_out *o, size_t from)
{
	size_t n = from;
	for (size_t i = from; i < o->n_attrs; i++)
		if (!o->attrs[i].coll)
			o->attrs[n++] = o->attrs[i];
	o->n_attrs = n;
}

size_t tide__kineto_read_args(kin_parser *c, kin_event *e, size_t p)
{
	e->counter_args = e->ph == 'C' || (e->ph == 'X' && e->cat == TIDE_CAT_COUNTERS);
	const char *b = c->json.s.b;
	if (!c->keys)
		c->keys = tide__kineto_key_words();
	for (p = jsonr_ws(b, p + 1); b[p] != '}';) {
		jsonr_slice key, value;
		p = jsonr_member_key(&c->json, p, &key);
		if (p != JSONR_FAIL)
			p = jsonr_value(&c->json, p, &value);
		if (p == JSONR_FAIL || !take(c, e, &key, &value))
			return JSONR_FAIL;
		p = jsonr_next(&c->json, p);
		if (p == JSONR_FAIL)
			return p;
	}
	if (!kin_has(e, KIN_KEY_COLL_NAME) && c->out->n_attrs > e->attr0)
		drop_coll(c->out, e->attr0);
	return p + 1;
}
