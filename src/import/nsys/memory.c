// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* CUDA_GPU_MEMORY_USAGE_EVENTS: allocations and frees by address. A pool is one kind of memory of one
 * process on a device, because addresses of two processes may be equal. */
#include <string.h>

#include "base/mem.h"
#include "import/kineto/live.h"
#include "import/nsys/nsys_impl.h"
#include "model/mergesort.h"

enum { ALLOCATION, DEALLOCATION };					   /* memoryOperationType */
enum { PAGEABLE, PINNED, DEVICE, ARRAY, MANAGED, STATIC, MANAGED_STATIC }; /* memKind */

static uint32_t host(nsys *n)
{
	if (!n->host)
		n->host = tide__push(&n->m->devices, &tide_devices_desc);
	if (n->host)
		n->m->devices.kind[n->host] = TIDE_DEVICE_HOST;
	return n->host;
}

uint32_t tide__nsys_pool(nsys *n, uint32_t process, int64_t device, int64_t kind)
{
	tide_pools *p = &n->m->pools;
	bool on_host = kind == PAGEABLE || kind == PINNED;
	uint32_t on = on_host ? host(n) : tide__nsys_device(n, process, device);
	uint64_t key = tide__nsys_key((uint64_t)process << 32 | on, (uint64_t)kind);
	uint32_t row = on ? tide__map_get(&n->pools, key) : 0;
	if (row || !on)
		return row;
	row = tide__push(p, &tide_pools_desc);
	if (!row || !tide__map_put(&n->pools, key, row))
		return 0;
	p->device[row].i = on;
	p->kind[row] = kind == PINNED ? TIDE_POOL_PINNED
		       : on_host      ? TIDE_POOL_HEAP
				      : TIDE_POOL_DRAM;
	p->name[row] = tide__intern(n->m, kind == MANAGED || kind == MANAGED_STATIC ? "managed"
					  : kind == ARRAY			    ? "array"
					  : kind == STATIC			    ? "static"
										    : "");
	return row;
}

static bool add_memory(nsys *n, const tide_db_rows *r)
{
	int64_t t = tide__db_int(r, 0, 0), bytes = tide__db_int(r, 2, 0),
		what = tide__db_int(r, 3, 0);
	if (bytes < 0 || (what != ALLOCATION && what != DEALLOCATION) || !tide__nsys_times(n, t, t))
		return tide__nsys_bad(n);
	uint32_t process = tide__nsys_process(n, tide__db_int(r, 4, 0));
	uint32_t pool = process ? tide__nsys_pool(n, process, tide__db_int(r, 5, 0),
						  tide__db_int(r, 6, DEVICE))
				: 0;
	if (!pool || !TIDE_ROOM(n->memory, n->cap_memory, n->n_memory + 1))
		return false;
	int64_t correlation = tide__db_int(r, 7, 0);
	n->memory[n->n_memory++] = (nsys_memory){
		.t = t,
		.address = (uint64_t)tide__db_int(r, 1, 0),
		.bytes = (uint64_t)bytes,
		.pool = pool,
		.call = correlation > 0 ? tide__nsys_call(n, process, correlation) : 0,
		.frees = what == DEALLOCATION,
	};
	return true;
}

const nsys_table tide__nsys_memory_rows = { "CUDA_GPU_MEMORY_USAGE_EVENTS",
					    NULL,
					    add_memory,
					    4,
					    { "start", "address", "bytes", "memoryOperationType",
					      "globalPid", "deviceId", "memKind",
					      "correlationId" } };

/* ---- allocations ---- */

typedef struct replay {
	nsys *n;
	kin_live *live; /* per pool */
	tide_map at;	/* address in a pool -> allocation */
	uint64_t overlaps, reused, unknown;
} replay;

static inline bool before(const void *ctx, uint32_t x, uint32_t y)
{
	const nsys_memory *v = ctx;
	return v[x].t < v[y].t;
}

static bool add_event(nsys *n, uint32_t row, unsigned kind)
{
	tide_memory_events *v = &n->m->memory_events;
	size_t i;
	if (!tide__table_push(v, &tide_memory_events_desc, &i))
		return false;
	v->row[i] = row;
	v->kind[i] = (uint8_t)kind;
	return true;
}

static bool end(replay *p, uint32_t row, const nsys_memory *v, unsigned flags)
{
	tide_allocs *a = &p->n->m->allocs;
	uint64_t key = tide__nsys_key(v->pool, v->address);
	a->died[row] = v->t;
	a->flags[row] |= (uint8_t)flags;
	a->free_span[row].i = flags ? 0 : v->call;
	tide__map_del(&p->at, key);
	if (!(a->flags[row] & TIDE_ALLOC_OVERLAPS))
		tide__kineto_live_del(&p->live[v->pool], v->address);
	return add_event(p->n, row, TIDE_MEMORY_FREE);
}

static bool allocate(replay *p, const nsys_memory *v)
{
	tide_allocs *a = &p->n->m->allocs;
	uint64_t key = tide__nsys_key(v->pool, v->address);
	uint32_t old = tide__map_get(&p->at, key);
	p->reused += old != 0;
	if (old && !end(p, old, v, TIDE_ALLOC_REUSED))
		return false;
	uint32_t row = tide__push(a, &tide_allocs_desc);
	bool overlaps = false;
	if (!row || !tide__kineto_live_add(&p->live[v->pool], v->address, v->bytes, &overlaps))
		return false;
	a->addr[row] = v->address;
	a->size[row] = a->requested[row] = v->bytes;
	a->born[row] = v->t;
	a->died[row] = TIDE_T_NEVER;
	a->pool[row].i = v->pool;
	a->span[row].i = v->call;
	a->lane[row] = p->n->m->spans.lane[v->call];
	a->flags[row] = overlaps ? TIDE_ALLOC_OVERLAPS : 0;
	a->basis[row] = TIDE_BASIS_EXACT;
	p->overlaps += overlaps;
	return tide__map_put(&p->at, key, row) && add_event(p->n, row, TIDE_MEMORY_ALLOC);
}

static bool apply(replay *p, const nsys_memory *v)
{
	if (!v->frees)
		return allocate(p, v);
	uint32_t row = tide__map_get(&p->at, tide__nsys_key(v->pool, v->address));
	p->unknown += !row;
	return !row || end(p, row, v, 0);
}

static bool count(nsys *n, const char *loss, uint64_t k)
{
	return !k || tide__fact_add(n->m, loss, (int64_t)k);
}

bool tide__nsys_allocate(nsys *n)
{
	size_t k = n->n_memory;
	replay p = { .n = n, .live = tide__calloc(n->m->pools.n, sizeof *p.live) };
	uint32_t *order = k < UINT32_MAX ? tide__alloc(k * 2 + 1, sizeof *order) : NULL;
	bool ok = order && p.live;
	for (uint32_t i = 0; ok && i < k; i++)
		order[i] = i;
	if (ok)
		tide__mergesort(order, order + k, k, before, n->memory);
	for (size_t i = 0; ok && i < k; i++)
		ok = apply(&p, &n->memory[order[i]]);
	ok = ok && count(n, "loss.alloc_overlaps", p.overlaps) &&
	     count(n, "loss.alloc_reused", p.reused) && count(n, "loss.free_unknown", p.unknown);
	for (size_t i = 0; p.live && i < n->m->pools.n; i++)
		tide__kineto_live_fini(&p.live[i]);
	tide__free(p.live);
	tide__free(order);
	tide__map_free(&p.at);
	return ok || tide__nsys_nomem(n);
}
