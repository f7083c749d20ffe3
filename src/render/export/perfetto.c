// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Perfetto's own format: a sequence of TracePackets in protobuf.
 *
 * There is one sequence. Names, categories and argument names are interned when first used. A lane
 * is a track below its process or device; spans are SLICE_BEGIN / SLICE_END pairs, written track
 * by track and strictly nested (analyze/timeline/tracks.h); launches are flows; memory, reserved
 * bytes and counters are counter tracks. Timestamps are ns from the trace's start on the boot
 * clock, tied to wall-clock time by a clock snapshot if the trace has it. Field numbers are those
 * of Perfetto's published trace protos.
 *
 * Reading the file back gives the same trace: slices have the arguments that link rows, a track's
 * description has its numbers, and all that is no slice is in a Chrome trace inside, which viewers
 * ignore (perfetto_beside.c). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/names.h"
#include "analyze/common/span_args.h"
#include "analyze/live/reserved.h"
#include "analyze/timeline/tracks.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "render/export/chrome.h"
#include "render/export/export.h"
#include "render/export/overlay.h"
#include "render/export/perfetto_beside.h"
#include "render/text/long_text.h"
#include "render/export/protobuf.h"

enum {		     /* TracePacket */
       P_PACKET = 1, /* of Trace */
       P_CLOCKS = 6,
       P_TIMESTAMP = 8,
       P_SEQUENCE = 10,
       P_EVENT = 11,
       P_INTERNED = 12,
       P_FLAGS = 13,
       P_TRACK = 60,
};
enum { /* TrackEvent */
       E_CATEGORY = 3,
       E_ARG = 4,
       E_TYPE = 9,
       E_NAME = 10,
       E_TRACK = 11,
       E_CATEGORY_TEXT = 22,
       E_NAME_TEXT = 23,
       E_COUNT = 30,
       E_DOUBLE = 44,
       E_FLOW = 47,
       E_FLOW_END = 48,
};
enum { BEGIN = 1, END = 2, INSTANT = 3, COUNTER = 4 };
enum {
	T_UUID = 1,
	T_NAME = 2,
	T_PROCESS = 3,
	T_THREAD = 4,
	T_PARENT = 5,
	T_COUNTER = 8,
	T_ABOUT = 14
};
enum { I_CATEGORY = 1, I_NAME = 2, I_ARG = 3, I_STRING = 29 }; /* InternedData */
enum { CLEARED = 1, NEEDS = 2 };			       /* sequence_flags */
enum { CLOCK_REAL = 1, CLOCK_BOOT = 6 };

/* uuids: one range per kind of track, so that they never collide */
enum {
	U_PROCESS = 1,
	U_DEVICE,
	U_LANE,
	U_MEMORY,
	U_RESERVED,
	U_COUNTER,
	U_MARKS,
	U_POOL,
	U_WINDOWS,
	U_OVERLAY
};
typedef struct perfetto {
	const tide_model *m;
	tide_export_place place;
	int64_t wall0; /* of time 0, 0 = unknown */
	FILE *out;
	tide_proto p;
	chrome c;			/* numbers of tracks and links */
	uint32_t *into;			/* owned: rows of flows in order of the span they lead to */
	uint8_t *named, *args, *causes; /* owned: per text interned as a name, as an argument's
					 * name; per span: something was started by it */
	uint8_t *stacks;		/* owned: per stack interned as a text */
	bool cats[32];
	tide_long longs;
	const tide_overlay *overlay; /* NULL = none */
	struct joint {
		uint32_t span, slice;
	} * from, *to; /* owned: its flows by span */
	size_t n_joints;
} perfetto;

/* With several ranks each has a separate sequence, and distinct tracks, processes and flows. */
static uint64_t uuid(const perfetto *f, unsigned kind, uint64_t row)
{
	return (uint64_t)f->place.at << 48 | (uint64_t)kind << 40 | row;
}

static uint64_t sequence(const perfetto *f)
{
	return f->place.at + 1;
}

static int32_t process_number(const perfetto *f, int64_t pid)
{
	return (int32_t)(uint32_t)((uint64_t)pid + f->place.at * TIDE_EXPORT_STRIDE);
}

static uint64_t flow_id(const perfetto *f, uint64_t id)
{
	return id + ((uint64_t)f->place.at << 40);
}

/* ---- packets ---- */

static size_t packet(perfetto *f, int64_t t)
{
	size_t at = tide__proto_begin(&f->p, P_PACKET);
	t += f->place.shift;
	tide__proto_u64(&f->p, P_TIMESTAMP, t < 0 ? 0 : (uint64_t)t);
	tide__proto_u64(&f->p, P_SEQUENCE, sequence(f));
	tide__proto_u64(&f->p, P_FLAGS, NEEDS);
	return at;
}

static void end_packet(perfetto *f, size_t at)
{
	tide__proto_end(&f->p, at);
	if (f->p.n > 1 << 18)
		tide__proto_flush(&f->p, f->out);
}

static void first_packet(perfetto *f)
{
	size_t at = tide__proto_begin(&f->p, P_PACKET);
	tide__proto_u64(&f->p, P_SEQUENCE, sequence(f));
	tide__proto_u64(&f->p, P_FLAGS, CLEARED);
	tide__proto_end(&f->p, at);
	if (!f->wall0 || f->place.at)
		return;
	const uint64_t clocks[2][2] = { { CLOCK_BOOT, 0 }, { CLOCK_REAL, (uint64_t)f->wall0 } };
	at = tide__proto_begin(&f->p, P_PACKET);
	size_t snap = tide__proto_begin(&f->p, P_CLOCKS);
	for (int i = 0; i < 2; i++) {
		size_t c = tide__proto_begin(&f->p, 1);
		tide__proto_u64(&f->p, 1, clocks[i][0]);
		tide__proto_u64(&f->p, 2, clocks[i][1]);
		tide__proto_end(&f->p, c);
	}
	tide__proto_end(&f->p, snap);
	tide__proto_end(&f->p, at);
}

/* ---- tracks ---- */

typedef struct track { /* a TrackDescriptor being written */
	size_t packet, body;
} track;

static track begin_track(perfetto *f, uint64_t id, uint64_t parent, const char *name, size_t n)
{
	track t = { tide__proto_begin(&f->p, P_PACKET), 0 };
	tide__proto_u64(&f->p, P_SEQUENCE, sequence(f));
	t.body = tide__proto_begin(&f->p, P_TRACK);
	tide__proto_u64(&f->p, T_UUID, id);
	if (parent)
		tide__proto_u64(&f->p, T_PARENT, parent);
	if (name)
		tide__proto_text(&f->p, T_NAME, name, n);
	return t;
}

static void end_track(perfetto *f, track t)
{
	tide__proto_end(&f->p, t.body);
	end_packet(f, t.packet);
}

static void counter_track(perfetto *f, uint64_t id, uint64_t parent, const char *name, size_t n,
			  bool bytes)
{
	track t = begin_track(f, id, parent, name, n);
	size_t c = tide__proto_begin(&f->p, T_COUNTER);
	if (bytes)
		tide__proto_u64(&f->p, 3, 3); /* UNIT_SIZE_BYTES */
	tide__proto_end(&f->p, c);
	end_track(f, t);
}

static void process_tracks(perfetto *f)
{
	const tide_model *m = f->m;
	for (uint32_t p = 1; p < m->processes.n; p++) {
		size_t n;
		const char *command = tide__text(m, m->processes.command[p], &n);
		char rank[40], whose[200];
		if (!n) {
			n = (size_t)snprintf(rank, sizeof rank, "process");
			if (m->processes.rank[p] >= 0)
				n = (size_t)snprintf(rank, sizeof rank, "rank %" PRId64,
						     m->processes.rank[p]);
			command = rank;
		}
		if (f->place.many) {
			tide__export_rank(&f->place, rank, sizeof rank);
			n = (size_t)snprintf(whose, sizeof whose, "%s: %.100s", rank,
					     n ? command : "process");
			command = whose;
		}
		track t = begin_track(f, uuid(f, U_PROCESS, p), 0, NULL, 0);
		size_t at = tide__proto_begin(&f->p, T_PROCESS);
		tide__proto_i64(&f->p, 1, process_number(f, m->processes.pid[p]));
		tide__proto_text(&f->p, 6, command, n);
		tide__proto_end(&f->p, at);
		end_track(f, t);
	}
}

static void device_tracks(perfetto *f)
{
	const tide_model *m = f->m;
	char name[200], device[64], rank[40] = "";
	if (f->place.many)
		tide__export_rank(&f->place, rank, sizeof rank);
	for (uint32_t d = 1; d < m->devices.n; d++) {
		tide__export_device(m, (tide_device_id){ d }, device, sizeof device);
		const char *model = tide__text(m, m->devices.name[d], NULL);
		snprintf(name, sizeof name, *model ? "%s%s%s (%.100s)" : "%s%s%s", rank,
			 *rank ? ": " : "", device, model);
		end_track(f, begin_track(f, uuid(f, U_DEVICE, d), 0, name, strlen(name)));
		counter_track(f, uuid(f, U_MEMORY, d), uuid(f, U_DEVICE, d), "allocated bytes", 15,
			      true);
		counter_track(f, uuid(f, U_RESERVED, d), uuid(f, U_DEVICE, d), "reserved bytes", 14,
			      true);
	}
	for (uint32_t p = 1; p < m->pools.n; p++) { /* L1: a separate memory */
		if (tide__pool_in_device(m, p))
			continue;
		snprintf(name, sizeof name, "%.60s allocated bytes",
			 tide__text(m, m->pools.name[p], NULL));
		counter_track(f, uuid(f, U_POOL, p), uuid(f, U_DEVICE, m->pools.device[p].i), name,
			      strlen(name), true);
	}
}

static uint64_t lane_parent(const perfetto *f, tide_lane_id lane)
{
	const tide_model *m = f->m;
	uint32_t d = m->lanes.device[lane.i].i, p = m->lanes.process[lane.i].i;
	if (m->lanes.kind[lane.i] == TIDE_LANE_STREAM && d)
		return uuid(f, U_DEVICE, d);
	return p ? uuid(f, U_PROCESS, p) : 0;
}

static void lane_track(perfetto *f, uint32_t k)
{
	const tide_model *m = f->m;
	const tide_track *t = &f->c.nest.tracks[k];
	uint32_t l = t->lane.i, p = m->lanes.process[l].i;
	size_t named;
	const char *own = tide__long_text(&f->longs, m, m->lanes.name[l], &named);
	char name[200];
	tide__lane_name(m, t->lane, name, 160);
	size_t n = strlen(name);
	if (t->number)
		n += (size_t)snprintf(name + n, sizeof name - n, " (%" PRIu32 ")", t->number + 1);
	bool thread = m->lanes.kind[l] == TIDE_LANE_THREAD && p && !t->number;
	track d = begin_track(f, uuid(f, U_LANE, k), lane_parent(f, t->lane), thread ? NULL : name,
			      n);
	char about[96];
	snprintf(about, sizeof about, TIDE_PERFETTO_TRACK,
		 f->place.at ? apart(&f->c, f->c.pid[k]) : f->c.pid[k], f->c.tid[k]);
	tide__proto_str(&f->p, T_ABOUT, tide__chrome_is_group(m, l) ? TIDE_PERFETTO_GROUP : about);
	if (thread) {
		size_t at = tide__proto_begin(&f->p, T_THREAD);
		tide__proto_i64(&f->p, 1, process_number(f, m->processes.pid[p]));
		tide__proto_i64(&f->p, 2, m->lanes.number[l]);
		if (named)
			tide__proto_text(&f->p, 5, own, named);
		tide__proto_end(&f->p, at);
	}
	end_track(f, d);
}

/* ---- spans ---- */

static void intern(perfetto *f, unsigned field, uint64_t iid, const char *s, size_t n)
{
	size_t data = tide__proto_begin(&f->p, P_INTERNED);
	size_t entry = tide__proto_begin(&f->p, field);
	tide__proto_u64(&f->p, 1, iid);
	tide__proto_text(&f->p, 2, s, n);
	tide__proto_end(&f->p, entry);
	tide__proto_end(&f->p, data);
}

static void intern_text(perfetto *f, unsigned field, uint8_t *seen, tide_str s)
{
	size_t n;
	const char *text = tide__text(f->m, s, &n);
	if (!seen[s.i])
		intern(f, field, s.i + 1, n ? text : "unknown", n ? n : 7);
	seen[s.i] = 1;
}

static void arguments(perfetto *f, uint32_t span)
{
	const tide_attrs *a = &f->m->attrs;
	for (size_t i = tide__attr_first(f->m, span); i < a->n && a->span[i].i == span; i++) {
		if (tide__chrome_own_arg(tide__text(f->m, a->key[i], NULL)))
			continue;
		size_t n, at = tide__proto_begin(&f->p, E_ARG);
		tide__proto_u64(&f->p, 1, a->key[i].i + 1);
		const char *text = tide__long_text(&f->longs, f->m, a->text[i], &n);
		if (a->text[i].i)
			tide__proto_text(&f->p, 6, text, n);
		else
			tide__proto_i64(&f->p, 4, a->number[i]);
		tide__proto_end(&f->p, at);
	}
}

/* ---- arguments that link rows when the file is read back ---- */

static void number_arg(perfetto *f, const char *key, int64_t v)
{
	size_t at = tide__proto_begin(&f->p, E_ARG);
	tide__proto_str(&f->p, 10, key);
	tide__proto_i64(&f->p, 4, v);
	tide__proto_end(&f->p, at);
}

static void links(perfetto *f, uint32_t i)
{
	const tide_model *m = f->m;
	uint32_t lane = m->spans.lane[i].i, stack = m->spans.stack[i].i;
	tide_chrome_links l;
	if (tide__chrome_on_device(m, lane)) {
		number_arg(f, "device", apart(&f->c, f->c.device[m->lanes.device[lane].i]));
		number_arg(f, "stream", m->lanes.number[lane]);
	}
	tide__chrome_links(&f->c, i, &l);
	if (l.correlation)
		number_arg(f, "correlation", (int64_t)l.correlation);
	if (l.op)
		number_arg(f, l.key, (int64_t)l.op);
	if (!stack)
		return;
	size_t at = tide__proto_begin(&f->p, E_ARG);
	tide__proto_str(&f->p, 10, "Call stack");
	tide__proto_u64(&f->p, 17, stack);
	tide__proto_end(&f->p, at);
}

static void intern_stack(perfetto *f, tide_stack_id stack)
{
	size_t n;
	if (!stack.i || f->stacks[stack.i])
		return;
	char *text = tide__chrome_stack(&f->c, stack, &n);
	intern(f, I_STRING, stack.i, text ? text : "", n);
	free(text);
	f->stacks[stack.i] = 1;
}

static void span_interns(perfetto *f, uint32_t i)
{
	const tide_model *m = f->m;
	unsigned cat = m->spans.cat[i] % 32;
	const char *text = tide__kineto_cat(m->spans.cat[i]);
	if (!f->cats[cat])
		intern(f, I_CATEGORY, cat + 1, text, strlen(text));
	f->cats[cat] = true;
	intern_text(f, I_NAME, f->named, m->spans.name[i]);
	for (size_t k = tide__attr_first(m, i); k < m->attrs.n && m->attrs.span[k].i == i; k++)
		intern_text(f, I_ARG, f->args, m->attrs.key[k]);
	intern_stack(f, m->spans.stack[i]);
}

/* ---- flows: a launch has the number of its row, others follow after the spans ---- */

static bool other_flow(const tide_model *m, size_t k)
{
	return m->flows.kind[k] != TIDE_FLOW_LAUNCH; /* those are spans.cause */
}

/* Finds the first flow of a sorted list whose span is at least `span`; `into` NULL = by `from`. */
static size_t first_flow(const tide_flows *f, const uint32_t *into, uint32_t span)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, f->n, mid, (into ? f->to[into[mid]].i : f->from[mid].i) < span);
	return lo;
}

/* Writes the flows of the critical path at a span. */
static void path_flows(perfetto *f, unsigned field, const struct joint *v, uint32_t span)
{
	size_t lo = 0, hi = f->n_joints;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (v[mid].span < span)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < f->n_joints && v[lo].span == span; lo++)
		tide__proto_fixed64(&f->p, field,
				    flow_id(f, f->m->spans.n + f->m->flows.n + v[lo].slice));
}

static void flow_ids(perfetto *f, uint32_t span)
{
	const tide_model *m = f->m;
	const tide_flows *w = &m->flows;
	if (f->causes[span])
		tide__proto_fixed64(&f->p, E_FLOW, flow_id(f, span));
	for (size_t k = first_flow(w, NULL, span); k < w->n && w->from[k].i == span; k++)
		if (other_flow(m, k))
			tide__proto_fixed64(&f->p, E_FLOW, flow_id(f, m->spans.n + k));
	if (tide__cat_is_gpu(m->spans.cat[span]) && m->spans.cause[span].i)
		tide__proto_fixed64(&f->p, E_FLOW_END, flow_id(f, m->spans.cause[span].i));
	for (size_t k = first_flow(w, f->into, span); k < w->n && w->to[f->into[k]].i == span; k++)
		if (other_flow(m, f->into[k]))
			tide__proto_fixed64(&f->p, E_FLOW_END, flow_id(f, m->spans.n + f->into[k]));
	path_flows(f, E_FLOW, f->from, span);
	path_flows(f, E_FLOW_END, f->to, span);
}

/* Counting sort of the flows by the span they lead to. */
static bool order_flows(perfetto *f)
{
	const tide_flows *w = &f->m->flows;
	uint32_t *at = tide__calloc(f->m->spans.n + 1, sizeof *at);
	f->into = tide__alloc(w->n, sizeof *f->into);
	if (at && f->into) {
		for (size_t k = 0; k < w->n; k++)
			at[w->to[k].i + 1]++;
		for (size_t i = 1; i <= f->m->spans.n; i++)
			at[i] += at[i - 1];
		for (size_t k = 0; k < w->n; k++)
			f->into[at[w->to[k].i]++] = (uint32_t)k;
	}
	tide__free(at);
	return at && f->into;
}

static void on_begin(void *user, uint32_t i, int64_t t)
{
	perfetto *f = user;
	const tide_spans *s = &f->m->spans;
	size_t at = packet(f, t);
	span_interns(f, i);
	size_t e = tide__proto_begin(&f->p, P_EVENT);
	tide__proto_u64(&f->p, E_TYPE, BEGIN);
	tide__proto_u64(&f->p, E_TRACK, uuid(f, U_LANE, f->c.nest.track[i]));
	tide__proto_u64(&f->p, E_NAME, (uint64_t)s->name[i].i + 1);
	tide__proto_u64(&f->p, E_CATEGORY, s->cat[i] % 32 + 1u);
	links(f, i);
	arguments(f, i);
	flow_ids(f, i);
	tide__proto_end(&f->p, e);
	end_packet(f, at);
}

static void on_end(void *user, uint32_t i, int64_t t)
{
	perfetto *f = user;
	size_t at = packet(f, t), e = tide__proto_begin(&f->p, P_EVENT);
	tide__proto_u64(&f->p, E_TYPE, END);
	tide__proto_u64(&f->p, E_TRACK, uuid(f, U_LANE, f->c.nest.track[i]));
	tide__proto_end(&f->p, e);
	end_packet(f, at);
}

/* ---- counters and marks ---- */

static void count(perfetto *f, uint64_t id, int64_t t, uint64_t v)
{
	size_t at = packet(f, t), e = tide__proto_begin(&f->p, P_EVENT);
	tide__proto_u64(&f->p, E_TYPE, COUNTER);
	tide__proto_u64(&f->p, E_TRACK, id);
	tide__proto_u64(&f->p, E_COUNT, v);
	tide__proto_end(&f->p, e);
	end_packet(f, at);
}

static void reserved_to(perfetto *f, const tide_reserved *r, size_t *k, uint64_t event)
{
	for (; *k < r->n && r->steps[*k].event <= event; ++*k)
		count(f, uuid(f, U_RESERVED, r->steps[*k].device), r->steps[*k].t,
		      r->steps[*k].bytes);
}

static bool memory(perfetto *f)
{
	const tide_model *m = f->m;
	tide_reserved r = { 0 };
	/* of every device, then of every pool */
	uint64_t *used = tide__calloc(m->devices.n + m->pools.n, sizeof *used);
	bool ok = used && tide__find_reserved(m, &r, NULL) == TIDE_OK;
	size_t k = 0;
	for (size_t i = 0; ok && i < m->memory_events.n; i++) {
		bool add;
		uint32_t row = tide__memory_event_life(m, i, &add);
		reserved_to(f, &r, &k, i);
		if (!row)
			continue;
		uint32_t pool = m->allocs.pool[row].i, d = m->pools.device[pool].i;
		bool sum = tide__pool_in_device(m, pool);
		uint64_t *v = &used[sum ? d : m->devices.n + pool];
		*v += add ? m->allocs.size[row] : -m->allocs.size[row];
		count(f, sum ? uuid(f, U_MEMORY, d) : uuid(f, U_POOL, pool),
		      tide__memory_event_time(m, i), *v);
	}
	reserved_to(f, &r, &k, UINT64_MAX);
	tide__reserved_free(&r);
	tide__free(used);
	return ok;
}

static void samples(perfetto *f)
{
	const tide_model *m = f->m;
	for (uint32_t k = 1; k < m->counters.n; k++) {
		size_t n;
		const char *name = tide__long_text(&f->longs, m, m->counters.name[k], &n);
		tide_lane_id lane = m->counters.lane[k];
		counter_track(f, uuid(f, U_COUNTER, k), lane.i ? lane_parent(f, lane) : 0, name, n,
			      false);
	}
	for (size_t i = 0; i < m->samples.n; i++) {
		size_t at = packet(f, m->samples.t[i]), e = tide__proto_begin(&f->p, P_EVENT);
		tide__proto_u64(&f->p, E_TYPE, COUNTER);
		tide__proto_u64(&f->p, E_TRACK, uuid(f, U_COUNTER, m->samples.counter[i].i));
		tide__proto_double(&f->p, E_DOUBLE, m->samples.value[i]);
		tide__proto_end(&f->p, e);
		end_packet(f, at);
	}
}

static void marks(perfetto *f)
{
	const tide_model *m = f->m;
	if (m->marks.n > 1)
		end_track(f, begin_track(f, uuid(f, U_MARKS, 1), 0, "marks", 5));
	for (uint32_t i = 1; i < m->marks.n; i++) {
		size_t at = packet(f, m->marks.t[i]);
		tide_str name = m->marks.name[i];
		const char *kind = tide__mark_kind_text(m->marks.kind[i]);
		if (name.i)
			intern_text(f, I_NAME, f->named, name);
		size_t e = tide__proto_begin(&f->p, P_EVENT);
		tide__proto_u64(&f->p, E_TYPE, INSTANT);
		tide__proto_u64(&f->p, E_TRACK, uuid(f, U_MARKS, 1));
		if (name.i)
			tide__proto_u64(&f->p, E_NAME, (uint64_t)name.i + 1);
		else
			tide__proto_text(&f->p, E_NAME_TEXT, kind, strlen(kind));
		tide__proto_end(&f->p, e);
		end_packet(f, at);
	}
}

/* ---- the profiler's own window ---- */

static void window_event(perfetto *f, const tide_chrome_window *w, size_t number, unsigned type)
{
	size_t at = packet(f, type == BEGIN ? w->t : w->t + w->dur);
	size_t e = tide__proto_begin(&f->p, P_EVENT);
	tide__proto_u64(&f->p, E_TYPE, type);
	tide__proto_u64(&f->p, E_TRACK, uuid(f, U_WINDOWS, number));
	if (type == BEGIN) {
		tide__proto_str(&f->p, E_CATEGORY_TEXT, TIDE_WINDOW_CATEGORY);
		tide__proto_str(&f->p, E_NAME_TEXT, w->name);
		if (w->ops >= 0)
			number_arg(f, TIDE_WINDOW_OPS, w->ops);
	}
	tide__proto_end(&f->p, e);
	end_packet(f, at);
}

/* Writes the rows that span all that the profiler recorded, each on a track of its own. */
static void windows(perfetto *f)
{
	tide_chrome_window w;
	size_t n = 0;
	for (size_t i = 0; i < f->m->facts.n; i++) {
		if (!tide__chrome_window(f->m, i, &w))
			continue;
		end_track(f, begin_track(f, uuid(f, U_WINDOWS, ++n), 0, TIDE_WINDOW_TRACK,
					 strlen(TIDE_WINDOW_TRACK)));
		window_event(f, &w, n, BEGIN);
		window_event(f, &w, n, END);
	}
}

/* ---- what analyses found ---- */

static int by_span(const void *a, const void *b)
{
	const struct joint *x = a, *y = b;
	if (x->span != y->span)
		return x->span < y->span ? -1 : 1;
	return (x->slice > y->slice) - (x->slice < y->slice);
}

/* Lists the flows of the critical path by the spans that they join. */
static bool order_path(perfetto *f)
{
	const tide_overlay *o = f->overlay;
	size_t n = o ? o->n_slices : 0;
	f->from = tide__alloc(n, sizeof *f->from);
	f->to = tide__alloc(n, sizeof *f->to);
	for (size_t i = 0; f->from && f->to && i < n; i++) {
		if (!o->slices[i].from)
			continue;
		f->from[f->n_joints] = (struct joint){ o->slices[i].from, (uint32_t)i };
		f->to[f->n_joints++] = (struct joint){ o->slices[i].to, (uint32_t)i };
	}
	if (f->from && f->to && f->n_joints) {
		qsort(f->from, f->n_joints, sizeof *f->from, by_span);
		qsort(f->to, f->n_joints, sizeof *f->to, by_span);
	}
	return f->from && f->to;
}

static void overlay_event(perfetto *f, const tide_overlay_slice *s, unsigned type, int64_t t)
{
	size_t n, at = packet(f, t), e = tide__proto_begin(&f->p, P_EVENT);
	tide__proto_u64(&f->p, E_TYPE, type);
	tide__proto_u64(&f->p, E_TRACK, uuid(f, U_OVERLAY, s->track + 1));
	if (type != END) {
		const char *name = tide__strings_get(f->overlay->texts, s->name, &n);
		tide__proto_text(&f->p, E_NAME_TEXT, name, n);
		tide__proto_str(&f->p, E_CATEGORY_TEXT, TIDE_OVERLAY_CAT);
	}
	if (type != END && s->detail) {
		size_t arg = tide__proto_begin(&f->p, E_ARG);
		const char *detail = tide__strings_get(f->overlay->texts, s->detail, &n);
		tide__proto_str(&f->p, 10, "detail");
		tide__proto_text(&f->p, 6, detail, n);
		tide__proto_end(&f->p, arg);
	}
	tide__proto_end(&f->p, e);
	end_packet(f, at);
}

static void overlay_curves(perfetto *f, const tide_series *s, uint64_t first)
{
	char name[160];
	for (size_t k = 0; k < s->n_curves; k++) {
		uint64_t id = uuid(f, U_OVERLAY, first + k);
		tide__overlay_curve(&s->curves[k], name, sizeof name);
		counter_track(f, id, uuid(f, U_OVERLAY, 0), name, strlen(name), false);
		for (size_t i = s->curves[k].first; i < s->curves[k].first + s->curves[k].n; i++) {
			size_t at = packet(f, s->points[i].t),
			       e = tide__proto_begin(&f->p, P_EVENT);
			tide__proto_u64(&f->p, E_TYPE, COUNTER);
			tide__proto_u64(&f->p, E_TRACK, id);
			tide__proto_double(&f->p, E_DOUBLE, s->points[i].value);
			tide__proto_end(&f->p, e);
			end_packet(f, at);
		}
	}
}

/* Writes the overlay on tracks of its own, which readers of this file leave out like groups. */
static void overlay(perfetto *f)
{
	const tide_overlay *o = f->overlay;
	track d = begin_track(f, uuid(f, U_OVERLAY, 0), 0, TIDE_OVERLAY_NAME,
			      strlen(TIDE_OVERLAY_NAME));
	tide__proto_str(&f->p, T_ABOUT, TIDE_PERFETTO_GROUP);
	end_track(f, d);
	for (uint32_t k = 0; k < 2; k++) {
		size_t n;
		const char *name = tide__strings_get(o->texts, o->tracks[k], &n);
		d = begin_track(f, uuid(f, U_OVERLAY, k + 1), uuid(f, U_OVERLAY, 0), name, n);
		tide__proto_str(&f->p, T_ABOUT, TIDE_PERFETTO_GROUP);
		end_track(f, d);
	}
	for (size_t i = 0; i < o->n_slices; i++) {
		const tide_overlay_slice *s = &o->slices[i];
		if (s->t0 == s->t1 && !s->from)
			overlay_event(f, s, INSTANT, s->t0);
		if (s->t0 == s->t1)
			continue;
		overlay_event(f, s, BEGIN, s->t0);
		overlay_event(f, s, END, s->t1);
	}
	overlay_curves(f, &o->queue, 1 << 16);
	overlay_curves(f, &o->bandwidth, 1 << 17);
}

/* ---- all of it ---- */

static bool prepare(perfetto *f)
{
	const tide_spans *s = &f->m->spans;
	size_t texts = (size_t)tide__strings_count(f->m->strings) + 1;
	f->named = tide__calloc(texts, 1);
	f->args = tide__calloc(texts, 1);
	f->causes = tide__calloc(s->n, 1);
	f->stacks = tide__calloc(f->m->stacks.n, 1);
	if (!f->named || !f->args || !f->causes || !f->stacks || !order_flows(f) || !order_path(f))
		return false;
	for (uint32_t i = 1; i < s->n; i++)
		if (tide__cat_is_gpu(s->cat[i]) && s->cause[i].i)
			f->causes[s->cause[i].i] = 1;
	return true;
}

static bool beside(perfetto *f)
{
	tide__proto_flush(&f->p, f->out);
	FILE *inside = f->p.failed ? NULL : tide__perfetto_beside_open(f->out, sequence(f));
	bool ok = inside && tide__chrome_write_beside(&f->c, f->wall0, inside);
	return inside && !fclose(inside) && ok;
}

static bool spans(perfetto *f, tide_export_stats *st)
{
	const tide_track_walk walk = { on_begin, on_end, f };
	for (uint32_t k = 1; k < f->c.nest.n_tracks; k++)
		lane_track(f, k);
	for (uint32_t k = 1; k < f->c.nest.n_tracks; k++) {
		st->extra_tracks += f->c.nest.tracks[k].number > 0;
		if (!tide__track_walk(&f->c.nest, f->m, k, &walk))
			return false;
	}
	st->cut_spans += f->c.nest.n_cut;
	return true;
}

/* Writes one trace. Returns false if memory ran out. */
static bool trace(perfetto *f, tide_export_stats *st, tide_error *err)
{
	tide_export_stats of_chrome = { 0 }; /* the same changes, counted there too */
	f->c.m = f->m;
	f->c.place = f->place;
	bool ok = tide__find_tracks(f->m, &f->c.nest, err) == TIDE_OK &&
		  tide__chrome_prepare(&f->c) && prepare(f);
	if (ok) {
		first_packet(f);
		process_tracks(f);
		device_tracks(f);
		samples(f);
		marks(f);
		windows(f);
		if (f->overlay)
			overlay(f);
		ok = spans(f, st) && memory(f) && (beside(f) || f->p.failed || ferror(f->out));
	}
	ok = ok && (!f->p.failed || ferror(f->out));
	tide__chrome_finish(&f->c, &of_chrome);
	tide__proto_free(&f->p);
	tide__free(f->named);
	tide__free(f->args);
	tide__free(f->causes);
	tide__free(f->stacks);
	tide__free(f->into);
	tide__free(f->from);
	tide__free(f->to);
	st->cut_texts += f->longs.cut + of_chrome.cut_texts;
	tide__long_free(&f->longs);
	return ok;
}

static tide_code write(const tide_model *m, const tide_export_options *opt, FILE *out,
		       tide_export_stats *st, tide_error *err)
{
	perfetto f = { .m = m,
		       .out = out,
		       .wall0 = m->wall_known ? m->wall0_ns : 0,
		       .overlay = opt ? opt->overlay : NULL };
	bool ok = trace(&f, st, err);
	return tide__export_end(!ok, ferror(out), err);
}

static tide_code write_ranks(const tide_export_ranks *r, FILE *out, tide_export_stats *st,
			     tide_error *err)
{
	tide_export_walk w = { .r = r };
	const tide_model *m;
	bool ok = true;
	while (ok && (m = tide__export_next(&w))) {
		perfetto f = { .m = m, .out = out, .place = w.place, .wall0 = w.base };
		ok = trace(&f, st, err);
	}
	st->traces = w.done;
	st->untimed = w.untimed;
	return tide__export_end(!ok, ferror(out), err);
}

const tide_exporter tide__export_perfetto = {
	.name = "perfetto",
	.what = "Perfetto trace: ui.perfetto.dev, trace_processor",
	.suffixes = ".pftrace,.perfetto-trace",
	.binary = true,
	.write = write,
	.write_ranks = write_ranks,
};
