// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Measures the memory analyses on a model of N events: half are begins and ends of ops, half
 * allocations and frees, with `live` allocations alive at once. The limit is memory bandwidth: each
 * column that an analysis uses is read once. Usage: bench_analyses EVENTS [LIVE] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analyze/memory/groups.h"
#include "analyze/ops/op_tree.h"
#include "analyze/memory/phases.h"
#include "analyze/live/usage.h"

static uint64_t seed = 1;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

/* CPU seconds: other work on the machine does not count. */
static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void add_event(tide_model *m, unsigned kind, uint32_t row)
{
	size_t at;
	if (!tide__table_push(&m->memory_events, &tide_memory_events_desc, &at))
		exit(1);
	m->memory_events.kind[at] = (uint8_t)kind;
	m->memory_events.row[at] = row;
}

static void name(tide_model *m, tide_str *names, size_t n)
{
	char text[32];
	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof text, "op%zu", i);
		names[i] = tide__intern(m, text);
	}
}

/* One thread; ops nest up to 8 deep in some 14,000 paths; first allocations outnumber frees;
 * a phase mark every million events. */
static tide_model *build(uint64_t events, uint32_t live)
{
	tide_model *m = tide__model_new();
	tide_str names[50];
	uint32_t open[8], depth = 0, *at = malloc(live * sizeof *at), n_live = 0;
	name(m, names, 50);
	m->devices.kind[tide__push(&m->devices, &tide_devices_desc)] = TIDE_DEVICE_CUDA;
	m->pools.device[tide__push(&m->pools, &tide_pools_desc)].i = 1;
	m->lanes.kind[tide__push(&m->lanes, &tide_lanes_desc)] = TIDE_LANE_THREAD;
	for (uint64_t i = 0; i < events; i++) {
		int64_t t = m->t_end = (int64_t)i * 20;
		uint32_t what = rnd(4);
		if (what == 0 && depth < 8) {
			uint32_t s = tide__push(&m->spans, &tide_spans_desc);
			m->spans.t0[s] = t;
			m->spans.t1[s] = TIDE_T_NEVER;
			m->spans.lane[s].i = 1;
			m->spans.parent[s].i = depth ? open[depth - 1] : 0;
			m->spans.name[s] = names[depth * 6 + rnd(depth < 3 ? 6 : 2)];
			open[depth++] = s;
		} else if (what == 1 && depth) {
			m->spans.t1[open[--depth]] = t;
		} else if (n_live == live ||
			   (n_live && rnd(100) < (n_live * 2 < live ? 20u : 50u))) {
			uint32_t k = rnd(n_live), a = at[k];
			at[k] = at[--n_live];
			m->allocs.died[a] = t;
			m->allocs.free_span[a].i = depth ? open[depth - 1] : 0;
			add_event(m, TIDE_MEMORY_FREE, a);
		} else {
			uint32_t a = tide__push(&m->allocs, &tide_allocs_desc);
			m->allocs.size[a] = m->allocs.requested[a] = 1 + rnd(1 << 20);
			m->allocs.pool[a].i = 1;
			m->allocs.born[a] = t;
			m->allocs.died[a] = TIDE_T_NEVER;
			m->allocs.span[a].i = depth ? open[depth - 1] : 0;
			at[n_live++] = a;
			add_event(m, TIDE_MEMORY_ALLOC, a);
		}
		if (i % 1000000 == 999999) {
			uint32_t k = tide__push(&m->marks, &tide_marks_desc);
			m->marks.kind[k] = TIDE_MARK_PHASE;
			m->marks.t[k] = t;
			m->marks.position[k] = m->memory_events.n;
		}
	}
	free(at);
	return m;
}

static void report(const char *what, double t0, uint64_t events)
{
	double s = now() - t0;
	printf("  %-22s %8.3f s  %7.2f ns/event\n", what, s, s * 1e9 / (double)events);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	uint32_t live = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 10000;
	tide_model *m = build(events, live);
	tide_optree_options opt = { .device = TIDE_ANY };
	tide_usage u;
	tide_live_set alive;
	tide_groups g;
	tide_phases p;
	tide_optree t;
	printf("%llu events, at most %u live: %zu spans, %zu allocs, %.1f bytes/event\n",
	       (unsigned long long)events, live, m->spans.n - 1, m->allocs.n - 1,
	       (double)tide__model_bytes(m) / (double)events);
	double t0 = now();
	if (tide__find_usage(m, UINT64_MAX, 0, &u, NULL))
		return 1;
	report("usage", t0, events);
	t0 = now();
	if (tide__live_set_at(m, u.devices[1].peak_position, 1, TIDE_ANY, &alive, NULL))
		return 1;
	report("alive at the peak", t0, events);
	t0 = now();
	if (tide__find_groups(m, &alive, TIDE_BY_OP, &g, NULL))
		return 1;
	report("groups by op", t0, events);
	t0 = now();
	if (tide__find_phases(m, &p, NULL))
		return 1;
	report("phases", t0, events);
	t0 = now();
	if (tide__find_op_tree(m, &opt, &t, NULL))
		return 1;
	report("op tree", t0, events);
	printf("  %zu alive at the peak in %zu groups, %zu paths\n", alive.n, g.n, t.n);
	tide__usage_free(&u);
	tide__live_set_free(&alive);
	tide__groups_free(&g);
	tide__phases_free(&p);
	tide__optree_free(&t);
	tide__model_free(m);
	return 0;
}
