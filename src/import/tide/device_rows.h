// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Imports device activity (device_log events) into the model: kernels, copies and fills on streams,
 * the calls that launched them on threads, user ranges, and device memory.
 *
 * Drivers report device activity later, in pieces and out of order. So records are collected while
 * events are read and added at the end: spans are sorted again, memory events are merged by time.
 *
 * If a framework's own pool is recorded on a device (PyTorch), device memory becomes segments,
 * taken from the device by the framework and others. Without such a pool it becomes allocations of
 * the pool "cuda". No byte is counted twice either way. */
#ifndef TIDE_IMPORT_TIDE_DEVICE_ROWS_H
#define TIDE_IMPORT_TIDE_DEVICE_ROWS_H

#include "format/device_log.h"
#include "import/tide/defs.h"

typedef struct tide_device_rows {
	struct tide_device_span *spans;
	size_t n_spans, cap_spans;
	struct tide_device_memory *memory;
	size_t n_memory, cap_memory;
	struct tide_device_pool *pools;
	size_t n_pools, cap_pools;
	struct tide_virtual_call *calls; /* about virtual memory */
	size_t n_calls, cap_calls;
	struct tide_graph_node *nodes; /* of CUDA graphs */
	size_t n_nodes, cap_nodes;
	uint64_t lost;	    /* records that were dropped before we had them */
	uint64_t malformed; /* events that could not be read to their end */
	uint64_t own_bytes; /* device memory of the profiler itself */
} tide_device_rows;

void tide__device_rows_free(tide_device_rows *d);

/* Adds the records of one event. Returns false if memory runs out. */
bool tide__device_rows_add(tide_device_rows *d, const uint8_t *bytes, size_t n);

/* After all events, with every span ended: adds everything to the model. Returns false if memory
 * runs out. */
bool tide__device_rows_finish(tide_device_rows *d, tide_defs *defs);

#endif
