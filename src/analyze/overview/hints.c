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
		if (holds && m->pools.kind[i] == TIDE_POOL_PRIVATE)
			holds |= TIDE_HOLDS_PRIVATE;
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
	{ TIDE_HOLDS_COMPILE, 0, { "compile FILE", "graph breaks, recompiles, stages", true } },
	{ TIDE_HOLDS_DEVICE_ROWS,
	  0,
	  { "hta FILE", "why the GPU waited; kernels, launches, copies", true } },
	{ TIDE_HOLDS_DEVICE_ROWS | TIDE_HOLDS_OPS,
	  0,
	  { "critical-path FILE", "the chain of work that made the step long", true } },
	{ TIDE_HOLDS_PRIVATE,
	  0,
	  { "serving FILE", "weights, KV cache, CUDA graphs; what a batch size costs" } },
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
	  { "ops FILE", "time and memory of every op", true } },
	{ TIDE_HOLDS_OPS,
	  TIDE_HOLDS_DEVICE_ROWS | TIDE_HOLDS_COMPILE | TIDE_HOLDS_TENSTORRENT,
	  { "flame FILE", "the same by nesting: which code called them", true } },
	{ TIDE_HOLDS_OPS | TIDE_HOLDS_CUDA_MEMORY | TIDE_HOLDS_RECORDING,
	  TIDE_HOLDS_DEVICE_ROWS,
	  { "run --gpu -- PROGRAM", "record the GPU's work, too, for `tidemark hta`", true } },
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

/* ---- a command that finds nothing ---- */

enum {
	GPU_TIME = TIDE_HOLDS_DEVICE_ROWS,
	ANY_MEMORY = TIDE_HOLDS_ALLOCS | TIDE_HOLDS_SEGMENTS | TIDE_HOLDS_CUDA_MEMORY,
};

/* The content that a report shows: any of `needs`. Reports without a row find something in every recording, or
 * fail. */
static const struct {
	const char *report;
	unsigned needs;
	bool time; /* its question is about time */
} shown[] = {
	{ "hta", GPU_TIME, true },
	{ "kernels", GPU_TIME, true },
	{ "critical-path", TIDE_HOLDS_OPS, true },
	{ "advice", GPU_TIME | TIDE_HOLDS_COMPILE | TIDE_HOLDS_CUDA_MEMORY | TIDE_HOLDS_TENSTORRENT,
	  true },
	{ "oom", TIDE_HOLDS_OOM },
	{ "stale", TIDE_HOLDS_ALLOCS },
	{ "whatif", ANY_MEMORY },
	{ "allocator", ANY_MEMORY },
	{ "peak", ANY_MEMORY },
	{ "memory", ANY_MEMORY },
	{ "leaks", ANY_MEMORY },
	{ "phases", ANY_MEMORY },
	{ "heap", TIDE_HOLDS_HEAP },
	{ "device", TIDE_HOLDS_CUDA_MEMORY },
	{ "serving", ANY_MEMORY },
	{ "modules", TIDE_HOLDS_OPS },
};

/* Returns the row of a report; -1 if there is none. */
static int row_of(const char *report)
{
	for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
		if (!strcmp(shown[i].report, report))
			return (int)i;
	return -1;
}

bool tide__hints_lacks(const char *report, const tide_model *m)
{
	int row = row_of(report); /* memory is found without a look at all spans */
	return row >= 0 && !(holds_memory(m) & shown[row].needs) &&
	       !(tide__holds(m) & shown[row].needs);
}

size_t tide__hints_find_other(const char *report, unsigned holds, tide_hint out[TIDE_HINTS])
{
	tide_hint all[TIDE_HINTS];
	size_t n_all = tide__hints_find(holds, all), n = 0, len = strlen(report);
	bool time = row_of(report) >= 0 && shown[row_of(report)].time;
	for (int other = 0; other < 2; other++) /* those of its own question first */
		for (size_t i = 0; i + 1 < n_all; i++)
			if ((all[i].time == time) != other &&
			    (strncmp(all[i].command, report, len) != 0 ||
			     all[i].command[len] != ' '))
				out[n++] = all[i];
	if (n)
		out[n++] = last;
	return n;
}
