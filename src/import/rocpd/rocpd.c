// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tables of rocprofv3. Rows refer to processes, threads and agents by their rows in info tables. A
 * kernel and the call that launched it have the same stack_id in their events. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "import/rocpd/rocpd_impl.h"
#include "model/want.h"

static rocpd *of(nsys *n)
{
	return (rocpd *)n;
}

/* ---- what rows refer to ---- */

static bool add_string(nsys *n, const tide_db_rows *r)
{
	size_t len;
	const char *s = tide__db_text(r, 1, &len);
	if (!s || !len)
		return true;
	tide_str text = tide__intern_n(n->m, s, len);
	return text.i && tide__map_put(&n->texts, (uint64_t)tide__db_int(r, 0, 0), text.i);
}

static bool put_id(tide_map *map, const tide_db_rows *r)
{
	int64_t v = tide__db_int(r, 1, 0);
	return tide__map_put(map, (uint64_t)tide__db_int(r, 0, 0),
			     v >= 0 && v < INT32_MAX ? (uint32_t)v + 1 : 1);
}

static int64_t id_of(const tide_map *map, int64_t row)
{
	uint32_t known = tide__map_get(map, (uint64_t)row);
	return known ? (int64_t)known - 1 : row;
}

static bool add_process(nsys *n, const tide_db_rows *r)
{
	size_t len;
	const char *command = tide__db_text(r, 2, &len);
	if (!put_id(&of(n)->pids, r))
		return false;
	uint32_t row = tide__nsys_process(n, rocpd_global(tide__db_int(r, 1, 0), 0));
	if (row && command && len)
		n->m->processes.command[row] = tide__intern_n(n->m, command, len);
	return row;
}

static bool add_thread(nsys *n, const tide_db_rows *r)
{
	return put_id(&of(n)->tids, r);
}

static bool add_agent(nsys *n, const tide_db_rows *r)
{
	rocpd *p = of(n);
	size_t n_type, n_name;
	const char *type = tide__db_text(r, 1, &n_type), *name = tide__db_text(r, 3, &n_name);
	bool gpu = type && !strcmp(type, "GPU");
	if (!TIDE_ROOM(p->agent, p->cap_agents, p->n_agents + 1) ||
	    !TIDE_ROOM(n->gpus, n->cap_gpus, n->n_gpus + 1))
		return false;
	p->agent[p->n_agents++] = (rocpd_agent){ tide__db_int(r, 2, 0), gpu };
	if (gpu)
		n->gpus[n->n_gpus++] = (nsys_gpu){ .id = tide__db_int(r, 2, 0),
						   .name = tide__intern_n(n->m, name, n_name) };
	return tide__map_put(&p->agents, (uint64_t)tide__db_int(r, 0, 0), (uint32_t)p->n_agents);
}

static const rocpd_agent *agent_of(const rocpd *p, const tide_db_rows *r, size_t column)
{
	uint32_t k = tide__db_is_int(r, column)
			     ? tide__map_get(&p->agents, (uint64_t)tide__db_int(r, column, 0))
			     : 0;
	return k ? &p->agent[k - 1] : NULL;
}

static bool add_kernel_name(nsys *n, const tide_db_rows *r)
{
	size_t len;
	const char *s = tide__db_text(r, 1, &len);
	if (!s || !len)
		s = tide__db_text(r, 2, &len);
	if (!s || !len)
		return true;
	tide_str text = tide__intern_n(n->m, s, len);
	return text.i && tide__map_put(&of(n)->kernels, (uint64_t)tide__db_int(r, 0, 0), text.i);
}

static bool add_event(nsys *n, const tide_db_rows *r)
{
	rocpd *p = of(n);
	uint64_t id = (uint64_t)tide__db_int(r, 0, 0);
	tide_str category = tide__nsys_text(n, r, 2);
	if (category.i && !tide__map_put(&p->categories, id, category.i))
		return false;
	if (!tide__db_is_int(r, 1))
		return true;
	if (!TIDE_ROOM(p->stack, p->cap_stacks, p->n_stacks + 1) || p->n_stacks >= UINT32_MAX - 1)
		return false;
	p->stack[p->n_stacks++] = tide__db_int(r, 1, 0);
	return tide__map_put(&p->stacks, id, (uint32_t)p->n_stacks);
}

/* Returns the stack of a row's event, 0 = unknown. */
static int64_t stack_of(const rocpd *p, const tide_db_rows *r, size_t column)
{
	uint32_t k = tide__db_is_int(r, column)
			     ? tide__map_get(&p->stacks, (uint64_t)tide__db_int(r, column, 0))
			     : 0;
	return k ? p->stack[k - 1] : 0;
}

/* ---- rows ---- */

/* The columns that all these tables begin with. */
enum { START, END, PID, EVENT, TID, REST };
#define COMMON "start", "end", "pid", "event_id", "tid"

static int64_t global_of(const rocpd *p, const tide_db_rows *r)
{
	return rocpd_global(id_of(&p->pids, tide__db_int(r, PID, 0)),
			    id_of(&p->tids, tide__db_int(r, TID, 0)));
}

static unsigned category_of(const rocpd *p, const tide_db_rows *r)
{
	static const struct {
		const char *word;
		unsigned cat;
	} words[] = { { "HIP", TIDE_CAT_RUNTIME },
		      { "HSA", TIDE_CAT_DRIVER },
		      { "MARKER", TIDE_CAT_USER },
		      { "ROCTX", TIDE_CAT_USER } };
	tide_str text = { tide__map_get(&p->categories, (uint64_t)tide__db_int(r, EVENT, -1)) };
	const char *s = tide__text(p->n.m, text, NULL);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(s, words[i].word))
			return words[i].cat;
	return TIDE_CAT_OTHER;
}

static bool add_region(nsys *n, const tide_db_rows *r)
{
	rocpd *p = of(n);
	int64_t t0 = tide__db_int(r, START, 0), t1 = tide__db_int(r, END, 0),
		global = global_of(p, r), stack = stack_of(p, r, EVENT);
	if (!tide__nsys_times(n, t0, t1))
		return tide__nsys_bad(n);
	uint32_t process = tide__nsys_process(n, global);
	uint32_t row = tide__nsys_span(n, t0, t1, tide__nsys_thread(n, global),
				       tide__nsys_text(n, r, REST), category_of(p, r));
	if (!row || !process)
		return false;
	if (stack <= 0)
		return true;
	tide__nsys_set_raw(n, row, process, stack, -1);
	return tide__nsys_call(n, process, stack) ||
	       tide__map_put(&n->calls, tide__nsys_key(process, (uint64_t)stack), row);
}

/* Adds work of a device. Returns false if memory runs out; *row = 0 if it is left out. */
static bool add_work(rocpd *p, const tide_db_rows *r, const rocpd_agent *agent, int64_t stream,
		     tide_str name, unsigned cat, uint32_t *row)
{
	nsys *n = &p->n;
	int64_t t0 = tide__db_int(r, START, 0), t1 = tide__db_int(r, END, 0),
		stack = stack_of(p, r, EVENT);
	*row = 0;
	if (!tide__nsys_times(n, t0, t1))
		return tide__nsys_bad(n);
	uint32_t process = tide__nsys_process(n, global_of(p, r));
	uint32_t lane =
		process ? tide__nsys_stream(n, process, agent ? agent->number : 0, stream, false)
			: 0;
	*row = lane ? tide__nsys_span(n, t0, t1, lane, name, cat) : 0;
	if (!*row)
		return false;
	if (stack > 0)
		n->m->spans.cause[*row].i = tide__nsys_call(n, process, stack);
	tide__nsys_set_raw(n, *row, process, stack, stream);
	return true;
}

enum { AGENT = REST, KERNEL, STREAM, GRID, GROUP = GRID + 3 };

/* ROCm's grids are counted in work items, those of reports in groups. */
static bool put_launch(nsys *n, const tide_db_rows *r, uint32_t row)
{
	char grid[80], group[80];
	int64_t g[3], w[3];
	for (size_t i = 0; i < 3; i++) {
		g[i] = tide__db_int(r, GRID + i, 0);
		w[i] = tide__db_int(r, GROUP + i, 0);
		if (g[i] < 0 || w[i] <= 0)
			return true;
	}
	snprintf(grid, sizeof grid, "[%" PRId64 ", %" PRId64 ", %" PRId64 "]", g[0] / w[0],
		 g[1] / w[1], g[2] / w[2]);
	snprintf(group, sizeof group, "[%" PRId64 ", %" PRId64 ", %" PRId64 "]", w[0], w[1], w[2]);
	tide_str a = tide__intern(n->m, grid), b = tide__intern(n->m, group);
	return a.i && b.i && tide__nsys_attr(n, row, &n->key.grid, "grid", 0, a) &&
	       tide__nsys_attr(n, row, &n->key.block, "block", 0, b);
}

static bool add_dispatch(nsys *n, const tide_db_rows *r)
{
	rocpd *p = of(n);
	tide_str name = { tide__map_get(&p->kernels, (uint64_t)tide__db_int(r, KERNEL, -1)) };
	uint32_t row;
	return add_work(p, r, agent_of(p, r, AGENT), tide__db_int(r, STREAM, 0), name,
			TIDE_CAT_KERNEL, &row) &&
	       (!row || !(n->want & TIDE_WANT_LAUNCH) || put_launch(n, r, row));
}

enum { COPY_NAME = REST, TO, FROM, SIZE, COPY_STREAM };

static bool add_copy(nsys *n, const tide_db_rows *r)
{
	rocpd *p = of(n);
	const rocpd_agent *to = agent_of(p, r, TO), *from = agent_of(p, r, FROM);
	tide_str raw = tide__nsys_text(n, r, COPY_NAME);
	tide_str name = tide__rocpd_copy_name(n, tide__text(n->m, raw, NULL));
	uint32_t row;
	return add_work(p, r, to && to->gpu ? to : from, tide__db_int(r, COPY_STREAM, 0),
			name.i ? name : raw, TIDE_CAT_MEMCPY, &row) &&
	       (!row || tide__nsys_attr(n, row, &n->key.bytes, "bytes", tide__db_int(r, SIZE, 0),
					(tide_str){ 0 }));
}

enum { TYPE = REST, LEVEL, MEMORY_AGENT, ADDRESS, BYTES, DEVICE_MEMORY = 2, PINNED_MEMORY = 1 };

static bool add_memory(nsys *n, const tide_db_rows *r)
{
	rocpd *p = of(n);
	size_t len;
	const char *type = tide__db_text(r, TYPE, &len), *level = tide__db_text(r, LEVEL, &len);
	bool alloc = type && !strcmp(type, "ALLOC"), frees = type && !strcmp(type, "FREE");
	int64_t t = tide__db_int(r, alloc ? END : START, 0), bytes = tide__db_int(r, BYTES, 0);
	const rocpd_agent *agent = agent_of(p, r, MEMORY_AGENT);
	if ((!alloc && !frees) || (level && strcmp(level, "REAL")))
		return true;
	if (bytes < 0 || !tide__db_is_int(r, ADDRESS) || !tide__nsys_times(n, t, t))
		return tide__nsys_bad(n);
	uint32_t process = tide__nsys_process(n, global_of(p, r));
	uint32_t pool =
		process ? tide__nsys_pool(n, process, agent ? agent->number : 0,
					  agent && !agent->gpu ? PINNED_MEMORY : DEVICE_MEMORY)
			: 0;
	if (!pool || !TIDE_ROOM(n->memory, n->cap_memory, n->n_memory + 1))
		return false;
	int64_t stack = stack_of(p, r, EVENT);
	n->memory[n->n_memory++] = (nsys_memory){
		.t = t,
		.address = (uint64_t)tide__db_int(r, ADDRESS, 0),
		.bytes = (uint64_t)bytes,
		.pool = pool,
		.call = stack > 0 ? tide__nsys_call(n, process, stack) : 0,
		.frees = frees,
	};
	return true;
}

static const nsys_table tables[] = {
	{ "rocpd_string", NULL, add_string, 1, { "id", "string" } },
	{ "rocpd_info_process", NULL, add_process, 2, { "id", "pid", "command" } },
	{ "rocpd_info_thread", NULL, add_thread, 2, { "id", "tid" } },
	{ "rocpd_info_agent", NULL, add_agent, 1, { "id", "type", "type_index", "product_name" } },
	{ "rocpd_info_kernel_symbol",
	  NULL,
	  add_kernel_name,
	  1,
	  { "id", "display_name", "kernel_name" } },
	{ "rocpd_event", NULL, add_event, 1, { "id", "stack_id", "category_id" } },
	{ "rocpd_region", NULL, add_region, 3, { COMMON, "name_id" } },
	{ "rocpd_kernel_dispatch",
	  NULL,
	  add_dispatch,
	  3,
	  { COMMON, "agent_id", "kernel_id", "stream_id", "grid_size_x", "grid_size_y",
	    "grid_size_z", "workgroup_size_x", "workgroup_size_y", "workgroup_size_z" } },
	{ "rocpd_memory_copy",
	  NULL,
	  add_copy,
	  3,
	  { COMMON, "name_id", "dst_agent_id", "src_agent_id", "size", "stream_id" } },
	{ "rocpd_memory_allocate",
	  NULL,
	  add_memory,
	  3,
	  { COMMON, "type", "level", "agent_id", "address", "size" } },
};

bool tide__rocpd_read(rocpd *p)
{
	tide_map *const maps[] = { &p->n.texts, &p->pids,   &p->tids,	   &p->kernels,
				   &p->agents,	&p->stacks, &p->categories };
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) { /* ids are those of a suffix */
		tide__map_free(maps[i]);
		*maps[i] = (tide_map){ 0 };
	}
	p->n_agents = p->n_stacks = 0;
	bool ok = true;
	for (size_t i = 0; ok && i < sizeof tables / sizeof *tables; i++)
		ok = tide__rocpd_table(p, &tables[i]);
	return ok;
}
