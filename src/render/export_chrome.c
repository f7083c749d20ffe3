// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Chrome trace JSON in PyTorch's dialect: what its profiler writes, our importer reads back as the
 * same spans, and Perfetto and chrome://tracing show.
 *
 * Spans are X events, strictly nested in each (pid, tid): what does not nest in its lane gets a tid
 * of its own. ts is in us with three decimals, from baseTimeNanoseconds. Kernels are linked to
 * their launches by `correlation` (the launch's row) and by ac2g flows; memory becomes [memory]
 * instants and a counter per device. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/lanename.h"
#include "base/error.h"
#include "base/mem.h"
#include "render/export_chrome.h"

typedef struct property { /* one of deviceProperties */
	int64_t id;
	uint64_t capacity;
	char name[96];
} property;

/* ---- who is who ---- */

static int by_number(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] != y[1] ? (x[1] < y[1] ? -1 : 1) : 0;
}

static bool taken(const int64_t *pairs, size_t n, int64_t pid, int64_t tid)
{
	const int64_t key[2] = { pid, tid };
	return bsearch(key, pairs, n, sizeof key, by_number) != NULL;
}

/* A lane's first track keeps the lane's number, the others get numbers no lane of it has. Two
 * lanes of one number in one process keep the first and renumber the second. */
static bool number_tracks(chrome *c)
{
	uint32_t n = c->nest.n_tracks;
	int64_t(*used)[2] = tide__alloc(c->m->lanes.n, sizeof *used);
	tide_map seen = { 0 };
	int64_t spare = 2000000000;
	bool ok = used != NULL;
	for (uint32_t l = 0; ok && l < c->m->lanes.n; l++) {
		used[l][0] = tide__export_pid(c->m, (tide_lane_id){ l });
		used[l][1] = c->m->lanes.number[l];
	}
	if (ok)
		qsort(used, c->m->lanes.n, sizeof *used, by_number);
	for (uint32_t k = 1; ok && k < n; k++) {
		tide_lane_id lane = c->nest.tracks[k].lane;
		int64_t pid = tide__export_pid(c->m, lane), tid = c->m->lanes.number[lane.i];
		uint64_t key = tide__mix((uint64_t)pid) ^ (uint64_t)tid;
		if (c->nest.tracks[k].number || tide__map_get(&seen, key))
			do
				tid = spare++;
			while (taken(used[0], c->m->lanes.n, pid, tid));
		else
			ok = tide__map_put(&seen, key, k);
		c->pid[k] = pid;
		c->tid[k] = tid;
	}
	tide__free(used);
	tide__map_free(&seen);
	return ok;
}

static void meta(chrome *c, const char *what, int64_t pid, int64_t tid, const char *name)
{
	begin_event(c, "M", pid, tid);
	tide__json_kstr(&c->j, "name", what);
	begin_args(c);
	tide__json_kstr(&c->j, strstr(what, "label") ? "labels" : "name", name);
	end_args(c);
}

static void track_meta(chrome *c, uint32_t k)
{
	const tide_track *t = &c->nest.tracks[k];
	char text[200];
	tide__lane_name(c->m, t->lane, text, 160);
	size_t n = strlen(text);
	if (t->number)
		snprintf(text + n, sizeof text - n, " (%" PRIu32 ")", t->number + 1);
	meta(c, "thread_name", c->pid[k], c->tid[k], text);
}

/* Of several ranks each process says whose it is. */
static void process_meta(chrome *c, int64_t pid, const char *name)
{
	char rank[64], text[200];
	if (c->place.many) {
		snprintf(text, sizeof text, "%s: %.100s",
			 tide__export_rank(&c->place, rank, sizeof rank), name);
		name = text;
	}
	meta(c, "process_name", pid, 0, name);
}

static void all_meta(chrome *c)
{
	const tide_model *m = c->m;
	char text[64], rank[64];
	for (uint32_t p = 1; p < m->processes.n; p++) {
		const char *command = tide__text(m, m->processes.command[p], NULL);
		process_meta(c, m->processes.pid[p], *command ? command : "process");
		if (c->place.many || m->processes.rank[p] >= 0) {
			tide_export_place at = c->place;
			at.rank = c->place.many ? at.rank : m->processes.rank[p];
			meta(c, "process_labels", m->processes.pid[p], 0,
			     tide__export_rank(&at, rank, sizeof rank));
		}
	}
	for (uint32_t d = 1; d < m->devices.n; d++) {
		if (m->devices.kind[d] == TIDE_DEVICE_HOST)
			continue;
		tide__export_device(m, (tide_device_id){ d }, text, sizeof text);
		if (c->place.many)
			process_meta(c, m->devices.index[d], text);
		meta(c, "process_labels", m->devices.index[d], 0, text);
	}
	for (uint32_t k = 1; k < c->nest.n_tracks; k++)
		track_meta(c, k);
}

/* ---- spans ---- */

static void stack_arg(chrome *c, tide_stack_id stack)
{
	const tide_model *m = c->m;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	if (!f)
		return;
	for (; stack.i; stack = m->stacks.parent[stack.i]) { /* innermost first */
		tide_frame_id fr = m->stacks.frame[stack.i];
		fprintf(f, "%s(%" PRIu32 "): %s;", tide__text(m, m->frames.file[fr.i], NULL),
			m->frames.line[fr.i], tide__text(m, m->frames.function[fr.i], NULL));
	}
	if (!fclose(f) && size)
		tide__json_key(&c->j, "Call stack"), tide__json_strn(&c->j, text, size - 1);
	free(text);
}

static bool own_arg(const char *key)
{
	static const char *const keys[] = { "correlation", "External id", "device", "stream",
					    "Call stack" };
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

static void links(chrome *c, uint32_t i)
{
	const tide_spans *s = &c->m->spans;
	uint32_t cause = tide__cat_is_gpu(s->cat[i]) ? s->cause[i].i : 0;
	uint32_t launch = cause ? cause : c->causes[i] ? i : 0;
	if (!launch)
		return;
	bool call = s->cat[launch] == TIDE_CAT_RUNTIME || s->cat[launch] == TIDE_CAT_DRIVER;
	tide__json_kuint(&c->j, call ? "correlation" : "External id", link_id(c, launch));
}

/* `at` is a cursor into attrs, which are in order of span. */
static void span(chrome *c, uint32_t i, size_t *at)
{
	const tide_model *m = c->m;
	const tide_spans *s = &m->spans;
	uint32_t k = c->nest.track[i], lane = s->lane[i].i, d = m->lanes.device[lane].i;
	begin_event(c, "X", c->pid[k], c->tid[k]);
	tide__json_kstr(&c->j, "cat", tide__kineto_cat(s->cat[i]));
	kstr(c, "name", s->name[i]);
	ts(c, s->t0[i]);
	tide__json_kmilli(&c->j, "dur", tide__track_end(&c->nest, m, i) - s->t0[i]);
	begin_args(c);
	if (m->lanes.kind[lane] == TIDE_LANE_STREAM) {
		tide__json_kint(&c->j, "device", apart(c, m->devices.index[d]));
		tide__json_kint(&c->j, "stream", m->lanes.number[lane]);
	}
	links(c, i);
	if (s->stack[i].i)
		stack_arg(c, s->stack[i]);
	for (; *at < m->attrs.n && m->attrs.span[*at].i <= i; ++*at) {
		const char *key = tide__text(m, m->attrs.key[*at], NULL);
		if (m->attrs.span[*at].i < i || own_arg(key))
			continue;
		if (m->attrs.text[*at].i)
			kstr(c, key, m->attrs.text[*at]);
		else
			tide__json_kint(&c->j, key, m->attrs.number[*at]);
	}
	end_args(c);
}

static void flow(chrome *c, const char *ph, const char *cat, uint64_t id, uint32_t i)
{
	uint32_t k = c->nest.track[i];
	begin_event(c, ph, c->pid[k], c->tid[k]);
	tide__json_kuint(&c->j, "id", link_id(c, id));
	tide__json_kstr(&c->j, "cat", cat);
	tide__json_kstr(&c->j, "name", cat);
	ts(c, c->m->spans.t0[i]);
	if (*ph == 'f')
		tide__json_kstr(&c->j, "bp", "e");
	tide__json_object_end(&c->j);
}

static void all_flows(chrome *c)
{
	const tide_model *m = c->m;
	for (uint32_t i = 1; i < m->spans.n; i++) {
		if (c->causes[i])
			flow(c, "s", "ac2g", i, i);
		if (tide__cat_is_gpu(m->spans.cat[i]) && m->spans.cause[i].i)
			flow(c, "f", "ac2g", m->spans.cause[i].i, i);
	}
	for (size_t k = 0; k < m->flows.n; k++) {
		uint64_t id = m->spans.n + k;
		const char *cat = tide__flow_kind_text(m->flows.kind[k]);
		if (m->flows.kind[k] == TIDE_FLOW_LAUNCH)
			continue; /* the same as spans.cause */
		flow(c, "s", cat, id, m->flows.from[k].i);
		flow(c, "f", cat, id, m->flows.to[k].i);
	}
}

/* ---- the document ---- */

static void devices(chrome *c)
{
	const tide_model *m = c->m;
	tide__json_key(&c->j, "deviceProperties");
	tide__json_array(&c->j);
	for (uint32_t d = 1; d < m->devices.n; d++) {
		if (m->devices.kind[d] == TIDE_DEVICE_HOST)
			continue;
		tide__json_object(&c->j);
		tide__json_kint(&c->j, "id", m->devices.index[d]);
		if (m->devices.name[d].i)
			kstr(c, "name", m->devices.name[d]);
		if (m->devices.capacity[d])
			tide__json_kuint(&c->j, "totalGlobalMem", m->devices.capacity[d]);
		tide__json_object_end(&c->j);
	}
	tide__json_array_end(&c->j);
}

/* What the trace lost on its way here. */
static void losses(chrome *c)
{
	const tide_model *m = c->m;
	tide__json_key(&c->j, "tidemark");
	tide__json_object(&c->j);
	tide__json_kuint(&c->j, "cut_spans", c->nest.n_cut);
	for (size_t i = 0; i < m->facts.n; i++) {
		const char *key = tide__text(m, m->facts.key[i], NULL);
		if (strncmp(key, "loss.", 5))
			continue;
		if (m->facts.text[i].i)
			kstr(c, key, m->facts.text[i]);
		else
			tide__json_kint(&c->j, key, m->facts.number[i]);
	}
	tide__json_object_end(&c->j);
}

static void head(chrome *c)
{
	const tide_model *m = c->m;
	tide__json_kint(&c->j, "schemaVersion", 1);
	tide__json_kstr(&c->j, "displayTimeUnit", "ns");
	if (m->wall_known)
		tide__json_kint(&c->j, "baseTimeNanoseconds", m->wall0_ns);
	devices(c);
	if (m->processes.n > 1 && m->processes.rank[1] >= 0) {
		tide__json_key(&c->j, "distributedInfo");
		tide__json_object(&c->j);
		tide__json_kint(&c->j, "rank", m->processes.rank[1]);
		if (m->processes.world[1] > 0)
			tide__json_kint(&c->j, "world_size", m->processes.world[1]);
		tide__json_object_end(&c->j);
	}
	losses(c);
}

static bool prepare(chrome *c)
{
	const tide_spans *s = &c->m->spans;
	c->pid = tide__calloc(c->nest.n_tracks, sizeof *c->pid);
	c->tid = tide__calloc(c->nest.n_tracks, sizeof *c->tid);
	c->causes = tide__calloc(s->n, 1);
	if (!c->pid || !c->tid || !c->causes || !number_tracks(c))
		return false;
	for (uint32_t i = 1; i < s->n; i++)
		if (tide__cat_is_gpu(s->cat[i]) && s->cause[i].i)
			c->causes[s->cause[i].i] = 1;
	return true;
}

/* Everything that goes into traceEvents. */
static bool events(chrome *c)
{
	size_t at = 0;
	all_meta(c);
	for (uint32_t i = 1; i < c->m->spans.n; i++)
		span(c, i, &at);
	all_flows(c);
	tide__chrome_marks(c);
	return tide__chrome_samples(c) && tide__chrome_memory(c);
}

/* Count what had to be changed, and let go of what belongs to one trace. */
static void finish(chrome *c, tide_export_stats *st)
{
	for (uint32_t k = 1; k < c->nest.n_tracks; k++)
		st->extra_tracks += c->nest.tracks[k].number > 0;
	st->cut_spans += c->nest.n_cut;
	tide__tracks_free(&c->nest);
	tide__free(c->pid);
	tide__free(c->tid);
	tide__free(c->causes);
	c->nest = (tide_tracks){ 0 };
	c->pid = c->tid = NULL;
	c->causes = NULL;
}

static tide_code write(const tide_model *m, const tide_export_options *opt, FILE *out,
		       tide_export_stats *st, tide_error *err)
{
	chrome c = { .m = m };
	bool ok = tide__tracks(m, &c.nest, err) == TIDE_OK && prepare(&c);
	tide__json_begin(&c.j, out, false);
	tide__json_object(&c.j);
	if (ok) {
		head(&c);
		tide__json_key(&c.j, "traceEvents");
		tide__json_array(&c.j);
		ok = events(&c);
		tide__json_array_end(&c.j);
	}
	tide__json_object_end(&c.j);
	bool wrote = tide__json_end(&c.j);
	finish(&c, st);
	return tide__export_end(!ok, !wrote, err);
}

/* ---- several ranks ---- */

typedef struct device_list {
	property *v; /* owned */
	size_t n, cap;
} device_list;

static bool keep_devices(const chrome *c, device_list *l)
{
	const tide_model *m = c->m;
	for (uint32_t d = 1; d < m->devices.n; d++) {
		if (m->devices.kind[d] == TIDE_DEVICE_HOST)
			continue;
		if (l->n == l->cap) {
			size_t cap = l->cap * 2 + 16;
			property *v = tide__realloc(l->v, cap, sizeof *v);
			if (!v)
				return false;
			l->v = v;
			l->cap = cap;
		}
		property *to = &l->v[l->n++];
		*to = (property){ apart(c, m->devices.index[d]), m->devices.capacity[d], "" };
		snprintf(to->name, sizeof to->name, "%s", tide__text(m, m->devices.name[d], NULL));
	}
	return true;
}

static void ranks_tail(tide_json *j, const device_list *l, const tide_export_stats *st)
{
	tide__json_key(j, "deviceProperties");
	tide__json_array(j);
	for (size_t i = 0; i < l->n; i++) {
		tide__json_object(j);
		tide__json_kint(j, "id", l->v[i].id);
		if (*l->v[i].name)
			tide__json_kstr(j, "name", l->v[i].name);
		if (l->v[i].capacity)
			tide__json_kuint(j, "totalGlobalMem", l->v[i].capacity);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
	tide__json_key(j, "tidemark");
	tide__json_object(j);
	tide__json_kuint(j, "traces", st->traces);
	tide__json_kuint(j, "cut_spans", st->cut_spans);
	tide__json_object_end(j);
}

static bool rank_events(chrome *c, device_list *l, tide_export_stats *st, tide_error *err)
{
	bool ok = tide__tracks(c->m, &c->nest, err) == TIDE_OK && prepare(c) &&
		  keep_devices(c, l) && events(c);
	finish(c, st);
	return ok;
}

static tide_code write_ranks(const tide_export_ranks *r, FILE *out, tide_export_stats *st,
			     tide_error *err)
{
	tide_export_walk w = { .r = r };
	chrome c = { 0 };
	device_list l = { 0 };
	bool ok = true;
	tide__json_begin(&c.j, out, false);
	tide__json_object(&c.j);
	tide__json_kint(&c.j, "schemaVersion", 1);
	tide__json_kstr(&c.j, "displayTimeUnit", "ns");
	while (ok && (c.m = tide__export_next(&w))) {
		if (w.done == 1) {
			tide__json_kint(&c.j, "baseTimeNanoseconds", w.base);
			tide__json_key(&c.j, "traceEvents");
			tide__json_array(&c.j);
		}
		c.place = w.place;
		ok = rank_events(&c, &l, st, err);
	}
	if (w.done)
		tide__json_array_end(&c.j);
	st->traces = w.done;
	st->untimed = w.untimed;
	ranks_tail(&c.j, &l, st);
	tide__json_object_end(&c.j);
	bool wrote = tide__json_end(&c.j);
	tide__free(l.v);
	return tide__export_end(!ok, !wrote, err);
}

const tide_exporter tide__export_chrome = {
	.name = "chrome",
	.what = "Chrome trace JSON as PyTorch's profiler writes it: Perfetto, chrome://tracing",
	.suffixes = ".json,.trace",
	.write = write,
	.write_ranks = write_ranks,
};
