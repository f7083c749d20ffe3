// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Clock snapshots tie clocks to each other; times of packets become ns on the trace's clock (boot
 * time, if the trace does not name another). Numbers 64 to 127 are clocks of one sequence, and may
 * count differences. */
#include "import/perfetto/perfetto_impl.h"

enum { CLOCK_REAL = 1, CLOCK_BOOT = 6, FIRST_OWN = 64, LAST_OWN = 127 };

typedef struct reading {
	uint64_t id, value, unit;
	bool incremental;
} reading;

static uint64_t key_of(uint32_t sequence, uint64_t id)
{
	bool own = id >= FIRST_OWN && id <= LAST_OWN;
	return tide__mix(id) ^ (own ? (uint64_t)sequence << 32 : 0);
}

static pf_clock *find(pf_trace *t, uint64_t key)
{
	uint32_t i = tide__map_get(&t->clock_of, key);
	return i ? &t->clocks[i - 1] : NULL;
}

static pf_clock *make(pf_trace *t, uint64_t key)
{
	pf_clock *c = find(t, key);
	if (c)
		return c;
	if (!tide__map_put(&t->clock_of, key, (uint32_t)t->n_clocks + 1) ||
	    !(c = TIDE_PUSH(t, clocks)))
		return NULL;
	*c = (pf_clock){ .key = key, .unit = 1 };
	return c;
}

static reading read_clock(tide_pb in)
{
	tide_pb_field f;
	reading r = { .unit = 1 };
	while (tide__pb_next(&in, &f)) {
		r.id = f.number == 1 ? f.value : r.id;
		r.value = f.number == 2 ? f.value : r.value;
		r.incremental = f.number == 3 ? f.value : r.incremental;
		r.unit = f.number == 4 && f.value ? f.value : r.unit;
	}
	return r;
}

/* Returns false if it does not fit. */
static bool in_ns(uint64_t value, uint64_t unit, int64_t *ns)
{
	return !__builtin_mul_overflow(value, unit, ns) && *ns >= 0;
}

/* Finds the snapshot's time on the trace's clock: its own value, or that of a known clock. */
static bool find_now(pf_trace *t, uint32_t sequence, tide_pb in, int64_t *now)
{
	tide_pb_field f;
	bool known = false;
	while (tide__pb_next(&in, &f)) {
		int64_t ns;
		if (f.number != 1 || f.type != TIDE_PB_BYTES)
			continue;
		reading r = read_clock(tide__pb_message(&f));
		if (!in_ns(r.value, r.unit, &ns))
			continue;
		if (r.id == t->trace_clock) {
			*now = ns;
			return true;
		}
		pf_clock *c = find(t, key_of(sequence, r.id));
		known |= c && !__builtin_add_overflow(ns, c->offset, now);
	}
	return known;
}

bool tide__pf_clocks(pf_trace *t, uint32_t sequence, tide_pb snapshot)
{
	tide_pb in = snapshot;
	tide_pb_field f;
	int64_t now, ns;
	while (!t->n_clocks && tide__pb_next(&in, &f))
		if (f.number == 2 && f.type == TIDE_PB_VARINT && f.value)
			t->trace_clock = f.value;
	if (!find_now(t, sequence, snapshot, &now))
		return true;
	for (in = snapshot; tide__pb_next(&in, &f);) {
		if (f.number != 1 || f.type != TIDE_PB_BYTES)
			continue;
		reading r = read_clock(tide__pb_message(&f));
		if (!in_ns(r.value, r.unit, &ns))
			continue;
		pf_clock *c = make(t, key_of(sequence, r.id));
		if (!c)
			return tide__pf_nomem(t);
		c->offset = now - ns;
		c->unit = r.unit;
		c->incremental = r.incremental;
		c->last = r.value;
		if (r.id == CLOCK_REAL && !t->wall_known) {
			t->wall = ns - now;
			t->wall_known = true;
		}
	}
	return true;
}

bool tide__pf_time_of(pf_trace *t, uint32_t sequence, uint64_t clock, uint64_t value, int64_t *ns)
{
	pf_clock *c = clock ? find(t, key_of(sequence, clock)) : NULL;
	bool own = clock >= FIRST_OWN && clock <= LAST_OWN;
	if (own && !c)
		return false;
	if (!c || clock == t->trace_clock)
		return in_ns(value, 1, ns);
	if (c->incremental)
		value = c->last = c->last + value;
	return in_ns(value, c->unit, ns) && !__builtin_add_overflow(*ns, c->offset, ns);
}
