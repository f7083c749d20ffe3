// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Plays the part of the CUDA driver and NVTX with an injected library, on a fake CUPTI: 100 kernels
 * on two streams, launched by 100 calls inside two NVTX ranges, a copy, and device memory. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/cuda/cupti_abi.h"

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *find(void *h, const char *name)
{
	void *p = h ? dlsym(h, name) : NULL;
	if (!p) {
		fprintf(stderr, "no %s: %s\n", name, dlerror());
		exit(9);
	}
	return p;
}

/* ---- NVTX's side ---- */

static int (*push)(const char *);
static int (*pop)(void);
static void *none;
static void **core[16] = { &none, &none, &none, &none, &none, &none, &none, &none,
			   &none, NULL,	 &none, NULL,  &none, &none, &none, &none };

static int functions(int module, void ****table, unsigned *n)
{
	*table = core;
	*n = module == 1 ? 16 : 0;
	return module == 1;
}

static const void *export_table(uint32_t id)
{
	static struct {
		size_t size;
		int (*functions)(int, void ****, unsigned *);
	} t = { sizeof t, functions };
	return id == 1 ? &t : NULL;
}

/* ---- virtual memory: calls of the driver as CUPTI's subscriber sees them ---- */

static bool (*called)(uint32_t, const void *, int, uint32_t, uint32_t);
static uint32_t tid, number = 1000;

static void vmm_create(uint64_t handle, size_t mib, int location, int result)
{
	cuda_mem_prop prop = { .type = 1, .location = location, .id = 0 };
	cuda_mem_create p = { &handle, mib << 20, &prop, 0 };
	called(CUPTI_MEM_CREATE, &p, result, tid, number++);
}

static void vmm_release(uint64_t handle)
{
	called(CUPTI_MEM_RELEASE, &handle, 0, tid, number++);
}

static void vmm_map(uint64_t address, size_t mib, uint64_t handle)
{
	cuda_mem_map p = { .address = address, .size = mib << 20, .handle = handle };
	called(CUPTI_MEM_MAP, &p, 0, tid, number++);
}

static void vmm_unmap(uint64_t address, size_t mib)
{
	cuda_mem_unmap p = { address, mib << 20 };
	called(CUPTI_MEM_UNMAP, &p, 0, tid, number++);
}

static void vmm_retain(uint64_t handle, uint64_t address)
{
	cuda_mem_retain p = { &handle, (void *)(uintptr_t)address };
	called(CUPTI_MEM_RETAIN, &p, 0, tid, number++);
}

/* Memory lives while it has a handle or a mapping. At the end: 16 MiB on the device, 8 on the host; at
 * most 64 + 32 + 16. */
static void virtual_memory(void)
{
	const uint64_t A = 0x7e0000000000, B = 0x7e1000000000;
	vmm_create(99, 1024, 1, 2); /* out of memory */
	vmm_create(1, 64, 1, 0);
	vmm_map(A, 64, 1);
	vmm_release(1); /* its mapping holds it */
	vmm_create(2, 32, 1, 0);
	vmm_map(B, 16, 2);
	vmm_map(B + (16 << 20), 16, 2);
	vmm_retain(2, B);
	vmm_release(2);
	vmm_create(3, 16, 1, 0);
	vmm_create(4, 8, 2, 0); /* the host's */
	vmm_unmap(A, 64);	/* 1 ends */
	vmm_unmap(B, 32);	/* both mappings */
	vmm_release(2);		/* 2 ends */
	vmm_release(77);	/* imported from another process */
}

/* As torch.profiler does it: subscribes for itself while we are subscribed. */
static void callback(void *user, int domain, uint32_t id, const void *data)
{
	(void)user, (void)domain, (void)id, (void)data;
}

static int other_profiler(void)
{
	int (*subscribe)(void **, cupti_callback_fn *, void *) = NULL;
	void *p = dlsym(RTLD_DEFAULT, "cuptiSubscribe"), *s; /* the function that a linked program
	                                                      * gets */
	memcpy(&subscribe, &p, sizeof p);
	vmm_create(5, 4, 1, 0);
	if (!subscribe || subscribe(&s, callback, NULL) != CUPTI_OK)
		return 6;
	vmm_create(6, 4, 1, 0); /* it is not notified */
	return 0;
}

/* ---- graphs ---- */

static bool (*node)(uint32_t, uint64_t, uint64_t);
static void (*replayed)(const char *, uint64_t, uint64_t, uint32_t, uint64_t);
static void (*launched)(uint32_t, uint64_t, uint64_t, uint32_t);

/* Captures 3 kernels: a call for each, and a node in it. */
static void capture(const char *range, uint64_t first, uint32_t correlation)
{
	push(range);
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t begin = now();
		node(CUPTI_GRAPHNODE_CREATED, first + i, 0);
		usleep(10);
		launched(tid, begin, now(), correlation + i);
	}
	pop();
}

/* Clones 3 nodes; an executable graph may report them as created first. */
static void clone_nodes(const char *range, uint64_t to, uint64_t from, bool created)
{
	push(range);
	for (uint32_t i = 0; i < 3; i++) {
		if (created)
			node(CUPTI_GRAPHNODE_CREATED, to + i, 0);
		node(CUPTI_GRAPHNODE_CLONED, to + i, from + i);
	}
	pop();
}

static void replay(uint64_t first, uint32_t correlation)
{
	static const char *const names[] = { "a", "b", "c" };
	push("replay");
	uint64_t begin = now();
	usleep(100);
	launched(tid, begin, now(), correlation);
	pop();
	for (uint32_t i = 0; i < 3; i++)
		replayed(names[i], begin + 10000 * (i + 1),
			 begin + 10000 * (i + 1) + 1000 * (i + 1), correlation, first + i);
}

#define IN(graph) ((uint64_t)(graph) << 32)

/* As CUDA 13.0 does it: graph 7 is captured, and a child (10) of graph 9; executable graph 12 has the
 * child's nodes in places 1 to 3 without a callback, after those of its copy (11). */
static void nested(void)
{
	capture("third", IN(7), 420);
	clone_nodes("parent", IN(10), IN(7), true);
	node(CUPTI_GRAPHNODE_CREATED, IN(9), 0);
	clone_nodes("instantiate parent", IN(11), IN(10), true);
	node(CUPTI_GRAPHNODE_CREATED, IN(12), 0);
	node(CUPTI_GRAPHNODE_CLONED, IN(12), IN(9));
	replay(IN(12) + 1, 506);
}

/* Graph 13 is captured; executable graph 14, a clone of graph 7, is updated to do what it does. */
static void update(void)
{
	cuda_graph_update u = { (void *)14, (void *)13 }, failed = { (void *)14, (void *)7 };
	clone_nodes("instantiate third", IN(14), IN(7), true);
	replay(IN(14), 507);
	capture("fourth", IN(13), 430);
	called(655, &u, 0, tid, 600);
	called(655, &failed, 1, tid, 601);
	replay(IN(14), 508);
}

/* Nodes 10: captured; 100: executable; 50: in a child graph, 150: executable; 20: captured again,
 * by which 100 is updated; 300: made before the recording; 400: a node made by hand. */
static int graphs(void *cupti)
{
	void *p = find(cupti, "fake_node");
	memcpy(&node, &p, sizeof p);
	p = find(cupti, "fake_replayed");
	memcpy(&replayed, &p, sizeof p);
	p = find(cupti, "fake_launch");
	memcpy(&launched, &p, sizeof p);
	capture("first", 10, 400);
	clone_nodes("instantiate", 100, 10, true);
	replay(100, 500);
	replay(100, 501);
	clone_nodes("child", 50, 10, false);
	clone_nodes("instantiate child", 150, 50, false);
	replay(150, 502);
	capture("second", 20, 410);
	for (uint32_t i = 0; i < 3; i++)
		node(CUPTI_GRAPHNODE_UPDATED, 100 + i, 20 + i);
	replay(100, 503);
	clone_nodes("instantiate unknown", 300, 90, true);
	replay(300, 504);
	push("by hand");
	for (uint32_t i = 0; i < 3; i++)
		node(CUPTI_GRAPHNODE_CREATED, 400 + i, 0);
	pop();
	replay(400, 505);
	nested();
	update();
	return 0;
}

/* ---- a training run: PyTorch's pool, NCCL, a raw allocation that leaks; `argv[2]` seconds ---- */

static int training(void *cupti, int seconds)
{
	static const char torch[] = "/usr/lib/libc10_cuda.so", nccl[] = "/usr/lib/libnccl.so.2",
			  own[] = "/opt/app/libserve.so";
	void (*taken)(bool, uint64_t, uint64_t, const char *) = NULL;
	void (*report)(void *, int64_t, size_t, size_t, uint16_t) = NULL;
	void *p = find(cupti, "fake_taken");
	memcpy(&taken, &p, sizeof p);
	p = dlsym(RTLD_DEFAULT, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
	memcpy(&report, &p, sizeof p);
	const uint64_t at = 0x7f0000000000, MIB = 1 << 20, GIB = 1 << 30;
	for (int i = 0; i < seconds; i++) {
		uint64_t segment = at + (uint64_t)i * GIB;
		taken(true, segment, (i ? 320 : 640) * MIB, torch);
		if (report)
			report((void *)(uintptr_t)segment, (int64_t)((i ? 200 : 500) * MIB), 0, 0,
			       1);
		if (i == 2)
			taken(true, at + 100 * GIB, 700 * MIB, nccl);
		taken(true, at + (200 + (uint64_t)i) * GIB, 48 * MIB, own);
		usleep(1000000);
		if (i > 1 && report && i % 2)
			report((void *)(uintptr_t)segment, -(int64_t)(200 * MIB), 0, 0, 1);
	}
	return 0;
}

/* Until NVML has looked again, and what it saw is recorded: its next look has begun. Another
 * program on the device (FAKE_MEETS) looks meanwhile, too: standard input ends when both have. */
static void wait_for_nvml(void *cupti)
{
	uint64_t (*looks)(void) = NULL;
	void *p = find(cupti, "fake_looks");
	char byte;
	memcpy(&looks, &p, sizeof p);
	for (uint64_t last = looks() + 2; looks() < last;)
		usleep(1000);
	if (getenv("FAKE_MEETS")) {
		puts("looked");
		fflush(stdout);
		while (read(0, &byte, 1) > 0)
			;
	}
}

int main(int argc, char **argv)
{
	const char *path = getenv("CUDA_INJECTION64_PATH"), *fake = getenv("TIDEMARK_CUPTI");
	if (!path || !fake)
		return 8;
	void *lib = dlopen(path, RTLD_NOW), *cupti = dlopen(fake, RTLD_NOW);
	int (*init)(void) = NULL, (*nvtx)(const void *(*)(uint32_t)) = NULL;
	void (*kernel)(const char *, uint64_t, uint64_t, uint32_t, uint32_t) = NULL;
	void (*copy)(uint64_t, uint64_t, uint64_t, uint32_t, uint32_t) = NULL;
	void (*launch)(uint32_t, uint64_t, uint64_t, uint32_t) = NULL;
	void (*memory)(bool, uint64_t, uint64_t, uint64_t) = NULL;
	void (*create)(uint64_t, uint64_t, uint32_t, uint32_t) = NULL;
	void (*untold)(uint64_t, uint32_t, uint32_t) = NULL;
	void (*async)(uint64_t, uint64_t, uint64_t, uint64_t) = NULL;
	void *p;
#define GET(at, h, name) (p = find(h, name), memcpy(&at, &p, sizeof p))
	GET(init, lib, "InitializeInjection");
	GET(nvtx, lib, "InitializeInjectionNvtx2");
	GET(kernel, cupti, "fake_kernel");
	GET(copy, cupti, "fake_copy");
	GET(launch, cupti, "fake_launch");
	GET(memory, cupti, "fake_memory");
	GET(create, cupti, "fake_create");
	GET(async, cupti, "fake_async");
	GET(untold, cupti, "fake_untold");
	core[9] = (void **)&push;
	core[11] = (void **)&pop;
	if (init() != 1 || nvtx(export_table) != 1)
		return 7;
	GET(called, cupti, "fake_called");
	tid = (uint32_t)syscall(SYS_gettid);
	if (argc > 1 && !strcmp(argv[1], "other"))
		return other_profiler();
	if (argc > 2 && !strcmp(argv[1], "training"))
		return training(cupti, atoi(argv[2]));
	if (argc > 1 && !strcmp(argv[1], "graphs"))
		return graphs(cupti);
	uint64_t t = now();
	memory(true, 0x7f0000000000, 1 << 20, t);
	memory(true, 0x7f0000200000, 3 << 20, t + 10);
	push("step");
	for (uint32_t i = 1; i <= 100; i++) {
		uint64_t begin = now();
		usleep(100);
		launch(tid, begin, begin + 5000, i);
		kernel(i % 2 ? "_Z3addPfS_i" : "gemm", begin + 10000, begin + 40000, 7 + i % 2, i);
	}
	pop();
	uint64_t begin = now();
	usleep(200);
	launch(tid, begin, begin + 4000, 101);
	copy(1 << 20, begin + 10000, begin + 60000, 7, 101);
	memory(false, 0x7f0000200000, 3 << 20, now());
	memory(true, 0x7f0000200000, 2 << 20, now());
	if (argc > 1 &&
	    !strcmp(argv[1], "more")) { /* virtual memory and pools, until NVML looks again */
		if (argc > 2) {		/* as CUPTI 13.0 does: the call alone */
			untold(now(), tid, 300);
			return 0;
		}
		if (getenv("FAKE_VIRTUAL")) {
			virtual_memory();
		} else {
			create(64 << 20, now(), tid, 200);
			create(64 << 20, now(), tid, 210);
		}
		async(0x7f9000000000, 4 << 20, now(), 32 << 20);
		wait_for_nvml(cupti);
	}
	return 0;
}
