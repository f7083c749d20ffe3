// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One document with a list of processes. Names come first, then records by kind; calls are read
 * before the work that they launch, wherever they are. Rows are made with the context of Nsight's
 * importer, as those of rocprofv3's databases are. */
#include "import/rocprof/rocprof.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/json/node.h"
#include "import/json/text.h"
#include "import/nsys/nsys_impl.h"
#include "import/source.h"

#define BYTES_MOST ((size_t)3 << 30)
#define TOP	   "rocprofiler-sdk-tool"
enum { PINNED_MEMORY = 1, DEVICE_MEMORY = 2, KIND_BITS = 20 };

typedef struct reading {
	nsys n;
	jsonr json;
	int64_t pid;
	tide_map names;	  /* kind and operation -> text */
	tide_map kernels; /* id -> text */
	tide_map markers; /* correlation -> text */
	tide_map gpus;	  /* handle of an agent -> number + 1 */
} reading;

/* ---- members ---- */

static int64_t number(jsonr_node of, const char *key, int64_t none)
{
	jsonr_node v;
	int64_t n;
	return tide__jsonr_get(of, key, &v) && tide__jsonr_parse_number(v, 1, &n) ? n : none;
}

static int64_t inner(jsonr_node of, const char *key, const char *member, int64_t none)
{
	jsonr_node v;
	return tide__jsonr_get(of, key, &v) ? number(v, member, none) : none;
}

static bool text_of(reading *r, jsonr_node v, tide_str *to)
{
	*to = (tide_str){ 0 };
	if (v.type != '"' || !v.n)
		return true;
	if (!memchr(v.at, '\\', v.n)) {
		*to = tide__intern_n(r->n.m, v.at, v.n);
		return to->i || tide__nsys_nomem(&r->n);
	}
	char *plain = tide__alloc(v.n, 1);
	size_t n = plain ? tide__jsonr_unescape(v.at, v.n, plain) : 0;
	*to = tide__intern_n(r->n.m, plain ? plain : "", n);
	bool ok = plain && (to->i || !n);
	tide__free(plain);
	return ok || tide__nsys_nomem(&r->n);
}

static bool text_member(reading *r, jsonr_node of, const char *key, tide_str *to)
{
	jsonr_node v = { 0 };
	(void)tide__jsonr_get(of, key, &v);
	return text_of(r, v, to);
}

static bool put(reading *r, tide_map *map, uint64_t key, tide_str text)
{
	return !text.i || tide__map_put(map, key, text.i) || tide__nsys_nomem(&r->n);
}

static bool damaged(reading *r, const char *at)
{
	r->n.rc = tide__fail(r->n.err, TIDE_ECORRUPT, tide__jsonr_offset(&r->json, at),
			     "damaged JSON");
	return false;
}

typedef bool taker(reading *r, jsonr_node v, unsigned what);

/* Passes each element of a list; none if there is no list. */
static bool each(reading *r, jsonr_node of, const char *name, taker *take, unsigned what)
{
	jsonr_node list, key, v;
	if (!tide__jsonr_get(of, name, &list) || list.type != '[')
		return true;
	jsonr_nodes w = tide__jsonr_walk(list);
	while (tide__jsonr_next_node(&w, &key, &v))
		if (v.type == '{' && !take(r, v, what))
			return false;
	return !w.bad || damaged(r, w.at);
}

/* ---- names ---- */

/* {"kind": .., "operations": [..]}: its place in the list is the kind's number. */
static bool take_operations(reading *r, jsonr_node v, unsigned what)
{
	uint64_t kind = r->n.rows++, operation = 0;
	jsonr_node list, key, name;
	tide_str text;
	(void)what;
	if (!tide__jsonr_get(v, "operations", &list) || list.type != '[')
		return true;
	for (jsonr_nodes w = tide__jsonr_walk(list); tide__jsonr_next_node(&w, &key, &name);)
		if (!text_of(r, name, &text) ||
		    !put(r, &r->names, kind << KIND_BITS | operation++, text))
			return false;
	return true;
}

static bool take_symbol(reading *r, jsonr_node v, unsigned what)
{
	tide_str text;
	(void)what;
	if (!text_member(r, v, "formatted_kernel_name", &text) ||
	    (!text.i && !text_member(r, v, "kernel_name", &text)))
		return false;
	return put(r, &r->kernels, (uint64_t)number(v, "kernel_id", 0), text);
}

static bool take_marker(reading *r, jsonr_node v, unsigned what)
{
	tide_str text;
	(void)what;
	return text_member(r, v, "value", &text) &&
	       put(r, &r->markers, (uint64_t)number(v, "key", 0), text);
}

static bool take_agent(reading *r, jsonr_node v, unsigned what)
{
	nsys *n = &r->n;
	jsonr_node banks, key, bank;
	int64_t at = number(v, "logical_node_type_id", (int64_t)n->n_gpus);
	(void)what;
	if (number(v, "type", 0) != 2 || at < 0 || at >= INT32_MAX)
		return true;
	if (!TIDE_ROOM(n->gpus, n->cap_gpus, n->n_gpus + 1))
		return tide__nsys_nomem(n);
	nsys_gpu *g = &n->gpus[n->n_gpus++];
	*g = (nsys_gpu){ .id = at };
	if (tide__jsonr_get(v, "mem_banks", &banks) && banks.type == '[')
		for (jsonr_nodes w = tide__jsonr_walk(banks);
		     tide__jsonr_next_node(&w, &key, &bank);) {
			int64_t bytes = number(bank, "size_in_bytes", 0);
			if (bytes > 0 && bytes < INT64_C(1) << 48)
				g->capacity += (uint64_t)bytes;
		}
	if (!text_member(r, v, "product_name", &g->name) ||
	    (!g->name.i && !text_member(r, v, "name", &g->name)))
		return false;
	return tide__map_put(&r->gpus, (uint64_t)inner(v, "id", "handle", -1), (uint32_t)at + 1) ||
	       tide__nsys_nomem(n);
}

static tide_str operation_name(const reading *r, jsonr_node v)
{
	uint64_t kind = (uint64_t)number(v, "kind", -1), op = (uint64_t)number(v, "operation", -1);
	if (kind >= UINT32_MAX || op >= 1 << KIND_BITS)
		return (tide_str){ 0 };
	return (tide_str){ tide__map_get(&r->names, kind << KIND_BITS | op) };
}

/* ---- records ---- */

typedef struct common {
	int64_t t0, t1, global, correlation;
} common;

/* Reads what all records have. Returns false if the record is left out. */
static bool begin(reading *r, jsonr_node v, common *c)
{
	int64_t tid = number(v, "thread_id", 0);
	c->t0 = number(v, "start_timestamp", -1);
	c->t1 = number(v, "end_timestamp", -1);
	c->correlation = inner(v, "correlation_id", "internal", 0);
	c->global = (int64_t)(((uint64_t)r->pid & 0xffffff) << 24 | ((uint64_t)tid & 0xffffff));
	if (c->t0 >= 0 && tide__nsys_times(&r->n, c->t0, c->t1))
		return true;
	(void)tide__nsys_bad(&r->n);
	return false;
}

static bool take_call(reading *r, jsonr_node v, unsigned cat)
{
	nsys *n = &r->n;
	common c;
	if (!begin(r, v, &c))
		return true;
	tide_str name = operation_name(r, v),
		 own = { tide__map_get(&r->markers, (uint64_t)c.correlation) };
	uint32_t process = tide__nsys_process(n, c.global), lane = tide__nsys_thread(n, c.global);
	uint32_t row = lane ? tide__nsys_span(n, c.t0, c.t1, lane,
					      cat == TIDE_CAT_USER && own.i ? own : name, cat)
			    : 0;
	if (!row || !process)
		return tide__nsys_nomem(n);
	if (c.correlation <= 0)
		return true;
	tide__nsys_set_raw(n, row, process, c.correlation, -1);
	return tide__nsys_call(n, process, c.correlation) ||
	       tide__map_put(&n->calls, tide__nsys_key(process, (uint64_t)c.correlation), row) ||
	       tide__nsys_nomem(n);
}

static int64_t gpu_of(const reading *r, jsonr_node of, const char *key)
{
	return (int64_t)tide__map_get(&r->gpus, (uint64_t)inner(of, key, "handle", -1)) - 1;
}

/* Adds work of a device. *row = 0 if it is left out. */
static bool put_work(reading *r, jsonr_node v, int64_t gpu, tide_str name, unsigned cat,
		     uint32_t *row)
{
	nsys *n = &r->n;
	common c;
	int64_t stream = inner(v, "stream_id", "handle", 0);
	*row = 0;
	if (!begin(r, v, &c))
		return true;
	uint32_t process = tide__nsys_process(n, c.global);
	uint32_t lane =
		process ? tide__nsys_stream(n, process, gpu < 0 ? 0 : gpu, stream, false) : 0;
	*row = lane ? tide__nsys_span(n, c.t0, c.t1, lane, name, cat) : 0;
	if (!*row)
		return tide__nsys_nomem(n);
	if (c.correlation > 0)
		n->m->spans.cause[*row].i = tide__nsys_call(n, process, c.correlation);
	tide__nsys_set_raw(n, *row, process, c.correlation, stream);
	return true;
}

/* ROCm's grids are counted in work items, those of reports in groups. */
static bool put_launch(reading *r, jsonr_node info, uint32_t row)
{
	static const char *const axes[] = { "x", "y", "z" };
	nsys *n = &r->n;
	char grid[80], group[80];
	int64_t g[3], w[3];
	for (int i = 0; i < 3; i++) {
		g[i] = inner(info, "grid_size", axes[i], -1);
		w[i] = inner(info, "workgroup_size", axes[i], 0);
		if (g[i] < 0 || w[i] <= 0)
			return true;
	}
	snprintf(grid, sizeof grid, "[%" PRId64 ", %" PRId64 ", %" PRId64 "]", g[0] / w[0],
		 g[1] / w[1], g[2] / w[2]);
	snprintf(group, sizeof group, "[%" PRId64 ", %" PRId64 ", %" PRId64 "]", w[0], w[1], w[2]);
	tide_str a = tide__intern(n->m, grid), b = tide__intern(n->m, group);
	return (a.i && b.i && tide__nsys_attr(n, row, &n->key.grid, "grid", 0, a) &&
		tide__nsys_attr(n, row, &n->key.block, "block", 0, b)) ||
	       tide__nsys_nomem(n);
}

static bool take_dispatch(reading *r, jsonr_node v, unsigned what)
{
	jsonr_node info = { 0 };
	uint32_t row;
	(void)what;
	(void)tide__jsonr_get(v, "dispatch_info", &info);
	tide_str name = { tide__map_get(&r->kernels, (uint64_t)number(info, "kernel_id", -1)) };
	if (!put_work(r, v, gpu_of(r, info, "agent_id"), name, TIDE_CAT_KERNEL, &row))
		return false;
	return !row || !(r->n.want & TIDE_WANT_LAUNCH) || put_launch(r, info, row);
}

static bool take_copy(reading *r, jsonr_node v, unsigned what)
{
	static const struct {
		const char *theirs, *ours;
	} names[] = { { "MEMORY_COPY_HOST_TO_DEVICE", "Memcpy HtoD (Host -> Device)" },
		      { "MEMORY_COPY_DEVICE_TO_HOST", "Memcpy DtoH (Device -> Host)" },
		      { "MEMORY_COPY_DEVICE_TO_DEVICE", "Memcpy DtoD (Device -> Device)" },
		      { "MEMORY_COPY_HOST_TO_HOST", "Memcpy HtoH (Host -> Host)" } };
	nsys *n = &r->n;
	tide_str name = operation_name(r, v);
	int64_t gpu = gpu_of(r, v, "dst_agent_id"), bytes = number(v, "bytes", 0);
	uint32_t row;
	(void)what;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(tide__text(n->m, name, NULL), names[i].theirs)) {
			name = tide__intern(n->m, names[i].ours);
			break;
		}
	gpu = gpu >= 0 ? gpu : gpu_of(r, v, "src_agent_id");
	if (!put_work(r, v, gpu, name, TIDE_CAT_MEMCPY, &row))
		return false;
	return !row || tide__nsys_attr(n, row, &n->key.bytes, "bytes", bytes, (tide_str){ 0 }) ||
	       tide__nsys_nomem(n);
}

/* An address is a number, or {"value": number}. */
static bool address_of(jsonr_node v, uint64_t *address)
{
	jsonr_node a;
	int64_t n;
	if (!tide__jsonr_get(v, "address", &a))
		return false;
	if (a.type == '{' && !tide__jsonr_get(a, "value", &a) && !tide__jsonr_get(a, "handle", &a))
		return false;
	if (!tide__jsonr_parse_number(a, 1, &n))
		return false;
	*address = (uint64_t)n;
	return true;
}

static bool take_memory(reading *r, jsonr_node v, unsigned what)
{
	nsys *n = &r->n;
	common c;
	uint64_t address;
	(void)what;
	const char *kind = tide__text(n->m, operation_name(r, v), NULL);
	bool frees = strstr(kind, "FREE") != NULL, makes = strstr(kind, "ALLOCATE") != NULL;
	int64_t bytes = number(v, "allocation_size", 0), gpu = gpu_of(r, v, "agent_id");
	if ((!frees && !makes) || !begin(r, v, &c))
		return true;
	if (bytes < 0 || !address_of(v, &address))
		return tide__nsys_bad(n);
	uint32_t process = tide__nsys_process(n, c.global);
	uint32_t pool = process ? tide__nsys_pool(n, process, gpu < 0 ? 0 : gpu,
						  gpu < 0 ? PINNED_MEMORY : DEVICE_MEMORY)
				: 0;
	if (!pool || !TIDE_ROOM(n->memory, n->cap_memory, n->n_memory + 1))
		return tide__nsys_nomem(n);
	n->memory[n->n_memory++] = (nsys_memory){
		.t = frees ? c.t0 : c.t1,
		.address = address,
		.bytes = (uint64_t)bytes,
		.pool = pool,
		.call = c.correlation > 0 ? tide__nsys_call(n, process, c.correlation) : 0,
		.frees = frees,
	};
	return true;
}

/* ---- processes ---- */

static bool read_names(reading *r, jsonr_node v)
{
	jsonr_node strings = { 0 };
	(void)tide__jsonr_get(v, "strings", &strings);
	r->n.rows = 0;
	return each(r, strings, "buffer_records", take_operations, 0) &&
	       each(r, strings, "marker_api", take_marker, 0) &&
	       each(r, v, "kernel_symbols", take_symbol, 0) && each(r, v, "agents", take_agent, 0);
}

static bool read_records(reading *r, jsonr_node all)
{
	static const struct {
		const char *key;
		taker *take;
		unsigned cat;
	} kinds[] = { { "hip_api", take_call, TIDE_CAT_RUNTIME },
		      { "hsa_api", take_call, TIDE_CAT_DRIVER },
		      { "marker_api", take_call, TIDE_CAT_USER },
		      { "rccl_api", take_call, TIDE_CAT_OTHER },
		      { "rocdecode_api", take_call, TIDE_CAT_OTHER },
		      { "rocjpeg_api", take_call, TIDE_CAT_OTHER },
		      { "kernel_dispatch", take_dispatch, 0 },
		      { "memory_copy", take_copy, 0 },
		      { "memory_allocation", take_memory, 0 } };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!each(r, all, kinds[i].key, kinds[i].take, kinds[i].cat))
			return false;
	return true;
}

static bool name_process(reading *r, jsonr_node meta)
{
	jsonr_node words, key, first;
	uint32_t row = tide__map_get(&r->n.processes, ((uint64_t)r->pid & 0xffffff));
	if (!row || !tide__jsonr_get(meta, "command", &words) || words.type != '[')
		return true;
	jsonr_nodes w = tide__jsonr_walk(words);
	return !tide__jsonr_next_node(&w, &key, &first) ||
	       text_of(r, first, &r->n.m->processes.command[row]);
}

/* Numbers of names, kernels and agents are those of one process. */
static bool take_process(reading *r, jsonr_node v)
{
	jsonr_node meta = { 0 }, records = { 0 };
	tide_map *const maps[] = { &r->names, &r->kernels, &r->markers, &r->gpus };
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
		tide__map_free(maps[i]);
		*maps[i] = (tide_map){ 0 };
	}
	(void)tide__jsonr_get(v, "metadata", &meta);
	(void)tide__jsonr_get(v, "buffer_records", &records);
	r->pid = number(meta, "pid", 0);
	return read_names(r, v) && read_records(r, records) && name_process(r, meta);
}

static void read_all(reading *r, jsonr_node top)
{
	jsonr_node list, key, v;
	nsys *n = &r->n;
	if (!tide__jsonr_get(top, TOP, &list) || list.type != '[') {
		n->rc = tide__fail(n->err, TIDE_EFORMAT, 0, "no list \"" TOP "\"");
		return;
	}
	for (jsonr_nodes w = tide__jsonr_walk(list); tide__jsonr_next_node(&w, &key, &v);)
		if (v.type == '{' && !take_process(r, v))
			return;
	if (n->m->spans.n <= 1 && !n->n_memory)
		n->rc = tide__fail(n->err, TIDE_EFORMAT, 0,
				   "a file of rocprofv3 without calls, kernels or allocations");
}

tide_code tide__rocprof_import(const char *text, size_t n, const tide_load_options *opt,
			       tide_model *m, tide_error *err)
{
	reading r = { 0 };
	jsonr_node top;
	tide__nsys_begin(&r.n, NULL, opt, m, err);
	r.n.device_kind = TIDE_DEVICE_HIP;
	if (tide__jsonr_open(&r.json, text, n, &top))
		read_all(&r, top);
	else if (r.json.why == JSONR_NOMEM)
		r.n.rc = tide__nomem(err);
	else
		r.n.rc = tide__fail(err, TIDE_ECORRUPT, TIDE_NO_OFFSET,
				    "damaged or cut: its %zu bytes are not one JSON document", n);
	if (r.n.rc == TIDE_OK)
		tide__nsys_finish(&r.n);
	tide__map_free(&r.names);
	tide__map_free(&r.kernels);
	tide__map_free(&r.markers);
	tide__map_free(&r.gpus);
	tide__nsys_end(&r.n);
	tide__jsonr_fini(&r.json);
	return r.n.rc;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	tide_whole_file in;
	tide_code rc = tide__source_read_all(path, opt->max_expanded, BYTES_MOST, 0, &in, err);
	if (!rc)
		rc = tide__rocprof_import((const char *)in.data, in.n, opt, m, err);
	tide__free(in.data);
	return rc;
}

static int sniff(const uint8_t *head, size_t n)
{
	size_t few = n < 4096 ? n : 4096;
	return few && *head == '{' && tide__head_contains(head, few, "\"" TOP "\"") ? 92 : 0;
}

const tide_importer tide__import_rocprof = {
	.name = "rocprof",
	.what = "JSON of rocprofv3, plain, gzip or zstd",
	.sniff = sniff,
	.load = load,
};
