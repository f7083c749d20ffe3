// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Work of devices. Names are those of PyTorch's profiler, so that traces of both compare. */
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "import/nsys/nsys_impl.h"

/* The columns that all these tables begin with. */
enum { START, END, DEVICE, STREAM, CORRELATION, PROCESS, REST };
#define COMMON "start", "end", "deviceId", "streamId", "correlationId", "globalPid"

/* Adds a row of a stream. Returns false if memory runs out; *row = 0 if the row is left out. */
static bool add_row(nsys *n, const tide_db_rows *r, tide_str name, unsigned cat, uint32_t *row)
{
	int64_t t0 = tide__db_int(r, START, 0), t1 = tide__db_int(r, END, 0),
		stream = tide__db_int(r, STREAM, 0), correlation = tide__db_int(r, CORRELATION, 0);
	*row = 0;
	if (!tide__nsys_times(n, t0, t1))
		return tide__nsys_bad(n);
	uint32_t process = tide__nsys_process(n, tide__db_int(r, PROCESS, 0));
	if (stream == UINT32_MAX) /* of no stream: a context */
		stream = -1;
	uint32_t lane = process ? tide__nsys_stream(n, process, tide__db_int(r, DEVICE, 0), stream,
						    cat == TIDE_CAT_SYNC)
				: 0;
	*row = lane ? tide__nsys_span(n, t0, t1, lane, name, cat) : 0;
	if (!*row)
		return false;
	if (correlation > 0)
		n->m->spans.cause[*row].i = tide__nsys_call(n, process, correlation);
	tide__nsys_set_raw(n, *row, process, correlation, stream);
	return true;
}

static bool put_number(nsys *n, const tide_db_rows *r, size_t column, uint32_t row, tide_str *key,
		       const char *name)
{
	return !row || !tide__db_is_int(r, column) ||
	       tide__nsys_attr(n, row, key, name, tide__db_int(r, column, 0), (tide_str){ 0 });
}

static bool put_node(nsys *n, const tide_db_rows *r, size_t column, uint32_t row)
{
	return !tide__db_int(r, column, 0) ||
	       put_number(n, r, column, row, &n->key.node, "graph node id");
}

/* ---- kernels ---- */

enum {
	NAME = REST,
	SHORT_NAME,
	NODE,
	GRID,
	BLOCK = GRID + 3,
	REGISTERS = BLOCK + 3,
	STATIC,
	DYNAMIC
};

/* Writes three sizes as PyTorch's profiler does. */
static bool put_sizes(nsys *n, const tide_db_rows *r, size_t column, uint32_t row, tide_str *key,
		      const char *name)
{
	char text[80];
	snprintf(text, sizeof text, "[%" PRId64 ", %" PRId64 ", %" PRId64 "]",
		 tide__db_int(r, column, 0), tide__db_int(r, column + 1, 0),
		 tide__db_int(r, column + 2, 0));
	tide_str s = tide__intern(n->m, text);
	return s.i && tide__nsys_attr(n, row, key, name, 0, s);
}

static bool put_launch(nsys *n, const tide_db_rows *r, uint32_t row)
{
	int64_t shared = tide__db_int(r, STATIC, 0), dynamic = tide__db_int(r, DYNAMIC, 0);
	bool sane = shared >= 0 && dynamic >= 0 && shared <= INT32_MAX && dynamic <= INT32_MAX;
	return !row || !(n->want & TIDE_WANT_LAUNCH) || !tide__db_is_int(r, BLOCK) ||
	       (put_sizes(n, r, GRID, row, &n->key.grid, "grid") &&
		put_sizes(n, r, BLOCK, row, &n->key.block, "block") &&
		put_number(n, r, REGISTERS, row, &n->key.registers, "registers per thread") &&
		(!sane || tide__nsys_attr(n, row, &n->key.shared, "shared memory", shared + dynamic,
					  (tide_str){ 0 })));
}

static bool add_kernel(nsys *n, const tide_db_rows *r)
{
	tide_str name = tide__nsys_text(n, r, NAME);
	uint32_t row;
	name = name.i ? name : tide__nsys_text(n, r, SHORT_NAME);
	return add_row(n, r, name, TIDE_CAT_KERNEL, &row) && put_node(n, r, NODE, row) &&
	       put_launch(n, r, row);
}

/* ---- copies and fills ---- */

enum { BYTES = REST, COPY_KIND, FROM, TO, COPY_NODE, MEMORY_KIND = COPY_KIND, FILL_NODE };

static const char *memory_kind(int64_t kind)
{
	static const char *const kinds[] = { "Pageable", "Pinned",	  "Device",	   "Array",
					     "Managed",	 "Device Static", "Managed Static" };
	return kind >= 0 && kind < 7 ? kinds[kind] : "Unknown";
}

static const char *copy_kind(int64_t kind)
{
	static const char *const kinds[] = { "Unknown", "HtoD", "DtoH", "HtoA", "AtoH",
					     "AtoA",	"AtoD", "DtoA", "DtoD", "HtoH",
					     "PtoP",	"HtoD", "DtoH", "DtoD" };
	return kind >= 0 && kind < 14 ? kinds[kind] : "Unknown";
}

static bool add_copy(nsys *n, const tide_db_rows *r)
{
	char text[64];
	uint32_t row;
	int64_t kind = tide__db_int(r, COPY_KIND, 0);
	snprintf(text, sizeof text, "Memcpy %s (%s -> %s)%s", copy_kind(kind),
		 memory_kind(tide__db_int(r, FROM, -1)), memory_kind(tide__db_int(r, TO, -1)),
		 kind >= 11 && kind <= 13 ? " by page faults" : "");
	tide_str name = tide__intern(n->m, text);
	return name.i && add_row(n, r, name, TIDE_CAT_MEMCPY, &row) &&
	       put_number(n, r, BYTES, row, &n->key.bytes, "bytes") &&
	       put_node(n, r, COPY_NODE, row);
}

static bool add_fill(nsys *n, const tide_db_rows *r)
{
	char text[64];
	uint32_t row;
	snprintf(text, sizeof text, "Memset (%s)", memory_kind(tide__db_int(r, MEMORY_KIND, -1)));
	tide_str name = tide__intern(n->m, text);
	return name.i && add_row(n, r, name, TIDE_CAT_MEMSET, &row) &&
	       put_number(n, r, BYTES, row, &n->key.bytes, "bytes") &&
	       put_node(n, r, FILL_NODE, row);
}

/* A graph that was traced as a whole: its kernels are not in the file. */
static bool add_graph(nsys *n, const tide_db_rows *r)
{
	char text[48];
	uint32_t row;
	snprintf(text, sizeof text, "CUDA graph %" PRId64, tide__db_int(r, REST, 0));
	tide_str name = tide__intern(n->m, text);
	return name.i && add_row(n, r, name, TIDE_CAT_KERNEL, &row);
}

/* ---- synchronisation ---- */

enum {
	SYNC_KIND = REST,
	EVENT,
	EVENT_SYNC,
	EVENT_WAIT = 1,
	STREAM_WAIT,
	STREAM_SYNC,
	CONTEXT_SYNC
};

/* The last record of an event, or the very one where the file has its number. */
static uint64_t record_key(uint32_t process, int64_t event, int64_t sync)
{
	bool numbered = sync > 0 && sync != UINT32_MAX;
	return tide__nsys_key((uint64_t)process << 1 | numbered,
			      (uint64_t)(numbered ? sync : event));
}

static bool add_record(nsys *n, const tide_db_rows *r)
{
	uint32_t process = tide__nsys_process(n, tide__db_int(r, 3, 0));
	if (!process || !TIDE_ROOM(n->event_records, n->cap_records, n->n_records + 1))
		return false;
	n->event_records[n->n_records++] =
		(struct nsys_record){ tide__db_int(r, 2, 0), tide__db_int(r, 1, 0) };
	int64_t event = tide__db_int(r, 0, 0), sync = tide__db_int(r, 4, 0);
	return tide__map_put(&n->records, record_key(process, event, sync), (uint32_t)n->n_records);
}

static bool put_wait(nsys *n, const tide_db_rows *r, uint32_t row)
{
	uint32_t process = n->m->lanes.process[n->m->spans.lane[row].i].i;
	uint32_t k = tide__map_get(&n->records, record_key(process, tide__db_int(r, EVENT, 0),
							   tide__db_int(r, EVENT_SYNC, 0)));
	if (!k)
		return true;
	const struct nsys_record *e = &n->event_records[k - 1];
	int64_t number = (int64_t)(process - 1) << 32 | (e->correlation & UINT32_MAX);
	return tide__nsys_attr(n, row, &n->key.wait_stream, "wait_on_stream", e->stream,
			       (tide_str){ 0 }) &&
	       tide__nsys_attr(n, row, &n->key.wait_record, "wait_on_cuda_event_record_corr_id",
			       number, (tide_str){ 0 });
}

static bool add_sync(nsys *n, const tide_db_rows *r)
{
	static const char *const names[] = { "Event Sync", "Stream Wait Event", "Stream Sync",
					     "Context Sync" };
	int64_t kind = tide__db_int(r, SYNC_KIND, 0);
	uint32_t row;
	tide_str name = tide__intern(n->m, kind >= EVENT_WAIT && kind <= CONTEXT_SYNC
						   ? names[kind - EVENT_WAIT]
						   : "Sync");
	if (!name.i || !add_row(n, r, name, TIDE_CAT_SYNC, &row))
		return false;
	return !row || ((kind == EVENT_WAIT || kind == STREAM_WAIT ? put_wait(n, r, row) : true) &&
			put_number(n, r, STREAM, row, &n->key.stream, "stream"));
}

const nsys_table tide__nsys_device_rows[] = {
	{ "CUPTI_ACTIVITY_KIND_KERNEL",
	  NULL,
	  add_kernel,
	  4,
	  { COMMON, "demangledName", "shortName", "graphNodeId", "gridX", "gridY", "gridZ",
	    "blockX", "blockY", "blockZ", "registersPerThread", "staticSharedMemory",
	    "dynamicSharedMemory" } },
	{ "CUPTI_ACTIVITY_KIND_MEMCPY",
	  NULL,
	  add_copy,
	  4,
	  { COMMON, "bytes", "copyKind", "srcKind", "dstKind", "graphNodeId" } },
	{ "CUPTI_ACTIVITY_KIND_MEMSET",
	  NULL,
	  add_fill,
	  4,
	  { COMMON, "bytes", "memKind", "graphNodeId" } },
	{ "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", NULL, add_graph, 4, { COMMON, "graphId" } },
	{ "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
	  NULL,
	  add_record,
	  3,
	  { "eventId", "streamId", "correlationId", "globalPid", "eventSyncId" } },
	{ "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
	  NULL,
	  add_sync,
	  4,
	  { COMMON, "syncType", "eventId", "eventSyncId" } },
};
const size_t tide__nsys_n_device_rows =
	sizeof tide__nsys_device_rows / sizeof *tide__nsys_device_rows;
