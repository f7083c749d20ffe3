// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The CPU side of the critical path: the lock inside the CUDA runtime, and the call stacks. */
#include <stdlib.h>
#include <string.h>

#include "analyze/critical/critical_impl.h"
#include "base/mem.h"

/* ---- names, each examined once ---- */

enum { SEEN = 1, LOCKS = 2, BLOCKS = 4 };

static const struct {
	const char *name;
	uint8_t is;
} calls[] = {
	{ "cudaHostAlloc", LOCKS },
	{ "cudaLaunchKernel", LOCKS },
	{ "cudaMemcpyAsync", LOCKS | BLOCKS },
	{ "cudaDeviceSynchronize", BLOCKS },
	{ "cudaStreamSynchronize", BLOCKS },
	{ "cudaEventQuery", BLOCKS },
	{ "cudaEventSynchronize", BLOCKS },
	{ "cudaMemcpy", BLOCKS },
};

static bool is(const crit *c, size_t row, unsigned what)
{
	uint8_t *known = &c->names[c->m->spans.name[c->f->span[row].i].i];
	if (!*known) {
		const char *name = crit_name(c, row);
		*known = SEEN;
		for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
			*known |= strcmp(name, calls[i].name) ? 0 : calls[i].is;
	}
	return *known & what;
}

/* ---- calls that hold the runtime's lock ---- */

static bool locks(const crit *c, size_t row)
{
	return is(c, row, LOCKS);
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
			ok = tide__critical_add_edge(c, s, i,
						     same ? TIDE_CP_OPERATOR : TIDE_CP_DEPENDENCY,
						     false, node->row);
		}
		if (!node->start && last >= 0 && !c->nodes[last].start && ok)
			ok = tide__critical_add_edge(c, (uint32_t)last, i, TIDE_CP_DEPENDENCY,
						     false, -1);
		last = i;
	}
	tide__free(open);
	return ok;
}

/* Returns true for two neighbouring times that lock_edges has handled. */
static bool share_lock(const crit *c, uint32_t a, uint32_t b)
{
	return locks(c, c->nodes[a].row) && locks(c, c->nodes[b].row) &&
	       (c->nodes[a].start || !c->nodes[b].start);
}

/* ---- call stacks ---- */

struct moment {
	int64_t t, dur, event;
	uint32_t row;
	bool start;
};

/* Compares nodes of one thread: an outer one starts first and ends last; see
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
		ok = tide__critical_add_edge(c, (uint32_t)w->last, node, type,
					     !start && !crit_exact(c) && is(c, row, BLOCKS),
					     w->parent);
	}
	w->last = node;
	w->parent = parent;
	w->depth += start ? 1 : (size_t)-1;
	return ok;
}

/* Visits starts and ends in order; a stack of open rows gives each its parent. An end closes its
 * own row, and rows that ended inside it leave the stack with it; HTA closes the top of the stack
 * for any end, which goes back in time if rows cross. */
static bool walk_thread(crit *c, const struct moment *v, size_t n, uint8_t *over)
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
			uint32_t row = crit_exact(c) ? v[i].row : stack[depth - 1];
			over[row] = 1;
			while (depth && over[stack[depth - 1]])
				depth--;
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

/* Returns the only thread number whose ops or annotations contain `text` in their name; -1 if
 * none or several do. */
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

/* Compares threads by process and number. ranks() gives each lane a rank from 0; the backward
 * thread counts as the forward one. */
static int by_number(const void *pa, const void *pb)
{
	const struct thread *a = pa, *b = pb;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static uint32_t *ranks(const crit *c)
{
	const tide_lanes *l = &c->m->lanes;
	int64_t fwd = only_thread(c, "forward"), bwd = only_thread(c, "autograd");
	bool merge = fwd > 0 && bwd > 0 && fwd != bwd;
	struct thread *t = tide__alloc(l->n, sizeof *t);
	uint32_t *rank = t ? tide__calloc(l->n, sizeof *rank) : NULL, k = 0;
	for (uint32_t i = 0; rank && i < l->n; i++)
		t[i] = (struct thread){ c->m->processes.pid[l->process[i].i],
					merge && l->number[i] == bwd ? fwd : l->number[i], i };
	if (rank)
		qsort(t, l->n, sizeof *t, by_number);
	for (uint32_t i = 0; rank && i < l->n; i++) {
		k += i && by_number(&t[i - 1], &t[i]);
		rank[t[i].lane] = k;
	}
	tide__free(t);
	return rank;
}

/* Lists the rows of the window that belong to CPU threads, thread by thread, each in order of
 * rows. */
static tide_keyed *cpu_rows(const crit *c, size_t *n)
{
	uint32_t *rank = ranks(c);
	tide_keyed *k = rank ? tide__critical_reserve(c->f->n) : NULL;
	*n = 0;
	for (uint32_t i = 0; k && i < c->f->n; i++) {
		tide_lane_id lane = c->m->spans.lane[c->f->span[i].i];
		if (c->in[i] && c->m->lanes.kind[lane.i] == TIDE_LANE_THREAD)
			k[(*n)++] = (tide_keyed){ rank[lane.i], i };
	}
	if (k)
		tide__sort_keyed(k, *n, k + *n);
	tide__free(rank);
	return k;
}

static struct moment moment_of(const crit *c, uint32_t row, bool start)
{
	int64_t dur = c->f->dur[row] > 0 ? c->f->dur[row] : 0;
	return (struct moment){ c->f->ts[row] + (start ? 0 : dur), dur, c->f->event[row], row,
				start };
}

/* Sorts the moments of one thread. Exact times are seldom equal: they are sorted by time, and the
 * rule is applied to equal times only. HTA's times need its sort of all. */
static struct moment *moments(const crit *c, const tide_keyed *k, size_t n)
{
	struct moment *v = tide__alloc(2 * n, sizeof *v);
	tide_keyed *s = v && crit_exact(c) ? tide__critical_reserve(2 * n) : NULL;
	for (size_t i = 0; v && i < 2 * n; i++)
		v[i] = moment_of(c, (uint32_t)k[i / 2].id, !(i % 2));
	if (v && !crit_exact(c))
		qsort(v, 2 * n, sizeof *v, by_nesting);
	for (size_t i = 0; s && i < 2 * n; i++)
		crit_put(&s[i], v[i].t, (uint64_t)v[i].row << 1 | v[i].start);
	if (s)
		tide__critical_sort(s, 2 * n);
	for (size_t i = 0, j; s && i < 2 * n; i = j) {
		for (j = i; j < 2 * n && s[j].key == s[i].key; j++)
			v[j] = moment_of(c, (uint32_t)(s[j].id >> 1), s[j].id & 1);
		if (j - i > 1)
			qsort(v + i, j - i, sizeof *v, by_nesting);
	}
	if (crit_exact(c) && !s) {
		tide__free(v);
		v = NULL;
	}
	tide__free(s);
	return v;
}

static bool thread_edges(crit *c, const tide_keyed *k, size_t n, uint8_t *over)
{
	struct moment *v = moments(c, k, n);
	bool ok = v && walk_thread(c, v, 2 * n, over);
	tide__free(v);
	return ok;
}

static bool has_stream(const crit *c, const tide_keyed *k, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c->f->stream[k[i].id] >= 0)
			return true;
	return false;
}

static bool stack_edges(crit *c)
{
	size_t n;
	tide_keyed *k = cpu_rows(c, &n);
	uint8_t *over = tide__calloc(c->f->n, 1); /* per row: it has ended */
	bool ok = k && over;
	for (size_t i = 0, j; i < n && ok; i = j) {
		for (j = i; j < n && k[j].key == k[i].key; j++)
			;
		if (!has_stream(c, k + i, j - i)) /* a thread with GPU rows is not a CPU thread */
			ok = thread_edges(c, k + i, j - i, over);
	}
	tide__free(over);
	tide__free(k);
	return ok;
}

bool tide__critical_add_cpu(crit *c)
{
	return lock_edges(c) && stack_edges(c);
}
