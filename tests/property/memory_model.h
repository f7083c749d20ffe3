// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Random models for the memory analyses, as programs produce them: threads that open
 * and close ops, allocate and free (each other's memory too), allocators that take segments, phase
 * marks in between. Small numbers and repeated times, so that everything that can coincide does. */
#ifndef TIDE_TESTS_MEMORY_MODEL_H
#define TIDE_TESTS_MEMORY_MODEL_H

#include <stdlib.h>
#include <string.h>

#include "model/model.h"

enum { MM_THREADS = 3, MM_DEPTH = 6, MM_LIVE = 40, MM_DEVICES = 3, MM_POOLS = 7 };

struct mm {
	tide_model *m;
	uint32_t seed;
	int64_t t;
	uint32_t open[MM_THREADS][MM_DEPTH], depth[MM_THREADS];
	uint32_t live[MM_LIVE], n_live;
	uint32_t segs[MM_LIVE], n_segs;
};

static uint32_t mm_random(struct mm *x, uint32_t n)
{
	x->seed = x->seed * 1664525u + 1013904223u;
	return (x->seed >> 8) % n;
}

static void mm_machine(struct mm *x)
{
	static const struct {
		uint32_t device;
		uint8_t kind;
		const char *name;
	} pools[MM_POOLS] = {
		{ 1, TIDE_POOL_DRAM, "DRAM" }, { 1, TIDE_POOL_PRIVATE, "(1, 0)" },
		{ 2, TIDE_POOL_DRAM, "DRAM" }, { 2, TIDE_POOL_L1, "L1" },
		{ 2, TIDE_POOL_L1, "CB" },     { 2, TIDE_POOL_L1_SMALL, "L1_SMALL" },
		{ 3, TIDE_POOL_HEAP, "heap" },
	};
	static const uint8_t kinds[MM_DEVICES] = { TIDE_DEVICE_CUDA, TIDE_DEVICE_TT,
						   TIDE_DEVICE_HOST };
	tide_model *m = x->m;
	tide__push(&m->processes, &tide_processes_desc);
	for (int i = 0; i < MM_DEVICES; i++)
		m->devices.kind[tide__push(&m->devices, &tide_devices_desc)] = kinds[i];
	for (int i = 0; i < MM_POOLS; i++) {
		uint32_t p = tide__push(&m->pools, &tide_pools_desc);
		m->pools.device[p].i = pools[i].device;
		m->pools.kind[p] = pools[i].kind;
		m->pools.name[p] = tide__intern(m, pools[i].name);
	}
	for (int i = 0; i < MM_THREADS; i++) {
		uint32_t l = tide__push(&m->lanes, &tide_lanes_desc);
		m->lanes.kind[l] = TIDE_LANE_THREAD;
		m->lanes.number[l] = 100 + i;
		m->lanes.process[l].i = 1;
	}
}

static void mm_event(struct mm *x, unsigned kind, uint32_t row)
{
	size_t at;
	tide__table_push(&x->m->memory_events, &tide_memory_events_desc, &at);
	x->m->memory_events.kind[at] = (uint8_t)kind;
	x->m->memory_events.row[at] = row;
}

static uint32_t mm_top(const struct mm *x, uint32_t thread)
{
	return x->depth[thread] ? x->open[thread][x->depth[thread] - 1] : 0;
}

static void mm_begin(struct mm *x, uint32_t thread)
{
	tide_model *m = x->m;
	static const char *const names[] = { "aten::a", "aten::b", "c", "d" };
	const char *name = names[mm_random(x, 4)];
	if (x->depth[thread] == MM_DEPTH)
		return;
	uint32_t s = tide__push(&m->spans, &tide_spans_desc);
	m->spans.parent[s].i = mm_top(x, thread);
	m->spans.lane[s].i = 1 + thread;
	m->spans.t0[s] = x->t;
	m->spans.t1[s] = TIDE_T_NEVER;
	m->spans.cat[s] = TIDE_CAT_OP;
	m->spans.name[s] = tide__intern(m, name);
	x->open[thread][x->depth[thread]++] = s;
}

static void mm_end(struct mm *x, uint32_t thread)
{
	if (x->depth[thread])
		x->m->spans.t1[x->open[thread][--x->depth[thread]]] = x->t;
}

static void mm_alloc(struct mm *x, uint32_t thread)
{
	tide_model *m = x->m;
	if (x->n_live == MM_LIVE)
		return;
	uint32_t a = tide__push(&m->allocs, &tide_allocs_desc);
	m->allocs.pool[a].i = 1 + mm_random(x, MM_POOLS);
	m->allocs.addr[a] = (uint64_t)a << 20;
	m->allocs.size[a] = mm_random(x, 8) ? 1 + mm_random(x, 6) : 1 + mm_random(x, 1 << 20);
	m->allocs.requested[a] =
		m->allocs.size[a] - mm_random(x, (uint32_t)m->allocs.size[a] / 2 + 1);
	m->allocs.born[a] = x->t;
	m->allocs.died[a] = TIDE_T_NEVER;
	m->allocs.span[a].i = mm_top(x, thread);
	m->allocs.lane[a].i = 1 + thread;
	m->allocs.role[a] = (uint8_t)mm_random(x, 4);
	m->allocs.flags[a] = m->memory_events.n < 3 ? TIDE_ALLOC_BEFORE : 0;
	x->live[x->n_live++] = a;
	mm_event(x, TIDE_MEMORY_ALLOC, a);
	if (mm_random(x, 3) == 0) {
		uint32_t t = tide__push(&m->tensors, &tide_tensors_desc);
		m->tensors.alloc[t].i = a;
		m->tensors.dtype[t] = (uint8_t)(1 + mm_random(x, 2));
		m->tensors.role[t] = (uint8_t)mm_random(x, 4);
	}
}

static void mm_free(struct mm *x, uint32_t thread)
{
	tide_model *m = x->m;
	if (!x->n_live)
		return;
	uint32_t k = mm_random(x, x->n_live), a = x->live[k];
	x->live[k] = x->live[--x->n_live];
	if (mm_random(x, 5) == 0) {
		uint32_t p = tide__push(&m->pendings, &tide_pendings_desc);
		m->pendings.alloc[p].i = a;
		m->pendings.t[p] = x->t;
		m->allocs.free_span[a].i = mm_top(x, thread);
		if (mm_random(x, 2))
			m->allocs.flags[a] |= TIDE_ALLOC_ASKED;
		mm_event(x, TIDE_MEMORY_FREE_ASKED, p);
	}
	m->allocs.died[a] = x->t;
	m->allocs.free_span[a].i = mm_top(x, thread);
	mm_event(x, TIDE_MEMORY_FREE, a);
}

static void mm_segment(struct mm *x)
{
	tide_model *m = x->m;
	if (x->n_segs && (x->n_segs == MM_LIVE || mm_random(x, 2))) {
		uint32_t k = mm_random(x, x->n_segs), s = x->segs[k];
		x->segs[k] = x->segs[--x->n_segs];
		m->segments.died[s] = x->t;
		mm_event(x, TIDE_MEMORY_SEG_FREE, s);
		return;
	}
	uint32_t s = tide__push(&m->segments, &tide_segments_desc);
	m->segments.pool[s].i = 1 + mm_random(x, 2);
	m->segments.addr[s] = (uint64_t)s << 30;
	m->segments.size[s] = 1 + mm_random(x, 1 << 16);
	m->segments.born[s] = x->t;
	m->segments.died[s] = TIDE_T_NEVER;
	x->segs[x->n_segs++] = s;
	mm_event(x, TIDE_MEMORY_SEG_ALLOC, s);
}

static void mm_mark(struct mm *x)
{
	static const uint8_t kinds[] = { TIDE_MARK_PHASE, TIDE_MARK_PHASE, TIDE_MARK_STEP };
	uint32_t k = tide__push(&x->m->marks, &tide_marks_desc);
	x->m->marks.kind[k] = kinds[mm_random(x, 3)];
	x->m->marks.t[k] = x->t;
	x->m->marks.position[k] = x->m->memory_events.n;
	x->m->marks.name[k] = tide__intern(x->m, "PHASE");
}

/* Makes a model of `steps` random events. Owned by the caller: tide__model_free. */
static tide_model *memory_model(uint32_t seed, size_t steps)
{
	struct mm x = { .m = tide__model_new(), .seed = seed * 2654435761u + 1 };
	mm_machine(&x);
	for (size_t i = 0; i < steps; i++) {
		uint32_t thread = mm_random(&x, MM_THREADS), what = mm_random(&x, 100);
		x.t += mm_random(&x, 3);
		if (what < 20)
			mm_begin(&x, thread);
		else if (what < 38)
			mm_end(&x, thread);
		else if (what < 65)
			mm_alloc(&x, thread);
		else if (what < 88)
			mm_free(&x, thread);
		else if (what < 95)
			mm_segment(&x);
		else
			mm_mark(&x);
	}
	x.m->t_end = x.t;
	return x.m;
}

#endif
