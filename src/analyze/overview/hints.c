// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/overview/hints.h"

#include <string.h>

#include "analyze/common/interval_set.h"
#include "analyze/memory/heap.h"

static unsigned holds_spans(const tide_model *m)
{
	unsigned holds = 0;
	for (size_t i = 1; i < m->spans.n; i++) {
		tide_side side = tide__side(m, i);
		holds |= side == TIDE_SIDE_CPU	 ? TIDE_HOLDS_OPS
			 : side == TIDE_SIDE_GPU ? TIDE_HOLDS_DEVICE_ROWS
						 : 0;
		if ((holds & TIDE_HOLDS_OPS) && (holds & TIDE_HOLDS_DEVICE_ROWS))
			break;
	}
	return holds;
}

static unsigned holds_memory(const tide_model *m)
{
	unsigned holds = m->allocs.n > 1 ? TIDE_HOLDS_ALLOCS : 0;
	for (size_t i = 1; i < m->pools.n; i++) {
		uint32_t device = m->pools.device[i].i;
		if (holds && m->devices.kind[device] == TIDE_DEVICE_CUDA)
			holds |= TIDE_HOLDS_CUDA_MEMORY;
	}
	if (holds && tide__heap_pool(m))
		holds |= TIDE_HOLDS_HEAP;
	return holds | (m->segments.n > 1 ? TIDE_HOLDS_SEGMENTS : 0);
}

unsigned tide__holds(const tide_model *m)
{
	unsigned holds = holds_spans(m) | holds_memory(m);
	size_t steps = 0;
	const char *format = m->format ? m->format : "";
	for (size_t i = 0; i < m->marks.n; i++) {
		holds |= m->marks.kind[i] == TIDE_MARK_OOM ? TIDE_HOLDS_OOM : 0;
		steps += m->marks.kind[i] == TIDE_MARK_STEP;
	}
	if (steps > 2)
		holds |= TIDE_HOLDS_STEPS;
	if (!strcmp(format, "torchtrace"))
		holds |= TIDE_HOLDS_COMPILE;
	if (!strncmp(format, "tt-", 3))
		holds |= TIDE_HOLDS_TENSTORRENT;
	if (!strcmp(format, "tide"))
		holds |= TIDE_HOLDS_RECORDING;
	return holds;
}

/* A row applies if all of `needs` is there and nothing of `lacks`. */
static const struct row {
	unsigned needs, lacks;
	tide_hint step;
} rows[] = {
	{ TIDE_HOLDS_OOM, 0, { "oom FILE", "why the allocation failed, what would have helped" } },
	{ TIDE_HOLDS_FAILURE,
	  0,
	  { "oom FILE", "if memory ran out: why, and what would have helped" } },
	{ TIDE_HOLDS_TENSTORRENT,
	  0,
	  { "tt --analyze FILE --text", "op by op: peaks, growth, padding, weights" } },
	{ TIDE_HOLDS_COMPILE, 0, { "compile FILE", "graph breaks, recompiles, stages" } },
	{ TIDE_HOLDS_DEVICE_ROWS,
	  0,
	  { "hta FILE", "why the GPU waited; kernels, launches, copies" } },
	{ TIDE_HOLDS_DEVICE_ROWS | TIDE_HOLDS_OPS,
	  0,
	  { "critical-path FILE", "the chain of work that made the step long" } },
	{ TIDE_HOLDS_HEAP, 0, { "heap FILE", "blocks not freed, temporary allocations" } },
	{ TIDE_HOLDS_ALLOCS,
	  TIDE_HOLDS_HEAP,
	  { "peak FILE", "all that was alive at the peak, by op, stack or module" } },
	{ TIDE_HOLDS_SEGMENTS, 0, { "allocator FILE", "segments, fragmentation, waste" } },
	{ TIDE_HOLDS_ALLOCS | TIDE_HOLDS_STEPS,
	  TIDE_HOLDS_DEVICE_ROWS,
	  { "leaks FILE", "what grows from step to step" } },
	{ TIDE_HOLDS_OPS,
	  TIDE_HOLDS_DEVICE_ROWS | TIDE_HOLDS_COMPILE | TIDE_HOLDS_TENSTORRENT,
	  { "ops FILE", "time and memory of every op" } },
	{ TIDE_HOLDS_OPS | TIDE_HOLDS_CUDA_MEMORY | TIDE_HOLDS_RECORDING,
	  TIDE_HOLDS_DEVICE_ROWS,
	  { "run --gpu -- PROGRAM", "record the GPU's work, too, for `tidemark hta`" } },
};
static const tide_hint last = { "report FILE -o report.html", "all of it as one page" };

size_t tide__hints_find(unsigned holds, tide_hint out[TIDE_HINTS])
{
	size_t n = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows && n < TIDE_HINTS - 1; i++)
		if ((holds & rows[i].needs) == rows[i].needs && !(holds & rows[i].lacks))
			out[n++] = rows[i].step;
	out[n++] = last;
	return n;
}
