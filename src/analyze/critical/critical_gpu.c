// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The GPU side of the critical path: kernels in order, the cause of each wait, and the calls that
 * waited for kernels. */
#include <stdlib.h>
#include <string.h>

#include "analyze/critical/critical_impl.h"
#include "base/mem.h"
#include "base/search.h"
#include "model/strings.h"

#define RECORD "wait_on_cuda_event_record_corr_id"
enum { KERNEL_GAP_US = 1500 };			     /* longer gaps are not caused by the GPU */
enum { MOST_WAITS = 1 << 20, MOST_WAITS_A_ROW = 8 }; /* edges to context synchronisations */

static tide_str key_of(const crit *c, const char *key)
{
	return (tide_str){ tide__strings_find(c->m->strings, key, strlen(key)) };
}

static int64_t attr(const crit *c, size_t row, tide_str key)
{
	int64_t at = key.i ? tide__attr_find(c->m, c->f->span[row], key) : -1;
	return at < 0 ? -1 : c->m->attrs.number[at];
}

/* Returns the GPU of a row on a stream. */
static uint32_t gpu_of(const crit *c, size_t row)
{
	tide_lane_id lane = c->m->spans.lane[c->f->span[row].i];
	return c->m->lanes.device[lane.i].i;
}

static int64_t linked_row(const crit *c, int64_t row)
{
	return row < 0 ? -1 : tide__compat_frame_row(c->f, c->f->link[row]);
}

/* ---- launches in order of time ---- */

struct launch {
	int64_t t, stream;
	uint32_t row, gpu, lane; /* lane: the CPU thread that called */
};

static int compare(uint32_t ka, uint32_t kb, const struct launch *a, const struct launch *b)
{
	if (ka != kb)
		return ka < kb ? -1 : 1;
	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	if (a->t != b->t)
		return a->t < b->t ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

static int by_gpu(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;
	return compare(x->gpu, y->gpu, x, y);
}

static int by_lane(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;
	return compare(x->lane, y->lane, x, y);
}

/* Returns the number of launches that sort before `key` in a list sorted by `order`. */
static size_t before(const struct launch *l, size_t n, const struct launch *key,
		     int (*order)(const void *, const void *))
{
	size_t lo = 0;
	TIDE_SEARCH(lo, n, mid, order(&l[mid], key) < 0);
	return lo;
}

static struct launch *launches(const crit *c, size_t *n)
{
	struct launch *l = tide__alloc(c->f->n, sizeof *l);
	*n = 0;
	for (uint32_t i = 0; l && i < c->f->n; i++) {
		int64_t k = tide__critical_is_launch(c, i) ? linked_row(c, i) : -1;
		if (k >= 0 && c->f->stream[k] != -1 && c->f->link[k] > 0)
			l[(*n)++] = (struct launch){ c->f->ts[i], c->f->stream[k], i,
						     gpu_of(c, (size_t)k),
						     c->m->spans.lane[c->f->span[i].i].i };
	}
	return l;
}

/* ---- events ---- */

struct waits {
	tide_map previous; /* correlation of a cudaEventRecord -> row + 1 of the last launch before
			      it */
	tide_map next; /* row of a cudaStreamWaitEvent -> row + 1 of the first launch after it */
};

/* The place where an event was recorded, from the rows that wait for it. */
struct recorded {
	int64_t stream;
	uint32_t gpu;
};

static bool recorded_on(const crit *c, tide_map *at, struct recorded **list, size_t *n)
{
	tide_str on = key_of(c, "wait_on_stream"), record = key_of(c, RECORD);
	*list = tide__alloc(c->f->n, sizeof **list);
	*n = 0;
	for (uint32_t i = 0; *list && on.i && i < c->f->n; i++) {
		int64_t stream = attr(c, i, on);
		int64_t corr = stream > -1 ? attr(c, i, record) : -1;
		if (corr < 0 || tide__map_get(at, (uint64_t)corr))
			continue;
		uint32_t gpu = gpu_of(c, i);
		stream = tide__compat_frame_stream(c->f, stream, (tide_device_id){ gpu });
		(*list)[(*n)++] = (struct recorded){ stream, gpu };
		if (!tide__map_put(at, (uint64_t)corr, (uint32_t)*n))
			return false;
	}
	return *list != NULL;
}

static bool find_previous(const crit *c, struct launch *l, size_t n, struct waits *w)
{
	tide_map at = { 0 };
	struct recorded *r;
	size_t n_r;
	bool ok = recorded_on(c, &at, &r, &n_r);
	qsort(l, n, sizeof *l, by_gpu);
	for (uint32_t i = 0; i < c->f->n && ok; i++) {
		uint32_t k = strcmp(crit_name(c, i), "cudaEventRecord")
				     ? 0
				     : tide__map_get(&at, (uint64_t)c->f->corr[i]);
		if (!k)
			continue;
		struct launch key = { c->f->ts[i], r[k - 1].stream, UINT32_MAX, r[k - 1].gpu, 0 };
		size_t j = before(l, n, &key, by_gpu);
		if (j && l[j - 1].gpu == key.gpu && l[j - 1].stream == key.stream)
			ok = tide__map_put(&w->previous, (uint64_t)c->f->corr[i], l[j - 1].row + 1);
	}
	tide__free(r);
	tide__map_free(&at);
	return ok;
}

static bool find_next(const crit *c, struct launch *l, size_t n, struct waits *w)
{
	bool ok = true;
	qsort(l, n, sizeof *l, by_lane);
	for (uint32_t i = 0; i < c->f->n && ok; i++) {
		if (strcmp(crit_name(c, i), "cudaStreamWaitEvent") || c->f->link[i] <= 0)
			continue;
		int64_t wait = linked_row(c, i);
		if (wait < 0)
			continue;
		uint32_t lane = c->m->spans.lane[c->f->span[i].i].i;
		struct launch key = { c->f->ts[i], c->f->stream[wait], 0, 0, lane };
		size_t j = before(l, n, &key, by_lane);
		if (j < n && l[j].lane == lane && l[j].stream == key.stream)
			ok = tide__map_put(&w->next, i, l[j].row + 1);
	}
	return ok;
}

/* ---- rows in the order the GPU took them ---- */

/* Returns the device rows sorted by start, synchronisation rows by end. */
static tide_keyed *gpu_rows(const crit *c, size_t *n)
{
	tide_keyed *r = tide__critical_reserve(c->f->n);
	*n = 0;
	for (uint32_t i = 0; r && i < c->f->n; i++) {
		const char *name = crit_name(c, i);
		if (!c->in[i] || c->f->link[i] < 0 ||
		    (c->f->stream[i] == -1 && strcmp(name, "Event Sync") &&
		     strcmp(name, "Context Sync")))
			continue;
		bool at_end = crit_cat(c, i) == TIDE_CAT_SYNC;
		crit_put(&r[(*n)++], c->f->ts[i] + (at_end ? c->f->dur[i] : 0), i);
	}
	if (r)
		tide__critical_sort(r, *n);
	return r;
}

/* ---- the walk ---- */

struct last {
	int64_t stream;
	uint32_t gpu;
	uint32_t node; /* end of the last kernel there */
	uint32_t next; /* next stream of its GPU, in order of appearance, + 1 */
};

struct streams { /* of one GPU: the first and the last of them + 1 */
	uint32_t first, last;
};

struct state {
	struct last *last; /* one per stream, in order of appearance */
	size_t n_last;
	struct streams *gpu; /* per device */
	uint64_t waits_left; /* edges to context synchronisations that may still be made */
	tide_map streams;    /* stream -> place in last + 1 */
	tide_map sync;	     /* row of a kernel -> row + 1 of the kernel it must wait for */
	struct waits waits;
	crit_infer *infer; /* NULL: the trace records which kernels waited */
};

static struct last *last_on(struct state *s, int64_t stream)
{
	uint32_t k = tide__map_get(&s->streams, (uint64_t)stream);
	return k ? &s->last[k - 1] : NULL;
}

static bool wait_for(crit *c, uint32_t gpu_node, int64_t cpu_row)
{
	if (cpu_row < 0 || !c->end[cpu_row])
		return true;
	return tide__critical_add_edge(c, gpu_node, c->end[cpu_row] - 1, TIDE_CP_SYNC, false, -1);
}

static bool event_sync(crit *c, struct state *s, size_t row, bool stream_wait)
{
	uint32_t prev =
		tide__map_get(&s->waits.previous, (uint64_t)attr(c, row, key_of(c, RECORD)));
	int64_t source = prev ? linked_row(c, prev - 1) : -1;
	if (source < 0)
		return true;
	int64_t cpu = linked_row(c, (int64_t)row);
	if (!stream_wait)
		return !c->end[source] || wait_for(c, c->end[source] - 1, cpu);
	uint32_t next = cpu < 0 ? 0 : tide__map_get(&s->waits.next, (uint64_t)cpu);
	int64_t dest = next ? linked_row(c, next - 1) : -1;
	return dest < 0 || tide__map_put(&s->sync, (uint64_t)dest, (uint32_t)source + 1);
}

/* Adds edges from every stream of the row's GPU (HTA: of all GPUs). Their number is streams ×
 * synchronisations, which crafted input could make unbounded. */
static bool context_sync(crit *c, struct state *s, size_t row, int64_t cpu)
{
	bool ok = true, all = !crit_exact(c);
	uint32_t k = all ? s->n_last > 0 : s->gpu[gpu_of(c, row)].first;
	while (k && ok && !c->why) {
		if (!s->waits_left--)
			c->why = "too many synchronisations of too many streams to follow";
		ok = wait_for(c, s->last[k - 1].node, cpu);
		k = !all ? s->last[k - 1].next : k < s->n_last ? k + 1 : 0;
	}
	return ok;
}

static bool sync_row(crit *c, struct state *s, size_t row)
{
	const char *name = crit_name(c, row);
	bool stream_wait = !strcmp(name, "Stream Wait Event");
	if (stream_wait || !strcmp(name, "Event Sync"))
		return event_sync(c, s, row, stream_wait);
	int64_t cpu = linked_row(c, (int64_t)row);
	if (strcmp(name, "Context Sync")) {
		struct last *l = last_on(s, c->f->stream[row]);
		return !l || wait_for(c, l->node, cpu);
	}
	return context_sync(c, s, row, cpu);
}

/* Adds the edge that explains a kernel's start: an empty queue (its launch) or the kernel before
 * it. `held_by`: a row from before the window that it waited for, -1 = none. */
static bool delay_edge(crit *c, struct state *s, size_t row, int64_t sync_end, int64_t held_by)
{
	const tide_compat_frame *f = c->f;
	struct last *l = last_on(s, f->stream[row]);
	int64_t call = linked_row(c, (int64_t)row), last_t = l ? c->nodes[l->node].t : 0;
	uint32_t start = c->begin[row] - 1;
	int64_t before = call < 0	 ? 0
			 : crit_exact(c) ? c->pending[row]
					 : c->queue[call]; /* of its last row, as HTA */
	bool empty = before == 1 && (crit_exact(c) || c->queue[row] == 0);
	if (call >= 0 && empty && (!l || last_t < f->ts[call]) &&
	    (sync_end < 0 || c->nodes[sync_end].t < f->ts[call])) {
		if (!c->begin[call]) {
			c->why = "a kernel's launch is not in the window";
			return true;
		}
		return tide__critical_add_edge(c, c->begin[call] - 1, start, TIDE_CP_LAUNCH_DELAY,
					       false, held_by);
	}
	if (l && c->nodes[start].t - last_t < KERNEL_GAP_US * f->unit &&
	    (sync_end < 0 || c->nodes[sync_end].t < last_t))
		return tide__critical_add_edge(c, l->node, start, TIDE_CP_KERNEL_DELAY, false, -1);
	return true;
}

static struct last *new_stream(const crit *c, struct state *s, size_t row)
{
	struct last *l = &s->last[s->n_last++];
	*l = (struct last){ .stream = c->f->stream[row], .gpu = gpu_of(c, row) };
	struct streams *g = &s->gpu[l->gpu];
	if (g->last)
		s->last[g->last - 1].next = (uint32_t)s->n_last;
	else
		g->first = (uint32_t)s->n_last;
	g->last = (uint32_t)s->n_last;
	return l;
}

static bool kernel_row(crit *c, struct state *s, size_t row)
{
	if (!c->begin[row] || !c->end[row])
		return true;
	uint32_t start = c->begin[row] - 1, end = c->end[row] - 1,
		 source = tide__map_get(&s->sync, row);
	if (!source)
		source = (uint32_t)(tide__critical_inferred(c, s->infer, row) + 1);
	int64_t sync_end = source && c->end[source - 1] ? (int64_t)c->end[source - 1] - 1 : -1;
	int64_t held_by = source && sync_end < 0 ? (int64_t)source - 1 : -1;
	bool ok = tide__critical_add_edge(c, start, end, TIDE_CP_OPERATOR, false, -1);
	if (ok && sync_end >= 0)
		ok = tide__critical_add_edge(c, (uint32_t)sync_end, start, TIDE_CP_SYNC, false, -1);
	ok = ok && delay_edge(c, s, row, sync_end, held_by);
	struct last *l = last_on(s, c->f->stream[row]);
	if (!l) {
		l = new_stream(c, s, row);
		ok = ok && tide__map_put(&s->streams, (uint64_t)l->stream, (uint32_t)s->n_last);
	}
	l->node = end;
	return ok;
}

static bool walk(crit *c, struct state *s)
{
	size_t n;
	tide_keyed *r = gpu_rows(c, &n);
	s->last = tide__alloc(n + 1, sizeof *s->last);
	s->gpu = tide__calloc(c->m->devices.n, sizeof *s->gpu);
	s->waits_left = (uint64_t)MOST_WAITS + (uint64_t)MOST_WAITS_A_ROW * c->f->n;
	bool ok = r && s->last && s->gpu;
	for (size_t i = 0; i < n && ok; i++)
		ok = crit_cat(c, r[i].id) == TIDE_CAT_SYNC ? sync_row(c, s, r[i].id)
							   : kernel_row(c, s, r[i].id);
	tide__free(r);
	tide__free(s->last);
	tide__free(s->gpu);
	return ok;
}

bool tide__critical_add_gpu(crit *c)
{
	struct state s = { 0 };
	size_t n;
	struct launch *l = launches(c, &n);
	bool ok = l && find_previous(c, l, n, &s.waits) && find_next(c, l, n, &s.waits) &&
		  tide__critical_infer_new(c, &s.infer) && walk(c, &s);
	tide__critical_infer_free(s.infer);
	tide__free(l);
	tide__map_free(&s.sync);
	tide__map_free(&s.streams);
	tide__map_free(&s.waits.previous);
	tide__map_free(&s.waits.next);
	return ok;
}
