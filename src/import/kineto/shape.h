// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A cache of event heads seen before.
 *
 * A profiler writes every event alike: the text from `{` to the name's opening quote differs only
 * with phase and category, the text from the name's closing quote to the start of ts only with pid
 * and tid. If those bytes equal those of an event that was parsed member by member, they have the
 * same meaning, and a comparison replaces parsing. Any other layout is parsed member by member. */
#ifndef TIDE_IMPORT_KINETO_SHAPE_H
#define TIDE_IMPORT_KINETO_SHAPE_H

#include "import/kineto/event.h"
#include "import/json/value.h"

static inline unsigned kin_shape_slot(const char *b, size_t p)
{
	uint64_t x = jsonr_load8(b + p + 8) * 3 + jsonr_load8(b + p + 16) * 5 +
		     jsonr_load8(b + p + 24) * 7;
	return (unsigned)((x * UINT64_C(0x9e3779b97f4a7c15)) >> 58);
}

static inline bool kin_same(const char *a, const char *b, size_t n)
{
	size_t i = 0;
	for (; i + 8 <= n; i += 8)
		if (jsonr_load8(a + i) != jsonr_load8(b + i))
			return false;
	if (i == n)
		return true;
	return (jsonr_load8(a + i) ^ jsonr_load8(b + i)) << (8 * (8 - (n - i))) == 0;
}

/* Reads the head at p up to the end of dur's value if it is cached; returns 0 otherwise. */
static inline size_t kin_known_head(kin_parser *c, kin_event *e, size_t p)
{
	const char *b = c->json.s.b;
	const kin_shape *h = &c->heads[kin_shape_slot(b, p)];
	if (!h->n || p + h->n >= c->json.s.n || !kin_same(b + p, h->text, h->n))
		return 0;
	size_t name = p + h->n, end = jsonr_quote(&c->json.s, name);
	kin_shape *m = &c->middles[kin_shape_slot(b, end)];
	if (!m->n || end + m->n >= c->json.s.n || !kin_same(b + end, m->text, m->n))
		return 0;
	jsonr_slice ts, dur;
	size_t q = jsonr_scalar(&c->json, end + m->n, &ts);
	if (q == JSONR_FAIL || !c->between.n || q + c->between.n >= c->json.s.n ||
	    !kin_same(b + q, c->between.text, c->between.n))
		return 0;
	q = jsonr_scalar(&c->json, q + c->between.n, &dur);
	if (q == JSONR_FAIL || !jsonr_simple_ns(b + ts.at, ts.n, &e->ts) ||
	    !jsonr_simple_ns(b + dur.at, dur.n, &e->dur))
		return 0;
	e->ts_state = e->dur_state = JSONR_NUM_OK;
	e->ph = h->ph;
	e->cat = h->cat;
	e->has_cat = true;
	e->cat_text = h->first;
	e->cat_text.at += (uint32_t)p;
	e->name = jsonr_slice_of(name, end, '"');
	e->pid = m->first;
	e->pid.at += (uint32_t)end;
	e->tid = m->second;
	e->tid.at += (uint32_t)end;
	e->middle = m;
	return q;
}

static inline void kin_learn(kin_shape *s, const char *b, size_t from, size_t to)
{
	s->n = 0;
	if (to - from > sizeof s->text - 8)
		return;
	memset(s->text, 0, sizeof s->text);
	memcpy(s->text, b + from, to - from);
	s->n = (uint32_t)(to - from);
}

/* Caches the head of an event that was parsed member by member, with all seven members once, in
 * Kineto's order. */
static inline void kin_learn_head(kin_parser *c, const kin_event *e)
{
	const char *b = c->json.s.b;
	size_t end = (size_t)e->name.at + e->name.n;
	if (e->keys_at_dur != 7 || !e->ph || !e->has_cat || e->name.type != '"' || !e->pid.type ||
	    !e->tid.type || e->ts_at.type != '0' || e->dur_at.type != '0' ||
	    e->cat_text.at > e->name.at || e->name.at > e->pid.at || e->pid.at > e->tid.at ||
	    e->tid.at > e->ts_at.at || e->ts_at.at > e->dur_at.at)
		return;
	kin_shape *h = &c->heads[kin_shape_slot(b, e->at)];
	kin_learn(h, b, e->at, e->name.at);
	h->ph = e->ph;
	h->cat = e->cat;
	h->first = e->cat_text;
	h->first.at -= (uint32_t)e->at;
	kin_shape *m = &c->middles[kin_shape_slot(b, end)];
	kin_learn(m, b, end, e->ts_at.at);
	m->first = e->pid;
	m->first.at -= (uint32_t)end;
	m->second = e->tid;
	m->second.at -= (uint32_t)end;
	m->lane = NULL;
	kin_learn(&c->between, b, (size_t)e->ts_at.at + e->ts_at.n, e->dur_at.at);
}

#endif
