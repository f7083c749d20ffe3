// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Puts the answer together: moments in order of time, the last snapshot's captures and replays, the
 * device's ledger and the largest KV cache. */
#include "analyze/serving/serving.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/serving/parts.h"
#include "base/error.h"
#include "base/mem.h"

struct work {
	const tide_serving_query *q;
	tide_serving *out;
	tide_holders holders;
	tide_captures captures; /* of the last snapshot */
	tide_whys why;
	const tide_model *device_of; /* the model that q->device is a row of */
};

/* ---- devices and moments ---- */

/* Returns the row of the same device in another trace, 0 if it has none. */
static uint32_t same_device(const tide_model *m, const tide_model *as, uint32_t device)
{
	for (uint32_t i = 1; device && i < m->devices.n; i++)
		if (m->devices.kind[i] == as->devices.kind[device] &&
		    m->devices.index[i] == as->devices.index[device])
			return i;
	return 0;
}

static const tide_ledger *ledger_of(const tide_ledgers *l, uint32_t device)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].device == device)
			return &l->v[i];
	return NULL;
}

/* A recording's end is after the program: its moment is the highest one. */
static void find_highest(tide_serving_at *at)
{
	const tide_model *m = at->m;
	uint64_t live = 0, most = 0;
	at->position = 0;
	for (size_t i = 0; i < m->memory_events.n; i++) {
		bool made;
		uint32_t row = tide__memory_event_life(m, i, &made);
		if (!row || m->pools.device[m->allocs.pool[row].i].i != at->device)
			continue;
		live = made ? live + m->allocs.size[row] : live - m->allocs.size[row];
		if (live > most) {
			most = live;
			at->position = i + 1;
			at->t = tide__memory_event_time(m, i);
		}
	}
}

static void find_moment(tide_serving_at *at)
{
	const tide_model *m = at->m;
	at->t = m->t_end;
	at->position = m->memory_events.n;
	if (m->format && !strcmp(m->format, "tide"))
		find_highest(at);
	at->wall_ns = m->wall_known ? m->wall0_ns + at->t : INT64_MIN;
}

static int by_wall(const void *a, const void *b)
{
	const tide_serving_at *x = a, *y = b;
	if (x->wall_ns != INT64_MIN && y->wall_ns != INT64_MIN && x->wall_ns != y->wall_ns)
		return x->wall_ns < y->wall_ns ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

/* Sorts by time only if all have one. */
static void sort_moments(tide_serving *s)
{
	bool all = true;
	for (size_t i = 0; i < s->n; i++)
		all &= s->at[i].wall_ns != INT64_MIN;
	if (all && s->n)
		qsort(s->at, s->n, sizeof *s->at, by_wall);
}

/* ---- the device ---- */

/* Returns the ledger's moment at a wall time: the first sample not before it; the highest one if the
 * recording does not reach there. */
static const tide_ledger_at *moment_of(const tide_ledger *l, int64_t wall_ns, bool *same)
{
	int64_t t = wall_ns - l->wall0_ns;
	*same = false;
	for (size_t i = 0; wall_ns != INT64_MIN && t >= 0 && i < l->n; i++)
		if (l->at[i].t >= t) {
			*same = true;
			return &l->at[i];
		}
	return &l->at[l->highest];
}

static uint64_t known_or_0(uint64_t v)
{
	return v == TIDE_LEDGER_UNKNOWN ? 0 : v;
}

static void fill_device(tide_serving_device *d, const tide_ledger_at *a, uint64_t allocator)
{
	d->used = a->used;
	d->total = a->total;
	d->allocator = allocator;
	d->libraries = known_or_0(a->other);
	d->pooled = known_or_0(a->pooled);
	d->context = known_or_0(a->context);
	d->profiler = known_or_0(a->profiler);
	d->others = known_or_0(a->others);
	d->driver = known_or_0(a->reserved);
	d->unexplained = INT64_MIN;
	if (d->used != TIDE_SERVING_UNKNOWN && allocator != TIDE_SERVING_UNKNOWN)
		d->unexplained = (int64_t)(d->used - allocator - d->libraries - d->pooled -
					   d->context - d->profiler - d->others - d->driver);
}

/* Reads the ledger of a recording. */
static tide_code find_device(struct work *w, const tide_model *m, size_t file, tide_error *err)
{
	tide_serving_device *d = &w->out->on_device;
	uint32_t device = same_device(m, w->device_of, w->q->device);
	tide_code rc = tide__find_ledgers(m, &d->ledgers, err);
	d->of = rc == TIDE_OK && device ? ledger_of(&d->ledgers, device) : NULL;
	d->known = d->of && d->of->n;
	d->m = m;
	d->file = file;
	return rc;
}

/* A recording in place of a snapshot: its live allocations at the highest moment, and the bytes
 * that the ledger has for the framework. */
static void use_ledger(struct work *w, tide_serving_at *at)
{
	const tide_ledger_at *a = &w->out->on_device.of->at[w->out->on_device.of->highest];
	at->t = a->t;
	at->position = tide__memory_event_from(at->m, a->t);
	if (at->m->wall_known)
		at->wall_ns = at->m->wall0_ns + at->t;
}

/* ---- one moment ---- */

/* A recording counts the framework's pools only: CUPTI's pool holds them once more. */
static tide_code find_recorded_parts(struct work *w, tide_serving_at *at, tide_whys *why,
				     tide_error *err)
{
	const tide_ledger_at *a = &w->out->on_device.of->at[w->out->on_device.of->highest];
	tide_code rc = tide__serving_live_find(at, &w->holders, why, err);
	uint64_t live = at->loose;
	if (rc == TIDE_OK && a->live != TIDE_LEDGER_UNKNOWN && a->cached != TIDE_LEDGER_UNKNOWN &&
	    a->live + a->cached >= live) {
		at->reserved = a->live + a->cached;
		at->parts[TIDE_SERVING_CACHED].bytes = at->reserved - live;
		at->loose = 0;
	}
	return rc;
}

static tide_code find_parts(struct work *w, tide_serving_at *at, bool last, tide_error *err)
{
	tide_code rc = tide__holders_begin(&w->holders, at->m, err);
	tide_whys *why = last ? &w->why : NULL;
	if (rc == TIDE_OK)
		rc = w->out->on_device.known && w->out->on_device.file == at->file
			     ? find_recorded_parts(w, at, why, err)
			     : tide__serving_parts_find(at, &w->holders, why, err);
	return rc;
}

/* Captures by a moment, for snapshots before the last. */
static tide_code count_sizes(tide_serving_at *at, tide_error *err)
{
	tide_captures c;
	tide_code rc = tide__captures_find(at->m, at->device, NULL, &c, err);
	at->n_sizes = c.n;
	tide__captures_free(&c);
	return rc;
}

/* ---- captured sizes of the last moment ---- */

static void fill_kept(struct work *w, const tide_serving_at *at)
{
	const tide_allocs *a = &at->m->allocs;
	for (size_t i = 1; i < a->n; i++)
		if (w->captures.of[i] && w->captures.of[i] != TIDE_MADE_ONCE &&
		    a->died[i] == TIDE_T_NEVER)
			w->captures.sizes[w->captures.of[i] - 1].kept += a->size[i];
	for (size_t i = 0; i < at->n_pools; i++)
		at->pools[i].captures = w->captures.per_pool[at->pools[i].pool];
}

/* Finds the first snapshot at or after each capture. */
static void fill_added_in(struct work *w, const tide_serving_at *at)
{
	const tide_serving *s = w->out;
	for (size_t i = 0; i < w->captures.n && at->m->wall_known; i++) {
		tide_serving_size *k = &w->captures.sizes[i];
		for (size_t j = 0; j <= s->last && k->added_in == SIZE_MAX; j++)
			if (s->at[j].wall_ns != INT64_MIN &&
			    s->at[j].wall_ns >= at->m->wall0_ns + k->t)
				k->added_in = j;
	}
}

static tide_code find_sizes(struct work *w, tide_error *err)
{
	tide_serving *s = w->out;
	tide_serving_at *at = &s->at[s->last];
	tide_code rc = tide__captures_find(at->m, at->device, w->q->sizes, &w->captures, err);
	if (rc != TIDE_OK)
		return rc;
	fill_kept(w, at);
	fill_added_in(w, at);
	at->n_sizes = w->captures.n;
	s->replay.recorded = at->reserved;
	if (w->captures.n && at->segments)
		rc = tide__serving_replay_drops(at->m, at->device, w->captures.of,
						w->captures.sizes, w->captures.n, &s->replay, err);
	s->sizes = w->captures.sizes;
	s->n_sizes = w->captures.n;
	s->once = w->captures.once;
	w->captures.sizes = NULL;
	return rc;
}

/* ---- the largest KV cache ---- */

static void find_fit(struct work *w)
{
	tide_serving *s = w->out;
	tide_serving_at *at = &s->at[s->last];
	const tide_serving_device *d = &s->on_device;
	uint64_t capacity = w->q->capacity ? w->q->capacity : at->m->devices.capacity[at->device];
	if (!capacity && d->known && d->total != TIDE_SERVING_UNKNOWN)
		capacity = d->total;
	s->fit = (tide_serving_fit){ .capacity = capacity ? capacity : TIDE_SERVING_UNKNOWN,
				     .bytes = TIDE_SERVING_UNKNOWN };
	if (w->q->outside != TIDE_SERVING_UNKNOWN) {
		s->fit.outside = w->q->outside;
		s->fit.outside_known = true;
	} else if (d->known && d->used != TIDE_SERVING_UNKNOWN &&
		   d->allocator != TIDE_SERVING_UNKNOWN && d->used >= d->allocator) {
		s->fit.outside = d->used - d->allocator;
		s->fit.outside_known = true;
	}
	if (at->reserved == TIDE_SERVING_UNKNOWN)
		return;
	uint64_t kv = at->parts[TIDE_SERVING_KV_CACHE].bytes;
	s->fit.rest = at->segments ? tide__serving_rest(at, &w->holders)
				   : at->reserved - (kv < at->reserved ? kv : at->reserved);
	uint64_t taken = s->fit.rest + s->fit.outside;
	if (capacity && kv)
		s->fit.bytes = capacity > taken ? capacity - taken : 0;
}

/* ---- all ---- */

static bool is_recording(const tide_model *m)
{
	return m->format && !strcmp(m->format, "tide") && tide__has_ledger(m);
}

static tide_code add_moments(struct work *w, const tide_model *const *models, size_t n,
			     bool recordings, tide_error *err)
{
	tide_serving *s = w->out;
	for (size_t i = 0; i < n; i++) {
		uint32_t device = same_device(models[i], w->device_of, w->q->device);
		bool none = !w->q->device && i == n - 1; /* it describes nothing */
		if ((is_recording(models[i]) != recordings || !device) && !none)
			continue;
		s->at[s->n] = (tide_serving_at){ .m = models[i],
						 .file = i,
						 .device = device,
						 .n_sizes = SIZE_MAX,
						 .reserved = TIDE_SERVING_UNKNOWN };
		find_moment(&s->at[s->n++]);
	}
	sort_moments(s);
	s->last = s->n ? s->n - 1 : 0;
	return s->n || recordings ? TIDE_OK : add_moments(w, models, n, true, err);
}

static tide_code find_all(struct work *w, const tide_model *const *models, size_t n,
			  tide_error *err)
{
	tide_serving *s = w->out;
	tide_code rc = TIDE_OK;
	for (size_t i = n; i-- > 0 && rc == TIDE_OK && !s->on_device.known;) {
		if (!is_recording(models[i]))
			continue;
		tide__ledgers_free(&s->on_device.ledgers);
		rc = find_device(w, models[i], i, err);
	}
	if (rc == TIDE_OK)
		rc = add_moments(w, models, n, false, err);
	for (size_t i = 0; i < s->n && rc == TIDE_OK; i++) {
		tide_serving_at *at = &s->at[i];
		if (s->on_device.known && s->on_device.file == at->file)
			use_ledger(w, at);
		rc = find_parts(w, at, i == s->last, err);
		if (rc == TIDE_OK && i != s->last && at->segments)
			rc = count_sizes(at, err);
	}
	return rc;
}

/* At another moment the recording's own allocator counts. */
static void place_on_device(tide_serving *s, const tide_serving_at *at)
{
	tide_serving_device *d = &s->on_device;
	bool own = d->file == at->file, same;
	const tide_ledger_at *a = moment_of(d->of, own ? INT64_MIN : at->wall_ns, &same);
	uint64_t recorded = TIDE_SERVING_UNKNOWN;
	d->same_moment = own || same;
	if (a->live != TIDE_LEDGER_UNKNOWN && a->cached != TIDE_LEDGER_UNKNOWN)
		recorded = a->live + a->cached;
	fill_device(d, a, d->same_moment ? at->reserved : recorded);
}

static tide_code finish(struct work *w, tide_error *err)
{
	tide_serving *s = w->out;
	tide_serving_at *at = &s->at[s->last];
	tide_code rc = find_sizes(w, err);
	if (rc == TIDE_OK && s->on_device.known)
		place_on_device(s, at);
	if (rc == TIDE_OK)
		find_fit(w);
	s->given = tide__calloc(w->holders.n_own, sizeof *s->given);
	if (!s->given)
		return tide__nomem(err);
	memcpy(s->given, w->holders.own, w->holders.n_own * sizeof *s->given);
	s->n_given = w->holders.n_own;
	s->why = w->why.v;
	s->n_why = w->why.n;
	w->why.v = NULL;
	return rc;
}

tide_code tide__serving_find(const tide_model *const *models, size_t n, const tide_serving_query *q,
			     tide_serving *out, tide_error *err)
{
	struct work *w = tide__calloc(1, sizeof *w);
	memset(out, 0, sizeof *out);
	out->at = tide__calloc(n, sizeof *out->at);
	if (!w || !out->at) {
		tide__free(w);
		return tide__nomem(err);
	}
	*w = (struct work){ .q = q, .out = out, .device_of = models[n - 1] };
	tide_code rc = tide__holders_parse(q->rules, q->n_rules, &w->holders, err);
	if (rc == TIDE_OK)
		rc = find_all(w, models, n, err);
	if (rc == TIDE_OK)
		rc = finish(w, err);
	tide__holders_free(&w->holders);
	tide__captures_free(&w->captures);
	tide__free(w->why.v);
	tide__free(w);
	return rc;
}

void tide__serving_free(tide_serving *s)
{
	for (size_t i = 0; s->at && i < s->n; i++)
		tide__free(s->at[i].pools);
	tide__free(s->at);
	tide__free(s->sizes);
	tide__free(s->why);
	tide__free(s->given);
	tide__ledgers_free(&s->on_device.ledgers);
	memset(s, 0, sizeof *s);
}
