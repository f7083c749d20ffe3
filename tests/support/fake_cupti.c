// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Replaces libcupti, NVML and libcuda on machines without a device: the functions that capture/cuda
 * looks up, and fake_*, by which a test makes records. tests/gpu/inject.py tests real devices. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/cuda/cupti_abi.h"

static cupti_request_fn *request;
static cupti_complete_fn *complete;
static uint8_t *buffer;
static size_t size, used, most;
static bool enabled[64];

int cuptiActivityRegisterCallbacks(cupti_request_fn *r, cupti_complete_fn *c);
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void));
uint64_t fake_now(void);
int cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t on);
int cuptiActivityEnableAllocationSource(uint8_t on);
int cuptiActivityEnableDriverApi(uint32_t id, uint8_t on);
int cuptiActivityFlushAll(uint32_t forced);
int cuptiActivityGetNextRecord(uint8_t *b, size_t valid, void **record);
int cuptiGetCallbackName(int domain, uint32_t id, const char **name);
void fake_kernel(const char *name, uint64_t start, uint64_t end, uint32_t stream,
		 uint32_t correlation);
void fake_copy(uint64_t bytes, uint64_t start, uint64_t end, uint32_t stream, uint32_t correlation);
void fake_launch(uint32_t tid, uint64_t start, uint64_t end, uint32_t correlation);
void fake_memory(bool alloc, uint64_t addr, uint64_t bytes, uint64_t t);
void fake_create(uint64_t bytes, uint64_t t, uint32_t tid, uint32_t correlation);
void fake_async(uint64_t addr, uint64_t bytes, uint64_t t, uint64_t pool_bytes);
void fake_taken(bool alloc, uint64_t addr, uint64_t bytes, const char *library);
void fake_untold(uint64_t t, uint32_t tid, uint32_t correlation);
int cuptiActivityGetAttribute(int attr, size_t *size, void *value);
int cuptiSubscribe(void **out, cupti_callback_fn *f, void *user);
int cuptiUnsubscribe(void *s);
int cuptiEnableCallback(uint32_t on, void *s, int domain, uint32_t id);
bool fake_called(uint32_t id, const void *params, int result, uint32_t tid, uint32_t correlation);
bool fake_started(const char *name, uint32_t tid, uint32_t correlation);
/* Times that NVML was asked for a device's memory. */
uint64_t fake_looks(void);

int cuptiActivityRegisterCallbacks(cupti_request_fn *r, cupti_complete_fn *c)
{
	request = r;
	complete = c;
	return CUPTI_OK;
}

int cuptiActivityEnable(int kind)
{
	if (kind >= 0 && kind < 64)
		enabled[kind] = true;
	return CUPTI_OK;
}

static uint64_t (*clock_now)(void);

int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void))
{
	clock_now = now;
	return CUPTI_OK;
}

uint64_t fake_now(void)
{
	return clock_now ? clock_now() : 0;
}

int cuptiActivityDisable(int kind)
{
	if (kind >= 0 && kind < 64)
		enabled[kind] = false;
	return CUPTI_OK;
}

int cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t on)
{
	if (id == 211)
		enabled[CUPTI_RUNTIME] = on;
	return CUPTI_OK;
}

int cuptiActivityEnableDriverApi(uint32_t id, uint8_t on)
{
	enabled[CUPTI_DRIVER] |= on && (id == 307 || id == 549);
	return CUPTI_OK;
}

int cuptiActivityEnableAllocationSource(uint8_t on)
{
	(void)on;
	return CUPTI_OK;
}

int cuptiActivityFlushAll(uint32_t forced)
{
	(void)forced;
	if (buffer)
		complete(NULL, 0, buffer, size, used);
	buffer = NULL;
	used = size = 0;
	return CUPTI_OK;
}

/* Records are kept behind their length, as eight bytes. */
int cuptiActivityGetNextRecord(uint8_t *b, size_t valid, void **record)
{
	uint64_t n;
	uint8_t *p = b;
	if (*record) {
		memcpy(&n, (uint8_t *)*record - 8, 8);
		p = (uint8_t *)*record + n;
	}
	if (p + 8 > b + valid)
		return CUPTI_NO_MORE;
	*record = p + 8;
	return CUPTI_OK;
}

int cuptiGetCallbackName(int domain, uint32_t id, const char **name)
{
	*name = domain == CUPTI_DOMAIN_RUNTIME && id == 211  ? "cudaLaunchKernel_v7000"
		: domain == CUPTI_DOMAIN_DRIVER && id == 549 ? "cuMemCreate"
		: domain == CUPTI_DOMAIN_DRIVER && id == 550 ? "cuMemRelease"
		: domain == CUPTI_DOMAIN_DRIVER && id == 551 ? "cuMemMap"
		: domain == CUPTI_DOMAIN_DRIVER && id == 552 ? "cuMemUnmap"
		: domain == CUPTI_DOMAIN_DRIVER && id == 655 ? "cuGraphExecUpdate_v2"
							     : "other";
	return CUPTI_OK;
}

static void put(const void *record, size_t n)
{
	uint32_t kind;
	uint64_t padded = (n + 7) / 8 * 8;
	memcpy(&kind, record, sizeof kind);
	if (!request || !enabled[kind])
		return;
	if (buffer && used + padded + 8 > size)
		cuptiActivityFlushAll(0);
	if (!buffer)
		request(&buffer, &size, &most);
	if (!buffer)
		return;
	memcpy(buffer + used, &padded, 8);
	memcpy(buffer + used + 8, record, n);
	used += padded + 8;
}

void fake_kernel(const char *name, uint64_t start, uint64_t end, uint32_t stream,
		 uint32_t correlation)
{
	cupti_kernel k = { .kind = CUPTI_KERNEL,
			   .start = start,
			   .end = end,
			   .stream = stream,
			   .correlation = correlation,
			   .name = name,
			   .grid = { 4, 1, 1 },
			   .block = { 256, 1, 1 },
			   .registers = 32 };
	put(&k, sizeof k);
}

void fake_copy(uint64_t bytes, uint64_t start, uint64_t end, uint32_t stream, uint32_t correlation)
{
	cupti_memcpy c = { .kind = CUPTI_MEMCPY,
			   .copy = 1,
			   .source = 1,
			   .target = 3,
			   .bytes = bytes,
			   .start = start,
			   .end = end,
			   .stream = stream,
			   .correlation = correlation };
	put(&c, sizeof c);
}

static int thread_ids; /* 0 = the pthread_t's part, as CUPTI begins */

int cuptiGetThreadIdType(int *type);
int cuptiGetThreadIdType(int *type)
{
	*type = thread_ids;
	return CUPTI_OK;
}

int cuptiSetThreadIdType(int type);
int cuptiSetThreadIdType(int type)
{
	thread_ids = type;
	return CUPTI_OK;
}

void fake_launch(uint32_t tid, uint64_t start, uint64_t end, uint32_t correlation)
{
	cupti_api a = { .kind = CUPTI_RUNTIME,
			.id = 211,
			.start = start,
			.end = end,
			.tid = thread_ids ? tid : ~tid,
			.correlation = correlation };
	put(&a, sizeof a);
}

void fake_memory(bool alloc, uint64_t addr, uint64_t bytes, uint64_t t)
{
	cupti_memory m = { .kind = CUPTI_MEMORY,
			   .operation = alloc ? 1 : 2,
			   .memory = 3,
			   .address = addr,
			   .bytes = bytes,
			   .timestamp = t };
	put(&m, sizeof m);
}

/* cuMemCreate, as its record is read: memory of type pinned, no address; then cuMemMap of the
 * same. */
void fake_create(uint64_t bytes, uint64_t t, uint32_t tid, uint32_t correlation)
{
	for (uint32_t i = 0; i < 2; i++) {
		cupti_memory m = { .kind = CUPTI_MEMORY,
				   .operation = 1,
				   .memory = 2,
				   .correlation = correlation + i,
				   .address = i ? 0x7f8000000000 : 0,
				   .bytes = bytes,
				   .timestamp = t + i };
		cupti_api a = { .kind = CUPTI_DRIVER,
				.id = i ? 551 : 549,
				.start = t + i,
				.end = t + i + 1,
				.tid = tid,
				.correlation = correlation + i };
		put(&a, sizeof a);
		put(&m, sizeof m);
	}
}

void fake_untold(uint64_t t, uint32_t tid, uint32_t correlation)
{
	cupti_api a = { .kind = CUPTI_DRIVER,
			.id = 549,
			.start = t,
			.end = t + 1,
			.tid = tid,
			.correlation = correlation };
	put(&a, sizeof a);
}

/* Device memory that a library allocates or frees; NVML counts it together with the context's
 * (FAKE_GROWS). */
static uint64_t taken;

void fake_taken(bool alloc, uint64_t addr, uint64_t bytes, const char *library)
{
	cupti_memory m = { .kind = CUPTI_MEMORY,
			   .operation = alloc ? 1 : 2,
			   .memory = 3,
			   .address = addr,
			   .bytes = bytes,
			   .timestamp = fake_now(),
			   .source = library };
	taken += alloc ? bytes : -bytes;
	put(&m, sizeof m);
}

/* cudaMallocAsync from a pool that holds `pool_bytes`. */
void fake_async(uint64_t addr, uint64_t bytes, uint64_t t, uint64_t pool_bytes)
{
	cupti_memory m = { .kind = CUPTI_MEMORY,
			   .operation = 1,
			   .memory = 3,
			   .address = addr,
			   .bytes = bytes,
			   .timestamp = t,
			   .async = 1,
			   .pool_type = 1,
			   .pool = 0x1000,
			   .pool_size = pool_bytes,
			   .pool_used = bytes };
	put(&m, sizeof m);
}

int cuptiActivityGetAttribute(int attr, size_t *size_, void *value)
{
	size_t v = attr == CUPTI_ATTR_DEVICE_BUFFER_SIZE ? 3200000 : 3;
	memcpy(value, &v, *size_);
	return CUPTI_OK;
}

/* ---- callbacks: one subscriber at a time, called on entry and exit (cupti_callbacks.h) ---- */

static struct {
	cupti_callback_fn *f;
	void *user;
	bool on[3][1024]; /* functions of the driver, of the runtime; resources */
} subscriber;

int cuptiSubscribe(void **out, cupti_callback_fn *f, void *user)
{
	if (subscriber.f)
		return CUPTI_MULTIPLE_SUBSCRIBERS;
	subscriber.f = f;
	subscriber.user = user;
	*out = &subscriber;
	return CUPTI_OK;
}

int cuptiUnsubscribe(void *s)
{
	if (s != &subscriber)
		return 1; /* CUPTI_ERROR_INVALID_PARAMETER */
	memset(&subscriber, 0, sizeof subscriber);
	return CUPTI_OK;
}

int cuptiEnableCallback(uint32_t on, void *s, int domain, uint32_t id)
{
	if (s != &subscriber || domain < CUPTI_DOMAIN_DRIVER || domain > CUPTI_DOMAIN_RESOURCE ||
	    id >= 1024)
		return 1;
	subscriber.on[domain - CUPTI_DOMAIN_DRIVER][id] = on;
	return CUPTI_OK;
}

/* The program calls a function of the driver: a record of the call, and the subscriber's callbacks.
 * Before the call an output parameter holds anything. Returns whether a subscriber was called. */
bool fake_called(uint32_t id, const void *params, int result, uint32_t tid, uint32_t correlation)
{
	uint64_t data = 0;
	cupti_callback c = {
		.function = "", .params = params, .data = &data, .correlation = correlation
	};
	cupti_api a = { .kind = CUPTI_DRIVER,
			.id = id,
			.start = fake_now(),
			.tid = tid,
			.correlation = correlation };
	bool called = subscriber.f && subscriber.on[0][id];
	if (called)
		subscriber.f(subscriber.user, CUPTI_DOMAIN_DRIVER, id, &c);
	c.site = CUPTI_ON_EXIT;
	c.result = &result;
	if (called)
		subscriber.f(subscriber.user, CUPTI_DOMAIN_DRIVER, id, &c);
	a.end = fake_now();
	a.result = (uint32_t)result;
	put(&a, sizeof a);
	if (getenv("FAKE_TELLS") && id == CUPTI_MEM_CREATE && !result) { /* newer ones may */
		cupti_memory m = { .kind = CUPTI_MEMORY,
				   .operation = 1,
				   .memory = 2,
				   .correlation = correlation,
				   .bytes = ((const cuda_mem_create *)params)->size,
				   .timestamp = a.end };
		put(&m, sizeof m);
	}
	return called;
}

/* The program launches a kernel: the subscriber's callbacks, and records of the call and the
 * kernel, as far as they are enabled. Returns whether a subscriber was called. */
bool fake_started(const char *name, uint32_t tid, uint32_t correlation)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	uint64_t data = 0, start = fake_now();
	int result = 0;
	cupti_callback c = { .function = "", .data = &data, .correlation = correlation };
	bool called = subscriber.f && subscriber.on[1][211];
	if (called)
		subscriber.f(subscriber.user, CUPTI_DOMAIN_RUNTIME, 211, &c);
	c.site = CUPTI_ON_EXIT;
	c.result = &result;
	if (called)
		subscriber.f(subscriber.user, CUPTI_DOMAIN_RUNTIME, 211, &c);
	pthread_mutex_lock(&lock);
	fake_launch(tid, start, fake_now(), correlation);
	fake_kernel(name, fake_now(), fake_now() + 1000, 7, correlation);
	pthread_mutex_unlock(&lock);
	return called;
}

/* ---- graphs: a node's handle is its number ---- */

int cuptiGetGraphNodeId(void *node, uint64_t *id);
int cuptiGetGraphNodeId(void *node, uint64_t *id)
{
	*id = (uint64_t)(uintptr_t)node;
	return CUPTI_OK;
}

int cuptiGetGraphId(void *graph, uint32_t *id);
int cuptiGetGraphId(void *graph, uint32_t *id)
{
	*id = (uint32_t)(uintptr_t)graph;
	return CUPTI_OK;
}

int cuptiGetGraphExecId(void *exec, uint32_t *id);
int cuptiGetGraphExecId(void *exec, uint32_t *id)
{
	return cuptiGetGraphId(exec, id);
}

/* The program makes a node. Returns whether a subscriber was called. */
bool fake_node(uint32_t id, uint64_t node, uint64_t original);
bool fake_node(uint32_t id, uint64_t node, uint64_t original)
{
	cupti_graph g = { .node = (void *)(uintptr_t)node,
			  .original = (void *)(uintptr_t)original };
	cupti_resource r = { .description = &g };
	bool called = subscriber.f && subscriber.on[CUPTI_DOMAIN_RESOURCE - 1][id];
	if (called)
		subscriber.f(subscriber.user, CUPTI_DOMAIN_RESOURCE, id, &r);
	return called;
}

/* A kernel of a replay. */
void fake_replayed(const char *name, uint64_t start, uint64_t end, uint32_t correlation,
		   uint64_t node);
void fake_replayed(const char *name, uint64_t start, uint64_t end, uint32_t correlation,
		   uint64_t node)
{
	cupti_kernel k = { .kind = CUPTI_KERNEL,
			   .start = start,
			   .end = end,
			   .stream = 7,
			   .correlation = correlation,
			   .name = name,
			   .node = node };
	put(&k, sizeof k);
}

/* ---- NVML and libcuda: one device with 600 MiB reserved; another process has 100 MiB ---- */

int nvmlInit_v2(void);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **out);
int nvmlDeviceGetMemoryInfo(void *d, nvml_memory *m);
int nvmlDeviceGetMemoryInfo_v2(void *d, nvml_memory2 *m);
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, nvml_process *p);
int cuDeviceGetCount(int *n);
int cuDeviceGet(int *d, int i);
int cuDeviceGetUuid_v2(unsigned char u[16], int d);
int cuDeviceGetName(char *name, int n, int d);

enum { MIB = 1 << 20, OWN = 700 };

static _Atomic uint64_t looks;

uint64_t fake_looks(void)
{
	return looks;
}

static uint64_t own(void)
{
	return getenv("FAKE_GROWS") ? (uint64_t)480 * MIB + taken : (uint64_t)OWN * MIB;
}

static uint64_t others(void)
{
	const char *text = getenv("FAKE_OTHERS_MIB");
	return (uint64_t)(text ? atoi(text) : 100) * MIB;
}

int nvmlInit_v2(void)
{
	return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **out)
{
	*out = (void *)(uintptr_t)uuid;
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *d, nvml_memory *m)
{
	(void)d;
	m->total = (uint64_t)140000 * MIB;
	m->used = (uint64_t)600 * MIB + own() + others();
	m->free = m->total - m->used;
	looks++;
	return 0;
}

int nvmlDeviceGetMemoryInfo_v2(void *d, nvml_memory2 *m)
{
	(void)d;
	if (m->version != NVML_MEMORY2_VERSION)
		return 25;
	m->reserved = (uint64_t)600 * MIB;
	return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, nvml_process *p)
{
	(void)d;
	*n = 2;
	p[0] = (nvml_process){ (uint32_t)getpid(), own(), 0, 0 };
	p[1] = (nvml_process){ 1, others(), 0, 0 };
	return 0;
}

int cuDeviceGetCount(int *n)
{
	*n = 1;
	return 0;
}

int cuDeviceGet(int *d, int i)
{
	*d = i;
	return 0;
}

int cuDeviceGetUuid_v2(unsigned char u[16], int d)
{
	memset(u, d, 16);
	return 0;
}

int cuDeviceGetName(char *name, int n, int d)
{
	(void)d;
	strncpy(name, "Stand-in", (size_t)n);
	return 0;
}
