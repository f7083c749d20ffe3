// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/memory/ledger/device_ledger.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/live/reserved.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/device_counter.h"

enum { USED, TOTAL, RESERVED, PROCESS, OTHERS, POOLS, POOLS_USED, N_SERIES };
static const struct {
	const char *source, *what; /* counter "SOURCE.cuda:N.WHAT" */
} series_names[] = {
	[USED] = { "nvml", "used_bytes" },
	[TOTAL] = { "nvml", "total_bytes" },
	[RESERVED] = { "nvml", "reserved_bytes" },
	[PROCESS] = { "nvml", "process_bytes" },
	[OTHERS] = { "nvml", "others_bytes" },
	[POOLS] = { "cuda_pools", "reserved_bytes" },
	[POOLS_USED] = { "cuda_pools", "used_bytes" },
};

struct work {
	const tide_model *m;
	tide_ledger *l;
	uint32_t cuda; /* pool of CUPTI's allocations; 0 = none */
	uint32_t counters[N_SERIES];
	bool named; /* its library shows that some of it belongs to the framework */
	bool gpu;   /* recorded with --gpu: NVML's or CUPTI's figures exist */
	bool live;  /* the framework's memory events exist */
	const tide_reserved *reserved;
};

/* ---- available data ---- */

static bool is_framework(const tide_model *m, tide_stack_id stack)
{
	const char *library = tide__text(m, m->frames.file[m->stacks.frame[stack.i].i], NULL);
	return strstr(library, "libc10_cuda") || strstr(library, "libtorch");
}

static void look(struct work *w)
{
	const tide_model *m = w->m;
	uint32_t d = w->l->device;
	for (int i = 0; i < N_SERIES; i++)
		w->counters[i] =
			tide__gpu_counter(m, series_names[i].source, series_names[i].what, d);
	for (uint32_t i = 1; i < m->pools.n; i++)
		if (m->pools.device[i].i == d &&
		    !strcmp(tide__text(m, m->pools.name[i], NULL), "cuda"))
			w->cuda = i;
	w->gpu = w->live = w->cuda || w->counters[USED];
	for (size_t i = 1; i < m->segments.n; i++)
		w->named |=
			m->segments.pool[i].i == w->cuda && is_framework(m, m->segments.stack[i]);
	for (size_t i = 1; i < m->allocs.n && !w->live; i++)
		w->live = m->pools.device[m->allocs.pool[i].i].i == d;
}

/* ---- moments ---- */

static bool add_moment(tide_ledger *l, size_t *cap, int64_t t)
{
	if (!TIDE_ROOM(l->at, *cap, l->n + 1))
		return false;
	l->at[l->n++] = (tide_ledger_at){ .t = t,
					  .total = TIDE_LEDGER_UNKNOWN,
					  .used = TIDE_LEDGER_UNKNOWN,
					  .reserved = TIDE_LEDGER_UNKNOWN,
					  .live = TIDE_LEDGER_UNKNOWN,
					  .pooled = TIDE_LEDGER_UNKNOWN,
					  .profiler = TIDE_LEDGER_UNKNOWN,
					  .cached = TIDE_LEDGER_UNKNOWN,
					  .other = TIDE_LEDGER_UNKNOWN,
					  .context = TIDE_LEDGER_UNKNOWN,
					  .others = TIDE_LEDGER_UNKNOWN,
					  .unexplained = INT64_MIN };
	return true;
}

static bool find_moments(struct work *w)
{
	const tide_samples *s = &w->m->samples;
	size_t cap = 0;
	for (size_t i = 0; i < s->n; i++)
		if (w->counters[USED] && s->counter[i].i == w->counters[USED] &&
		    !add_moment(w->l, &cap, s->t[i]))
			return false;
	return w->l->n || add_moment(w->l, &cap, w->m->t_end);
}

/* Sets the value of a series at each moment: its last sample at or after it and before the next
 * moment. */
static void fill_series(struct work *w, int series, size_t offset)
{
	const tide_samples *s = &w->m->samples;
	size_t k = 0;
	for (size_t i = 0; i < s->n && w->counters[series]; i++) {
		if (s->counter[i].i != w->counters[series] || s->value[i] < 0)
			continue;
		while (k + 1 < w->l->n && w->l->at[k + 1].t <= s->t[i])
			k++;
		uint64_t v = (uint64_t)s->value[i];
		memcpy((char *)&w->l->at[k] + offset, &v, sizeof v);
	}
}

/* Returns the value of a series that is recorded when it changes: its last sample at or before
 * each moment. */
static uint64_t value_before(const struct work *w, int series, size_t k, size_t *from,
			     uint64_t last)
{
	const tide_samples *s = &w->m->samples;
	for (; *from < s->n; ++*from) {
		if (s->counter[*from].i != w->counters[series])
			continue;
		if (s->t[*from] > w->l->at[k].t)
			break;
		last = s->value[*from] > 0 ? (uint64_t)s->value[*from] : 0;
	}
	return last;
}

/* Finds the memory that stream-ordered pools hold but do not use. */
static void fill_pooled(struct work *w)
{
	size_t a = 0, b = 0;
	uint64_t held = 0, used = 0;
	for (size_t k = 0; k < w->l->n && w->gpu; k++)
		w->l->at[k].pooled = 0;
	for (size_t k = 0; k < w->l->n && w->counters[POOLS] && w->counters[POOLS_USED]; k++) {
		held = value_before(w, POOLS, k, &a, held);
		used = value_before(w, POOLS_USED, k, &b, used);
		w->l->at[k].pooled = held > used ? held - used : 0;
	}
}

/* ---- recorded bytes ---- */

struct sums {
	uint64_t live;	    /* allocations of the framework's pools */
	uint64_t framework; /* segments that it took */
	uint64_t other;	    /* all other allocations of this device that CUPTI reported */
};

static void apply(const struct work *w, size_t i, struct sums *x)
{
	const tide_model *m = w->m;
	uint32_t row = m->memory_events.row[i];
	bool segment = m->memory_events.kind[i] == TIDE_MEMORY_SEG_ALLOC ||
		       m->memory_events.kind[i] == TIDE_MEMORY_SEG_FREE;
	bool more = m->memory_events.kind[i] == TIDE_MEMORY_ALLOC ||
		    m->memory_events.kind[i] == TIDE_MEMORY_SEG_ALLOC;
	if (m->memory_events.kind[i] == TIDE_MEMORY_FREE_ASKED)
		return;
	uint32_t pool = segment ? m->segments.pool[row].i : m->allocs.pool[row].i;
	uint64_t size = segment ? m->segments.size[row] : m->allocs.size[row];
	if (m->pools.device[pool].i != w->l->device)
		return;
	uint64_t *sum = pool != w->cuda ? segment ? NULL : &x->live
			: segment && is_framework(m, m->segments.stack[row]) ? &x->framework
									     : &x->other;
	if (sum)
		*sum = more ? *sum + size : *sum >= size ? *sum - size : 0;
}

static void fill_recorded(struct work *w)
{
	struct sums x = { 0, 0, 0 };
	size_t event = 0;
	for (size_t k = 0; k < w->l->n; k++) {
		tide_ledger_at *a = &w->l->at[k];
		for (;
		     event < w->m->memory_events.n && tide__memory_event_time(w->m, event) <= a->t;
		     event++)
			apply(w, event, &x);
		if (w->live)
			a->live = x.live;
		if (w->cuda) {
			a->other = x.other;
			if (w->named)
				a->cached = x.framework > x.live ? x.framework - x.live : 0;
		}
	}
}

/* Without CUPTI, derives cached bytes from the framework's own reserved bytes. */
static void fill_cached(struct work *w)
{
	const tide_reserved *r = w->reserved;
	uint64_t bytes = TIDE_LEDGER_UNKNOWN;
	size_t i = 0;
	for (size_t k = 0; k < w->l->n && w->live && !w->cuda; k++) {
		tide_ledger_at *a = &w->l->at[k];
		for (; i < r->n && r->steps[i].t <= a->t; i++)
			if (r->steps[i].device == w->l->device)
				bytes = r->steps[i].bytes;
		if (bytes != TIDE_LEDGER_UNKNOWN && bytes >= a->live)
			a->cached = bytes - a->live;
	}
}

/* ---- the rest ---- */

static uint64_t known(uint64_t v)
{
	return v == TIDE_LEDGER_UNKNOWN ? 0 : v;
}

static uint64_t explained(const tide_ledger_at *a)
{
	return known(a->live) + known(a->cached) + known(a->other) + known(a->pooled);
}

/* Returns the memory of this process: NVML's figure for it, else the part that others do not
 * use. */
static uint64_t of_process(const tide_ledger_at *a, uint64_t told)
{
	if (told != TIDE_LEDGER_UNKNOWN)
		return told;
	return a->used != TIDE_LEDGER_UNKNOWN && a->others != TIDE_LEDGER_UNKNOWN &&
			       a->used >= a->others + known(a->reserved)
		       ? a->used - a->others - known(a->reserved)
		       : TIDE_LEDGER_UNKNOWN;
}

/* Finds the context at each moment: the bytes of this process that nothing explains and that stay,
 * so the minimum over this moment and all later ones. `rest` is unknown if there is no allocation
 * yet. */
static void fill_context(tide_ledger *l, const uint64_t *rest)
{
	uint64_t least = TIDE_LEDGER_UNKNOWN;
	size_t last = l->n;
	for (size_t k = l->n; k-- > 0;) {
		if (rest[k] != TIDE_LEDGER_UNKNOWN && last == l->n)
			last = k;
		least = rest[k] < least ? rest[k] : least;
		l->at[k].context = least;
	}
	for (size_t k = last; k < l->n; k++) /* no allocation is left: use the last known value */
		l->at[k].context = l->at[last].context;
	l->context_first = least;
}

/* Subtracts all lines from the bytes in use. */
static void explain(struct work *w, const uint64_t *process, const uint64_t *rest,
		    uint64_t profiler)
{
	tide_ledger *l = w->l;
	fill_context(l, rest);
	for (size_t k = 0; k < l->n; k++) {
		tide_ledger_at *a = &l->at[k];
		uint64_t p = of_process(a, process[k]), e = explained(a) + profiler;
		if (p != TIDE_LEDGER_UNKNOWN && a->context != TIDE_LEDGER_UNKNOWN &&
		    (p < e || p - e < a->context))
			a->context = p > e ? p - e : 0; /* the context is still being created */
		if (a->used != TIDE_LEDGER_UNKNOWN)
			a->unexplained = (int64_t)a->used -
					 (int64_t)(explained(a) + profiler + known(a->context) +
						   known(a->others) + known(a->reserved));
		if (a->used != TIDE_LEDGER_UNKNOWN && a->used > known(l->at[l->highest].used))
			l->highest = k;
	}
	if (l->n && l->at[l->highest].used == TIDE_LEDGER_UNKNOWN)
		l->highest = l->n - 1;
}

/* Finds the bytes of this process that no recorded allocation explains, and explains them. `rest`
 * has room for every moment. */
static void find_rest(struct work *w, const uint64_t *process, uint64_t *rest)
{
	int64_t own = tide__fact_find(w->m, "gpu.profiler_bytes");
	uint64_t profiler =
		own >= 0 && w->m->facts.number[own] > 0 ? (uint64_t)w->m->facts.number[own] : 0;
	for (size_t k = 0; k < w->l->n; k++) {
		tide_ledger_at *a = &w->l->at[k];
		uint64_t p = of_process(a, process[k]), e = explained(a);
		bool begun = e > 0; /* before this moment there may be no context */
		rest[k] = begun && p != TIDE_LEDGER_UNKNOWN && p >= e + profiler
				  ? p - e - profiler
				  : TIDE_LEDGER_UNKNOWN;
		if (w->gpu || own >= 0)
			a->profiler = profiler;
	}
	explain(w, process, rest, profiler);
}

/* ---- holders of other memory ---- */

static int by_bytes(const void *a, const void *b)
{
	const tide_ledger_source *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return (x->library.i > y->library.i) - (x->library.i < y->library.i);
}

static bool add_source(tide_ledger *l, size_t *cap, tide_str library, uint64_t bytes)
{
	size_t i = 0;
	while (i < l->n_sources && l->sources[i].library.i != library.i)
		i++;
	if (i == l->n_sources) {
		if (!TIDE_ROOM(l->sources, *cap, l->n_sources + 1))
			return false;
		l->sources[l->n_sources++] = (tide_ledger_source){ library, 0, 0 };
	}
	l->sources[i].bytes += bytes;
	l->sources[i].count++;
	return true;
}

static bool find_sources(struct work *w)
{
	const tide_model *m = w->m;
	int64_t t = w->l->at[w->l->highest].t;
	size_t cap = 0;
	for (size_t i = 1; i < m->segments.n && w->cuda; i++) {
		tide_stack_id s = m->segments.stack[i];
		if (m->segments.pool[i].i == w->cuda && m->segments.born[i] <= t &&
		    m->segments.died[i] > t && !is_framework(m, s) &&
		    !add_source(w->l, &cap, m->frames.file[m->stacks.frame[s.i].i],
				m->segments.size[i]))
			return false;
	}
	for (size_t i = 1; i < m->allocs.n && w->cuda; i++) {
		tide_stack_id s = m->allocs.stack[i];
		if (m->allocs.pool[i].i == w->cuda && m->allocs.born[i] <= t &&
		    m->allocs.died[i] > t &&
		    !add_source(w->l, &cap, m->frames.file[m->stacks.frame[s.i].i],
				m->allocs.size[i]))
			return false;
	}
	if (w->l->n_sources)
		qsort(w->l->sources, w->l->n_sources, sizeof *w->l->sources, by_bytes);
	return true;
}

/* ---- which device, which process ---- */

static void identify(const tide_model *m, tide_ledger *l)
{
	size_t n;
	const char *name = tide__text(m, m->devices.name[l->device], &n);
	l->index = m->devices.index[l->device];
	l->wall0_ns = m->wall0_ns;
	l->pid = m->processes.n > 1 ? m->processes.pid[1] : -1;
	tide__gpu_identity(m, l->device, l->id, sizeof l->id);
	n = n < sizeof l->name ? n : sizeof l->name - 1;
	memcpy(l->name, name, n);
	l->name[n] = 0;
}

static bool fill(const tide_model *m, const tide_reserved *reserved, tide_ledger *l)
{
	struct work w = { .m = m, .l = l, .reserved = reserved };
	identify(m, l);
	look(&w);
	if (!find_moments(&w))
		return false;
	uint64_t *process = tide__alloc(l->n * 2, sizeof *process); /* then the remaining fields of
	                                                             * each */
	if (!process)
		return false;
	fill_series(&w, PROCESS, offsetof(tide_ledger_at, used)); /* kept aside, then replaced */
	for (size_t k = 0; k < l->n; k++) {
		process[k] = l->at[k].used;
		l->at[k].used = TIDE_LEDGER_UNKNOWN;
	}
	fill_series(&w, USED, offsetof(tide_ledger_at, used));
	fill_series(&w, TOTAL, offsetof(tide_ledger_at, total));
	fill_series(&w, OTHERS, offsetof(tide_ledger_at, others));
	fill_series(&w, RESERVED, offsetof(tide_ledger_at, reserved));
	fill_pooled(&w);
	fill_recorded(&w);
	fill_cached(&w);
	find_rest(&w, process, process + l->n);
	tide__free(process);
	return find_sources(&w);
}

tide_code tide__find_ledgers(const tide_model *m, tide_ledgers *out, tide_error *err)
{
	size_t cap = 0;
	tide_reserved reserved;
	memset(out, 0, sizeof *out);
	tide_code rc = tide__find_reserved(m, &reserved, err);
	for (uint32_t d = 1; rc == TIDE_OK && d < m->devices.n; d++) {
		if (m->devices.kind[d] != TIDE_DEVICE_CUDA)
			continue;
		bool ok = TIDE_ROOM(out->v, cap, out->n + 1);
		if (ok) {
			out->v[out->n] = (tide_ledger){ .device = d };
			ok = fill(m, &reserved, &out->v[out->n++]);
		}
		if (!ok)
			rc = tide__nomem(err);
	}
	tide__reserved_free(&reserved);
	return rc;
}

void tide__ledgers_free(tide_ledgers *l)
{
	for (size_t i = 0; i < l->n; i++) {
		tide__free(l->v[i].at);
		tide__free(l->v[i].sources);
	}
	tide__free(l->v);
	memset(l, 0, sizeof *l);
}

bool tide__has_ledger(const tide_model *m)
{
	for (uint32_t i = 1; i < m->counters.n; i++)
		if (!strncmp(tide__text(m, m->counters.name[i], NULL), "nvml.cuda:", 10))
			return true;
	for (uint32_t i = 1; i < m->pools.n; i++)
		if (m->devices.kind[m->pools.device[i].i] == TIDE_DEVICE_CUDA &&
		    !strcmp(tide__text(m, m->pools.name[i], NULL), "cuda"))
			return true;
	return false;
}

void tide__ledger_downsample(tide_ledger *l, size_t most)
{
	size_t each = (l->n + most - 1) / most, kept = 0, highest = 0;
	for (size_t i = 0; i < l->n && each > 1; i += each, kept++) {
		size_t best = i;
		for (size_t k = i; k < i + each && k < l->n; k++) {
			best = known(l->at[k].used) > known(l->at[best].used) ? k : best;
			highest = k == l->highest ? kept : highest;
		}
		l->at[kept] = l->at[best];
	}
	if (each > 1) {
		l->n = kept;
		l->highest = highest;
	}
}
