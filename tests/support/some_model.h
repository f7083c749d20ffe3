// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Models for tests of analyses and exports: small ones built row by row, and random ones that keep
 * every invariant of model.h while overlapping, nesting and touching as much as they can. */
#ifndef TIDE_TESTS_SOME_MODEL_H
#define TIDE_TESTS_SOME_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

enum { SOME_THREADS = 2, SOME_STREAMS = 2, SOME_END = 120 };

static uint32_t some_lane(tide_model *m, unsigned kind, int64_t number, uint32_t device)
{
	uint32_t l = tide__push(&m->lanes, &tide_lanes_desc);
	m->lanes.kind[l] = (uint8_t)kind;
	m->lanes.number[l] = number;
	m->lanes.process[l].i = 1;
	m->lanes.device[l].i = device;
	return l;
}

/* Lanes 1, 2 are threads, 3, 4 streams of device 1 (cuda:0); pool 1 is its memory. */
static tide_model *some_machine(void)
{
	tide_model *m = tide__model_new();
	uint32_t p = tide__push(&m->processes, &tide_processes_desc);
	m->processes.pid[p] = 4242;
	m->processes.parent_pid[p] = m->processes.rank[p] = m->processes.world[p] = -1;
	uint32_t d = tide__push(&m->devices, &tide_devices_desc);
	m->devices.kind[d] = TIDE_DEVICE_CUDA;
	for (int i = 0; i < SOME_THREADS; i++)
		some_lane(m, TIDE_LANE_THREAD, 100 + i, 0);
	for (int i = 0; i < SOME_STREAMS; i++)
		some_lane(m, TIDE_LANE_STREAM, 7 + i, d);
	uint32_t pool = tide__push(&m->pools, &tide_pools_desc);
	m->pools.device[pool].i = d;
	m->pools.kind[pool] = TIDE_POOL_DRAM;
	return m;
}

static uint32_t some_span(tide_model *m, uint32_t lane, unsigned cat, const char *name, int64_t t0,
			  int64_t t1)
{
	uint32_t s = tide__push(&m->spans, &tide_spans_desc);
	m->spans.lane[s].i = lane;
	m->spans.cat[s] = (uint8_t)cat;
	m->spans.name[s] = tide__intern(m, name);
	m->spans.t0[s] = t0;
	m->spans.t1[s] = t1;
	if (t1 > m->t_end)
		m->t_end = t1;
	for (uint32_t i = s - 1; i; i--) /* innermost around it: begun last, shortest, last row */
		if (m->spans.lane[i].i == lane && m->spans.t1[i] >= t1) {
			uint32_t p = m->spans.parent[s].i;
			if (!p || m->spans.t1[i] - m->spans.t0[i] < m->spans.t1[p] - m->spans.t0[p])
				m->spans.parent[s].i = i;
		}
	return s;
}

static uint32_t some_alloc(tide_model *m, uint32_t pool, uint64_t size, int64_t born)
{
	size_t event;
	uint32_t a = tide__push(&m->allocs, &tide_allocs_desc);
	m->allocs.pool[a].i = pool;
	m->allocs.addr[a] = (uint64_t)a << 20;
	m->allocs.size[a] = m->allocs.requested[a] = size;
	m->allocs.born[a] = born;
	m->allocs.died[a] = TIDE_T_NEVER;
	tide__table_push(&m->memory_events, &tide_memory_events_desc, &event);
	m->memory_events.kind[event] = TIDE_MEMORY_ALLOC;
	m->memory_events.row[event] = a;
	return a;
}

static void some_free(tide_model *m, uint32_t alloc, int64_t died)
{
	size_t event;
	m->allocs.died[alloc] = died;
	tide__table_push(&m->memory_events, &tide_memory_events_desc, &event);
	m->memory_events.kind[event] = TIDE_MEMORY_FREE;
	m->memory_events.row[event] = alloc;
}

static tide_stack_id some_stack(tide_model *m, const char *outer, const char *inner)
{
	tide_str file = tide__intern(m, "model.py");
	tide_stack_id s = tide__stack_intern(
		m, (tide_stack_id){ 0 }, tide__frame_intern(m, tide__intern(m, outer), file, 10));
	return tide__stack_intern(m, s, tide__frame_intern(m, tide__intern(m, inner), file, 20));
}

/* ---- random ---- */

static uint32_t some_seed = 1;

static uint32_t some_random(uint32_t n)
{
	some_seed = some_seed * 1664525u + 1013904223u;
	return (some_seed >> 8) % n;
}

struct some_row {
	int64_t t0, t1;
	uint32_t lane;
	unsigned cat;
};

static int some_order(const void *a, const void *b)
{
	const struct some_row *x = a, *y = b;
	if (x->t0 != y->t0)
		return x->t0 < y->t0 ? -1 : 1;
	return x->t1 != y->t1 ? (x->t1 > y->t1 ? -1 : 1) : 0;
}

static void some_spans(tide_model *m, size_t n)
{
	static const uint8_t host[] = { TIDE_CAT_OP,	  TIDE_CAT_USER,   TIDE_CAT_PYTHON,
					TIDE_CAT_RUNTIME, TIDE_CAT_DRIVER, TIDE_CAT_OVERHEAD };
	static const uint8_t gpu[] = { TIDE_CAT_KERNEL, TIDE_CAT_MEMCPY, TIDE_CAT_GPU_USER,
				       TIDE_CAT_SYNC };
	struct some_row *r = calloc(n, sizeof *r);
	char name[32];
	for (size_t i = 0; i < n; i++) {
		r[i].lane = 1 + some_random(SOME_THREADS + SOME_STREAMS);
		r[i].t0 = some_random(SOME_END);
		r[i].t1 = r[i].t0 + some_random(some_random(4) ? 12 : SOME_END - (uint32_t)r[i].t0);
		r[i].cat = r[i].lane <= SOME_THREADS ? host[some_random(sizeof host)]
						     : gpu[some_random(sizeof gpu)];
	}
	qsort(r, n, sizeof *r, some_order);
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof name, "%s%u", tide__cat_text(r[i].cat), some_random(3));
		uint32_t s = some_span(m, r[i].lane, r[i].cat, name, r[i].t0, r[i].t1);
		uint32_t cause = some_random(s);
		if (tide__cat_is_gpu(r[i].cat) &&
		    m->lanes.kind[m->spans.lane[cause].i] == TIDE_LANE_THREAD)
			m->spans.cause[s].i = cause;
	}
	free(r);
}

static void some_allocs(tide_model *m, size_t n)
{
	static const char *const names[] = { "forward", "backward", "step" };
	uint32_t live[64];
	size_t n_live = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t t = (int64_t)(i * SOME_END / n);
		if (n_live == 64 || (n_live && !some_random(3))) {
			size_t k = some_random((uint32_t)n_live);
			some_free(m, live[k], t);
			live[k] = live[--n_live];
			continue;
		}
		uint32_t a = some_alloc(m, 1, 1 + some_random(1000), t);
		live[n_live++] = a;
		m->allocs.role[a] = (uint8_t)some_random(4);
		m->allocs.span[a].i = some_random((uint32_t)m->spans.n);
		if (some_random(4))
			m->allocs.stack[a] =
				some_stack(m, names[some_random(3)], names[some_random(3)]);
	}
}

static __attribute__((unused)) tide_model *some_model(uint32_t seed, size_t spans, size_t allocs)
{
	tide_model *m = some_machine();
	some_seed = seed;
	some_spans(m, spans);
	some_allocs(m, allocs);
	m->t_end = m->t_end < SOME_END ? SOME_END : m->t_end;
	return m;
}

#endif
