// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The records inside a device_log event: device activity that the driver reports afterwards.
 *
 * A record is: one byte kind, one byte n (bytes that follow), z time, then varints as listed below.
 * Times are ns of Unix time; each is stored as the difference to the record before it in the same
 * event, the first one to 0. A reader skips unknown kinds by n; missing fields are 0. Records of
 * one event are otherwise independent. */
#ifndef TIDE_FORMAT_DEVICE_LOG_H
#define TIDE_FORMAT_DEVICE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* kind, number, fields after the time */
#define TIDE_DEVICE_RECORDS(R)                                                                     \
	R(KERNEL, 1,                                                                               \
	  "duration,device,stream,correlation,name,node,grid_x,grid_y,grid_z,"                     \
	  "block_x,block_y,block_z,registers,shared")                                              \
	R(COPY, 2, "duration,device,stream,correlation,bytes,copy,source,target,node")             \
	R(FILL, 3, "duration,device,stream,correlation,bytes,value,node")                          \
	R(CALL, 4, "duration,tid,correlation,name,driver")                                         \
	R(SYNC, 5, "duration,device,stream,correlation,type")                                      \
	R(ALLOC, 6, "device,memory,address,bytes,correlation,source,stack")                        \
	R(FREE, 7, "device,memory,address,bytes,correlation")                                      \
	R(RANGE, 8, "duration,tid,name,domain") /* a user's, on a thread */                        \
	R(MARK, 9, "tid,name,domain")                                                              \
	R(LOST, 10, "records")				 /* dropped by the driver */               \
	R(OVERHEAD, 11, "duration,tid,kind,correlation") /* the profiler's own */                  \
	R(OWN, 12, "device,bytes")	    /* device memory that the profiler itself holds */     \
	R(STREAM, 13, "device,stream,name") /* a stream got a name */                              \
	R(GRAPH, 14, "duration,device,stream,correlation,graph") /* a launched graph as a whole */ \
	R(NAME_TID, 15, "tid,name")				 /* a thread got a name */         \
	/* a stream-ordered pool: bytes it holds, bytes in use; operation 2 = destroyed */         \
	R(POOL, 16, "device,operation,address,bytes,used")                                         \
	/* a call about virtual memory: operation TIDE_VIRTUAL_*, host: 1 = memory of the host */  \
	R(VIRTUAL, 17, "device,operation,handle,address,bytes,correlation,source,host")            \
	/* a node of a graph, its number: graph << 32 | place; how: TIDE_NODE_* */                 \
	R(NODE, 18, "tid,node,original,how,type")
enum {
#define R(name, number, fields) TIDE_DEVICE_REC_##name = number,
	TIDE_DEVICE_RECORDS(R)
#undef R
		TIDE_DEVICE_FIELDS = 16,
	TIDE_DEVICE_RECORD_MAX = 2 + 10 + 10 * TIDE_DEVICE_FIELDS, /* bytes of a record */
};

enum {				/* operations of VIRTUAL */
       TIDE_VIRTUAL_CREATE = 1, /* cuMemCreate; bytes 0 = it failed */
       TIDE_VIRTUAL_RELEASE,	/* cuMemRelease */
       TIDE_VIRTUAL_MAP,	/* cuMemMap */
       TIDE_VIRTUAL_UNMAP,	/* cuMemUnmap */
       TIDE_VIRTUAL_RETAIN,	/* cuMemRetainAllocationHandle */
};

enum { /* how: what happened to a node */
       TIDE_NODE_CREATED = 1,
       TIDE_NODE_CLONED,      /* of `original`, in a child graph or an executable graph */
       TIDE_NODE_UPDATED,     /* of an executable graph; `original`: the node that it now does */
       TIDE_NODE_ALL_UPDATED, /* all nodes of an executable graph, by those of `original`'s graph */
};

enum { /* memory: the kind of memory of an allocation */
       TIDE_DEVICE_MEMORY_DEVICE = 1,
       TIDE_DEVICE_MEMORY_PINNED,
       TIDE_DEVICE_MEMORY_MANAGED,
       TIDE_DEVICE_MEMORY_POOL, /* of a stream-ordered pool */
};

/* ---- writing (libc only) ---- */

typedef struct tide_device_log {
	uint8_t bytes[4096];
	size_t n;
	int64_t t; /* of the last record */
} tide_device_log;

/* Appends a record with `n` fields (at most TIDE_DEVICE_FIELDS). Returns false if it does not fit;
 * then write the log out and try again. */
bool tide__device_log_put(tide_device_log *l, unsigned kind, int64_t t, const uint64_t *v,
			  size_t n);

/* ---- reading ---- */

typedef struct tide_device_rec {
	unsigned kind;
	int64_t t;
	uint64_t v[TIDE_DEVICE_FIELDS]; /* in the order above; 0 = absent */
} tide_device_rec;

/* Reads the record at *at of n bytes and advances *at and *t. Returns false at the end, and at a
 * malformed record; *at is not n then. */
bool tide__device_log_next(const uint8_t *bytes, size_t n, size_t *at, int64_t *t,
			   tide_device_rec *out);

#endif
