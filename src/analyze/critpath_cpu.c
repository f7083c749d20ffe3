// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The CPU side of the critical path: the lock inside the CUDA runtime, and the call stacks. */
#include <stdlib.h>
#include <string.h>

#include "analyze/crit.h"
#include "base/mem.h"

/* ---- calls that hold the runtime's lock ---- */

static bool locks(const crit *c, size_t row)
{
	const char *n = crit_name(c, row);
	return !strcmp(n, "cudaHostAlloc") || !strcmp(n, "cudaLaunchKernel") ||
	       !strcmp(n, "cudaMemcpyAsync");
}

/* Overlapping calls finish in the order in which they got the lock: every start leads to the next
 * end, and each end to the following one. */
static bool lock_edges(crit *c)
{
	uint32_t *open = tide__alloc(c->n_nodes, sizeof *open);
	size_t n = 0;
	int64_t last = -1;
	bool ok = open != NULL;
	for (uint32_t i = 0; i < c->n_nodes && ok; i++) {
		const crit_node *node = &c->nodes[i];
		if (!locks(c, node->row))
			continue;
		if (node->start)
			open[n++] = i;
		while (!node->start && n && ok) {
			uint32_t s = open[--n];
			bool same = c->nodes[s].row == node->row;
			ok = tide__crit_edge(c, s, i, same ? TIDE_CP_OPERATOR : TIDE_CP_DEPENDENCY,
					     false, node->row);
		}
		if (!node->start && last >= 0 && !c->nodes[last].start && ok)
			ok = tide__crit_edge(c, (uint32_t)last, i, TIDE_CP_DEPENDENCY, false, -1);
		last = i;
	}
	tide__free(open);
	return ok;
}

/* Two neighbouring moments that lock_edges has dealt with. */
static bool share_lock(const crit *c, uint32_t a, uint32_t b)
{
	return locks(c, c->nodes[a].row) && locks(c, c->nodes[b].row) &&
	       (c->nodes[a].start || !c->nodes[b].start);
}

static bool blocks(const crit *c, size_t row)
{
	static const char *const names[] = { "cudaDeviceSynchronize",
					     "cudaStreamSynchronize",
					     "cudaEventQuery",
					     "cudaEventSynchronize",
					     "cudaMemcpy",
					     "cudaMemcpyAsync" };
	const char *n = crit_name(c, row);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i], n))
			return true;
	return false;
}

/* ---- call stacks ---- */

struct moment {
	int64_t t, dur, event;
	uint32_t row;
	bool start;
};

/* Order of moments on one thread: an outer one starts first and ends last; see
 * docs/analyses/critical-path.md. */
static int by_nesting(const void *pa, const void *pb)
{
	const struct moment *a = pa, *b = pb;
	if (a->row == b->row)
		return a->start ? -1 : 1;
	if (a->t != b->t)
		return a->t < b->t ? -1 : 1;
	if (a->start == b->start) {
		int first = a->dur != b->dur ? (a->dur > b->dur ? -1 : 1)
					     : (a->event < b->event ? -1 : 1);
		return a->start ? first : -first;
	}
	if (a->dur > 0 && b->dur > 0)
		return a->start ? 1 : -1;
	if (a->dur == 0 && b->dur == 0)
		return a->event < b->event ? -1 : 1;
	return a->start ? -1 : 1;
}

struct walk {		/* along one thread */
	int64_t last;	/* node, -1 = none yet */
	int64_t parent; /* row around the last one, -1 = none */
	size_t depth;	/* rows with nodes that are open */
};

static bool visit(crit *c, struct walk *w, uint32_t row, bool start, int64_t parent)
{
	if (!c->begin[row] || !c->end[row])
		return true;
	uint32_t node = (start ? c->begin[row] : c->end[row]) - 1;
	bool ok = true;
	if (w->last >= 0 && !share_lock(c, (uint32_t)w->last, node)) {
		tide_cp_edge_type type = start && !w->depth ? TIDE_CP_DEPENDENCY : TIDE_CP_OPERATOR;
		ok = tide__crit_edge(c, (uint32_t)w->last, node, type,
				     !start && !crit_exact(c) && blocks(c, row), w->parent);
	}
	w->last = node;
	w->parent = parent;
	w->depth += start ? 1 : (size_t)-1;
	return ok;
}

/* Moments in order; a stack of open rows gives each its parent, and closing any moment closes the
 * top. */
static bool walk_thread(crit *c, const struct moment *v, size_t n)
{
	uint32_t *stack = tide__alloc(n, sizeof *stack);
	struct walk w = { -1, -1, 0 };
	size_t depth = 0;
	bool ok = stack != NULL;
	for (size_t i = 0; i < n && ok; i++) {
		if (v[i].start) {
			ok = visit(c, &w, v[i].row, true, depth ? (int64_t)stack[depth - 1] : -1);
			stack[depth++] = v[i].row;
		} else if (depth) {
			uint32_t row = stack[--depth];
			ok = visit(c, &w, row, false, depth ? (int64_t)stack[depth - 1] : -1);
		}
	}
	while (depth && ok) {
		uint32_t row = stack[--depth];
		ok = visit(c, &w, row, false, depth ? (int64_t)stack[depth - 1] : -1);
	}
	tide__free(stack);
	return ok;
}

/* ---- threads ---- */

struct thread {
	int64_t pid, tid;
	uint32_t lane;
};

/* The one thread number whose ops or annotations have `text` in their name; -1 when none or several
 * do. */
static int64_t only_thread(const crit *c, const char *text)
{
	int64_t tid = -1;
	for (size_t i = 0; i < c->f->n; i++) {
		unsigned cat = crit_cat(c, i);
		if (!c->in[i] || (cat != TIDE_CAT_OP && cat != TIDE_CAT_USER) ||
		    !strstr(crit_name(c, i), text))
			continue;
		int64_t t = c->m->lanes.number[c->m->spans.lane[c->f->span[i].i].i];
		if (tid != -1 && tid != t)
			return -1;
		tid = t;
	}
	return tid;
}

struct keyed {
	int64_t pid, tid;
	struct moment m;
};

static int by_thread(const void *pa, const void *pb)
{
	const struct keyed *a = pa, *b = pb;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->m.event > b->m.event) - (a->m.event < b->m.event);
}

/* Rows of the window that belong to CPU threads; the backward thread counts as the forward one. */
static struct keyed *cpu_rows(const crit *c, size_t *n)
{
	int64_t fwd = only_thread(c, "forward"), bwd = only_thread(c, "autograd");
	bool merge = fwd > 0 && bwd > 0 && fwd != bwd;
	struct keyed *k = tide__alloc(c->f->n, sizeof *k);
	*n = 0;
	for (uint32_t i = 0; k && i < c->f->n; i++) {
		tide_lane_id lane = c->m->spans.lane[c->f->span[i].i];
		if (!c->in[i] || c->m->lanes.kind[lane.i] != TIDE_LANE_THREAD)
			continue;
		int64_t tid = c->m->lanes.number[lane.i], dur = c->f->dur[i] > 0 ? c->f->dur[i] : 0;
		k[(*n)++] = (struct keyed){ c->m->processes.pid[c->m->lanes.process[lane.i].i],
					    merge && tid == bwd ? fwd : tid,
					    { c->f->ts[i], dur, c->f->event[i], i, true } };
	}
	if (k)
		qsort(k, *n, sizeof *k, by_thread);
	return k;
}

static bool thread_edges(crit *c, const struct keyed *k, size_t n)
{
	struct moment *v = tide__alloc(2 * n, sizeof *v);
	if (!v)
		return false;
	for (size_t i = 0; i < n; i++) {
		v[2 * i] = v[2 * i + 1] = k[i].m;
		v[2 * i + 1].t += k[i].m.dur;
		v[2 * i + 1].start = false;
	}
	qsort(v, 2 * n, sizeof *v, by_nesting);
	bool ok = walk_thread(c, v, 2 * n);
	tide__free(v);
	return ok;
}

static bool has_stream(const crit *c, const struct keyed *k, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c->f->stream[k[i].m.row] >= 0)
			return true;
	return false;
}

static bool stack_edges(crit *c)
{
	size_t n;
	struct keyed *k = cpu_rows(c, &n);
	bool ok = k != NULL;
	for (size_t i = 0, j; i < n && ok; i = j) {
		for (j = i; j < n && k[j].pid == k[i].pid && k[j].tid == k[i].tid; j++)
			;
		if (!has_stream(c, k + i,
				j - i)) /* a thread with GPU rows on it is no CPU thread */
			ok = thread_edges(c, k + i, j - i);
	}
	tide__free(k);
	return ok;
}

bool tide__crit_cpu(crit *c)
{
	return lock_edges(c) && stack_edges(c);
}
