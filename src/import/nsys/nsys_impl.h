// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads SQLite exports of Nsight Systems; docs/formats/nsys.md says how each table is read.
 *
 *   load.c    recognising, the order of tables, finishing the model
 *   tables.c  reading rows of one table; texts
 *   lanes.c   processes, threads, devices, streams
 *   host.c    calls, ranges, overhead
 *   device.c  kernels, copies, fills, graphs, synchronisation
 *   memory.c  allocations
 *
 * Times are kept as in the file until load.c makes the earliest one zero. Rows with values of another
 * type, or times that cannot be, are left out and counted. */
#ifndef TIDE_IMPORT_NSYS_IMPL_H
#define TIDE_IMPORT_NSYS_IMPL_H

#include "base/map.h"
#include "import/import.h"
#include "import/sqlite/db.h"

typedef struct nsys_memory { /* a row of CUDA_GPU_MEMORY_USAGE_EVENTS */
	int64_t t;
	uint64_t address, bytes;
	uint32_t pool, call; /* pool row; span of the call that did it, 0 = unknown */
	bool frees;
} nsys_memory;

typedef struct nsys_gpu { /* a row of TARGET_INFO_GPU */
	int64_t id;
	uint64_t capacity;
	tide_str name;
} nsys_gpu;

typedef struct nsys {
	tide_model *m;
	tide_db *db;
	tide_error *err;
	uint8_t device_kind;	 /* TIDE_DEVICE_* of its devices */
	unsigned want;		 /* TIDE_WANT_* */
	tide_map texts;		 /* id of StringIds -> tide_str */
	tide_map plain_names;	 /* id of StringIds -> name without the version of the call */
	tide_map processes;	 /* globalTid without its thread -> process */
	tide_map threads;	 /* globalTid -> lane */
	tide_map streams, syncs; /* stream of a process on a device -> lane */
	tide_map devices;	 /* number -> device */
	uint32_t host;		 /* the device of host memory, 0 = not needed */
	tide_map gpu_of;	 /* process id and its number of a device -> number + 1 */
	tide_map calls;		 /* correlation in a process -> span of the call */
	tide_map records;	 /* event of a process -> record + 1 */
	tide_map pools;		 /* process, device and kind of memory -> pool */
	struct nsys_record {
		int64_t correlation, stream;
	} * event_records; /* owned; rows of CUPTI_ACTIVITY_KIND_CUDA_EVENT */
	size_t n_records, cap_records;
	nsys_gpu *gpus; /* owned */
	size_t n_gpus, cap_gpus;
	nsys_memory *memory; /* owned */
	size_t n_memory, cap_memory;
	size_t cap_raw; /* of m->span_raw */
	int64_t t_min, t_max;
	uint64_t bad_rows, rows;
	struct {
		tide_str bytes, node, grid, block, registers, shared, stream, wait_stream,
			wait_record;
	} key; /* of attributes, interned when first needed */
	tide_code rc;
} nsys;

/* One table. Columns from `needed` on may be missing or NULL; a row where one of the others is no
 * integer is left out and counted. */
typedef struct nsys_table {
	const char *name, *before;		     /* its name in older versions, or NULL */
	bool (*add)(nsys *n, const tide_db_rows *r); /* returns false if memory runs out */
	unsigned needed;
	const char *columns[TIDE_DB_COLUMNS]; /* up to NULL */
} nsys_table;

/* Reads all rows of a table; none if the file does not have it. Returns n->rc == TIDE_OK. */
bool tide__nsys_read(nsys *n, const nsys_table *t);
/* Sets n->rc to TIDE_ENOMEM; returns false. */
bool tide__nsys_nomem(nsys *n);
/* Counts a row that is left out; returns true. */
bool tide__nsys_bad(nsys *n);

extern const nsys_table tide__nsys_texts;
/* Returns the text with an id, none if there is none. */
tide_str tide__nsys_text(const nsys *n, const tide_db_rows *r, size_t column);
/* The same without the version that ends names of calls: "cudaMalloc_v3020" -> "cudaMalloc". */
tide_str tide__nsys_call_name(nsys *n, const tide_db_rows *r, size_t column);
/* Adds an attribute to a span: a number, or a text if it is not none. */
bool tide__nsys_attr(nsys *n, uint32_t span, tide_str *key, const char *name, int64_t number,
		     tide_str text);

/* Adds a span; returns 0 if memory runs out. Times were checked by tide__nsys_times. */
uint32_t tide__nsys_span(nsys *n, int64_t t0, int64_t t1, uint32_t lane, tide_str name,
			 unsigned cat);
/* Returns true if both times can be and are in order, and remembers the first and the last. */
bool tide__nsys_times(nsys *n, int64_t t0, int64_t t1);
/* Sets the correlation and the stream of a span (-1 = none) for analyses that need them. */
void tide__nsys_set_raw(nsys *n, uint32_t span, uint32_t process, int64_t correlation,
			int64_t stream);

extern const nsys_table tide__nsys_gpus[], tide__nsys_names[];
extern const size_t tide__nsys_n_gpus, tide__nsys_n_names;
/* Return a row, made at its first use; 0 if memory runs out. `global` is a globalTid or
 * globalPid. */
uint32_t tide__nsys_process(nsys *n, int64_t global);
uint32_t tide__nsys_thread(nsys *n, int64_t global);
uint32_t tide__nsys_device(nsys *n, uint32_t process, int64_t number);
uint32_t tide__nsys_stream(nsys *n, uint32_t process, int64_t device, int64_t stream, bool sync);
/* Names devices and states their memory. */
void tide__nsys_describe_devices(nsys *n);

static inline uint64_t tide__nsys_key(uint64_t a, uint64_t b)
{
	return tide__mix(a) + b;
}
/* Returns the span of a call; 0 if it is not in the file. */
static inline uint32_t tide__nsys_call(const nsys *n, uint32_t process, int64_t correlation)
{
	return tide__map_get(&n->calls, tide__nsys_key(process, (uint64_t)correlation));
}

extern const nsys_table tide__nsys_host[], tide__nsys_device_rows[], tide__nsys_memory_rows;
extern const size_t tide__nsys_n_host, tide__nsys_n_device_rows;
/* Returns the pool of a kind of memory (memKind: 1 pinned, 2 of the device); 0 if memory runs out. */
uint32_t tide__nsys_pool(nsys *n, uint32_t process, int64_t device, int64_t kind);
/* Makes allocations of n->memory, after all rows were read and before spans are sorted. */
bool tide__nsys_allocate(nsys *n);

/* The context of a reading, for importers of other databases too: begin, read tables, finish (times,
 * order, allocations; returns n->rc == TIDE_OK), end (always). */
void tide__nsys_begin(nsys *n, tide_db *db, const tide_load_options *opt, tide_model *m,
		      tide_error *err);
bool tide__nsys_finish(nsys *n);
void tide__nsys_end(nsys *n);

/* Fills an empty model from a database. */
tide_code tide__nsys_import(tide_db *db, const tide_load_options *opt, tide_model *m,
			    tide_error *err);

#endif
