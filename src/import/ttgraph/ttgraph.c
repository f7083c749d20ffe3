// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads the nodes in order, in one pass, with the whole document in memory. It uses the JSON walk
 * of the tracker's importer. */
#include "import/ttgraph/ttgraph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/source.h"
#include "import/tracker/tracker_impl.h"
#include "model/span_parents.h"

enum { DEPTH = 4096, DEVICES = 256, GRID = 32, NS = 1000 };
/* buffer_type, circular buffers, and dataflow buffers with scratchpads */
enum { DRAM, L1, SYSTEM, L1_SMALL, TRACE, CB, SCRATCH, MEMORIES };

static const struct {
	const char *name;
	uint8_t kind;
} memories[MEMORIES] = { { "DRAM", TIDE_POOL_DRAM },	      { "L1", TIDE_POOL_L1 },
			 { "SYSTEM_MEMORY", TIDE_POOL_HEAP }, { "L1_SMALL", TIDE_POOL_L1_SMALL },
			 { "TRACE", TIDE_POOL_TRACE },	      { "CB", TIDE_POOL_L1 },
			 { "SCRATCH", TIDE_POOL_L1 } };

struct device {
	int64_t id;
	uint32_t row, pool[MEMORIES];
	int64_t core[GRID][GRID], most; /* circular buffers on each core, and the highest of one */
	int x, y;			/* which */
	uint32_t from;			/* alloc rows below this one are not live circular
	                                 * buffers */
};

struct graph {
	trk t;
	struct device *devices;
	size_t n_devices;
	tide_map buffers; /* number of a buffer node + 1 -> alloc row */
	tide_map linked;  /* number of a tensor node + 1 -> alloc row */
	uint32_t stack[DEPTH];
	size_t depth;
	uint64_t next; /* address */
	uint64_t without_start, unknown_buffer, bad;
	int64_t now; /* ns */
	uint32_t lane;
};

/* ---- values, typed or as texts ---- */

static bool number(struct graph *g, jsonr_slice v, int64_t *out)
{
	if (v.type == '"')
		v.type = '0';
	return v.n && tide__tracker_parse_number(&g->t, v, 1, out);
}

static bool is_true(struct graph *g, jsonr_slice v)
{
	return v.type && (tide__tracker_is(&g->t, v, "1") || tide__tracker_is(&g->t, v, "true"));
}

/* ---- devices ---- */

static struct device *device_of(struct graph *g, int64_t id)
{
	for (size_t i = 0; i < g->n_devices; i++)
		if (g->devices[i].id == id)
			return &g->devices[i];
	if (g->n_devices == DEVICES)
		return &g->devices[DEVICES - 1];
	uint32_t row = tide__push(&g->t.m->devices, &tide_devices_desc);
	if (!row) {
		tide__tracker_nomem(&g->t);
		return NULL;
	}
	g->t.m->devices.kind[row] = TIDE_DEVICE_TT;
	g->t.m->devices.index[row] = id;
	g->devices[g->n_devices] = (struct device){ .id = id, .row = row };
	return &g->devices[g->n_devices++];
}

static uint32_t pool_of(struct graph *g, struct device *d, int memory)
{
	tide_model *m = g->t.m;
	if (d->pool[memory])
		return d->pool[memory];
	uint32_t row = tide__push(&m->pools, &tide_pools_desc);
	if (!row) {
		tide__tracker_nomem(&g->t);
		return 0;
	}
	m->pools.device[row].i = d->row;
	m->pools.kind[row] = memories[memory].kind;
	m->pools.name[row] = tide__intern(m, memories[memory].name);
	return d->pool[memory] = row;
}

/* Reads a report's description of its devices. */
static void describe_device(struct graph *g, jsonr_slice one)
{
	enum { ID, ARCH, CHANNELS, SIZE, N };
	static const char *const names[N] = { "device_id", "arch", "num_dram_channels",
					      "dram_size_per_channel" };
	jsonr_slice v[N];
	int64_t id, channels, size;
	if (!tide__tracker_find_fields(&g->t, one, names, N, v) || !number(g, v[ID], &id))
		return;
	struct device *d = device_of(g, id);
	if (!d)
		return;
	g->t.m->devices.name[d->row] = tide__tracker_intern(&g->t, v[ARCH]);
	if (number(g, v[CHANNELS], &channels) && number(g, v[SIZE], &size) && channels > 0 &&
	    size > 0 && size < INT64_MAX / channels)
		g->t.m->devices.capacity[d->row] = (uint64_t)(channels * size);
}

/* ---- memory ---- */

static void add_event(struct graph *g, uint32_t row, uint8_t kind)
{
	size_t at;
	if (!tide__table_push(&g->t.m->memory_events, &tide_memory_events_desc, &at)) {
		tide__tracker_nomem(&g->t);
		return;
	}
	g->t.m->memory_events.row[at] = row;
	g->t.m->memory_events.kind[at] = kind;
}

/* Makes up addresses: those of banks and of NO_DISPATCH captures carry no information. */
static uint32_t take(struct graph *g, struct device *d, int memory, int64_t size)
{
	tide_model *m = g->t.m;
	uint32_t pool = pool_of(g, d, memory), row = 0;
	if (size < 0 || (uint64_t)size > (UINT64_MAX >> 2) - g->next) {
		g->bad++;
		return 0;
	}
	if (!pool || !(row = tide__push(&m->allocs, &tide_allocs_desc))) {
		tide__tracker_nomem(&g->t);
		return 0;
	}
	m->allocs.addr[row] = g->next;
	g->next += size ? (uint64_t)size : 1;
	m->allocs.size[row] = m->allocs.requested[row] = (uint64_t)size;
	m->allocs.born[row] = g->now;
	m->allocs.died[row] = TIDE_T_NEVER;
	m->allocs.pool[row].i = pool;
	m->allocs.span[row].i = g->depth ? g->stack[g->depth - 1] : 0;
	m->allocs.lane[row].i = g->lane;
	add_event(g, row, TIDE_MEMORY_ALLOC);
	return row;
}

static void give(struct graph *g, uint32_t row)
{
	tide_model *m = g->t.m;
	if (!row || m->allocs.died[row] != TIDE_T_NEVER)
		return;
	m->allocs.died[row] = g->now;
	m->allocs.free_span[row].i = g->depth ? g->stack[g->depth - 1] : 0;
	add_event(g, row, TIDE_MEMORY_FREE);
}

enum {
	P_SIZE,
	P_TYPE,
	P_KIND,
	P_DEVICE,
	P_BANK,
	P_CORES,
	P_NAME,
	P_GLOBAL,
	P_RANGE,
	P_SHAPE,
	P_DTYPE,
	P_BORROWS,
	P_N
};
static const char *const params[P_N] = {
	"size",	     "type",	      "buffer_type",	    "device_id",      "max_size_per_bank",
	"num_cores", "name",	      "globally_allocated", "core_range_set", "shape",
	"dtype",     "borrows_memory"
};

static int memory_of(struct graph *g, const jsonr_slice *v)
{
	int64_t kind;
	if (number(g, v[P_KIND], &kind) && kind >= 0 && kind <= TRACE)
		return (int)kind;
	for (int i = 0; i < CB; i++)
		if (v[P_TYPE].type && tide__tracker_is(&g->t, v[P_TYPE], memories[i].name))
			return i;
	return DRAM;
}

/* Adds an allocation: the whole buffer for DRAM, the part in one bank for on-chip memory. */
static void buffer_allocate(struct graph *g, const jsonr_slice *v, int64_t link)
{
	int64_t size = 0, bank = 0, cores = 0, id = 0;
	int memory = memory_of(g, v);
	number(g, v[P_SIZE], &size);
	number(g, v[P_DEVICE], &id);
	if (memory != DRAM && memory != SYSTEM) {
		if (number(g, v[P_BANK], &bank) && bank > 0)
			size = bank;
		else if (number(g, v[P_CORES], &cores) && cores > 0)
			size = (size + cores - 1) / cores;
	}
	struct device *d = device_of(g, id);
	uint32_t row = d ? take(g, d, memory, size) : 0;
	if (row && link >= 0 && !tide__map_put(&g->buffers, (uint64_t)link + 1, row))
		tide__tracker_nomem(&g->t);
}

static void buffer_deallocate(struct graph *g, int64_t link)
{
	uint32_t row = link < 0 ? 0 : tide__map_get(&g->buffers, (uint64_t)link + 1);
	if (row)
		give(g, row);
	else
		g->unknown_buffer++; /* it existed before the capture */
}

/* "{[(x=0,y=0) - (x=0,y=7)], ...}": add `size` on each core, and keep the fullest. */
static void on_cores(struct graph *g, struct device *d, jsonr_slice range, int64_t size)
{
	const char *s = g->t.c.s.b + range.at, *end = s + range.n;
	int64_t v[4];
	int n = 0;
	for (; range.type == '"' && s < end; s++) {
		if (*s != '=')
			continue;
		v[n] = 0;
		for (s++; s < end && *s >= '0' && *s <= '9' && v[n] < GRID; s++)
			v[n] = v[n] * 10 + (*s - '0');
		s--;
		if (++n < 4)
			continue;
		n = 0;
		for (int64_t x = v[0]; x <= v[2] && x < GRID; x++)
			for (int64_t y = v[1]; y <= v[3] && y < GRID; y++) {
				d->core[x][y] += size;
				if (d->core[x][y] > d->most) {
					d->most = d->core[x][y];
					d->x = (int)x;
					d->y = (int)y;
				}
			}
	}
}

static void circular_allocate(struct graph *g, const jsonr_slice *v, int memory)
{
	int64_t size = 0, id = 0;
	number(g, v[P_DEVICE], &id);
	if (is_true(g, v[P_GLOBAL]) || is_true(g, v[P_BORROWS]) || !number(g, v[P_SIZE], &size) ||
	    size < 0 || size > INT64_MAX / 4096)
		return;
	struct device *d = device_of(g, id);
	if (d && take(g, d, memory, size))
		on_cores(g, d, v[P_RANGE], size);
}

static bool is_circular(const struct device *d, uint32_t pool)
{
	return pool && (pool == d->pool[CB] || pool == d->pool[SCRATCH]);
}

static void circular_free_all(struct graph *g, const jsonr_slice *v)
{
	int64_t id = 0;
	number(g, v[P_DEVICE], &id);
	struct device *d = device_of(g, id);
	if (!d || (!d->pool[CB] && !d->pool[SCRATCH]))
		return;
	memset(d->core, 0, sizeof d->core);
	for (uint32_t row = d->from ? d->from : 1; row < g->t.m->allocs.n; row++)
		if (is_circular(d, g->t.m->allocs.pool[row].i))
			give(g, row);
	d->from = (uint32_t)g->t.m->allocs.n;
}

/* ---- functions and tensors ---- */

static void function_start(struct graph *g, const jsonr_slice *v)
{
	tide_model *m = g->t.m;
	if (g->depth == DEPTH) {
		g->bad++;
		return;
	}
	uint32_t row = tide__push(&m->spans, &tide_spans_desc);
	if (!row) {
		tide__tracker_nomem(&g->t);
		return;
	}
	m->spans.t0[row] = g->now;
	m->spans.t1[row] = TIDE_T_NEVER;
	m->spans.lane[row].i = g->lane;
	m->spans.name[row] = tide__tracker_intern(&g->t, v[P_NAME]);
	m->spans.cat[row] = TIDE_CAT_OP;
	g->stack[g->depth++] = row;
}

static void function_end(struct graph *g)
{
	if (g->depth)
		g->t.m->spans.t1[g->stack[--g->depth]] = g->now;
	else
		g->without_start++;
}

static uint8_t dtype_of(struct graph *g, jsonr_slice v)
{
	static const struct {
		const char *name;
		uint8_t dtype;
	} all[] = { { "BFLOAT16", TIDE_DTYPE_BF16 },  { "FLOAT32", TIDE_DTYPE_F32 },
		    { "BFLOAT8_B", TIDE_DTYPE_BFP8 }, { "BFLOAT4_B", TIDE_DTYPE_BFP4 },
		    { "UINT32", TIDE_DTYPE_U32 },     { "UINT16", TIDE_DTYPE_U16 },
		    { "UINT8", TIDE_DTYPE_U8 },	      { "INT32", TIDE_DTYPE_I32 } };
	const char *s = g->t.c.s.b + v.at;
	for (size_t i = 0; v.type == '"' && i < sizeof all / sizeof *all; i++) {
		size_t n = strlen(all[i].name);
		if (v.n >= n && !memcmp(s + v.n - n, all[i].name, n) &&
		    (v.n == n || s[v.n - n - 1] == '.' || s[v.n - n - 1] == ':'))
			return all[i].dtype;
	}
	return TIDE_DTYPE_UNKNOWN;
}

/* "ttnn.Shape([1, 3, 32, 32])" -> dimensions of an allocation's tensor. */
static void tensor(struct graph *g, const jsonr_slice *v, int64_t counter)
{
	tide_model *m = g->t.m;
	uint32_t alloc = tide__map_get(&g->linked, (uint64_t)counter + 1);
	const char *s = g->t.c.s.b + v[P_SHAPE].at, *end = s + v[P_SHAPE].n;
	if (!alloc || v[P_SHAPE].type != '"')
		return;
	uint32_t row = tide__push(&m->tensors, &tide_tensors_desc);
	if (!row) {
		tide__tracker_nomem(&g->t);
		return;
	}
	m->tensors.alloc[row].i = alloc;
	m->tensors.dims[row] = m->n_dims;
	m->tensors.dtype[row] = dtype_of(g, v[P_DTYPE]);
	m->tensors.requires_grad[row] = 2;
	while (s < end && *s != '[')
		s++;
	for (; s < end && m->tensors.ndim[row] < 16; s++) {
		uint64_t d = 0;
		if (*s < '0' || *s > '9')
			continue;
		for (; s < end && *s >= '0' && *s <= '9' && d < UINT64_C(1) << 40; s++)
			d = d * 10 + (uint64_t)(*s - '0');
		if (!TIDE_ROOM(m->dims, m->cap_dims, m->n_dims + 1)) {
			tide__tracker_nomem(&g->t);
			return;
		}
		m->dims[m->n_dims++] = d;
		m->tensors.ndim[row]++;
	}
}

/* Reads a buffer's connections, which are the tensors it holds. */
static void buffer(struct graph *g, jsonr_slice connections, int64_t counter)
{
	jsonr_slice none, one;
	int64_t to;
	uint32_t row = tide__map_get(&g->buffers, (uint64_t)counter + 1);
	jsonr_walk w = tide__tracker_walk(&g->t, connections);
	while (row && tide__tracker_next(&g->t, &w, &none, &one))
		if (number(g, one, &to) && to >= 0 &&
		    !tide__map_put(&g->linked, (uint64_t)to + 1, row))
			tide__tracker_nomem(&g->t);
}

/* ---- nodes ---- */

static int64_t first_of(struct graph *g, jsonr_slice connections)
{
	jsonr_slice none, one;
	int64_t v;
	jsonr_walk w = tide__tracker_walk(&g->t, connections);
	return tide__tracker_next(&g->t, &w, &none, &one) && number(g, one, &v) && v >= 0 ? v : -1;
}

static void node(struct graph *g, jsonr_slice one)
{
	enum { COUNTER, TYPE, PARAMS, LINKS, N };
	static const char *const names[N] = { "counter", "node_type", "params", "connections" };
	jsonr_slice v[N], p[P_N];
	int64_t counter;
	if (!tide__tracker_find_fields(&g->t, one, names, N, v) ||
	    !tide__tracker_find_fields(&g->t, v[PARAMS], params, P_N, p))
		return;
	g->now += NS;
	if (!number(g, v[COUNTER], &counter) || counter < 0) {
		g->bad++;
		return;
	}
#define IS(text) tide__tracker_is(&g->t, v[TYPE], text)
	if (IS("buffer_allocate"))
		buffer_allocate(g, p, first_of(g, v[LINKS]));
	else if (IS("buffer_deallocate"))
		buffer_deallocate(g, first_of(g, v[LINKS]));
	else if (IS("circular_buffer_allocate"))
		circular_allocate(g, p, CB);
	else if (IS("dataflow_buffer_allocate") || IS("scratchpad_allocate"))
		circular_allocate(g, p, SCRATCH);
	else if (IS("circular_buffer_deallocate_all"))
		circular_free_all(g, p);
	else if (IS("function_start"))
		function_start(g, p);
	else if (IS("function_end"))
		function_end(g);
#undef IS
}

/* Buffers are linked to tensors by nodes that may come before or after both: two more passes. */
static bool linked(struct graph *g, jsonr_slice one, const char *type, jsonr_slice *v,
		   int64_t *counter)
{
	static const char *const names[] = { "counter", "node_type", "params", "connections" };
	return tide__tracker_find_fields(&g->t, one, names, 4, v) && number(g, v[0], counter) &&
	       *counter >= 0 && tide__tracker_is(&g->t, v[1], type);
}

static void link_buffer(struct graph *g, jsonr_slice one)
{
	jsonr_slice v[4];
	int64_t counter;
	if (linked(g, one, "buffer", v, &counter))
		buffer(g, v[3], counter);
}

static void describe_tensor(struct graph *g, jsonr_slice one)
{
	jsonr_slice v[4], p[P_N];
	int64_t counter;
	if (linked(g, one, "tensor", v, &counter) &&
	    tide__tracker_find_fields(&g->t, v[2], params, P_N, p))
		tensor(g, p, counter);
}

static void each(struct graph *g, jsonr_slice list, void (*take_one)(struct graph *, jsonr_slice))
{
	jsonr_slice none, one;
	jsonr_walk w = tide__tracker_walk(&g->t, list);
	while (tide__tracker_next(&g->t, &w, &none, &one) && g->t.rc == TIDE_OK)
		take_one(g, one);
}

/* ---- the document ---- */

static bool read_document(struct graph *g)
{
	enum { GRAPH, DEVICES_OF, N };
	static const char *const names[N] = { "graph", "devices" };
	trk *t = &g->t;
	jsonr_slice v[N], top;
	size_t p = jsonr_ws(t->c.s.b, 0), e = tide__jsonr_parse_value(&t->c, p, &top);
	char first = t->c.s.b[p];
	if (first != '{' && first != '[')
		return tide__tracker_fail(t, p);
	if (e == JSONR_FAIL) /* the walk reports the damaged byte */
		top = (jsonr_slice){ (uint32_t)p, 1, first };
	v[GRAPH] = top;
	if (first == '{') {
		if (!tide__tracker_find_fields(t, top, names, N, v))
			return false;
		each(g, v[DEVICES_OF], describe_device);
	}
	each(g, v[GRAPH], node);
	if (t->rc == TIDE_OK)
		each(g, v[GRAPH], link_buffer);
	if (t->rc == TIDE_OK)
		each(g, v[GRAPH], describe_tensor);
	return t->rc == TIDE_OK;
}

static bool facts(struct graph *g)
{
	tide_model *m = g->t.m;
	char key[64], text[80];
	bool ok = tide__fact_text(m, "ttgraph.time", "order only: 1 us a node");
	if (g->depth)
		ok &= tide__fact_set_number(m, "ttgraph.incomplete_operations", (int64_t)g->depth);
	if (g->unknown_buffer)
		ok &= tide__fact_set_number(m, "ttgraph.freed_from_before",
					    (int64_t)g->unknown_buffer);
	if (g->bad + g->without_start)
		ok &= tide__fact_set_number(m, "loss.bad_records",
					    (int64_t)(g->bad + g->without_start));
	for (size_t i = 0; i < g->n_devices && ok; i++) {
		if (!g->devices[i].most)
			continue;
		snprintf(key, sizeof key, "ttgraph.fullest_core.%lld", (long long)g->devices[i].id);
		snprintf(text, sizeof text, "x=%d,y=%d: %lld bytes of circular buffers",
			 g->devices[i].x, g->devices[i].y, (long long)g->devices[i].most);
		ok = tide__fact_text(m, key, text);
	}
	return ok;
}

static bool finish(struct graph *g)
{
	tide_model *m = g->t.m;
	m->t_end = g->now + NS;
	while (g->depth) { /* without an end: an incomplete operation */
		uint32_t row = g->stack[--g->depth];
		m->spans.t1[row] = m->t_end;
		m->spans.flags[row] |= TIDE_SPAN_OPEN;
	}
	return m->spans.n < 2 || tide__find_span_parents(m, NULL, 0, NULL, 0);
}

static tide_code run(struct graph *g, const char *text, size_t n)
{
	tide_model *m = g->t.m;
	uint32_t process = tide__push(&m->processes, &tide_processes_desc);
	g->lane = tide__push(&m->lanes, &tide_lanes_desc);
	g->devices = tide__calloc(DEVICES, sizeof *g->devices);
	if (!process || !g->lane || !g->devices || !tide__jsonr_scan_text(&g->t.c.s, text, n))
		return tide__nomem(g->t.err);
	m->processes.pid[process] = m->processes.parent_pid[process] = -1;
	m->processes.rank[process] = m->processes.world[process] = -1;
	m->lanes.process[g->lane].i = process;
	m->lanes.kind[g->lane] = TIDE_LANE_THREAD;
	g->next = 1 << 20;
	if (!read_document(g))
		return g->t.rc;
	if (!facts(g) || !finish(g))
		return tide__nomem(g->t.err);
	if (m->spans.n < 2 && m->allocs.n < 2)
		return tide__fail(g->t.err, TIDE_EFORMAT, 0,
				  "a graph capture without functions or buffers");
	return TIDE_OK;
}

tide_code tide__ttgraph_import(const char *text, size_t n, tide_model *m, tide_error *err)
{
	struct graph *g = tide__calloc(1, sizeof *g); /* the parser in it is large */
	if (!g)
		return tide__nomem(err);
	g->t.m = m;
	g->t.err = err;
	tide_code rc = run(g, text, n);
	tide__jsonr_fini(&g->t.c);
	tide__map_free(&g->buffers);
	tide__map_free(&g->linked);
	tide__free(g->devices);
	tide__free(g);
	return rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	return tide__tracker_load(path, opt, tide__ttgraph_import, m, err);
}

static int sniff(const uint8_t *head, size_t n)
{
	size_t p = 0;
	while (p < n && jsonr_is_ws((char)head[p]))
		p++;
	if (p == n || (head[p] != '[' && head[p] != '{') ||
	    !tide__head_contains(head, n, "\"node_type\""))
		return 0;
	return tide__head_contains(head, n, "\"capture_start\"") ||
			       tide__head_contains(head, n, "\"function_start\"") ||
			       tide__head_contains(head, n, "\"buffer_allocate\"")
		       ? 97
		       : 60;
}

const tide_importer tide__import_ttgraph = {
	.name = "ttgraph",
	.what = "ttnn graph capture, plain, gzip or zstd",
	.sniff = sniff,
	.load = load,
};
