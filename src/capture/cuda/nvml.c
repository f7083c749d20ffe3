// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Samples NVML every second: memory of each device in use by this process and by others, clock
 * and power, as counters nvml.cuda:N.*. A device is found by its UUID, because the driver's
 * numbers differ from NVML's under CUDA_VISIBLE_DEVICES. In a container with its own process
 * numbers the bytes of a process are unknown: that counter is then not written. */
#include "capture/cuda/inject.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "runtime/guard.h"
#include "runtime/last_thread.h"

enum { DEVICES = 16, PROCESSES = 256 };

static struct {
	int (*init)(void);
	int (*by_uuid)(const char *, void **);
	int (*memory)(void *, nvml_memory *);
	int (*memory2)(void *, nvml_memory2 *);
	int (*processes)(void *, unsigned *, nvml_process *);
	int (*clock)(void *, int, unsigned *);
	int (*power)(void *, unsigned *);
	int (*use)(void *, unsigned *);
} nvml;
static struct {
	int (*count)(int *);
	int (*get)(int *, int);
	int (*uuid)(unsigned char[16], int);
	int (*name)(char *, int, int);
} cuda;

struct device {
	void *handle;
	tide_name used, total, reserved, own, others, n_others, clock, power, busy;
};
static struct device devices[DEVICES];
static int n_devices;
static unsigned every_ms;

static bool find(void *h, const char *name, void *at)
{
	void *p = h ? dlsym(h, name) : NULL;
	memcpy(at, &p, sizeof p);
	return p != NULL;
}

static bool find_all(void)
{
	const char *chosen = getenv("TIDEMARK_NVML"), *driver = getenv("TIDEMARK_LIBCUDA");
	void *n = dlopen(chosen && *chosen ? chosen : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	void *c = dlopen(driver && *driver ? driver : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	find(n, "nvmlDeviceGetComputeRunningProcesses_v3", &nvml.processes);
	find(n, "nvmlDeviceGetMemoryInfo_v2", &nvml.memory2);
	find(n, "nvmlDeviceGetClockInfo", &nvml.clock);
	find(n, "nvmlDeviceGetPowerUsage", &nvml.power);
	find(n, "nvmlDeviceGetUtilizationRates", &nvml.use);
	find(c, "cuDeviceGetName", &cuda.name);
	return find(n, "nvmlInit_v2", &nvml.init) &&
	       find(n, "nvmlDeviceGetHandleByUUID", &nvml.by_uuid) &&
	       find(n, "nvmlDeviceGetMemoryInfo", &nvml.memory) &&
	       find(c, "cuDeviceGetCount", &cuda.count) && find(c, "cuDeviceGet", &cuda.get) &&
	       (find(c, "cuDeviceGetUuid_v2", &cuda.uuid) ||
		find(c, "cuDeviceGetUuid", &cuda.uuid));
}

static tide_name counter(int i, const char *what)
{
	char name[64];
	snprintf(name, sizeof name, "nvml.cuda:%d.%s", i, what);
	return tide_intern(name);
}

static void open_device(int i)
{
	int d;
	unsigned char u[16];
	char text[64], name[96] = "";
	nvml_memory m = { 0, 0, 0 };
	struct device *x = &devices[i];
	if (cuda.get(&d, i) || cuda.uuid(u, d))
		return;
	snprintf(text, sizeof text,
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
		 u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
		 u[14], u[15]);
	if (nvml.by_uuid(text, &x->handle))
		x->handle = NULL;
	if (!x->handle)
		return;
	x->used = counter(i, "used_bytes");
	x->total = counter(i, "total_bytes");
	x->reserved = counter(i, "reserved_bytes");
	x->own = counter(i, "process_bytes");
	x->others = counter(i, "others_bytes");
	x->n_others = counter(i, "others");
	x->clock = counter(i, "sm_clock_mhz");
	x->power = counter(i, "power_w");
	x->busy = counter(i, "busy_percent");
	if (cuda.name)
		cuda.name(name, sizeof name, d);
	nvml.memory(x->handle, &m);
	char key[64];
	snprintf(key, sizeof key, "gpu.uuid.cuda:%d", i);
	tide_annotate(tide_intern(key), text);
	snprintf(key, sizeof key, "gpu.name.cuda:%d", i);
	if (*name)
		tide_annotate(tide_intern(key), name);
}

/* The driver is still initialising when we are called: wait for it. */
static bool open_devices(void)
{
	struct timespec pause = { 0, 100000000 };
	int n = 0;
	for (int i = 0; i < 100 && (cuda.count(&n) || n <= 0); i++)
		nanosleep(&pause, NULL);
	if (n <= 0 || nvml.init())
		return false;
	n_devices = n < DEVICES ? n : DEVICES;
	for (int i = 0; i < n_devices; i++)
		open_device(i);
	return true;
}

static void sample_processes(const struct device *x)
{
	static nvml_process p[PROCESSES]; /* one thread samples */
	unsigned n = PROCESSES;
	uint64_t own = 0, others = 0, mine = 0;
	if (!nvml.processes || nvml.processes(x->handle, &n, p))
		return;
	for (unsigned i = 0; i < n && i < PROCESSES; i++) {
		bool us = p[i].pid == (uint32_t)getpid();
		uint64_t bytes = p[i].used == UINT64_MAX ? 0 : p[i].used;
		mine += us;
		*(us ? &own : &others) += bytes;
	}
	if (mine)
		tide_counter(x->own, (double)own);
	tide_counter(x->others, (double)others);
	tide_counter(x->n_others, (double)(n - mine));
}

/* Memory that the driver and the firmware keep for themselves; it is part of v1's `used`. */
static void sample_reserved(const struct device *x)
{
	nvml_memory2 m = { .version = NVML_MEMORY2_VERSION };
	if (nvml.memory2 && !nvml.memory2(x->handle, &m))
		tide_counter(x->reserved, (double)m.reserved);
}

static void sample(const struct device *x)
{
	nvml_memory m;
	unsigned v, use[2];
	if (!x->handle || nvml.memory(x->handle, &m))
		return;
	tide_counter(x->used, (double)m.used);
	tide_counter(x->total, (double)m.total);
	sample_reserved(x);
	sample_processes(x);
	if (nvml.clock && !nvml.clock(x->handle, 1, &v)) /* NVML_CLOCK_SM */
		tide_counter(x->clock, v);
	if (nvml.power && !nvml.power(x->handle, &v))
		tide_counter(x->power, v / 1000.0);
	if (nvml.use && !nvml.use(x->handle, use))
		tide_counter(x->busy, use[0]);
}

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool running, last, done;
} thread = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* Waits `ms`, or until the last sample is requested. Returns true in the latter case. */
static bool pause_for(unsigned ms)
{
	struct timespec until = tide__in_ms(ms);
	pthread_mutex_lock(&thread.lock);
	while (!thread.last && !pthread_cond_timedwait(&thread.changed, &thread.lock, &until))
		;
	bool last = thread.last;
	pthread_mutex_unlock(&thread.lock);
	return last;
}

/* So that short programs get samples too, the first are taken after 0, 100, 200, 400 ... ms. */
static void *run(void *unused)
{
	bool last = false;
	pthread_setname_np(pthread_self(), "tidemark-nvml");
	bool ok = find_all() && open_devices();
	for (unsigned ms = 100; ok && tide_recording();
	     ms = 2 * ms < every_ms ? 2 * ms : every_ms) {
		for (int i = 0; i < n_devices; i++)
			sample(&devices[i]);
		if (last)
			break;
		last = pause_for(ms);
	}
	pthread_mutex_lock(&thread.lock);
	thread.done = true;
	pthread_cond_broadcast(&thread.changed);
	pthread_mutex_unlock(&thread.lock);
	tide__thread_recount();
	return unused;
}

void tide__nvml_sample_last(void)
{
	struct timespec until = tide__in_ms(200);
	pthread_mutex_lock(&thread.lock);
	thread.last = true;
	pthread_cond_broadcast(&thread.changed);
	while (thread.running && !thread.done &&
	       !pthread_cond_timedwait(&thread.changed, &thread.lock, &until))
		;
	pthread_mutex_unlock(&thread.lock);
}

void tide__nvml_start(unsigned ms)
{
	pthread_t t;
	every_ms = ms ? ms : 1000;
	uint64_t before = tide__signals_block(); /* signals are the program's */
	thread.running = pthread_create(&t, NULL, run, NULL) == 0;
	if (thread.running) {
		pthread_detach(t);
		tide__thread_uncount();
	}
	tide__signals_restore(before);
}
