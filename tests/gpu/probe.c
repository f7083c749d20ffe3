// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Prints the records that CUPTI makes of virtual memory, stream-ordered pools and pinned memory, one JSON
 * object a line: which call makes one, with which kind and address. Needs a device.
 *
 *     gcc -Isrc tests/gpu/probe.c -ldl -o probe && ./probe [LIBCUPTI] */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/cuda/cupti_abi.h"

static void *cupti, *cuda;
static int (*next)(uint8_t *, size_t, void **);

static void *get(void *h, const char *name)
{
	void *p = h ? dlsym(h, name) : NULL;
	if (!p) {
		fprintf(stderr, "no %s: %s\n", name, dlerror());
		exit(77);
	}
	return p;
}

static void give(uint8_t **b, size_t *size, size_t *most)
{
	*size = 1 << 20;
	*most = 0;
	*b = calloc(1, *size);
}

static void take(void *context, uint32_t stream, uint8_t *b, size_t size, size_t valid)
{
	(void)context;
	(void)stream;
	(void)size;
	for (void *r = NULL; valid && next(b, valid, &r) == CUPTI_OK;) {
		const cupti_memory *m = r;
		const cupti_memory_pool *p = r;
		const cupti_api *a = r;
		if (m->kind == CUPTI_MEMORY)
			printf("{\"record\": \"memory\", \"operation\": %u, \"kind\": %u, \"correlation\": %u, \"address\": %llu, "
			       "\"bytes\": %llu, \"device\": %u, \"async\": %u, \"pool\": %llu, \"pool_type\": %u, "
			       "\"pool_size\": %llu, \"pool_used\": %llu}\n",
			       m->operation, m->memory, m->correlation,
			       (unsigned long long)m->address, (unsigned long long)m->bytes,
			       m->device, m->async, (unsigned long long)m->pool, m->pool_type,
			       (unsigned long long)m->pool_size, (unsigned long long)m->pool_used);
		else if (m->kind == CUPTI_MEMORY_POOL)
			printf("{\"record\": \"pool\", \"operation\": %u, \"type\": %u, \"correlation\": %u, \"address\": %llu, "
			       "\"size\": %llu, \"used\": %llu}\n",
			       p->operation, p->type, p->correlation,
			       (unsigned long long)p->address, (unsigned long long)p->size,
			       (unsigned long long)p->used);
		else if (m->kind == CUPTI_DRIVER)
			printf("{\"record\": \"call\", \"id\": %u, \"correlation\": %u}\n", a->id,
			       a->correlation);
	}
	free(b);
}

#define CALL(name, type, ...) \
	printf("{\"call\": \"%s\", \"result\": %d}\n", #name, ((type)get(cuda, #name))(__VA_ARGS__))

int main(int argc, char **argv)
{
	cuda = dlopen("libcuda.so.1", RTLD_NOW);
	cupti = dlopen(argc > 1 ? argv[1] : "libcupti.so.13", RTLD_NOW);
	if (!cuda || !cupti)
		return fprintf(stderr, "%s\n", dlerror()), 77;
	next = (int (*)(uint8_t *, size_t, void **))get(cupti, "cuptiActivityGetNextRecord");
	int (*enable)(int) = (int (*)(int))get(cupti, "cuptiActivityEnable");
	int (*driver)(uint32_t, uint8_t) =
		(int (*)(uint32_t, uint8_t))get(cupti, "cuptiActivityEnableDriverApi");
	int (*reg)(cupti_request_fn *, cupti_complete_fn *) =
		(int (*)(cupti_request_fn *, cupti_complete_fn *))get(
			cupti, "cuptiActivityRegisterCallbacks");
	int (*flush)(uint32_t) = (int (*)(uint32_t))get(cupti, "cuptiActivityFlushAll");
	printf("{\"register\": %d, \"memory\": %d, \"pools\": %d}\n", reg(give, take),
	       enable(CUPTI_MEMORY), enable(CUPTI_MEMORY_POOL));
	for (uint32_t id = 549; id <= 552; id++)
		printf("{\"enable_call\": %u, \"result\": %d}\n", id, driver(id, 1));

	void *context = NULL;
	uint64_t handle[2] = { 0, 0 }, at = 0, async = 0, plain = 0, most = UINT64_MAX;
	void *host = NULL, *pool = NULL;
	uint32_t prop[8] = { 1, 0, 1, 0, 0, 0, 0, 0 }; /* pinned, on device 0 */
	size_t size = 64 << 20;
	CALL(cuInit, int (*)(unsigned), 0);
	CALL(cuDevicePrimaryCtxRetain, int (*)(void **, int), &context, 0);
	CALL(cuCtxSetCurrent, int (*)(void *), context);
	CALL(cuMemAlloc_v2, int (*)(uint64_t *, size_t), &plain, 8 << 20);
	CALL(cuMemCreate, int (*)(uint64_t *, size_t, void *, uint64_t), &handle[0], size, prop, 0);
	CALL(cuMemCreate, int (*)(uint64_t *, size_t, void *, uint64_t), &handle[1], size, prop, 0);
	CALL(cuMemAddressReserve, int (*)(uint64_t *, size_t, size_t, uint64_t, uint64_t), &at,
	     2 * size, 0, 0, 0);
	CALL(cuMemMap, int (*)(uint64_t, size_t, size_t, uint64_t, uint64_t), at, size, 0,
	     handle[0], 0);
	CALL(cuMemMap, int (*)(uint64_t, size_t, size_t, uint64_t, uint64_t), at + size, size, 0,
	     handle[1], 0);
	printf("{\"handles\": [%llu, %llu], \"mapped_at\": %llu}\n", (unsigned long long)handle[0],
	       (unsigned long long)handle[1], (unsigned long long)at);
	CALL(cuMemUnmap, int (*)(uint64_t, size_t), at, 2 * size);
	CALL(cuMemRelease, int (*)(uint64_t), handle[0]);
	CALL(cuMemAllocHost_v2, int (*)(void **, size_t), &host, 5 << 20);
	CALL(cuDeviceGetDefaultMemPool, int (*)(void **, int), &pool, 0);
	CALL(cuMemPoolSetAttribute, int (*)(void *, int, void *), pool, 4, &most);
	CALL(cuMemAllocAsync, int (*)(uint64_t *, size_t, void *), &async, 40 << 20, NULL);
	CALL(cuMemFreeAsync, int (*)(uint64_t, void *), async, NULL);
	CALL(cuCtxSynchronize, int (*)(void));
	CALL(cuMemPoolTrimTo, int (*)(void *, size_t), pool, 0);
	flush(1);
	return 0;
}
