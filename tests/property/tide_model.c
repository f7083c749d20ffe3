// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The builder of the model against a slow, obvious one, on random streams of events.
 *
 * The stream is made here, on up to three rings, at random times, with frees of nothing, second
 * frees, addresses taken twice, overlaps, ops that never end; the oracle keeps plain lists and
 * compares everything with everything. Each stream is also read packed, and recovered, and must be
 * the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/rewrite.h"
#include "import/import.h"
#include "models.h"

enum { EVENTS = 400, RINGS = 3, POOLS = 2, DEEP = 64 };

/* An expected call stack: one of the file's two, and "[backward]" so many times. */
struct trail {
	int base, backward;
};
struct life {
	uint64_t addr, size;
	int64_t born, died;
	unsigned pool, flags;
	int span, free_span;
	struct trail stack;
};
struct op {
	int64_t t0, t1;
	int parent, flags, ring;
	unsigned name;
	struct trail stack;
	unsigned number, origin; /* of tide_op_begin_full */
};
static struct oracle {
	struct life lives[EVENTS + 1];
	struct op ops[EVENTS + 1];
	struct {
		int row, kind;
	} events[3 * EVENTS];
	int n_lives, n_ops, n_events;
	int open[RINGS][DEEP], n_open[RINGS];
	int64_t twice, unknown, reused, overlaps;
	int64_t t;
} o;

static uint64_t seed;

static unsigned rnd(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((seed >> 33) % n);
}

static int top(unsigned ring)
{
	return o.n_open[ring] ? o.open[ring][o.n_open[ring] - 1] : 0;
}

static void add_event(int row, int kind)
{
	o.events[o.n_events].row = row;
	o.events[o.n_events++].kind = kind;
}

static int alive_at(unsigned pool, uint64_t addr)
{
	for (int i = 1; i <= o.n_lives; i++)
		if (o.lives[i].pool == pool && o.lives[i].addr == addr &&
		    o.lives[i].died == TIDE_T_NEVER)
			return i;
	return 0;
}

static void die(int row, int span)
{
	o.lives[row].died = o.t;
	o.lives[row].free_span = span;
	add_event(row, TIDE_MEMORY_FREE);
}

static bool overlaps(const struct life *a, const struct life *b)
{
	return a->pool == b->pool && a->addr < b->addr + b->size && b->addr < a->addr + a->size;
}

static void do_alloc(tidefile *f, unsigned ring)
{
	struct life *l = &o.lives[o.n_lives + 1];
	*l = (struct life){ .addr = 64 + rnd(60) * 8,
			    .size = rnd(6) * 8,
			    .born = o.t,
			    .died = TIDE_T_NEVER,
			    .pool = 1 + rnd(POOLS),
			    .span = top(ring),
			    .stack = o.ops[top(ring)].stack };
	ev_alloc(f, ring + 1, (uint64_t)o.t, l->pool, l->addr, l->size);
	int before = alive_at(l->pool, l->addr);
	if (before) {
		o.lives[before].flags |= TIDE_ALLOC_REUSED;
		o.reused++;
		die(before, 0);
	}
	for (int i = 1; i <= o.n_lives && l->size; i++)
		if (o.lives[i].died == TIDE_T_NEVER && o.lives[i].size &&
		    !(o.lives[i].flags & TIDE_ALLOC_OVERLAPS) && overlaps(l, &o.lives[i]))
			l->flags = TIDE_ALLOC_OVERLAPS;
	o.overlaps += l->flags != 0;
	add_event(++o.n_lives, TIDE_MEMORY_ALLOC);
}

static void do_free(tidefile *f, unsigned ring)
{
	unsigned pool = 1 + rnd(POOLS);
	uint64_t addr = 64 + rnd(60) * 8;
	int ever = 0;
	if (o.n_lives && rnd(4)) { /* mostly something that was there once */
		int i = 1 + (int)rnd((unsigned)o.n_lives);
		pool = o.lives[i].pool;
		addr = o.lives[i].addr;
	}
	ev_free(f, ring + 1, (uint64_t)o.t, pool, addr);
	int row = alive_at(pool, addr);
	if (row) {
		die(row, top(ring));
		return;
	}
	for (int i = 1; i <= o.n_lives; i++)
		ever |= o.lives[i].pool == pool && o.lives[i].addr == addr;
	*(ever ? &o.twice : &o.unknown) += 1;
}

/* The last op that began with the number, on the thread, that op `i` runs backward; 0 = none. */
static int forward_of(int i)
{
	const struct op *p = &o.ops[i];
	if (!p->number || !(p->origin & 1))
		return 0;
	while (--i > 0)
		if (o.ops[i].number == p->number && o.ops[i].origin == p->origin - 1 &&
		    o.ops[i].origin)
			return i;
	return 0;
}

static void do_begin(tidefile *f, unsigned ring)
{
	if (o.n_open[ring] == DEEP)
		return;
	unsigned name = 1 + rnd(4);
	o.ops[++o.n_ops] = (struct op){ o.t, o.t, top(ring), 0, (int)ring, name };
	struct op *p = &o.ops[o.n_ops];
	p->stack = o.ops[p->parent].stack;
	o.open[ring][o.n_open[ring]++] = o.n_ops;
	if (rnd(3) == 0) {
		ev_begin(f, ring + 1, (uint64_t)o.t, name);
		return;
	}
	unsigned stack = rnd(3);
	p->number = rnd(6);
	p->origin = rnd(6);
	if (stack)
		p->stack = (struct trail){ (int)stack, 0 };
	ev_begin_full(f, ring + 1, (uint64_t)o.t, name, p->number, stack, p->origin);
	int from = forward_of(o.n_ops);
	if (from && o.ops[from].stack.base)
		p->stack = (struct trail){ o.ops[from].stack.base, o.ops[from].stack.backward + 1 };
}

/* Ends the innermost op, or an outer one with all that is inside it. */
static void do_end(tidefile *f, unsigned ring)
{
	int n = o.n_open[ring], keep;
	if (!n)
		return;
	keep = rnd(4) ? n - 1 : (int)rnd((unsigned)n);
	while (o.n_open[ring] > keep) {
		struct op *p = &o.ops[o.open[ring][--o.n_open[ring]]];
		p->t1 = o.t;
		p->flags = o.n_open[ring] > keep ? TIDE_SPAN_UNWOUND : 0;
	}
	f->rings[ring].depth = (uint32_t)keep + 1;
	ev_end(f, ring + 1, (uint64_t)o.t);
}

static void make(tidefile *f)
{
	unsigned rings = 1 + rnd(RINGS);
	memset(&o, 0, sizeof o);
	tidefile_start_full(f);
	o.t = 1;
	for (unsigned r = 0; r < rings; r++)
		ev_lane(f, r + 1, (uint64_t)o.t, r + 1, 100 + r);
	for (int i = 0; i < EVENTS - 10; i++) {
		static void (*const acts[])(tidefile *, unsigned) = { do_alloc, do_alloc, do_free,
								      do_begin, do_end };
		o.t += 1 + rnd(3); /* times differ: the order between rings is then known */
		acts[rnd(5)](f, rnd(rings));
		if (rnd(40) == 0)
			tidefile_flush(f, 1 + rnd(rings));
	}
	o.t += 1;
	ev_mark(f, 1, (uint64_t)o.t, 1, 1, 0);
	for (unsigned r = 0; r < rings; r++)
		for (int k = 0; k < o.n_open[r]; k++) {
			o.ops[o.open[r][k]].t1 = o.t;
			o.ops[o.open[r][k]].flags = TIDE_SPAN_OPEN;
		}
}

static bool stack_is(const tide_model *m, tide_stack_id s, struct trail want)
{
	for (; s.i && want.backward; want.backward--) {
		tide_str f = m->frames.function[m->stacks.frame[s.i].i];
		if (strcmp(tide__text(m, f, NULL), "[backward]"))
			return false;
		s = m->stacks.parent[s.i];
	}
	int depth = 0; /* stack 1 is alpha, stack 2 alpha > beta */
	for (; s.i; s = m->stacks.parent[s.i])
		depth++;
	return !want.backward && depth == want.base;
}

static const char *compare_joins(const tide_model *m)
{
	size_t flows = 0;
	for (int i = 1; i <= o.n_ops; i++) {
		int from = forward_of(i);
		bool there = false;
		for (size_t k = 0; k < m->flows.n; k++)
			there |= (int)m->flows.from[k].i == from && (int)m->flows.to[k].i == i &&
				 m->flows.kind[k] == TIDE_FLOW_FWD_BWD;
		flows += from != 0;
		if (from && !there)
			return "flows";
		if (!stack_is(m, m->spans.stack[i], o.ops[i].stack))
			return "stacks of spans";
	}
	for (int i = 1; i <= o.n_lives; i++)
		if (!stack_is(m, m->allocs.stack[i], o.lives[i].stack))
			return "stacks of allocations";
	return flows == m->flows.n ? NULL : "numbers of flows";
}

static const char *compare(const tide_model *m)
{
	if (m->allocs.n != (size_t)o.n_lives + 1 || m->memory_events.n != (size_t)o.n_events ||
	    m->spans.n != (size_t)o.n_ops + 1)
		return "numbers of rows";
	for (int i = 1; i <= o.n_lives; i++) {
		const struct life *l = &o.lives[i];
		const tide_allocs *a = &m->allocs;
		if (a->addr[i] != l->addr || a->size[i] != l->size || a->born[i] != l->born ||
		    a->died[i] != l->died || a->pool[i].i != l->pool || a->flags[i] != l->flags ||
		    (int)a->span[i].i != l->span || (int)a->free_span[i].i != l->free_span)
			return "allocs";
	}
	for (int i = 0; i < o.n_events; i++)
		if ((int)m->memory_events.row[i] != o.events[i].row ||
		    m->memory_events.kind[i] != o.events[i].kind)
			return "events";
	for (int i = 1; i <= o.n_ops; i++) {
		const struct op *p = &o.ops[i];
		const tide_spans *s = &m->spans;
		if (s->t0[i] != p->t0 || s->t1[i] != p->t1 || (int)s->parent[i].i != p->parent ||
		    s->flags[i] != p->flags || m->lanes.number[s->lane[i].i] != 100 + p->ring)
			return "spans";
	}
	if (fact_of(m, "loss.free_twice") != o.twice ||
	    fact_of(m, "loss.free_unknown") != o.unknown ||
	    fact_of(m, "loss.alloc_reused") != o.reused ||
	    fact_of(m, "loss.alloc_overlaps") != o.overlaps)
		return "facts";
	return compare_joins(m);
}

static tide_model *load(const char *path, uint64_t n)
{
	tide_model *m;
	tide_error err = { 0 };
	if (tide__load(path, NULL, &m, &err) || tide__model_check(m, &err)) {
		fprintf(stderr, "stream %llu: %s\n", (unsigned long long)n, err.text);
		exit(1);
	}
	return m;
}

static const char *same_rewritten(const char *path, const tide_model *want, uint64_t n, bool pack)
{
	char other[96];
	tide_rewrite w;
	snprintf(other, sizeof other, "%s.other", path);
	if (pack ? tide__pack(path, other, 1, &w, NULL) : tide__recover(path, other, &w, NULL))
		return "rewriting failed";
	tide_model *m = load(other, n);
	const char *table = models_differ(want, m);
	tide__model_free(m);
	unlink(other);
	return table;
}

int main(int argc, char **argv)
{
	uint64_t streams = argc > 1 ? strtoull(argv[1], NULL, 10) : 300;
	char path[64];
	snprintf(path, sizeof path, "/tmp/tide-property-%d.tide", (int)getpid());
	for (uint64_t n = 1; n <= streams; n++) {
		tidefile f;
		seed = n;
		make(&f);
		if (n % 3 == 0) /* some are not closed: everything is in chunks nevertheless */
			for (unsigned r = 1; r <= RINGS; r++)
				tidefile_flush(&f, r);
		else
			tidefile_end(&f);
		tidefile_save(&f, path);
		tidefile_free(&f);
		tide_model *m = load(path, n);
		const char *what = compare(m);
		if (!what)
			what = same_rewritten(path, m, n, true);
		if (!what)
			what = same_rewritten(path, m, n, false);
		tide__model_free(m);
		unlink(path);
		if (what) {
			fprintf(stderr, "stream %llu: %s differ\n", (unsigned long long)n, what);
			return 1;
		}
	}
	printf("%llu streams of %d events agree\n", (unsigned long long)streams, EVENTS);
	return 0;
}
