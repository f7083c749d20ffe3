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

static bool add_attr(kin_parser *c, kin_text *key, bool coll, kin_slice v)
{
	kin_attr *a = key ? KIN_PUSH(c->out, attrs) : NULL;
	if (!a)
		return kin_oom(c);
	*a = (kin_attr){ .key = key, .coll = coll };
	if (v.type != '"' && tide__kineto_parse_i64(c->s.b + v.at, v.n, &a->number) == KIN_NUM_OK)
		return true;
	a->number = 0;
	a->text = tide__kineto_slice_text(c, v);
	if (!a->text)
		return kin_oom(c);
	return true;
}

/* Adds a counter's value: the bits of a double. Text that is not a number is counted as lost. */
static bool add_sample(kin_parser *c, kin_slice key, kin_slice v)
{
	char buf[64], *end;
	size_t n = v.n < sizeof buf - 1 ? v.n : sizeof buf - 1;
	memcpy(buf, c->s.b + v.at, n);
	buf[n] = 0;
	double d = strtod(buf, &end);
	if (v.type == '{' || v.type == '[' || end == buf || *end || d != d) {
		c->out->loss[KIN_LOSS_COUNTER]++;
		return true;
	}
	kin_attr *a = KIN_PUSH(c->out, attrs);
	if (!a)
		return kin_oom(c);
	*a = (kin_attr){ .key = tide__kineto_slice_text(c, key) };
	memcpy(&a->number, &d, sizeof d);
	return a->key || kin_oom(c);
}

/* Slices are passed by address, because copying one right after it was written stalls the
 * processor. */
static inline void take_number(kin_parser *c, kin_event *e, kin_key k, const kin_slice *v)
{
	int64_t n;
	uint64_t u;
	if (v->n && v->n <= 16 && kin_digits(c->s.b + v->at, v->n, &u)) {
		e->num[k] = (int64_t)u;
		e->has |= UINT64_C(1) << k;
		return;
	}
	kin_num rc = tide__kineto_parse_i64(c->s.b + v->at, v->n, &n);
	if (rc == KIN_NUM_RANGE)
		c->out->loss[KIN_LOSS_BIG_NUMBER]++;
	if (rc != KIN_NUM_OK)
		return;
	e->num[k] = n;
	e->has |= UINT64_C(1) << k;
}

enum { SHAPE_MOST = 1000 }; /* bytes of an argument that is kept as text */

/* Adds shapes of ops and launch figures of kernels, on request. A very long one is replaced by its
 * length. */
static bool take_shape(kin_parser *c, const kin_event *e, unsigned k, const kin_slice *v)
{
	uint32_t cats;
	char many[40];
	if (!(c->want & (e->cat == TIDE_CAT_KERNEL ? TIDE_WANT_LAUNCH : TIDE_WANT_SHAPES)) ||
	    e->ph != 'X')
		return true;
	const char *text = tide__kineto_key_text((kin_key)k, &cats);
	if (!(e->cat < 31 && cats >> e->cat & 1))
		return true;
	kin_text *key = tide__kineto_text(&c->texts, text, strlen(text));
	size_t len = v->type == '[' || v->type == '{'
			     ? tide__json_compact(c->s.b + v->at, v->n, NULL, 0)
			     : v->n;
	if (len <= SHAPE_MOST)
		return add_attr(c, key, false, *v);
	kin_attr *a = key ? KIN_PUSH(c->out, attrs) : NULL;
	if (!a)
		return kin_oom(c);
	int n = snprintf(many, sizeof many, "(%zu bytes)", len);
	*a = (kin_attr){ .key = key, .text = tide__kineto_text(&c->texts, many, (size_t)n) };
	return a->text || kin_oom(c);
}

static inline bool take(kin_parser *c, kin_event *e, const kin_slice *key, const kin_slice *v)
{
	if (e->counter_args)
		return e->ph == 'C' ? add_sample(c, *key, *v)
				    : add_attr(c, tide__kineto_slice_text(c, *key), false, *v);
	kin_key k = (kin_key)kin_word_find(c->keys, c->s.b + key->at, key->n);
	if (k == KIN_KEY_NONE)
		return true;
	if (k >= KIN_N_KEYS)
		return take_shape(c, e, k, v);
	if (k == KIN_KEY_NAME || k == KIN_KEY_LABELS) {
		if (e->ph == 'M' && v->type == '"')
			e->label = tide__kineto_slice_text(c, *v);
		return e->ph != 'M' || v->type != '"' || e->label || kin_oom(c);
	}
	uint32_t cats;
	const char *text = tide__kineto_key_text(k, &cats);
	bool handle = k == KIN_KEY_STREAM && v->n > 1 &&
		      c->s.b[v->at + 1] == 'x'; /* "0x7f..": not a decimal number */
	if (!(cats & KIN_COLL) && !handle)
		take_number(c, e, k, v);
	else if (k == KIN_KEY_COLL_NAME)
		e->has |= UINT64_C(1) << k;
	bool wanted = cats & KIN_COLL ? e->cat == TIDE_CAT_OP || e->cat == TIDE_CAT_USER ||
						tide__cat_is_gpu(e->cat)
				      : e->cat < 31 && cats >> e->cat & 1;
	if (e->ph != 'X' || !wanted)
		return true;
	return add_attr(c, tide__kineto_text(&c->texts, text, key->n), cats & KIN_COLL, *v);
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
	const char *b = c->s.b;
	if (!c->keys)
		c->keys = tide__kineto_key_words();
	for (p = kin_ws(b, p + 1); b[p] != '}';) {
		kin_slice key, value;
		p = kin_member_key(c, p, &key);
		if (p != KIN_FAIL)
			p = kin_value(c, p, &value);
		if (p == KIN_FAIL || !take(c, e, &key, &value))
			return KIN_FAIL;
		p = kin_next(c, p);
		if (p == KIN_FAIL)
			return p;
	}
	if (!kin_has(e, KIN_KEY_COLL_NAME) && c->out->n_attrs > e->attr0)
		drop_coll(c->out, e->attr0);
	return p + 1;
}
