// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/heap_rows.h"

bool tide__heap_rows_begin(tide_heap_rows *h, tide_model *m, int64_t pid, const char *command,
			   size_t n_command)
{
	uint32_t process = tide__push(&m->processes, &tide_processes_desc);
	uint32_t device = tide__push(&m->devices, &tide_devices_desc);
	uint32_t pool = tide__push(&m->pools, &tide_pools_desc);
	if (!process || !device || !pool)
		return false;
	*h = (tide_heap_rows){ m, pool, 4096 };
	m->processes.pid[process] = pid;
	m->processes.parent_pid[process] = m->processes.rank[process] = -1;
	m->processes.world[process] = -1;
	m->processes.command[process] = tide__intern_n(m, command, n_command);
	m->devices.kind[device] = TIDE_DEVICE_HOST;
	m->pools.device[pool].i = device;
	m->pools.kind[pool] = TIDE_POOL_HEAP;
	m->pools.name[pool] = tide__intern(m, "malloc");
	return m->pools.name[pool].i && (!n_command || m->processes.command[process].i);
}

static bool put_event(tide_model *m, uint32_t row, unsigned kind)
{
	size_t at;
	if (!tide__table_push(&m->memory_events, &tide_memory_events_desc, &at))
		return false;
	m->memory_events.row[at] = row;
	m->memory_events.kind[at] = (uint8_t)kind;
	return true;
}

uint32_t tide__heap_rows_add(tide_heap_rows *h, uint64_t size, tide_stack_id stack, int64_t t,
			     bool *full)
{
	tide_allocs *a = &h->m->allocs;
	*full = size >= (UINT64_C(1) << 62) - h->next;
	uint32_t row = *full ? 0 : tide__push(a, &tide_allocs_desc);
	if (!row || !put_event(h->m, row, TIDE_MEMORY_ALLOC))
		return 0;
	a->addr[row] = h->next;
	h->next += size ? size : 1;
	a->size[row] = a->requested[row] = size;
	a->born[row] = t;
	a->died[row] = TIDE_T_NEVER;
	a->pool[row].i = h->pool;
	a->stack[row] = stack;
	return row;
}

bool tide__heap_rows_end(tide_heap_rows *h, uint32_t row, int64_t t)
{
	h->m->allocs.died[row] = t;
	return put_event(h->m, row, TIDE_MEMORY_FREE);
}
