// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/tide/device_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/device_log.h"

struct late { /* a memory event to be merged */
	int64_t t;
	uint32_t row;
	uint8_t kind;
};

struct put {
	tide_model *m;
	tide_defs *defs;
	tide_map live; /* address -> row + 1, with the table in its top bit */
	struct late *late;
	size_t n_late;
	uint64_t unknown; /* frees of unknown addresses */
};

static int by_time(const void *a, const void *b)
{
	const struct tide_device_memory *x = a, *y = b;
	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return (int)y->free - (int)x->free; /* a free and the next allocation may share a tick */
}

/* ---- pools ---- */

static uint32_t host_row(tide_model *m)
{
	for (uint32_t i = 1; i < m->devices.n; i++)
		if (m->devices.kind[i] == TIDE_DEVICE_HOST)
			return i;
	uint32_t row = tide__push(&m->devices, &tide_devices_desc);
	if (row)
		m->devices.kind[row] = TIDE_DEVICE_HOST;
	return row;
}

static uint32_t pool_row(tide_model *m, const struct tide_device_memory *v)
{
	/* cuMemCreate's "pinned" is a type of memory, not host memory */
	bool pinned = v->memory == TIDE_DEVICE_MEMORY_PINNED && !v->call;
	const char *name = pinned				     ? "pinned"
			   : v->memory == TIDE_DEVICE_MEMORY_MANAGED ? "managed"
								     : "cuda";
	uint32_t device = pinned ? host_row(m) : tide__device_get_row(m, v->device);
	for (uint32_t i = 1; i < m->pools.n; i++)
		if (m->pools.device[i].i == device &&
		    !strcmp(tide__text(m, m->pools.name[i], NULL), name))
			return i;
	uint32_t row = device ? tide__push(&m->pools, &tide_pools_desc) : 0;
	if (row) {
		m->pools.device[row] = (tide_device_id){ device };
		m->pools.name[row] = tide__intern(m, name);
		m->pools.kind[row] = pinned ? TIDE_POOL_PINNED : TIDE_POOL_DRAM;
	}
	return row;
}

/* Returns true if a framework's pool of the same device has allocations. */
static bool has_framework(const tide_model *m, uint32_t pool)
{
	for (size_t i = 1; i < m->allocs.n; i++) {
		uint32_t p = m->allocs.pool[i].i;
		if (p != pool && m->pools.device[p].i == m->pools.device[pool].i)
			return true;
	}
	return false;
}

/* ---- rows ---- */

static tide_stack_id source_stack(struct put *p, uint32_t name)
{
	tide_str s = { tide__ids_get(&p->defs->names, name, &p->defs->undefined) };
	tide_frame_id f =
		s.i ? tide__frame_intern(p->m, tide__intern(p->m, "[device memory]"), s, 0)
		    : (tide_frame_id){ 0 };
	return f.i ? tide__stack_intern(p->m, (tide_stack_id){ 0 }, f) : (tide_stack_id){ 0 };
}

static void add_late(struct put *p, int64_t t, uint32_t row, unsigned kind)
{
	p->late[p->n_late++] = (struct late){ t, row, (uint8_t)kind };
}

static bool take(struct put *p, const struct tide_device_memory *v, uint32_t pool, bool segment,
		 int64_t t)
{
	tide_model *m = p->m;
	tide_stack_id stack = source_stack(p, v->source);
	uint32_t row = segment ? tide__push(&m->segments, &tide_segments_desc)
			       : tide__push(&m->allocs, &tide_allocs_desc);
	if (!row || row >> 31 || !tide__map_put(&p->live, v->addr, row | (uint32_t)segment << 31))
		return false;
	if (segment) {
		m->segments.addr[row] = v->addr;
		m->segments.size[row] = v->bytes;
		m->segments.born[row] = t;
		m->segments.died[row] = TIDE_T_NEVER;
		m->segments.pool[row] = (tide_pool_id){ pool };
		m->segments.stack[row] = stack;
	} else {
		m->allocs.addr[row] = v->addr;
		m->allocs.size[row] = m->allocs.requested[row] = v->bytes;
		m->allocs.born[row] = t;
		m->allocs.died[row] = TIDE_T_NEVER;
		m->allocs.pool[row] = (tide_pool_id){ pool };
		m->allocs.stack[row] = stack;
	}
	add_late(p, t, row, segment ? TIDE_MEMORY_SEG_ALLOC : TIDE_MEMORY_ALLOC);
	return true;
}

/* Frees the allocation at an address. Returns its bytes, 0 if the address is unknown. */
static uint64_t give(struct put *p, uint64_t addr, int64_t t)
{
	uint32_t found = tide__map_del(&p->live, addr), row = found & 0x7fffffff;
	bool segment = found >> 31;
	if (!found)
		return 0;
	if (segment)
		p->m->segments.died[row] = t;
	else
		p->m->allocs.died[row] = t;
	add_late(p, t, row, segment ? TIDE_MEMORY_SEG_FREE : TIDE_MEMORY_FREE);
	return segment ? p->m->segments.size[row] : p->m->allocs.size[row];
}

/* One cuMemUnmap may cover several adjacent cuMemMap ranges. */
static void give_range(struct put *p, const struct tide_device_memory *v, int64_t t)
{
	uint64_t n = give(p, v->addr, t), more = n;
	p->unknown += !n;
	for (uint64_t at = v->addr; v->call == TIDE_VMM_MAP && more && n < v->bytes; n += more) {
		at += more;
		more = give(p, at, t);
	}
}

/* Memory created without an address is identified by a number that is no address: the n-th of its
 * size. cuMemRelease frees the latest one. */
static uint64_t made_up(struct tide_device_memory *v, tide_map *count)
{
	uint64_t key = v->bytes & ((UINT64_C(1) << 48) - 1);
	uint32_t n = tide__map_get(count, key + 1);
	if (v->free && n)
		n--;
	if (!tide__map_put(count, key + 1, v->free ? n : n + 1))
		return 0;
	return UINT64_C(1) << 63 | (uint64_t)(n & 0x7fff) << 48 | key;
}

/* Physical memory counts once: if its creation is recorded, mappings are not counted. */
static size_t count_once(struct tide_device_memory *v, size_t n, tide_map *count)
{
	bool created = false;
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		created |= v[i].call == TIDE_VMM_CREATE && !v[i].free;
	for (size_t i = 0; i < n; i++) {
		if (created && v[i].call == TIDE_VMM_MAP)
			continue;
		if (v[i].call == TIDE_VMM_CREATE && !v[i].addr)
			v[i].addr = made_up(&v[i], count);
		v[kept++] = v[i];
	}
	return kept;
}

/* ---- memory events ---- */

/* Merges two lists in order of time; marks keep their position among the old memory events. */
static bool merge(struct put *p)
{
	tide_model *m = p->m;
	size_t n = m->memory_events.n, i = 0, k = 0, mark = 1;
	tide_memory_events old = { 0 };
	if (!p->n_late)
		return true;
	old.row = tide__alloc(n + 1, sizeof *old.row);
	old.kind = tide__alloc(n + 1, sizeof *old.kind);
	int64_t *when = tide__alloc(n + 1, sizeof *when);
	bool ok = old.row && old.kind && when &&
		  tide__table_reserve(&m->memory_events, &tide_memory_events_desc, p->n_late);
	for (size_t j = 0; ok && j < n; j++) {
		old.row[j] = m->memory_events.row[j];
		old.kind[j] = m->memory_events.kind[j];
		when[j] = tide__memory_event_time(m, j);
	}
	m->memory_events.n = ok ? 0 : n;
	while (ok && (i < n || k < p->n_late)) {
		bool late = i == n || (k < p->n_late && p->late[k].t < when[i]);
		for (; !late && mark < m->marks.n && m->marks.position[mark] <= i; mark++)
			m->marks.position[mark] = m->memory_events.n;
		size_t at = m->memory_events.n++;
		m->memory_events.row[at] = late ? p->late[k].row : old.row[i];
		m->memory_events.kind[at] = late ? p->late[k].kind : old.kind[i];
		*(late ? &k : &i) += 1;
	}
	for (; ok && mark < m->marks.n; mark++)
		m->marks.position[mark] = m->memory_events.n;
	tide__free(old.row);
	tide__free(old.kind);
	tide__free(when);
	return ok;
}

bool tide__device_memory_put(tide_model *m, tide_defs *defs, struct tide_device_memory *v, size_t n)
{
	struct put p = { .m = m, .defs = defs };
	tide_map framework = { 0 }, count = { 0 }; /* pool -> 1 no, 2 yes */
	if (!n)
		return true;
	p.late = tide__alloc(2 * n, sizeof *p.late);
	bool ok = p.late != NULL;
	if (ok) {
		qsort(v, n, sizeof *v, by_time);
		n = count_once(v, n, &count);
	}
	for (size_t i = 0; ok && i < n; i++) {
		int64_t t = tide__real_to_t(m, v[i].t);
		uint32_t pool = v[i].free ? 1 : pool_row(m, &v[i]),
			 known = tide__map_get(&framework, pool);
		if (!known && !v[i].free) {
			known = has_framework(m, pool) ? 2 : 1;
			ok = pool && tide__map_put(&framework, pool, known);
		}
		if (t > m->t_end)
			m->t_end = t;
		if (!ok)
			break;
		if (!v[i].free && tide__map_get(&p.live, v[i].addr))
			give(&p, v[i].addr, t); /* its free is missing in the records */
		if (v[i].free)
			give_range(&p, &v[i], t);
		else
			ok = take(&p, &v[i], pool, known == 2, t);
	}
	ok = ok && merge(&p) &&
	     (!p.unknown || tide__fact_add(m, "gpu.older_frees", (int64_t)p.unknown));
	tide__map_free(&p.live);
	tide__map_free(&framework);
	tide__map_free(&count);
	tide__free(p.late);
	return ok;
}

/* ---- stream-ordered pools ---- */

static int pool_by_time(const void *a, const void *b)
{
	const struct tide_device_pool *x = a, *y = b;
	return (x->t > y->t) - (x->t < y->t);
}

static uint32_t counter_row(tide_model *m, uint32_t device, const char *what)
{
	char name[64];
	snprintf(name, sizeof name, "cuda_pools.cuda:%u.%s", device, what);
	for (uint32_t i = 1; i < m->counters.n; i++)
		if (!strcmp(tide__text(m, m->counters.name[i], NULL), name))
			return i;
	uint32_t row = tide__push(&m->counters, &tide_counters_desc);
	if (row)
		m->counters.name[row] = tide__intern(m, name);
	return row;
}

static bool put_sample(tide_model *m, uint32_t counter, int64_t t, uint64_t value)
{
	size_t row;
	if (!counter || !tide__table_push(&m->samples, &tide_samples_desc, &row))
		return false;
	m->samples.t[row] = t;
	m->samples.value[row] = (double)value;
	m->samples.counter[row] = (tide_counter_id){ counter };
	return true;
}

bool tide__device_pools_put(tide_model *m, struct tide_device_pool *v, size_t n)
{
	enum { DEVICES = 64 };
	uint64_t bytes[DEVICES] = { 0 }, used[DEVICES] = { 0 };
	tide_map last = { 0 }; /* pool's address -> index + 1 of its latest state */
	bool ok = true;
	if (n)
		qsort(v, n, sizeof *v, pool_by_time);
	for (size_t i = 0; ok && i < n && i < UINT32_MAX - 1; i++) {
		uint32_t d = v[i].device, before = tide__map_get(&last, v[i].addr);
		if (d >= DEVICES || (before && v[before - 1].device != d))
			continue;
		if (v[i].gone)
			v[i].bytes = v[i].used = 0;
		bytes[d] += v[i].bytes - (before ? v[before - 1].bytes : 0);
		used[d] += v[i].used - (before ? v[before - 1].used : 0);
		int64_t t = tide__real_to_t(m, v[i].t);
		ok = tide__map_put(&last, v[i].addr, (uint32_t)i + 1) &&
		     put_sample(m, counter_row(m, d, "reserved_bytes"), t, bytes[d]) &&
		     put_sample(m, counter_row(m, d, "used_bytes"), t, used[d]);
	}
	tide__map_free(&last);
	return ok;
}
