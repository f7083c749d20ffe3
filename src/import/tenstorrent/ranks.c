// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Ranks, the clock and spans. A rank is a process with one device and one lane; a log without
 * prefixes of a launcher has one rank without a name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/tenstorrent/ttlog_impl.h"
#include "model/strings.h"

enum { RANKS_MOST = 1024 }; /* more than this is damage: their lines belong to the last rank */

bool tide__ttlog_nomem(ttlog *x)
{
	if (x->rc == TIDE_OK)
		x->rc = tide__nomem(x->err);
	return false;
}

/* Returns the number in "1,12" (MPI) or "12" (a label); -1 without a name. */
static int64_t rank_number(tide_slice name)
{
	char text[32] = "";
	const char *comma = name.n ? memchr(name.s, ',', name.n) : NULL;
	const char *from = comma ? comma + 1 : name.s;
	if (!name.n)
		return -1;
	snprintf(text, sizeof text, "%.*s", (int)(name.s + name.n - from), from);
	return strtoll(text, NULL, 10);
}

static bool make_rows(ttlog *x, tt_rank *r, tide_slice name)
{
	tide_model *m = x->m;
	int64_t number = rank_number(name);
	char text[48] = "device 0";
	r->process = tide__push(&m->processes, &tide_processes_desc);
	r->device = tide__push(&m->devices, &tide_devices_desc);
	r->lane = tide__push(&m->lanes, &tide_lanes_desc);
	if (!r->process || !r->device || !r->lane)
		return tide__ttlog_nomem(x);
	m->processes.pid[r->process] = m->processes.parent_pid[r->process] = -1;
	m->processes.rank[r->process] = number;
	m->processes.world[r->process] = -1;
	m->devices.kind[r->device] = TIDE_DEVICE_TT;
	m->devices.index[r->device] = number < 0 ? 0 : number;
	m->lanes.process[r->lane].i = r->process;
	m->lanes.device[r->lane].i = r->device;
	m->lanes.kind[r->lane] = TIDE_LANE_THREAD;
	m->lanes.number[r->lane] = number < 0 ? 0 : number;
	if (number >= 0) {
		snprintf(text, sizeof text, "%s %.*s", memchr(name.s, ',', name.n) ? "MPI" : "task",
			 (int)name.n, name.s);
		if (!(m->processes.command[r->process] = tide__intern(m, text)).i)
			return tide__ttlog_nomem(x);
		snprintf(text, sizeof text, "rank %lld", (long long)number);
	}
	m->lanes.name[r->lane] = tide__intern(m, text);
	return m->lanes.name[r->lane].i || tide__ttlog_nomem(x);
}

bool tide__ttlog_has_rank(const ttlog *x, tide_slice name)
{
	uint32_t id = tide__strings_find(x->m->strings, name.s, name.n);
	for (size_t i = 0; id && i < x->n_ranks; i++)
		if (x->ranks[i].name.i == id)
			return true;
	return false;
}

tt_rank *tide__ttlog_get_rank(ttlog *x, tide_slice name, bool make)
{
	tide_str s = { 0 };
	if (!name.n && (!make || x->n_ranks) && (!x->n_ranks || x->ranks[x->n_ranks - 1].name.i))
		return x->n_ranks ? &x->ranks[x->last_rank] : &x->outside;
	if (x->n_ranks) {
		tt_rank *last = &x->ranks[x->last_rank];
		size_t n;
		const char *text = tide__text(x->m, last->name, &n);
		if (n == name.n && (!n || !memcmp(text, name.s, n)))
			return last;
	}
	if (name.n && !(s = tide__intern_n(x->m, name.s, name.n)).i) {
		tide__ttlog_nomem(x);
		return NULL;
	}
	for (size_t i = 0; i < x->n_ranks; i++)
		if (x->ranks[i].name.i == s.i || i == RANKS_MOST - 1) {
			x->last_rank = i;
			return &x->ranks[i];
		}
	if (!TIDE_ROOM(x->ranks, x->cap_ranks, x->n_ranks + 1)) {
		tide__ttlog_nomem(x);
		return NULL;
	}
	tt_rank *r = &x->ranks[x->n_ranks];
	memset(r, 0, sizeof *r);
	r->name = s;
	x->last_rank = x->n_ranks++;
	return make_rows(x, r, name) ? r : NULL;
}

uint32_t tide__ttlog_get_pool(ttlog *x, tt_rank *r, unsigned pool, const tt_state *s)
{
	static const struct {
		uint8_t kind;
		const char *name;
	} kinds[TT_POOLS] = { { TIDE_POOL_DRAM, "DRAM" },
			      { TIDE_POOL_L1, "L1" },
			      { TIDE_POOL_L1_SMALL, "L1_SMALL" },
			      { TIDE_POOL_TRACE, "TRACE" } };
	tide_model *m = x->m;
	tt_pool *p = &r->pools[pool];
	if (p->row)
		return p->row;
	uint32_t row = tide__push(&m->pools, &tide_pools_desc);
	if (!row) {
		tide__ttlog_nomem(x);
		return 0;
	}
	p->row = row;
	p->banks = s->banks;
	m->pools.device[row].i = r->device;
	m->pools.kind[row] = kinds[pool].kind;
	m->pools.banks[row] = s->banks;
	m->pools.capacity[row] = s->total * s->banks;
	m->pools.name[row] = tide__intern(m, kinds[pool].name);
	if (pool == TT_DRAM)
		m->devices.capacity[r->device] = m->pools.capacity[row];
	return m->pools.name[row].i || tide__ttlog_nomem(x) ? row : 0;
}

int64_t tide__ttlog_between(tt_rank *r)
{
	if (!r->n_ops)
		return r->now;
	int64_t base = (int64_t)(r->n_ops - 1) * TIDE_OP_NS;
	int64_t t = r->now < base + TIDE_OP_NS / 2 ? base + TIDE_OP_NS / 2 : r->now + 1;
	if (t > base + TIDE_OP_NS - 1)
		t = base + TIDE_OP_NS - 1;
	return r->now = t > r->now ? t : r->now;
}

uint32_t tide__ttlog_begin_span(ttlog *x, tt_rank *r, tide_str name, uint8_t cat, int64_t t0,
				int64_t t1)
{
	tide_model *m = x->m;
	uint32_t row = tide__push(&m->spans, &tide_spans_desc);
	if (!row) {
		tide__ttlog_nomem(x);
		return 0;
	}
	m->spans.t0[row] = t0;
	m->spans.t1[row] = t1;
	m->spans.lane[row].i = r->lane;
	m->spans.name[row] = name;
	m->spans.cat[row] = cat;
	m->spans.parent[row].i = r->depth ? r->stack[r->depth - 1].span : 0;
	return row;
}
