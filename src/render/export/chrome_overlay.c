// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Results of analyses in a Chrome trace: a process of its own with a thread for the critical path and
 * one for findings, counters, and flows between the spans on the path. Every event has the category
 * that the importer leaves out. */
#include "render/export/chrome.h"
#include "render/export/overlay.h"

static void begin(chrome *c, const char *ph, int64_t tid)
{
	tide__json_object(&c->j);
	tide__json_kstr(&c->j, "ph", ph);
	tide__json_kint(&c->j, "pid", TIDE_OVERLAY_PID);
	tide__json_kint(&c->j, "tid", tid);
	tide__json_kstr(&c->j, "cat", TIDE_OVERLAY_CAT);
}

static void put_text(chrome *c, const char *key, const tide_overlay *o, uint32_t text)
{
	size_t n;
	const char *s = tide__strings_get(o->texts, text, &n);
	tide__json_kstrn(&c->j, key, s, n);
}

static void name_it(chrome *c, const char *what, int64_t tid, const char *name)
{
	begin(c, "M", tid);
	tide__json_kstr(&c->j, "name", what);
	begin_args(c);
	tide__json_kstr(&c->j, "name", name);
	end_args(c);
}

static void put_slice(chrome *c, const tide_overlay *o, const tide_overlay_slice *s)
{
	bool instant = s->t0 == s->t1;
	begin(c, instant ? "i" : "X", s->track + 1);
	put_text(c, "name", o, s->name);
	ts(c, s->t0);
	if (instant)
		tide__json_kstr(&c->j, "s", "t");
	else
		tide__json_kmilli(&c->j, "dur", s->t1 - s->t0);
	begin_args(c);
	if (s->detail)
		put_text(c, "detail", o, s->detail);
	end_args(c);
}

static void put_flow(chrome *c, const char *ph, uint64_t id, uint32_t span)
{
	uint32_t k = c->nest.track[span];
	begin_event(c, ph, c->pid[k], c->tid[k]);
	tide__json_kuint(&c->j, "id", link_id(c, id));
	tide__json_kstr(&c->j, "cat", TIDE_OVERLAY_CAT);
	tide__json_kstr(&c->j, "name", "critical path");
	ts(c, c->m->spans.t0[span]);
	if (*ph == 'f')
		tide__json_kstr(&c->j, "bp", "e");
	tide__json_object_end(&c->j);
}

static void put_series(chrome *c, const tide_series *s)
{
	char name[160];
	for (size_t k = 0; k < s->n_curves; k++)
		for (size_t i = s->curves[k].first; i < s->curves[k].first + s->curves[k].n; i++) {
			begin(c, "C", 0);
			tide__json_kstr(&c->j, "name",
					tide__overlay_curve(&s->curves[k], name, sizeof name));
			ts(c, s->points[i].t);
			begin_args(c);
			tide__json_key(&c->j, "value");
			tide__json_double(&c->j, s->points[i].value);
			end_args(c);
		}
}

void tide__chrome_write_overlay(chrome *c, const tide_overlay *o)
{
	name_it(c, "process_name", 0, TIDE_OVERLAY_NAME);
	for (uint32_t k = 0; k < 2; k++)
		name_it(c, "thread_name", k + 1, tide__strings_get(o->texts, o->tracks[k], NULL));
	for (size_t i = 0; i < o->n_slices; i++) {
		const tide_overlay_slice *s = &o->slices[i];
		uint64_t id = c->m->spans.n + c->m->flows.n + i;
		if (s->t1 > s->t0 || !s->from)
			put_slice(c, o, s);
		if (s->from) {
			put_flow(c, "s", id, s->from);
			put_flow(c, "f", id, s->to);
		}
	}
	put_series(c, &o->queue);
	put_series(c, &o->bandwidth);
}
