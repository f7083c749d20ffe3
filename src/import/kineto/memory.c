// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Converts [memory] instants to allocations, memory events, and samples of the allocator's own
 * totals.
 *
 * Events are taken in time order (input order within a nanosecond) and paired by device and
 * address. A free without an allocation in the trace belongs to older memory: it becomes an
 * allocation born at the trace's start (TIDE_ALLOC_BEFORE). Bytes of the allocator's total that
 * remain unexplained become one more such allocation per device, at address 0, so that live bytes
 * equal the allocator's "Total Allocated" at every event. A new allocation at an address still
 * alive implies the lost free (TIDE_ALLOC_REUSED).
 *
 * This needs no spans, so a separate thread may do it while spans are sorted and linked. It uses
 * b->memory_events and b->before, and the model's devices, pools, counters, samples and
 * memory_events, which the sorting and linking do not use, and keeps its allocations private. At
 * the end each event gets the span around it. */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "import/kineto/kineto_impl.h"
#include "import/kineto/live.h"
#include "model/mergesort.h"

typedef struct pool {
	int32_t type, device;
	uint32_t row;		  /* model pool */
	uint32_t total, reserved; /* counters */
	int64_t last_total, last_reserved;
	int64_t sum;  /* sum of Bytes, if events have no addresses */
	bool based;   /* first total seen */
	int64_t base; /* bytes that existed before the first event */
	kin_live live;
	tide_map at; /* address -> alloc row */
} pool;

typedef struct kin_memory {
	kin_build *b;
	tide_allocs allocs; /* the model's until the end; free_span holds the lane of the free */
	TIDE_VEC(pool, pools);
	tide_map pool_of; /* (type, device) -> index + 1 */
	tide_map cuda;	  /* numbers of devices with memory of CUDA's type */
	uint32_t *order;
	tide_str heap, dram, bytes, total, reserved, since;
	uint64_t lost_frees, sizes_differ, reused, overlaps, contradictions;
	pthread_t thread;
	bool beside; /* thread runs */
	bool ok;
} state;

/* Maps torch's device types to ours. ROCm calls its devices CUDA or HIP: meta.c names them. */
static unsigned device_kind(int32_t type)
{
	static const uint8_t of[] = {
		[0] = TIDE_DEVICE_HOST, [1] = TIDE_DEVICE_CUDA, [KIN_HIP] = TIDE_DEVICE_CUDA,
		[12] = TIDE_DEVICE_XPU, [13] = TIDE_DEVICE_MPS, [19] = TIDE_DEVICE_MTIA
	};
	bool known = type >= 0 && (size_t)type < sizeof of && of[type];
	return known ? of[type] : TIDE_DEVICE_OTHER;
}

/* Streams give only a device's number and are assumed to be CUDA's; memory events have the kind. */
static uint32_t device_row(state *st, unsigned kind, int64_t number)
{
	kin_build *b = st->b;
	if (kind == TIDE_DEVICE_HOST || kind == TIDE_DEVICE_CUDA ||
	    tide__map_get(&st->cuda, tide__mix((uint64_t)number)))
		return tide__kineto_get_device_row(b, kind, kind == TIDE_DEVICE_HOST ? 0 : number);
	uint32_t row = tide__kineto_get_device_row(b, TIDE_DEVICE_CUDA, number);
	if (row)
		b->m->devices.kind[row] = (uint8_t)kind;
	return row;
}

void tide__kineto_saw(kin_seen *s, int32_t type, int32_t device)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->at[i].type == type && s->at[i].device == device)
			return;
	if (s->n < KIN_SEEN) {
		s->at[s->n].type = type;
		s->at[s->n++].device = device;
	}
}

void tide__kineto_saw_time(kin_seen *s, int64_t t)
{
	s->t_min = s->any && s->t_min < t ? s->t_min : t;
	s->t_max = s->any && s->t_max > t ? s->t_max : t;
	s->any = true;
}

static bool saw_cuda(const kin_seen *s, int32_t device)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->at[i].device == device && device_kind(s->at[i].type) == TIDE_DEVICE_CUDA)
			return true;
	return false;
}

/* The same as device_row, for existing devices. */
void tide__kineto_set_kinds(kin_build *b)
{
	for (unsigned i = 0; i < b->seen.n; i++) {
		int32_t device = b->seen.at[i].device;
		unsigned kind = device_kind(b->seen.at[i].type);
		uint32_t row = tide__map_get(&b->device_of, tide__mix((uint64_t)(int64_t)device) ^
								    TIDE_DEVICE_CUDA);
		if (row && kind != TIDE_DEVICE_HOST && !saw_cuda(&b->seen, device))
			b->m->devices.kind[row] = (uint8_t)kind;
	}
}

static bool find_cuda(state *st)
{
	int64_t last = INT64_MIN;
	for (size_t i = 0; i < st->b->n_memory_events; i++) {
		const kin_mem *m = &st->b->memory_events[i].mem;
		if (device_kind(m->type) != TIDE_DEVICE_CUDA || m->device == last)
			continue;
		last = m->device;
		if (!tide__map_put(&st->cuda, tide__mix((uint64_t)last), 1))
			return false;
	}
	return true;
}

static bool pool_init(state *st, pool *p)
{
	tide_model *m = st->b->m;
	unsigned kind = device_kind(p->type);
	bool host = kind == TIDE_DEVICE_HOST;
	uint32_t device = device_row(st, kind, p->device);
	p->row = tide__push(&m->pools, &tide_pools_desc);
	if (!device || !p->row)
		return false;
	m->pools.device[p->row].i = device;
	m->pools.name[p->row] = host ? st->heap : st->dram;
	m->pools.kind[p->row] = host ? TIDE_POOL_HEAP : TIDE_POOL_DRAM;
	p->total = tide__kineto_get_counter_row(st->b, st->total.i, st->bytes.i, device);
	p->reserved = tide__kineto_get_counter_row(st->b, st->reserved.i, st->bytes.i, device);
	p->last_total = p->last_reserved = -1;
	return p->total && p->reserved;
}

static pool *pool_of(state *st, const kin_mem *m)
{
	uint64_t key = (uint64_t)(uint32_t)m->type << 32 | (uint32_t)m->device;
	uint32_t i = tide__map_get(&st->pool_of, key);
	if (i)
		return &st->pools[i - 1];
	pool *p = TIDE_PUSH(st, pools);
	if (!p)
		return NULL;
	*p = (pool){ .type = m->type, .device = m->device };
	bool ok = pool_init(st, p) && tide__map_put(&st->pool_of, key, (uint32_t)st->n_pools);
	return ok ? p : NULL;
}

static bool sample(state *st, uint32_t counter, int64_t t, int64_t value, int64_t *last)
{
	tide_samples *s = &st->b->m->samples;
	size_t row;
	if (value < 0 || value == *last)
		return true;
	*last = value;
	if (!tide__table_push(s, &tide_samples_desc, &row))
		return false;
	s->t[row] = t;
	s->value[row] = (double)value;
	s->counter[row].i = counter;
	return true;
}

static bool add_event(state *st, uint32_t row, unsigned kind)
{
	tide_memory_events *v = &st->b->m->memory_events;
	size_t i;
	if (!tide__table_push(v, &tide_memory_events_desc, &i))
		return false;
	v->row[i] = row;
	v->kind[i] = (uint8_t)kind;
	return true;
}

static uint32_t put_alloc(state *st, pool *p, uint64_t addr, uint64_t size, int64_t t,
			  unsigned flags)
{
	tide_allocs *a = &st->allocs;
	uint32_t row = tide__push(a, &tide_allocs_desc);
	if (!row)
		return 0;
	a->addr[row] = addr;
	a->size[row] = a->requested[row] = size;
	a->born[row] = t;
	a->died[row] = TIDE_T_NEVER;
	a->pool[row].i = p->row;
	a->flags[row] = (uint8_t)flags;
	a->basis[row] = TIDE_BASIS_EXACT;
	bool overlaps, ok = tide__kineto_live_add(&p->live, addr, size, &overlaps);
	if (overlaps) {
		a->flags[row] |= TIDE_ALLOC_OVERLAPS;
		st->overlaps++;
	}
	ok = ok && tide__map_put(&p->at, addr, row) && add_event(st, row, TIDE_MEMORY_ALLOC);
	return ok ? row : 0;
}

static bool end_alloc(state *st, pool *p, uint32_t row, int64_t t, unsigned flags)
{
	tide_allocs *a = &st->allocs;
	a->died[row] = t;
	a->flags[row] |= (uint8_t)flags;
	tide__map_del(&p->at, a->addr[row]);
	if (!(a->flags[row] & TIDE_ALLOC_OVERLAPS))
		tide__kineto_live_del(&p->live, a->addr[row]);
	return add_event(st, row, TIDE_MEMORY_FREE);
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

static bool do_alloc(state *st, pool *p, const kin_memory_event *v)
{
	uint32_t old = tide__map_get(&p->at, v->mem.addr);
	if (old) {
		st->reused++;
		if (!end_alloc(st, p, old, v->ts, TIDE_ALLOC_REUSED))
			return false;
	}
	uint32_t row = put_alloc(st, p, v->mem.addr, (uint64_t)v->mem.bytes, v->ts, 0);
	if (!row)
		return false;
	st->allocs.lane[row].i = v->lane;
	return true;
}

static bool do_free(state *st, pool *p, const kin_memory_event *v)
{
	uint32_t row = tide__map_get(&p->at, v->mem.addr);
	if (!row) {
		st->lost_frees++;
		return true;
	}
	if (st->allocs.size[row] != magnitude(v->mem.bytes))
		st->sizes_differ++;
	st->allocs.free_span[row].i = v->lane;
	return end_alloc(st, p, row, v->ts, 0);
}

/* Events without an address cannot be paired: their running sum becomes a counter. */
static bool no_address(state *st, pool *p, const kin_memory_event *v)
{
	uint32_t device = st->b->m->pools.device[p->row].i;
	uint32_t counter = tide__kineto_get_counter_row(st->b, st->since.i, 0, device);
	tide_samples *s = &st->b->m->samples;
	size_t row;
	if (!counter || !tide__table_push(s, &tide_samples_desc, &row))
		return false;
	p->sum = (int64_t)((uint64_t)p->sum + (uint64_t)v->mem.bytes);
	s->t[row] = v->ts;
	s->value[row] = (double)p->sum;
	s->counter[row].i = counter;
	return true;
}

static bool replay(state *st)
{
	for (size_t i = 0; i < st->b->n_memory_events; i++) {
		const kin_memory_event *v = &st->b->memory_events[st->order[i]];
		pool *p = pool_of(st, &v->mem);
		bool gpu = v->mem.type != 0;
		if (!p || (gpu && !sample(st, p->total, v->ts, v->mem.total, &p->last_total)) ||
		    (gpu && !sample(st, p->reserved, v->ts, v->mem.reserved, &p->last_reserved)))
			return false;
		bool ok = v->mem.addr == UINT64_MAX ? no_address(st, p, v)
			  : v->mem.bytes > 0	    ? do_alloc(st, p, v)
			  : v->mem.bytes < 0	    ? do_free(st, p, v)
						    : true;
		if (!ok)
			return false;
	}
	return true;
}

/* Adds allocations at the trace's start for frees without an allocation. An address that is freed
 * twice in a row gives one. */
static bool find_before(state *st)
{
	enum { LIVE = 1, GONE = 2 };
	for (size_t i = 0; i < st->b->n_memory_events; i++) {
		const kin_memory_event *v = &st->b->memory_events[st->order[i]];
		pool *p = pool_of(st, &v->mem);
		if (!p)
			return false;
		if (!p->based && v->mem.total >= 0) {
			p->based = true;
			p->base = (int64_t)((uint64_t)v->mem.total - (uint64_t)v->mem.bytes);
		}
		if (v->mem.addr == UINT64_MAX || v->mem.bytes == 0)
			continue;
		uint32_t seen = tide__map_get(&p->at, v->mem.addr);
		if (v->mem.bytes < 0 && !seen) {
			kin_before *k = TIDE_PUSH(st->b, before);
			if (!k)
				return false;
			*k = (kin_before){ v->mem.addr, magnitude(v->mem.bytes),
					   (uint32_t)(p - st->pools) };
		}
		if (!tide__map_put(&p->at, v->mem.addr, v->mem.bytes > 0 ? LIVE : GONE))
			return false;
	}
	return true;
}

static bool put_before(state *st)
{
	kin_build *b = st->b;
	for (size_t i = 0; i < st->n_pools; i++)
		tide__map_free(&st->pools[i].at);
	for (size_t i = 0; i < b->n_before; i++) {
		pool *p = &st->pools[b->before[i].pool];
		p->base = (int64_t)((uint64_t)p->base - b->before[i].size);
		if (!put_alloc(st, p, b->before[i].addr, b->before[i].size, 0, TIDE_ALLOC_BEFORE))
			return false;
	}
	for (size_t i = 0; i < st->n_pools; i++) {
		pool *p = &st->pools[i];
		bool known = p->based && p->type != 0;
		if (known && p->base > 0 && !tide__map_get(&p->at, 0) &&
		    !put_alloc(st, p, 0, (uint64_t)p->base, 0, TIDE_ALLOC_BEFORE))
			return false;
		st->contradictions += known && p->base < 0;
	}
	return true;
}

static inline bool earlier(const void *ctx, uint32_t x, uint32_t y)
{
	const kin_memory_event *v = ctx;
	return v[x].ts < v[y].ts;
}

static bool tell(state *st)
{
	const struct {
		const char *key;
		uint64_t n;
	} facts[] = {
		{ "loss.memory_total_contradicts", st->contradictions },
		{ "loss.free_unknown", st->lost_frees },
		{ "loss.frees_of_another_size", st->sizes_differ },
		{ "loss.frees_missing", st->reused },
		{ "loss.alloc_overlaps", st->overlaps },
		{ "kineto.frees_of_earlier_memory", st->b->n_before },
	};
	bool ok = true;
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
		ok = ok &&
		     (!facts[i].n || tide__fact_add(st->b->m, facts[i].key, (int64_t)facts[i].n));
	return ok;
}

static void *pair(void *user)
{
	state *st = user;
	size_t n = st->b->n_memory_events;
	st->order = n < UINT32_MAX ? tide__alloc(n * 2, sizeof *st->order) : NULL;
	for (uint32_t i = 0; st->order && i < n; i++)
		st->order[i] = i;
	if (st->order)
		tide__mergesort(st->order, st->order + n, n, earlier, st->b->memory_events);
	/* Reserves rows: about half of the events are allocations; growing step by step would copy
	 * them several times. */
	st->ok = st->order && find_cuda(st) &&
		 tide__table_reserve(&st->allocs, &tide_allocs_desc, n / 2 + n / 16) &&
		 tide__table_reserve(&st->b->m->memory_events, &tide_memory_events_desc, n) &&
		 find_before(st) && put_before(st) && replay(st);
	return NULL;
}

/* ---- spans ---- */

typedef struct sweep {
	const tide_spans *s;
	uint32_t *last;	   /* per lane: last span begun that takes time, overhead left out */
	uint32_t *instant; /* per lane: last one that takes none */
	uint32_t next;	   /* next span to begin */
} sweep;

/* Returns the innermost span of the lane at time t; times never go back between calls. */
static uint32_t span_at(sweep *w, uint32_t lane, int64_t t)
{
	const tide_spans *s = w->s;
	for (; w->next < s->n && s->t0[w->next] <= t; w->next++) {
		uint32_t *begun = s->t1[w->next] > s->t0[w->next] ? w->last : w->instant;
		if (s->cat[w->next] != TIDE_CAT_OVERHEAD) /* the profiler's: no op of the program */
			begun[s->lane[w->next].i] = w->next;
	}
	/* The parent of a span that takes no time may be outside the span that begins with it. */
	uint32_t i = w->instant[lane];
	if (i > w->last[lane] && s->t0[i] == t)
		return i;
	i = w->last[lane];
	while (i && s->t1[i] < t)
		i = s->parent[i].i;
	return i;
}

/* Finds the span around each event. Allocations from before the trace have no lane and are
 * skipped. */
static bool find_spans(tide_model *m)
{
	tide_allocs *a = &m->allocs;
	sweep w = { &m->spans, tide__calloc(2 * m->lanes.n, sizeof *w.last), NULL, 1 };
	bool ok = w.last;
	w.instant = ok ? w.last + m->lanes.n : NULL;
	for (size_t i = 0; ok && i < m->memory_events.n; i++) {
		uint32_t row = m->memory_events.row[i];
		if (m->memory_events.kind[i] == TIDE_MEMORY_FREE)
			a->free_span[row].i = span_at(&w, a->free_span[row].i, a->died[row]);
		else
			a->span[row].i = span_at(&w, a->lane[row].i, a->born[row]);
	}
	tide__free(w.last);
	return ok;
}

/* ---- beginning and end ---- */

static bool texts(state *st)
{
	tide_model *m = st->b->m;
	st->bytes = tide__intern(m, "bytes");
	st->total = tide__intern(m, "Total Allocated");
	st->reserved = tide__intern(m, "Total Reserved");
	st->heap = tide__intern(m, "heap");
	st->dram = tide__intern(m, "DRAM");
	st->since = tide__intern(m, "Bytes since the trace's start"); /* analyze/live/relative.h */
	return st->bytes.i && st->total.i && st->reserved.i && st->heap.i && st->dram.i &&
	       st->since.i;
}

bool tide__kineto_memory_begin(kin_build *b, kin_memory **out)
{
	state *st = *out = b->n_memory_events ? tide__calloc(1, sizeof *st) : NULL;
	if (!st)
		return !b->n_memory_events;
	st->b = b;
	if (!texts(st)) {
		tide__free(st);
		*out = NULL;
		return false;
	}
	st->allocs = b->m->allocs;
	b->m->allocs = (tide_allocs){ 0 };
	st->beside = b->threads > 1 && !pthread_create(&st->thread, NULL, pair, st);
	return true;
}

bool tide__kineto_memory_end(kin_memory *st, bool good)
{
	if (!st)
		return good;
	if (st->beside)
		pthread_join(st->thread, NULL);
	else
		pair(st);
	st->b->m->allocs = st->allocs;
	bool ok = good && st->ok && find_spans(st->b->m) && tell(st);
	for (size_t i = 0; i < st->n_pools; i++) {
		tide__map_free(&st->pools[i].at);
		tide__kineto_live_fini(&st->pools[i].live);
	}
	tide__free(st->pools);
	tide__map_free(&st->pool_of);
	tide__map_free(&st->cuda);
	tide__free(st->order);
	tide__free(st);
	return ok;
}
