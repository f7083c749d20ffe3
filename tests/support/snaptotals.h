// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Computes the totals of one device by plain sums over the memory events: the obvious way, for
 * tests. */
#ifndef TIDE_TESTS_SNAPTOTALS_H
#define TIDE_TESTS_SNAPTOTALS_H

#include <stdlib.h>

#include "model/model.h"

struct totals {
	uint64_t allocated, allocated_peak; /* drops when a free is asked for, as torch counts */
	uint64_t active, active_peak;	    /* drops when it is done */
	uint64_t requested;
	uint64_t reserved, reserved_peak;
	uint64_t allocs, frees, segments;
	uint64_t inactive_split; /* free bytes of segments that are partly in use */
};

static uint64_t more(uint64_t *now, uint64_t *peak, uint64_t n)
{
	*now += n;
	if (*now > *peak)
		*peak = *now;
	return n;
}

/* A segment, or expandable rows that touch: [from, *to) with the row's. */
static void stretch_of(const tide_model *m, uint32_t g, uint64_t *from, uint64_t *to)
{
	*from = m->segments.addr[g];
	*to = *from + m->segments.size[g];
	for (bool more_found = m->segments.kind[g] == TIDE_SEGMENT_EXPANDABLE; more_found;) {
		more_found = false;
		for (uint32_t i = 1; i < m->segments.n; i++) {
			uint64_t a = m->segments.addr[i], z = a + m->segments.size[i];
			if (m->segments.died[i] != TIDE_T_NEVER || (z != *from && a != *to) ||
			    m->segments.kind[i] != TIDE_SEGMENT_EXPANDABLE)
				continue;
			*from = z == *from ? a : *from;
			*to = a == *to ? z : *to;
			more_found = true;
		}
	}
}

/* Free bytes of the live segments that hold a live allocation. */
static uint64_t inactive_split(const tide_model *m, uint32_t device)
{
	uint64_t sum = 0;
	for (uint32_t g = 1; g < m->segments.n; g++) {
		uint64_t used = 0, from, to;
		if (m->segments.died[g] != TIDE_T_NEVER ||
		    m->pools.device[m->segments.pool[g].i].i != device)
			continue;
		stretch_of(m, g, &from, &to);
		if (m->segments.addr[g] != from)
			continue; /* counted with the first row of its range */
		for (uint32_t a = 1; a < m->allocs.n; a++)
			if (m->allocs.died[a] == TIDE_T_NEVER && m->allocs.addr[a] >= from &&
			    m->allocs.addr[a] < to)
				used += m->allocs.size[a];
		if (used)
			sum += to - from - used;
	}
	return sum;
}

static bool is_old(const tide_model *m, size_t i)
{
	uint32_t row = m->memory_events.row[i];
	switch (m->memory_events.kind[i]) {
	case TIDE_MEMORY_ALLOC:
		return m->allocs.flags[row] & TIDE_ALLOC_BEFORE;
	case TIDE_MEMORY_FREE_ASKED:
		return m->allocs.flags[m->pendings.alloc[row].i] & TIDE_ALLOC_BEFORE;
	case TIDE_MEMORY_SEG_ALLOC:
		return m->segments.flags[row] & TIDE_SEGMENT_BEFORE;
	default:
		return false;
	}
}

static struct totals totals_of(const tide_model *m, int64_t index)
{
	struct totals t = { 0 };
	bool started = false;
	uint32_t device = 0;
	uint8_t *asked = calloc(m->allocs.n, 1);
	for (uint32_t d = 1; d < m->devices.n; d++)
		if (m->devices.index[d] == index && m->devices.kind[d] == TIDE_DEVICE_CUDA)
			device = d;
	for (size_t i = 0; i < m->memory_events.n; i++) {
		uint32_t row = m->memory_events.row[i];
		if (!started &&
		    !is_old(m, i)) { /* the state from before the recording is no sequence of
		                      * events */
			started = true;
			t.allocated_peak = t.allocated;
		}
		uint8_t kind = m->memory_events.kind[i];
		uint32_t alloc = kind == TIDE_MEMORY_FREE_ASKED ? m->pendings.alloc[row].i : row;
		bool seg = kind == TIDE_MEMORY_SEG_ALLOC || kind == TIDE_MEMORY_SEG_FREE;
		uint32_t pool = seg ? m->segments.pool[row].i : m->allocs.pool[alloc].i;
		if (m->pools.device[pool].i != device)
			continue;
		uint64_t size = seg ? m->segments.size[row] : m->allocs.size[alloc];
		switch (kind) {
		case TIDE_MEMORY_ALLOC:
			more(&t.allocated, &t.allocated_peak, size);
			more(&t.active, &t.active_peak, size);
			t.requested += m->allocs.requested[alloc];
			t.allocs++;
			break;
		case TIDE_MEMORY_FREE_ASKED:
			t.allocated -= asked[alloc] ? 0 : size;
			asked[alloc] = 1;
			break;
		case TIDE_MEMORY_FREE:
			t.allocated -= asked[alloc] ? 0 : size;
			t.active -= size;
			t.requested -= m->allocs.requested[alloc];
			t.frees++;
			break;
		case TIDE_MEMORY_SEG_ALLOC:
			more(&t.reserved, &t.reserved_peak, size);
			t.segments++;
			break;
		case TIDE_MEMORY_SEG_FREE:
			t.reserved -= size;
			t.segments--;
			break;
		}
	}
	free(asked);
	if (!started)
		t.allocated_peak = t.allocated;
	t.inactive_split = inactive_split(m, device);
	return t;
}

#endif
