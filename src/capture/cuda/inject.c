// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/cuda/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/now.h"
#include "capture/common/run_file.h"

#define EXPORT __attribute__((visibility("default")))

cupti_api_table tide__cupti;
unsigned tide__gpu_wanted;
static void *library; /* libcupti */
static _Atomic bool started, aside;

/* ---- buffers ------------------------------------------------------------------------------- */

/* CUPTI requests buffers and returns them full; a few are kept. Zeroed buffers save CUPTI work. */
enum { BUFFER = 1 << 20, KEPT = 16, ALIGNED = 8 };
static uint8_t *kept[KEPT];
static int n_kept;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void give_buffer(uint8_t **buffer, size_t *size, size_t *most)
{
	uint8_t *p = NULL;
	pthread_mutex_lock(&lock);
	if (n_kept)
		p = kept[--n_kept];
	pthread_mutex_unlock(&lock);
	if (!p) {
		void *m = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		p = m == MAP_FAILED ? NULL : m;
	}
	*buffer = p;
	*size = p ? BUFFER : 0;
	*most = 0;
}

static void take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	size_t dropped = 0;
	int saved = errno;
	if (valid && atomic_load(&started))
		tide__cupti_read_records(buffer, valid);
	if (tide__cupti.dropped && tide__cupti.dropped(context, stream, &dropped) == CUPTI_OK &&
	    dropped)
		tide__cupti_count_dropped(dropped);
	memset(buffer, 0, valid < size ? valid : size);
	pthread_mutex_lock(&lock);
	bool keep = n_kept < KEPT;
	if (keep)
		kept[n_kept++] = buffer;
	pthread_mutex_unlock(&lock);
	if (!keep)
		munmap(buffer, BUFFER);
	errno = saved;
}

/* ---- CUPTI --------------------------------------------------------------------------------- */

static int find_loaded(struct dl_phdr_info *i, size_t n, void *out)
{
	(void)n;
	const char *name = i->dlpi_name ? strrchr(i->dlpi_name, '/') : NULL;
	if (!name || strncmp(name, "/libcupti.so", 12) != 0)
		return 0;
	snprintf(out, PATH_MAX, "%s", i->dlpi_name);
	return 1;
}

/* Opens the libcupti that is loaded already (torch's own), else the first of the usual places. */
static void *open_cupti(void)
{
	static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so",
					     "/usr/local/cuda/lib64/libcupti.so",
					     "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so" };
	char path[PATH_MAX] = "";
	const char *chosen = getenv("TIDEMARK_CUPTI");
	void *h = chosen && *chosen ? dlopen(chosen, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!h && dl_iterate_phdr(find_loaded, path))
		h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; !h && i < sizeof names / sizeof *names; i++)
		h = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return h;
}

void *tide__cupti_function(const char *name)
{
	void *h = library ? library : open_cupti();
	return h ? dlsym(h, name) : NULL;
}

static bool find_functions(void *h)
{
	cupti_api_table *c = &tide__cupti;
	const struct {
		const char *name;
		void *at;
		bool needed;
	} all[] = {
		{ "cuptiActivityRegisterCallbacks", &c->register_callbacks, true },
		{ "cuptiActivityEnable", &c->enable, true },
		{ "cuptiActivityDisable", &c->disable, false },
		{ "cuptiActivityRegisterTimestampCallback", &c->register_clock, false },
		{ "cuptiActivityGetNextRecord", &c->next, true },
		{ "cuptiActivityFlushAll", &c->flush_all, true },
		{ "cuptiActivityEnableRuntimeApi", &c->enable_runtime, false },
		{ "cuptiActivityEnableDriverApi", &c->enable_driver, false },
		{ "cuptiActivityEnableAllocationSource", &c->enable_source, false },
		{ "cuptiActivitySetAttribute", &c->set_attribute, false },
		{ "cuptiActivityGetAttribute", &c->get_attribute, false },
		{ "cuptiActivityFlushPeriod", &c->flush_period, false },
		{ "cuptiActivityGetNumDroppedRecords", &c->dropped, false },
		{ "cuptiGetCallbackName", &c->callback_name, false },
		{ "cuptiGetVersion", &c->version, false },
		{ "cuptiSubscribe", &c->subscribe, false },
		{ "cuptiUnsubscribe", &c->unsubscribe, false },
		{ "cuptiEnableCallback", &c->enable_callback, false },
		{ "cuptiGetGraphNodeId", &c->node_id, false },
		{ "cuptiGetGraphId", &c->graph_id, false },
		{ "cuptiGetGraphExecId", &c->exec_id, false },
		{ "cuptiGetThreadIdType", &c->get_thread_ids, false },
		{ "cuptiSetThreadIdType", &c->set_thread_ids, false },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		void *p = dlsym(h, all[i].name);
		memcpy(all[i].at, &p, sizeof p);
		if (!p && all[i].needed)
			return false;
	}
	return true;
}

/* Calls that start work on a device, wait for it or take memory: by CUPTI's numbers, which never
 * change their meaning. All calls would cost more than the kernels do. */
static const uint16_t work_runtime[] = { 13,  20,  22,	26,  27,  31,  32,  41,	 44,  49,  51,
					 131, 137, 144, 145, 147, 160, 161, 165, 206, 211, 213,
					 214, 215, 225, 233, 235, 239, 242, 247, 269, 270, 311,
					 312, 373, 374, 375, 376, 430, 431, 482, 483, 509, 510 };
static const uint16_t work_driver[] = { 307, 442, 514, 515, 652, 653 };
enum {
	N_RUNTIME = sizeof work_runtime / sizeof *work_runtime,
	N_DRIVER = sizeof work_driver / sizeof *work_driver,
	RUNTIME_IDS = 560, /* at least as many as CUDA 13 has */
	DRIVER_IDS = 860
};

static void switch_calls(uint8_t on)
{
	for (size_t i = 0; tide__cupti.enable_runtime && i < N_RUNTIME; i++)
		tide__cupti.enable_runtime(work_runtime[i], on);
	for (size_t i = 0; tide__cupti.enable_driver && i < N_DRIVER; i++)
		tide__cupti.enable_driver(work_driver[i], on);
}

static bool listed(const uint16_t *v, size_t n, uint32_t id)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == id)
			return true;
	return false;
}

/* Switches the calls that are not in those lists. */
static void switch_others(uint8_t on)
{
	for (uint32_t id = 1; tide__cupti.enable_runtime && id < RUNTIME_IDS; id++)
		if (!listed(work_runtime, N_RUNTIME, id))
			tide__cupti.enable_runtime(id, on);
	for (uint32_t id = 1; tide__cupti.enable_driver && id < DRIVER_IDS; id++)
		if (!listed(work_driver, N_DRIVER, id))
			tide__cupti.enable_driver(id, on);
}

/* Selects the same calls in a process that is already running, where CUPTI cannot enable single
 * calls: enables all, then disables the others. */
static void enable_launches(void)
{
	tide__cupti.enable(CUPTI_RUNTIME);
	tide__cupti.enable(CUPTI_DRIVER);
	switch_others(0);
}

/* Enables records of cuMemCreate, cuMemRelease, cuMemMap, cuMemUnmap: which of them made a
 * memory record defines the meaning of its address and kind (import/tide/device_memory.c). They
 * are rare. */
static void enable_virtual_memory_calls(void)
{
	for (uint32_t id = 549; tide__cupti.enable_driver && id <= 552; id++)
		tide__cupti.enable_driver(id, 1);
}

/* Writes a note into the recording; every report shows "loss." keys. */
static void note(const char *key, const char *text)
{
	tide_annotate(tide_intern(key), text);
}

uint64_t tide__gpu_now(void)
{
	return (uint64_t)tide__now_ns(CLOCK_REALTIME);
}

/* Enables the calls of the runtime, except frequent ones that neither start work nor wait for
 * it. */
static void enable_runtime(void)
{
	static const uint16_t idle[] = { 10, 11, 12, 16,
					 17 }; /* errors, cudaSetDevice, cudaGetDevice */
	tide__cupti.enable(CUPTI_RUNTIME);
	for (size_t i = 0; tide__cupti.enable_runtime && i < sizeof idle / sizeof *idle; i++)
		tide__cupti.enable_runtime(idle[i], 0);
}

/* By default CUPTI's records name a thread by its pthread_t, but the recorder's lanes have the
 * kernel's thread ids. Without kernel thread ids, a launch would be on another lane than its op. */
static int thread_ids = CUPTI_THREADS_DEFAULT; /* before us */

static void use_system_threads(bool on)
{
	if (!tide__cupti.set_thread_ids || !tide__cupti.get_thread_ids)
		return;
	if (on)
		tide__cupti.get_thread_ids(&thread_ids);
	tide__cupti.set_thread_ids(on ? CUPTI_THREADS_SYSTEM : thread_ids);
}

static bool enable(unsigned want)
{
	uint8_t yes = 1;
	size_t one = sizeof yes;
	if (tide__cupti.set_attribute)
		tide__cupti.set_attribute(CUPTI_ATTR_ZEROED, &one, &yes);
	if (tide__cupti.register_clock)
		tide__cupti.register_clock(tide__gpu_now);
	use_system_threads(true);
	if (tide__cupti.register_callbacks(give_buffer, take_buffer) != CUPTI_OK)
		return false;
	int rc = CUPTI_OK;
	if (want & TIDE_GPU_KERNELS) {
		rc = tide__cupti.enable(CUPTI_KERNEL);
		tide__cupti.enable(CUPTI_MEMCPY);
		tide__cupti.enable(CUPTI_MEMCPY_PEER);
		tide__cupti.enable(CUPTI_MEMSET);
	}
	if (want & TIDE_GPU_CALLBACKS &&
	    tide__launches_start(work_runtime, N_RUNTIME, work_driver,
				 want & TIDE_GPU_LAUNCHES ? N_DRIVER : 0))
		tide__gpu_wanted = want &= ~(unsigned)(TIDE_GPU_RUNTIME | TIDE_GPU_LAUNCHES);
	if (want & TIDE_GPU_CALLS)
		switch_calls(1);
	if (want & TIDE_GPU_RUNTIME)
		enable_runtime();
	if (want & TIDE_GPU_LAUNCHES)
		enable_launches();
	if (want & TIDE_GPU_MEMORY) {
		tide__cupti.enable(CUPTI_MEMORY);
		tide__cupti.enable(CUPTI_MEMORY_POOL);
		enable_virtual_memory_calls();
		if (want & TIDE_GPU_SOURCE && tide__cupti.enable_source)
			tide__cupti.enable_source(1);
	}
	if (want & (TIDE_GPU_VIRTUAL | TIDE_GPU_GRAPHS))
		tide__virtual_start(want);
	if (tide__cupti.flush_period)
		tide__cupti.flush_period(500);
	return rc == CUPTI_OK;
}

/* ---- another tool uses CUPTI ---------------------------------------------------------------- */

typedef int register_fn(cupti_request_fn *, cupti_complete_fn *);

/* Replaces CUPTI's function for tools that link it (torch.profiler): activity buffers belong to
 * the process, so theirs replace ours. Our buffers are written first. */
EXPORT int cuptiActivityRegisterCallbacks(cupti_request_fn *request, cupti_complete_fn *complete);
int cuptiActivityRegisterCallbacks(cupti_request_fn *request, cupti_complete_fn *complete)
{
	register_fn *real = NULL;
	void *p = tide__cupti_function("cuptiActivityRegisterCallbacks");
	memcpy(&real, &p, sizeof real);
	if (atomic_load(&started) && !atomic_exchange(&aside, true)) {
		tide__cupti.flush_all(0);
		note("loss.gpu_aside",
		     "another profiler took over CUPTI: kernels and device memory after that are missing");
	}
	return real ? real(request, complete) : 999; /* CUPTI_ERROR_UNKNOWN */
}

/* ---- start and end ------------------------------------------------------------------------- */

bool tide__gpu_start(void)
{
	static char path[PATH_MAX];
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
	tide_options opt = TIDE_OPTIONS_INIT;
	int saved = errno;
	opt.ring_bytes = 4 << 20;
	opt.full_wait_us = 1000000; /* on CUPTI's own thread */
	pthread_mutex_lock(&once);
	if (!tide_recording() && tide__run_file(path, sizeof path))
		tide_start(path, &opt, NULL);
	pthread_mutex_unlock(&once);
	errno = saved;
	return tide_recording();
}

static unsigned bits_of(const char *text)
{
	static const struct {
		const char *name;
		unsigned bit;
	} words[] = { { "kernels", TIDE_GPU_KERNELS },	   { "memory", TIDE_GPU_MEMORY },
		      { "calls", TIDE_GPU_CALLS },	   { "runtime", TIDE_GPU_RUNTIME },
		      { "nvml", TIDE_GPU_NVML },	   { "source", TIDE_GPU_SOURCE },
		      { "virtual", TIDE_GPU_VIRTUAL },	   { "launches", TIDE_GPU_LAUNCHES },
		      { "callbacks", TIDE_GPU_CALLBACKS }, { "graphs", TIDE_GPU_GRAPHS } };
	unsigned bits = 0;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		bits |= text && strstr(text, words[i].name) ? words[i].bit : 0;
	return bits;
}

static void finish(void)
{
	if (!atomic_load(&started))
		return;
	tide__nvml_sample_last();
	if (!atomic_load(&aside))
		tide__cupti.flush_all(1);
	use_system_threads(false);
	atomic_store(&started, false);
}

void tide__gpu_flush(void)
{
	if (atomic_load(&started) && !atomic_load(&aside))
		tide__cupti.flush_all(0);
}

static size_t attribute(int which)
{
	size_t value = 0, n = sizeof value;
	bool ok = tide__cupti.get_attribute &&
		  tide__cupti.get_attribute(which, &n, &value) == CUPTI_OK;
	return ok ? value : 0;
}

/* Records the device memory of CUPTI's own buffers, which it allocates in advance for a context, in
 * whole pages of the driver. Measured on an H200: 12 MiB, 3 buffers of 3,200,000 bytes in 2 MiB
 * pages. */
static void tell_own(unsigned want)
{
	enum { PAGE = 2 << 20 };
	size_t bytes = attribute(CUPTI_ATTR_DEVICE_BUFFER_SIZE),
	       count = attribute(CUPTI_ATTR_PRE_ALLOCATE);
	tide_device_log l = { .n = 0 };
	if (!bytes || !(want & TIDE_GPU_KERNELS))
		return;
	uint64_t v[] = { 0, (bytes + PAGE - 1) / PAGE * PAGE * (count ? count : 1) };
	tide__log_put(&l, TIDE_DEVICE_REC_OWN, 0, v, 2);
	tide__log_flush(&l);
}

static int turn_on(unsigned want)
{
	if (!library)
		library = open_cupti();
	if (!library || !find_functions(library)) {
		note("loss.no_cupti",
		     "libcupti was not found: kernels and device memory are not recorded");
		return TIDE_GPU_NO_CUPTI;
	}
	tide__gpu_wanted = want;
	atomic_store(&aside, false);
	atomic_store(&started, true);
	if (!enable(want)) {
		atomic_store(&started, false);
		tide__launches_stop();
		note("loss.no_cupti", "CUPTI refused: another profiler may be using it");
		return TIDE_GPU_REFUSED;
	}
	return TIDE_GPU_ON;
}

/* Called by the CUDA driver while it initialises; 1 = fine. */
EXPORT int InitializeInjection(void);
int InitializeInjection(void)
{
	char version[32];
	uint32_t number = 0;
	unsigned want = bits_of(getenv("TIDEMARK_GPU"));
	if (atomic_load(&started) || !want || !tide__gpu_start() || turn_on(want) != TIDE_GPU_ON)
		return 1;
	if (tide__cupti.version && tide__cupti.version(&number) == CUPTI_OK) {
		snprintf(version, sizeof version, "%u", number);
		note("gpu.cupti_version", version);
	}
	tell_own(want);
	atexit(finish);
	if (want & TIDE_GPU_NVML)
		tide__nvml_start(1000);
	return 1;
}

/* ---- in a process that runs already --------------------------------------------------------- */

static bool session; /* begin() enabled it */

EXPORT int tide_gpu_begin(const char *what)
{
	if (atomic_load(&started))
		return TIDE_GPU_INJECTED;
	if (!tide_recording())
		return TIDE_GPU_NOT_RECORDING;
	int rc = turn_on(bits_of(what) & ~(unsigned)TIDE_GPU_NVML);
	session = rc == TIDE_GPU_ON;
	return rc;
}

static const int kinds[] = { CUPTI_KERNEL, CUPTI_MEMCPY,  CUPTI_MEMCPY_PEER, CUPTI_MEMSET,
			     CUPTI_MEMORY, CUPTI_RUNTIME, CUPTI_DRIVER };

static void disable_kinds(void)
{
	for (size_t i = 0; tide__cupti.disable && i < sizeof kinds / sizeof *kinds; i++)
		tide__cupti.disable(kinds[i]);
}

/* CUPTI returns our buffers before the other profiler registers its own, because that profiler
 * could not handle ours. */
EXPORT void tide_gpu_leave(void)
{
	if (!session || atomic_exchange(&aside, true))
		return;
	tide__launches_stop();
	if (tide__gpu_wanted & TIDE_GPU_LAUNCHES)
		switch_others(1);
	disable_kinds();
	tide__cupti.flush_all(1);
	use_system_threads(false);
	note("loss.gpu_aside",
	     "another profiler took over CUPTI: kernels and device memory after that are missing");
}

/* Makes CUPTI deliver its records, then restores its state; torch.profiler registers its own
 * buffers again. */
EXPORT void tide_gpu_end(void)
{
	if (!session)
		return;
	session = false;
	if (atomic_load(&aside)) {
		atomic_store(&started, false);
		return;
	}
	tide__virtual_stop();
	tide__launches_stop();
	if (tide__gpu_wanted & TIDE_GPU_LAUNCHES)
		switch_others(1); /* restored for the next tool */
	disable_kinds();
	if (tide__gpu_wanted & TIDE_GPU_CALLS)
		switch_calls(0);
	if (tide__cupti.flush_period)
		tide__cupti.flush_period(0);
	tide__cupti.flush_all(1);
	atomic_store(&started, false);
}
