// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds captures of CUDA graphs: runs of requests to one private pool. A request to another pool, a
 * release of its segments (torch empties the cache before each capture) or another annotation ends
 * a run. The batch size of a run is the last number in the annotation around it, or given by the
 * caller. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/serving/serving_impl.h"
#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"

typedef struct run { /* one capture */
	int64_t batch, t;
	uint32_t pool;
	size_t first, n; /* its requests in `requests` */
	uint64_t taken;	 /* bytes of segments */
	uint64_t requested;
	uint32_t size; /* index in the sizes */
} run;

struct work {
	const tide_model *m;
	uint32_t device;
	tide_captures *out;
	TIDE_VEC(run, runs);
	TIDE_VEC(uint32_t, requests); /* alloc rows, by run */
	TIDE_VEC(uint32_t, notes);    /* annotations of captures: span rows, by start */
	TIDE_VEC(uint32_t, open);     /* those around the current time */
	size_t next_note;
	uint64_t *pending; /* per pool: bytes of segments taken for the next request */
	bool broken;	   /* the run has ended */
};

/* ---- annotations ---- */

static bool contains(const char *text, const char *word)
{
	for (; *text; text++) {
		size_t k = 0;
		while (word[k] && tolower((unsigned char)text[k]) == word[k])
			k++;
		if (!word[k])
			return true;
	}
	return false;
}

/* Returns the last number in a name that is about a capture, -1 if there is none. */
static int64_t batch_in(const char *name)
{
	static const char *const about[] = { "capture", "graph", "batch", "bs" };
	int64_t last = -1;
	bool any = false;
	for (size_t i = 0; i < sizeof about / sizeof *about; i++)
		any |= contains(name, about[i]);
	for (const char *s = name; any && *s;) {
		if (!isdigit((unsigned char)*s)) {
			s++;
			continue;
		}
		for (last = 0; isdigit((unsigned char)*s); s++)
			last = last < 100000000 ? last * 10 + (*s - '0') : last;
	}
	return last;
}

static bool find_notes(struct work *w)
{
	const tide_spans *s = &w->m->spans;
	for (uint32_t i = 1; i < s->n; i++) {
		if (s->cat[i] != TIDE_CAT_USER || batch_in(tide__text(w->m, s->name[i], NULL)) < 0)
			continue;
		uint32_t *to = TIDE_PUSH(w, notes);
		if (!to)
			return false;
		*to = i;
	}
	return true;
}

/* Returns the batch size of the shortest annotation around t; times never decrease. */
static bool batch_at(struct work *w, int64_t t, int64_t *batch)
{
	const tide_spans *s = &w->m->spans;
	size_t k = 0, best = SIZE_MAX;
	for (; w->next_note < w->n_notes && s->t0[w->notes[w->next_note]] <= t; w->next_note++) {
		uint32_t *to = TIDE_PUSH(w, open);
		if (!to)
			return false;
		*to = w->notes[w->next_note];
	}
	for (size_t i = 0; i < w->n_open; i++)
		if (s->t1[w->open[i]] >= t)
			w->open[k++] = w->open[i];
	w->n_open = k;
	for (size_t i = 0; i < k; i++) {
		uint32_t a = w->open[i], b = best == SIZE_MAX ? a : w->open[best];
		if (best == SIZE_MAX || s->t1[a] - s->t0[a] <= s->t1[b] - s->t0[b])
			best = i;
	}
	*batch = best == SIZE_MAX ? -1 : batch_in(tide__text(w->m, s->name[w->open[best]], NULL));
	return true;
}

/* ---- runs ---- */

static bool add_request(struct work *w, uint32_t alloc, int64_t t)
{
	const tide_allocs *a = &w->m->allocs;
	uint32_t pool = a->pool[alloc].i;
	int64_t batch;
	run *last = w->n_runs ? &w->runs[w->n_runs - 1] : NULL;
	if (!batch_at(w, t, &batch))
		return false;
	bool same = last && !w->broken && last->pool == pool && last->batch == batch;
	if (!same && w->n_runs < TIDE_SERVING_MOST_GRAPHS) {
		last = TIDE_PUSH(w, runs);
		if (!last)
			return false;
		*last = (run){ .batch = batch, .t = t, .pool = pool, .first = w->n_requests };
	}
	uint32_t *to = TIDE_PUSH(w, requests);
	if (!to)
		return false;
	*to = alloc;
	last->n++;
	last->requested += a->requested[alloc];
	last->taken += w->pending[pool];
	w->pending[pool] = 0;
	w->broken = false;
	return true;
}

static bool add_event(struct work *w, size_t i)
{
	const tide_model *m = w->m;
	uint32_t row = m->memory_events.row[i], pool;
	uint8_t kind = m->memory_events.kind[i];
	bool segment = kind == TIDE_MEMORY_SEG_ALLOC || kind == TIDE_MEMORY_SEG_FREE;
	if (kind == TIDE_MEMORY_FREE || kind == TIDE_MEMORY_FREE_ASKED)
		return true;
	pool = segment ? m->segments.pool[row].i : m->allocs.pool[row].i;
	if (m->pools.device[pool].i != w->device)
		return true;
	bool private = m->pools.kind[pool] == TIDE_POOL_PRIVATE;
	if (kind == TIDE_MEMORY_ALLOC && m->allocs.flags[row] & TIDE_ALLOC_BEFORE)
		return true;
	if (kind == TIDE_MEMORY_ALLOC && private)
		return add_request(w, row, tide__memory_event_time(m, i));
	if (kind == TIDE_MEMORY_SEG_ALLOC && private &&
	    !(m->segments.flags[row] & (TIDE_SEGMENT_BEFORE | TIDE_SEGMENT_PART)))
		w->pending[pool] += m->segments.size[row];
	w->broken |= !private && kind != TIDE_MEMORY_SEG_ALLOC;
	return true;
}

/* ---- sizes ---- */

/* Reads "32,16,8": as many numbers as there are captures. */
static tide_code give_sizes(struct work *w, const char *text, tide_error *err)
{
	size_t n = 0;
	for (const char *s = text; *s;) {
		char *end;
		if (!isdigit((unsigned char)*s))
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "sizes: write numbers like 32,16,8");
		long long v = strtoll(s, &end, 10);
		if (n < w->n_runs)
			w->runs[n].batch = v;
		n++;
		if (v > INT32_MAX || n > TIDE_SERVING_SIZES || (*end && *end != ','))
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "sizes: write numbers like 32,16,8");
		s = *end ? end + 1 : end;
	}
	if (n != w->n_runs)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "sizes: %zu numbers, but %zu captures", n, w->n_runs);
	return TIDE_OK;
}

static bool add_run(struct work *w, run *r, bool given)
{
	tide_captures *c = w->out;
	size_t at = 0;
	while (at < c->n && (r->batch < 0 || c->sizes[at].batch != r->batch))
		at++;
	if (at == c->n) {
		if (!TIDE_ROOM(c->sizes, c->cap, c->n + 1))
			return false;
		c->sizes[c->n++] =
			(tide_serving_size){ .batch = r->batch,
					     .batch_from = r->batch < 0 ? TIDE_BATCH_UNKNOWN
							   : given	? TIDE_BATCH_GIVEN
									: TIDE_BATCH_ANNOTATION,
					     .relative = NAN,
					     .pool = r->pool,
					     .t = r->t,
					     .returns = INT64_MIN,
					     .returns_with_larger = INT64_MIN,
					     .added_in = SIZE_MAX };
	}
	tide_serving_size *s = &c->sizes[at];
	r->size = (uint32_t)at;
	s->captures++;
	s->allocs += r->n;
	s->requested += r->requested;
	s->added += r->taken;
	c->per_pool[r->pool]++;
	for (size_t i = r->first; i < r->first + r->n; i++)
		c->of[w->requests[i]] = (uint32_t)at + 1;
	return true;
}

/* ---- requests of several captures, by call stack ---- */

typedef struct at_stack { /* requests of one capture at one stack */
	uint64_t bytes;
	uint32_t count;
} at_stack;

struct table {
	tide_map row_of; /* stack -> row + 1 */
	at_stack *v;	 /* [row * runs + run] */
	uint32_t *stack; /* of a row */
	size_t n, runs, cap_v, cap_stack;
};

enum { MOST_CELLS = 16 << 20 };

/* Returns the cells of a stack, one for each capture; NULL if memory runs out or there are too many. */
static at_stack *cells_of(struct table *t, uint32_t stack)
{
	uint32_t row = tide__map_get(&t->row_of, stack);
	if (!row) {
		size_t first = t->n * t->runs;
		if (first + t->runs > MOST_CELLS || !TIDE_ROOM(t->v, t->cap_v, first + t->runs) ||
		    !TIDE_ROOM(t->stack, t->cap_stack, t->n + 1) ||
		    !tide__map_put(&t->row_of, stack, (uint32_t)t->n + 1))
			return NULL;
		memset(&t->v[first], 0, t->runs * sizeof *t->v);
		t->stack[t->n++] = stack;
		row = (uint32_t)t->n;
	}
	return &t->v[(row - 1) * t->runs];
}

/* Returns false if memory runs out or the table would be too large: what it says is then unknown. */
static bool fill_table(const struct work *w, struct table *t)
{
	const tide_allocs *a = &w->m->allocs;
	t->runs = w->n_runs;
	for (size_t i = 0; i < w->n_runs; i++)
		for (size_t k = w->runs[i].first; k < w->runs[i].first + w->runs[i].n; k++) {
			at_stack *c = cells_of(t, a->stack[w->requests[k]].i);
			if (!c)
				return false;
			c[i].count++;
			c[i].bytes += a->requested[w->requests[k]];
		}
	return true;
}

static bool lives(const struct work *w, uint32_t alloc)
{
	return w->m->allocs.died[alloc] == TIDE_T_NEVER;
}

/* Marks the largest live request of the first capture at a stack that is not marked yet. */
static void mark_largest(struct work *w, uint32_t stack)
{
	const tide_allocs *a = &w->m->allocs;
	uint32_t best = 0;
	for (size_t k = w->runs[0].first; k < w->runs[0].first + w->runs[0].n; k++) {
		uint32_t r = w->requests[k];
		if (a->stack[r].i == stack && lives(w, r) && w->out->of[r] != TIDE_MADE_ONCE &&
		    (!best || a->requested[r] > a->requested[best]))
			best = r;
	}
	if (best) {
		w->out->of[best] = TIDE_MADE_ONCE;
		w->out->once += a->size[best];
	}
}

/* Marks requests that the first capture makes at a stack more often than every later one, and keeps:
 * they are made for all of them, like cuBLAS's workspace. */
static void mark_made_once(struct work *w, const struct table *t)
{
	for (size_t row = 0; row < t->n && t->runs > 1; row++) {
		const at_stack *c = &t->v[row * t->runs];
		uint32_t most = 0;
		for (size_t i = 1; i < t->runs; i++)
			most = c[i].count > most ? c[i].count : most;
		for (uint32_t k = most; k < c[0].count && k < most + 64; k++)
			mark_largest(w, t->stack[row]);
	}
}

/* Compares captures by the stacks at which all have as many requests, but not of as many bytes. */
static bool compare_runs(struct work *w, const struct table *t)
{
	double *sum = tide__calloc(t->runs, sizeof *sum), least = INFINITY;
	for (size_t row = 0; sum && row < t->n && t->runs > 1; row++) {
		const at_stack *c = &t->v[row * t->runs];
		bool alike = true, differs = false;
		for (size_t i = 1; i < t->runs; i++) {
			alike &= c[i].count == c[0].count;
			differs |= c[i].bytes != c[0].bytes;
		}
		for (size_t i = 0; alike && differs && i < t->runs; i++)
			sum[i] += (double)c[i].bytes;
	}
	for (size_t i = 0; sum && i < t->runs; i++)
		if (sum[i] > 0 && sum[i] < least)
			least = sum[i];
	for (size_t i = 0; sum && i < t->runs; i++)
		if (sum[i] > 0)
			w->out->sizes[w->runs[i].size].relative = sum[i] / least;
	bool ok = sum;
	tide__free(sum);
	return ok;
}

static bool compare(struct work *w)
{
	struct table t = { .n = 0 };
	bool whole = fill_table(w, &t), ok = true;
	if (whole) {
		mark_made_once(w, &t);
		ok = compare_runs(w, &t);
	}
	tide__map_free(&t.row_of);
	tide__free(t.v);
	tide__free(t.stack);
	return ok;
}

tide_code tide__captures_find(const tide_model *m, uint32_t device, const char *sizes,
			      tide_captures *out, tide_error *err)
{
	struct work w = { .m = m, .device = device, .out = out };
	*out = (tide_captures){ .of = tide__calloc(m->allocs.n + 1, sizeof *out->of),
				.per_pool = tide__calloc(m->pools.n + 1, sizeof *out->per_pool) };
	w.pending = tide__calloc(m->pools.n + 1, sizeof *w.pending);
	bool ok = out->of && out->per_pool && w.pending && find_notes(&w);
	tide_code rc = TIDE_OK;
	for (size_t i = 0; ok && i < m->memory_events.n; i++)
		ok = add_event(&w, i);
	if (ok && sizes)
		rc = give_sizes(&w, sizes, err);
	for (size_t i = 0; ok && rc == TIDE_OK && i < w.n_runs; i++)
		ok = add_run(&w, &w.runs[i], sizes);
	ok = ok && (rc != TIDE_OK || !w.n_runs || compare(&w));
	tide__free(w.runs);
	tide__free(w.requests);
	tide__free(w.notes);
	tide__free(w.open);
	tide__free(w.pending);
	return ok ? rc : tide__nomem(err);
}

void tide__captures_free(tide_captures *c)
{
	tide__free(c->sizes);
	tide__free(c->of);
	tide__free(c->per_pool);
	*c = (tide_captures){ 0 };
}
