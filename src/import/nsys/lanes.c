// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Processes, threads, devices and streams. A globalTid has the thread's id in its lowest 24 bits and
 * the process id in the next 24; above them are host and virtual machine. */
#include "base/mem.h"
#include "import/nsys/nsys_impl.h"

enum { ID_BITS = 24, ID_MASK = (1 << ID_BITS) - 1 };

static int64_t pid_of(int64_t global)
{
	return (int64_t)((uint64_t)global >> ID_BITS & ID_MASK);
}

uint32_t tide__nsys_process(nsys *n, int64_t global)
{
	tide_processes *p = &n->m->processes;
	uint64_t key = (uint64_t)global >> ID_BITS;
	uint32_t row = tide__map_get(&n->processes, key);
	if (row)
		return row;
	row = tide__push(p, &tide_processes_desc);
	if (!row || !tide__map_put(&n->processes, key, row))
		return 0;
	p->pid[row] = pid_of(global);
	p->parent_pid[row] = p->rank[row] = p->world[row] = -1;
	return row;
}

uint32_t tide__nsys_thread(nsys *n, int64_t global)
{
	tide_lanes *l = &n->m->lanes;
	uint32_t row = tide__map_get(&n->threads, (uint64_t)global);
	if (row)
		return row;
	uint32_t process = tide__nsys_process(n, global);
	row = process ? tide__push(l, &tide_lanes_desc) : 0;
	if (!row || !tide__map_put(&n->threads, (uint64_t)global, row))
		return 0;
	l->process[row].i = process;
	l->number[row] = global & ID_MASK;
	l->kind[row] = TIDE_LANE_THREAD;
	return row;
}

/* A process may see its devices under numbers of its own (CUDA_VISIBLE_DEVICES). */
static int64_t number_of(const nsys *n, uint32_t process, int64_t number)
{
	uint64_t pid = process ? (uint64_t)n->m->processes.pid[process] : 0;
	uint32_t known = tide__map_get(&n->gpu_of, tide__nsys_key(pid, (uint64_t)number));
	return known ? (int64_t)known - 1 : number;
}

uint32_t tide__nsys_device(nsys *n, uint32_t process, int64_t number)
{
	tide_devices *d = &n->m->devices;
	number = number_of(n, process, number);
	uint32_t row = tide__map_get(&n->devices, (uint64_t)number);
	if (row)
		return row;
	row = tide__push(d, &tide_devices_desc);
	if (!row || !tide__map_put(&n->devices, (uint64_t)number, row))
		return 0;
	d->index[row] = number;
	d->kind[row] = n->device_kind;
	return row;
}

uint32_t tide__nsys_stream(nsys *n, uint32_t process, int64_t device, int64_t stream, bool sync)
{
	tide_lanes *l = &n->m->lanes;
	tide_map *map = sync ? &n->syncs : &n->streams;
	uint32_t on = tide__nsys_device(n, process, device);
	uint64_t key = tide__nsys_key((uint64_t)process << 32 | on, (uint64_t)stream);
	uint32_t row = on ? tide__map_get(map, key) : 0;
	if (row || !on)
		return row;
	row = tide__push(l, &tide_lanes_desc);
	if (!row || !tide__map_put(map, key, row))
		return 0;
	l->process[row].i = process;
	l->device[row].i = on;
	l->number[row] = stream;
	l->kind[row] = sync ? TIDE_LANE_OTHER : TIDE_LANE_STREAM;
	return row;
}

/* ---- what the file says about them ---- */

static bool add_gpu(nsys *n, const tide_db_rows *r)
{
	size_t len;
	const char *name = tide__db_text(r, 1, &len);
	int64_t bytes = tide__db_int(r, 2, 0);
	if (!TIDE_ROOM(n->gpus, n->cap_gpus, n->n_gpus + 1))
		return false;
	nsys_gpu *g = &n->gpus[n->n_gpus++];
	*g = (nsys_gpu){ .id = tide__db_int(r, 0, 0), .capacity = bytes > 0 ? (uint64_t)bytes : 0 };
	if (name && len)
		g->name = tide__intern_n(n->m, name, len);
	return !name || !len || g->name.i;
}

static bool add_gpu_of(nsys *n, const tide_db_rows *r)
{
	int64_t gpu = tide__db_int(r, 0, 0), own = tide__db_int(r, 1, 0),
		pid = tide__db_int(r, 2, 0);
	if (gpu < 0 || gpu >= INT32_MAX)
		return tide__nsys_bad(n);
	return tide__map_put(&n->gpu_of, tide__nsys_key((uint64_t)pid, (uint64_t)own),
			     (uint32_t)gpu + 1);
}

const nsys_table tide__nsys_gpus[] = {
	{ "TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU", add_gpu, 1, { "id", "name", "totalMemory" } },
	{ "TARGET_INFO_CUDA_DEVICE", NULL, add_gpu_of, 3, { "gpuId", "cudaId", "pid" } },
};
const size_t tide__nsys_n_gpus = sizeof tide__nsys_gpus / sizeof *tide__nsys_gpus;

/* Processes and threads without rows are others of the machine. */
static bool name_process(nsys *n, const tide_db_rows *r)
{
	uint32_t row = tide__map_get(&n->processes, (uint64_t)tide__db_int(r, 0, 0) >> ID_BITS);
	size_t len;
	const char *name = tide__db_text(r, 1, &len);
	if (!row || !name || !len)
		return true;
	n->m->processes.command[row] = tide__intern_n(n->m, name, len);
	return n->m->processes.command[row].i;
}

static bool name_thread(nsys *n, const tide_db_rows *r)
{
	uint32_t row = tide__map_get(&n->threads, (uint64_t)tide__db_int(r, 0, 0));
	if (row)
		n->m->lanes.name[row] = tide__nsys_text(n, r, 1);
	return true;
}

const nsys_table tide__nsys_names[] = {
	{ "PROCESSES", NULL, name_process, 1, { "globalPid", "name" } },
	{ "ThreadNames", NULL, name_thread, 2, { "globalTid", "nameId" } },
};
const size_t tide__nsys_n_names = sizeof tide__nsys_names / sizeof *tide__nsys_names;

void tide__nsys_describe_devices(nsys *n)
{
	for (size_t i = 0; i < n->n_gpus; i++) {
		uint32_t row = tide__map_get(&n->devices, (uint64_t)n->gpus[i].id);
		if (!row)
			continue;
		n->m->devices.name[row] = n->gpus[i].name;
		n->m->devices.capacity[row] = n->gpus[i].capacity;
	}
}
