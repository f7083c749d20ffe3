// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The parts of CUPTI, NVML and the CUDA driver that are used, declared here: none of them is needed
 * to build, all are found at run time (dlopen).
 *
 * Activity records grow at their end from version to version; the fields below have kept their
 * offsets from CUDA 11.2 to 13.0. tests/unit/capture/cupti_abi.c compares them with the toolkit's
 * headers if those are installed. */
#ifndef TIDE_CAPTURE_CUDA_CUPTI_ABI_H
#define TIDE_CAPTURE_CUDA_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { /* activity kinds */
       CUPTI_MEMCPY = 1,
       CUPTI_MEMSET = 2,
       CUPTI_DRIVER = 4,
       CUPTI_RUNTIME = 5,
       CUPTI_KERNEL = 10,
       CUPTI_OVERHEAD = 17,
       CUPTI_MEMCPY_PEER = 22,
       CUPTI_SYNC = 38,
       CUPTI_MEMORY = 49,
       CUPTI_MEMORY_POOL = 50,
};
enum { CUPTI_OK = 0, CUPTI_NO_MORE = 12 };
enum { CUPTI_ATTR_DEVICE_BUFFER_SIZE = 0, CUPTI_ATTR_ZEROED = 5, CUPTI_ATTR_PRE_ALLOCATE = 6 };
enum { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RUNTIME = 2, CUPTI_DOMAIN_RESOURCE = 3 };
enum { CUPTI_THREADS_DEFAULT = 0, CUPTI_THREADS_SYSTEM = 1 };

typedef struct cupti_kernel {
	uint32_t kind;
	uint8_t cache, shared_config;
	uint16_t registers;
	uint32_t pad0[2];
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t shared_static, shared_dynamic;
	uint32_t local_thread, local_total;
	uint32_t correlation;
	int64_t grid_id;
	const char *name;
	void *reserved0;
	uint64_t queued, submitted;
	uint8_t launch, pad1[7];
	uint64_t node; /* node of a graph; 0 = none */
} cupti_kernel;

typedef struct cupti_memcpy {
	uint32_t kind;
	uint8_t copy, source, target, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint32_t runtime_correlation, pad;
	void *reserved0;
	uint64_t node;
} cupti_memcpy;

typedef struct cupti_memcpy_peer {
	uint32_t kind;
	uint8_t copy, source, target, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t source_device, source_context, target_device, target_context;
	uint32_t correlation;
	void *reserved0;
	uint64_t node;
} cupti_memcpy_peer;

typedef struct cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory;
	uint32_t pad;
	void *reserved0;
	uint64_t node;
} cupti_memset;

typedef struct cupti_api {
	uint32_t kind, id;
	uint64_t start, end;
	uint32_t pid, tid, correlation, result;
} cupti_api;

typedef struct cupti_sync {
	uint32_t kind, type;
	uint64_t start, end;
	uint32_t correlation, context, stream, event;
} cupti_sync;

typedef struct cupti_overhead {
	uint32_t kind, overhead, object;
	uint32_t object_id[3];
	uint64_t start, end;
} cupti_overhead;

typedef struct cupti_memory {
	uint32_t kind, operation, memory, correlation; /* operation: 1 allocation, 2 release */
	uint64_t address, bytes, timestamp, pc;
	uint32_t pid, device, context, stream;
	const char *name;
	uint32_t async, pad;
	uint32_t pool_type, pad1; /* 1: of this process */
	uint64_t pool, pool_threshold, pool_size, pool_used;
	const char *source; /* CUDA 12.0: the library that requested it */
} cupti_memory;

typedef struct cupti_memory_pool { /* operation: 1 created, 2 destroyed, 3 trimmed */
	uint32_t kind, operation, type, correlation;
	uint32_t pid, device;
	uint64_t keep, address, size, threshold, timestamp, used;
} cupti_memory_pool;

typedef void cupti_request_fn(uint8_t **buffer, size_t *size, size_t *most);
typedef void cupti_complete_fn(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid);

typedef void cupti_callback_fn(void *user, int domain, uint32_t id, const void *data);

typedef struct cupti_api_table { /* functions of libcupti */
	int (*register_callbacks)(cupti_request_fn *, cupti_complete_fn *);
	int (*enable)(int kind);
	int (*disable)(int kind);
	int (*register_clock)(uint64_t (*now)(void));
	int (*enable_runtime)(uint32_t id, uint8_t on);
	int (*enable_driver)(uint32_t id, uint8_t on);
	int (*enable_source)(uint8_t on);
	int (*set_attribute)(int attr, size_t *size, void *value);
	int (*get_attribute)(int attr, size_t *size, void *value);
	int (*flush_all)(uint32_t forced);
	int (*flush_period)(uint32_t ms);
	int (*next)(uint8_t *buffer, size_t valid, void **record);
	int (*dropped)(void *context, uint32_t stream, size_t *n);
	int (*callback_name)(int domain, uint32_t id, const char **name);
	int (*version)(uint32_t *version);
	int (*subscribe)(void **subscriber, cupti_callback_fn *, void *user);
	int (*unsubscribe)(void *subscriber);
	int (*enable_callback)(uint32_t on, void *subscriber, int domain, uint32_t id);
	int (*node_id)(void *node, uint64_t *id);
	int (*graph_id)(void *graph, uint32_t *id);
	int (*exec_id)(void *exec, uint32_t *id);
	int (*get_thread_ids)(int *type);
	int (*set_thread_ids)(int type);
} cupti_api_table;

/* Callbacks: a subscriber is called on entry and exit of the driver's functions that it chose, on
 * the thread that calls them. `params` points to the function's arguments. */
enum { CUPTI_ON_EXIT = 1, CUPTI_MULTIPLE_SUBSCRIBERS = 39 };
enum { /* driver functions by number */
       CUPTI_MEM_CREATE = 549,
       CUPTI_MEM_RELEASE = 550,
       CUPTI_MEM_MAP = 551,
       CUPTI_MEM_UNMAP = 552,
       CUPTI_MEM_RETAIN = 565,
};
typedef struct cupti_callback {
	int site;
	const char *function;
	const void *params;
	const int *result; /* valid on exit; 0 = the call succeeded */
	const char *symbol;
	void *context;
	uint32_t context_id;
	uint64_t *data;
	uint32_t correlation;
} cupti_callback;
/* Callbacks about graphs (CUPTI_DOMAIN_RESOURCE): the data point to a cupti_resource, whose
 * description is a cupti_graph. */
enum {
	CUPTI_GRAPHNODE_CREATED = 13,
	CUPTI_GRAPHNODE_CLONED = 20,
	CUPTI_GRAPHNODE_UPDATED = 22, /* CUDA 13.0 */
};
typedef struct cupti_resource {
	void *context, *handle, *description;
} cupti_resource;
typedef struct cupti_graph {
	void *graph, *original_graph, *node, *original;
	int type; /* 0 kernel, 1 copy, 2 fill, 4 child graph, 13 conditional ... */
	void *dependency, *exec;
} cupti_graph;
typedef struct cuda_graph_update { /* cuGraphExecUpdate, its first two arguments */
	void *exec, *graph;
} cuda_graph_update;
typedef struct cuda_mem_prop { /* CUmemAllocationProp; location: 1 = device `id`, others = host */
	int type, handle_types, location, id;
} cuda_mem_prop;
typedef struct cuda_mem_create {
	const uint64_t *handle;
	size_t size;
	const cuda_mem_prop *prop;
	unsigned long long flags;
} cuda_mem_create;
typedef struct cuda_mem_release {
	uint64_t handle;
} cuda_mem_release;
typedef struct cuda_mem_map {
	uint64_t address;
	size_t size, offset;
	uint64_t handle;
	unsigned long long flags;
} cuda_mem_map;
typedef struct cuda_mem_unmap {
	uint64_t address;
	size_t size;
} cuda_mem_unmap;
typedef struct cuda_mem_retain {
	const uint64_t *handle;
	void *address;
} cuda_mem_retain;

/* NVML */
typedef struct nvml_memory { /* v1: `used` includes memory that the driver and the firmware
                              * reserve */
	uint64_t total, free, used;
} nvml_memory;
typedef struct nvml_memory2 { /* v2, which reports that memory separately */
	uint32_t version, pad;
	uint64_t total, reserved, free, used;
} nvml_memory2;
#define NVML_MEMORY2_VERSION (sizeof(nvml_memory2) | 2u << 24)
typedef struct nvml_process { /* v2 and v3 */
	uint32_t pid;
	uint64_t used;
	uint32_t instance, compute_instance;
} nvml_process;

#endif
