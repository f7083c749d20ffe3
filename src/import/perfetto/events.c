// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Events in order of time, stable: equal times keep the order of the file, as trace_processor does.
 * An end closes the innermost open slice of its track. Each slice is one complete event of a Chrome
 * trace, written where it begins. */
#include "import/perfetto/perfetto_impl.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/mergesort.h"

enum { E_FLOW_OLD = 36, E_END_OLD = 42, E_FLOW = 47, E_END = 48, E_INT = 30, E_DOUBLE = 44 };
enum { CHUNK = 256 << 10 };
enum { NOT = 0, ROCPROF = 1, LAUNCH = 2, DEVICE = 4, KINETO = 8 };

static inline bool before(const void *ctx, uint32_t x, uint32_t y)
{
	const pf_event *e = ctx;
	return e[x].ts < e[y].ts;
}

/* ---- pairs ---- */

static void pair(pf_events *g, uint32_t *below)
{
	pf_trace *t = g->t;
	for (size_t i = 0; i < t->n_events; i++) {
		uint32_t row = g->order[i];
		pf_track *k = &t->tracks[t->events[row].track];
		if (t->events[row].type == PF_BEGIN) {
			below[row] = k->top;
			k->top = row + 1;
		} else if (t->events[row].type == PF_END) {
			if (!k->top) {
				g->unopened++;
				continue;
			}
			g->partner[k->top - 1] = row + 1;
			k->top = below[k->top - 1];
		}
	}
}

bool tide__pf_events_begin(pf_events *g)
{
	size_t n = g->t->n_events;
	uint32_t *below = tide__calloc(n, sizeof *below);
	g->order = tide__alloc(n * 2, sizeof *g->order);
	g->partner = tide__calloc(n, sizeof *g->partner);
	bool ok = below && g->order && g->partner;
	for (size_t i = 0; ok && i < n; i++)
		g->order[i] = (uint32_t)i;
	if (ok) {
		tide__mergesort(g->order, g->order + n, n, before, g->t->events);
		pair(g, below);
	}
	tide__free(below);
	return ok;
}

void tide__pf_events_fini(pf_events *g)
{
	tide__free(g->order);
	tide__free(g->partner);
	tide__free(g->out.s);
	tide__map_free(&g->flows);
}

/* ---- parts of an event ---- */

static bool is(pf_text t, const char *s)
{
	return t.n == strlen(s) && !memcmp(t.s, s, t.n);
}

static bool starts(pf_text t, const char *s)
{
	return t.n >= strlen(s) && !memcmp(t.s, s, strlen(s));
}

typedef struct category {
	const char *name, *kineto;
	unsigned what;
} category;

/* Kineto's categories that links need, and those of rocprofv3. */
static const category categories[] = {
	{ "kernel", "kernel", KINETO | DEVICE },
	{ "gpu_memcpy", "gpu_memcpy", KINETO | DEVICE },
	{ "gpu_memset", "gpu_memset", KINETO | DEVICE },
	{ "cuda_runtime", "cuda_runtime", KINETO | LAUNCH },
	{ "cuda_driver", "cuda_driver", KINETO | LAUNCH },
	{ "kernel_dispatch", "kernel", ROCPROF | DEVICE },
	{ "memory_copy", "gpu_memcpy", ROCPROF | DEVICE },
	{ "hip_api", "hip_runtime", ROCPROF | LAUNCH },
	{ "hip_runtime_api", "hip_runtime", ROCPROF | LAUNCH },
	{ "hip_compiler_api", "hip_runtime", ROCPROF | LAUNCH },
	{ "hsa_api", "hip_runtime", ROCPROF | LAUNCH },
};

/* A slice without a category has that of its arguments, if torch's CUPTI monitor wrote it. */
static category guess(const pf_args *a)
{
	if (a->sync)
		return (category){ NULL, "cuda_sync", KINETO };
	if (a->cbid)
		return (category){ NULL, "cuda_runtime", KINETO | LAUNCH };
	if (a->device && a->stream && starts(a->name, "Memcpy"))
		return (category){ NULL, "gpu_memcpy", KINETO | DEVICE };
	if (a->device && a->stream && starts(a->name, "Memset"))
		return (category){ NULL, "gpu_memset", KINETO | DEVICE };
	if (a->device && a->stream && a->grid)
		return (category){ NULL, "kernel", KINETO | DEVICE };
	return (category){ NULL, "", NOT };
}

static category category_of(const pf_args *a)
{
	for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
		if (is(a->category, categories[i].name))
			return categories[i];
	return a->category.n ? (category){ NULL, NULL, NOT } : guess(a);
}

static void begin(pf_events *g, const pf_event *e, const char *ph)
{
	pf_out *o = &g->out;
	const pf_track *k = &g->t->tracks[e->track];
	tide__pf_puts(o, ",\n{\"ph\":\"");
	tide__pf_puts(o, ph);
	tide__pf_puts(o, "\",");
	tide__pf_put(o, g->t->who.s + k->who, k->n_who);
	tide__pf_puts(o, ",\"ts\":");
	tide__pf_time(o, e->ts);
}

static void put_category(pf_out *o, const category *c, const pf_args *a)
{
	tide__pf_puts(o, ",\"cat\":");
	tide__pf_text(o, c->kineto ? (pf_text){ (const uint8_t *)c->kineto, strlen(c->kineto) }
				   : a->category);
}

static void put_name(pf_out *o, pf_text name)
{
	tide__pf_puts(o, ",\"name\":");
	tide__pf_text(o, name);
}

/* ---- flows ---- */

/* Returns a small number for a flow's id, equal for equal ids; 0 if memory runs out. */
static uint32_t flow_number(pf_events *g, uint64_t id)
{
	uint32_t n = tide__map_get(&g->flows, id);
	if (n)
		return n;
	if (!tide__map_put(&g->flows, id, (uint32_t)g->n_flows + 1)) {
		g->out.failed = true;
		return 0;
	}
	return (uint32_t)++g->n_flows;
}

/* A flow's first event starts it; a later one ends it. */
static void put_flow(pf_events *g, const pf_event *e, uint64_t id)
{
	uint64_t known = g->n_flows;
	uint32_t n = flow_number(g, id);
	begin(g, e, n > known ? "s" : "f");
	tide__pf_puts(&g->out, ",\"cat\":\"flow\",\"name\":\"flow\",\"id\":");
	tide__pf_int(&g->out, n);
	tide__pf_puts(&g->out, "}");
}

static void put_flows(pf_events *g, const pf_event *e)
{
	tide_pb in = tide__pb_of(e->at, e->n);
	tide_pb_field f;
	while (tide__pb_next(&in, &f))
		if ((f.number == E_FLOW || f.number == E_END) && f.type == TIDE_PB_FIXED64)
			put_flow(g, e, f.value);
		else if ((f.number == E_FLOW_OLD || f.number == E_END_OLD) &&
			 f.type == TIDE_PB_VARINT)
			put_flow(g, e, f.value);
}

/* ---- events ---- */

static int64_t old_duration(const pf_event *e)
{
	tide_pb in = tide__pb_of(e->at, e->n);
	tide_pb_field f, v;
	int64_t us = 0;
	while (tide__pb_next(&in, &f))
		if (f.number == 6 && f.type == TIDE_PB_BYTES)
			for (tide_pb old = tide__pb_message(&f); tide__pb_next(&old, &v);)
				us = v.number == 3 ? (int64_t)v.value : us;
	return us < 0 || us > INT64_MAX / 1000 ? 0 : us * 1000;
}

static void put_slice(pf_events *g, uint32_t row)
{
	pf_out *o = &g->out;
	pf_trace *t = g->t;
	const pf_event *e = &t->events[row], *end = NULL;
	pf_args a = tide__pf_about(t, e);
	category c = category_of(&a);
	if (t->own &&
	    is(a.category, "Trace")) /* a row of the profiler's window, which is beside, too */
		return;
	bool open = e->type == PF_BEGIN && !g->partner[row];
	if (e->type == PF_BEGIN && g->partner[row])
		end = &t->events[g->partner[row] - 1];
	begin(g, e, open ? "B" : "X");
	if (!open) {
		tide__pf_puts(o, ",\"dur\":");
		tide__pf_time(o, end ? end->ts - e->ts : old_duration(e));
	}
	put_category(o, &c, &a);
	put_name(o, a.name);
	tide__pf_puts(o, ",\"args\":{");
	bool some = false;
	if (c.what & (DEVICE | LAUNCH) && !a.correlation && a.flow && !t->own) {
		tide__pf_puts(o, "\"correlation\":");
		tide__pf_int(o, flow_number(g, a.flow));
		some = true;
	}
	some = tide__pf_annotations(t, o, e, c.what & ROCPROF, some);
	if (end)
		tide__pf_annotations(t, o, end, c.what & ROCPROF, some);
	tide__pf_puts(o, "}}");
	if (!t->own && !(c.what & (DEVICE | LAUNCH)))
		put_flows(g, e);
}

static void put_instant(pf_events *g, const pf_event *e)
{
	pf_args a = tide__pf_about(g->t, e);
	begin(g, e, "i");
	put_name(&g->out, a.name);
	tide__pf_puts(&g->out, ",\"s\":\"t\",\"args\":{");
	tide__pf_annotations(g->t, &g->out, e, false, false);
	tide__pf_puts(&g->out, "}}");
}

static bool read_count(const pf_track *k, const pf_event *e, double *v)
{
	tide_pb in = tide__pb_of(e->at, e->n);
	tide_pb_field f;
	bool found = false;
	while (tide__pb_next(&in, &f)) {
		bool whole = f.type == TIDE_PB_VARINT, real = f.type == TIDE_PB_FIXED64;
		unsigned i = e->type == PF_GPU_COUNTER ? 2 : e->type == PF_PROCESS ? 3 : E_INT;
		unsigned d = e->type == PF_GPU_COUNTER ? 3 : E_DOUBLE;
		if (f.number == i && whole)
			*v = (double)(int64_t)f.value;
		else if (f.number == d && real && e->type != PF_PROCESS)
			*v = tide__pb_double(&f);
		else
			continue;
		found = true;
	}
	*v *= e->type == PF_PROCESS ? 1024 : (double)k->multiplier;
	return found;
}

static void put_counter(pf_events *g, const pf_event *e)
{
	pf_out *o = &g->out;
	pf_track *k = &g->t->tracks[e->track];
	double v = 0;
	if (!read_count(k, e, &v) || !k->n_label) {
		g->t->unread++;
		return;
	}
	v = k->incremental ? (k->sum += v) : v;
	begin(g, e, "C");
	tide__pf_puts(o, ",\"name\":");
	tide__pf_put(o, g->t->who.s + k->label, k->n_label);
	tide__pf_puts(o, ",\"args\":{\"value\":");
	tide__pf_double(o, v);
	tide__pf_puts(o, "}}");
}

static void put_event(pf_events *g, uint32_t row)
{
	const pf_event *e = &g->t->events[row];
	if (g->t->tracks[e->track].aside)
		return;
	if (e->type == PF_BEGIN || e->type == PF_COMPLETE)
		put_slice(g, row);
	else if (g->t->own || e->type == PF_END)
		return;
	else if (e->type == PF_INSTANT)
		put_instant(g, e);
	else
		put_counter(g, e);
}

/* ---- the document ---- */

static void put_meta(pf_out *o, const char *what, int64_t pid, int64_t tid, pf_text name)
{
	char text[120];
	if (!name.n)
		return;
	snprintf(text, sizeof text,
		 ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRId64 ",\"tid\":%" PRId64
		 ",\"args\":{\"name\":",
		 what, pid, tid);
	tide__pf_puts(o, text);
	tide__pf_text(o, name);
	tide__pf_puts(o, "}}");
}

static void put_metas(pf_events *g)
{
	for (uint32_t i = 1; i < g->t->n_tracks; i++) {
		const pf_track *k = &g->t->tracks[i];
		if (k->process)
			put_meta(&g->out, "process_name", k->pid, 0,
				 k->process_name.n ? k->process_name
				 : k->counter	   ? (pf_text){ 0 }
						   : k->name);
		if (k->thread)
			put_meta(&g->out, "thread_name", k->pid, k->tid,
				 k->thread_name.n ? k->thread_name : k->name);
	}
}

static void put_head(pf_events *g)
{
	const pf_trace *t = g->t;
	for (size_t i = 0; i < t->n_legacy; i++) {
		tide__pf_put(&g->out, (const char *)t->legacy[i].s, t->legacy[i].n);
		if (!t->own) /* ours are parts of documents */
			tide__pf_puts(&g->out, "\n");
	}
	tide__pf_puts(&g->out, "{");
	if (t->wall_known && !t->own) {
		tide__pf_puts(&g->out, "\"baseTimeNanoseconds\":");
		tide__pf_int(&g->out, t->wall);
		tide__pf_puts(&g->out, ",");
	}
	/* an empty event comes first, so that each other one begins with a comma */
	tide__pf_puts(&g->out, "\"traceEvents\":[{}");
	if (!t->own)
		put_metas(g);
}

static void put_loss(pf_out *o, const char *key, uint64_t n)
{
	char text[80];
	if (!n)
		return;
	snprintf(text, sizeof text, ",\"loss.%s\":%" PRIu64, key, n);
	tide__pf_puts(o, text);
}

static void put_tail(pf_events *g)
{
	const pf_trace *t = g->t;
	pf_out *o = &g->out;
	tide__pf_puts(o, "],\"tidemark\":{\"cut\":0");
	put_loss(o, "truncated_at", t->cut_at);
	put_loss(o, "bad_timestamps", t->bad_times);
	put_loss(o, "undefined_ids", t->undefined);
	put_loss(o, "ends_without_begin", g->unopened);
	put_loss(o, "dropped_packets", t->lost);
	put_loss(o, "unread_packets", t->unread);
	tide__pf_puts(o, "}}\n");
}

/* Makes the next block of text. Returns false at the end. */
static bool make_more(pf_events *g)
{
	pf_out *o = &g->out;
	o->n = g->at = 0;
	if (g->stage == 0)
		put_head(g);
	if (g->stage == 1)
		while (g->next < g->t->n_events && o->n < CHUNK && !o->failed)
			put_event(g, g->order[g->next++]);
	if (g->stage == 2)
		put_tail(g);
	if (g->stage != 1 || g->next == g->t->n_events)
		g->stage++;
	return !o->failed && (o->n || g->stage <= 2);
}

size_t tide__pf_events_fill(void *user, void *buf, size_t n)
{
	pf_events *g = user;
	while (g->at == g->out.n)
		if (g->stage > 2 || !make_more(g))
			return 0;
	size_t k = g->out.n - g->at < n ? g->out.n - g->at : n;
	memcpy(buf, g->out.s + g->at, k);
	g->at += k;
	return k;
}
