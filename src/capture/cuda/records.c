// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Converts CUPTI's records to ours: one function per kind, in a table. Runs in CUPTI's own thread,
 * or in a thread of the program that flushes; nothing is kept between buffers, so memory does not
 * grow. */
#include "capture/cuda/inject.h"

#include <tidemark/detail/quick.h>

void tide__log_flush(tide_device_log *l)
{
	tide__device_log(l->bytes, (uint32_t)l->n);
	l->n = 0;
	l->t = 0;
}

void tide__log_put(tide_device_log *l, unsigned kind, int64_t t, const uint64_t *v, size_t n)
{
	if (tide__device_log_put(l, kind, t, v, n))
		return;
	tide__log_flush(l);
	tide__device_log_put(l, kind, t, v, n);
}

static uint64_t lasted(uint64_t start, uint64_t end)
{
	return end > start ? end - start : 0;
}

static uint64_t size_of(int32_t v)
{
	return v > 0 ? (uint64_t)v : 0;
}

static void put_kernel(tide_device_log *l, const void *record)
{
	const cupti_kernel *k = record;
	if (!k->start) { /* has no times: too little device memory to measure them */
		uint64_t one = 1;
		tide__log_put(l, TIDE_DEVICE_REC_LOST, 0, &one, 1);
		return;
	}
	uint64_t v[] = { lasted(k->start, k->end),
			 k->device,
			 k->stream,
			 k->correlation,
			 tide__kernel_name(k->name),
			 k->node,
			 size_of(k->grid[0]),
			 size_of(k->grid[1]),
			 size_of(k->grid[2]),
			 size_of(k->block[0]),
			 size_of(k->block[1]),
			 size_of(k->block[2]),
			 k->registers,
			 size_of(k->shared_static) + size_of(k->shared_dynamic) };
	tide__log_put(l, TIDE_DEVICE_REC_KERNEL, (int64_t)k->start, v, sizeof v / sizeof *v);
}

static void put_copy(tide_device_log *l, const void *record)
{
	const cupti_memcpy *c = record;
	uint64_t v[] = { lasted(c->start, c->end),
			 c->device,
			 c->stream,
			 c->correlation,
			 c->bytes,
			 c->copy,
			 c->source,
			 c->target,
			 c->node };
	tide__log_put(l, TIDE_DEVICE_REC_COPY, (int64_t)c->start, v, sizeof v / sizeof *v);
}

static void put_peer(tide_device_log *l, const void *record)
{
	const cupti_memcpy_peer *c = record;
	uint64_t v[] = { lasted(c->start, c->end),
			 c->device,
			 c->stream,
			 c->correlation,
			 c->bytes,
			 c->copy,
			 c->source,
			 c->target,
			 c->node };
	tide__log_put(l, TIDE_DEVICE_REC_COPY, (int64_t)c->start, v, sizeof v / sizeof *v);
}

static void put_fill(tide_device_log *l, const void *record)
{
	const cupti_memset *s = record;
	uint64_t v[] = { lasted(s->start, s->end),
			 s->device,
			 s->stream,
			 s->correlation,
			 s->bytes,
			 s->value,
			 s->node };
	tide__log_put(l, TIDE_DEVICE_REC_FILL, (int64_t)s->start, v, sizeof v / sizeof *v);
}

static void put_call(tide_device_log *l, const void *record)
{
	const cupti_api *a = record;
	bool driver = a->kind == CUPTI_DRIVER;
	uint64_t v[] = {
		lasted(a->start, a->end), a->tid, a->correlation,
		tide__call_name(driver ? CUPTI_DOMAIN_DRIVER : CUPTI_DOMAIN_RUNTIME, a->id), driver
	};
	tide__log_put(l, TIDE_DEVICE_REC_CALL, (int64_t)a->start, v, sizeof v / sizeof *v);
}

static void put_sync(tide_device_log *l, const void *record)
{
	const cupti_sync *s = record;
	uint64_t v[] = { lasted(s->start, s->end), 0, s->stream, s->correlation, s->type };
	tide__log_put(l, TIDE_DEVICE_REC_SYNC, (int64_t)s->start, v, sizeof v / sizeof *v);
}

static void put_overhead(tide_device_log *l, const void *record)
{
	const cupti_overhead *o = record;
	uint64_t v[] = { lasted(o->start, o->end), o->object_id[1], o->overhead };
	tide__log_put(l, TIDE_DEVICE_REC_OVERHEAD, (int64_t)o->start, v, sizeof v / sizeof *v);
}

/* Maps CUPTI's memory kinds to ours. */
static uint64_t memory_kind(const cupti_memory *m)
{
	switch (m->memory) {
	case 2:
		return TIDE_DEVICE_MEMORY_PINNED;
	case 5:
	case 7:
		return TIDE_DEVICE_MEMORY_MANAGED;
	default:
		return m->async ? TIDE_DEVICE_MEMORY_POOL : TIDE_DEVICE_MEMORY_DEVICE;
	}
}

static void put_memory(tide_device_log *l, const void *record)
{
	const cupti_memory *m = record;
	bool source = tide__cupti.enable_source != NULL && tide__gpu_wanted & TIDE_GPU_SOURCE;
	tide_name from = source && m->source ? tide_intern(m->source) : 0;
	uint64_t v[] = { m->device, memory_kind(m), m->address, m->bytes, m->correlation, from };
	unsigned kind = m->operation == 1 ? TIDE_DEVICE_REC_ALLOC : TIDE_DEVICE_REC_FREE;
	tide__log_put(l, kind, (int64_t)m->timestamp, v, kind == TIDE_DEVICE_REC_ALLOC ? 6 : 5);
	if (m->async && m->pool && m->pool_type == 1) {
		uint64_t pool[] = { m->device, 0, m->pool, m->pool_size, m->pool_used };
		tide__log_put(l, TIDE_DEVICE_REC_POOL, (int64_t)m->timestamp, pool,
			      sizeof pool / sizeof *pool);
	}
}

static void put_pool(tide_device_log *l, const void *record)
{
	const cupti_memory_pool *p = record;
	uint64_t v[] = { p->device, p->operation, p->address, p->size, p->used };
	if (p->type == 1) /* another process's pool is recorded by that process */
		tide__log_put(l, TIDE_DEVICE_REC_POOL, (int64_t)p->timestamp, v,
			      sizeof v / sizeof *v);
}

static void (*const puts_by_kind[64])(tide_device_log *, const void *) = {
	[CUPTI_MEMCPY] = put_copy,   [CUPTI_MEMSET] = put_fill,
	[CUPTI_DRIVER] = put_call,   [CUPTI_RUNTIME] = put_call,
	[CUPTI_KERNEL] = put_kernel, [CUPTI_OVERHEAD] = put_overhead,
	[CUPTI_SYNC] = put_sync,     [CUPTI_MEMCPY_PEER] = put_peer,
	[CUPTI_MEMORY] = put_memory, [CUPTI_MEMORY_POOL] = put_pool,
};

void tide__cupti_read_records(uint8_t *buffer, size_t valid)
{
	tide_device_log l;
	void *record = NULL;
	l.n = 0;
	l.t = 0;
	while (tide__cupti.next(buffer, valid, &record) == CUPTI_OK) {
		uint32_t kind = *(const uint32_t *)record;
		if (kind < 64 && puts_by_kind[kind])
			puts_by_kind[kind](&l, record);
	}
	tide__log_flush(&l);
}

void tide__cupti_count_dropped(uint64_t n)
{
	tide_device_log l;
	l.n = 0;
	l.t = 0;
	tide__log_put(&l, TIDE_DEVICE_REC_LOST, 0, &n, 1);
	tide__log_flush(&l);
}
