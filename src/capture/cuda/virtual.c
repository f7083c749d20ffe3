// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Records cuMemCreate and related calls. CUPTI makes no memory records for them (13.0), so a
 * subscriber is called when they return; the reader computes the lifetimes
 * (import/tide/virtual_memory.h).
 *
 * There is one subscriber per process; it also receives nodes of graphs (graphs.c). If another tool wants to subscribe (torch.profiler, at its
 * first profile), we unsubscribe first, so that its subscription succeeds. */
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <string.h>

#include "capture/cuda/inject.h"

#define EXPORT __attribute__((visibility("default")))

static const uint32_t functions[] = { CUPTI_MEM_CREATE, CUPTI_MEM_RELEASE, CUPTI_MEM_MAP,
				      CUPTI_MEM_UNMAP, CUPTI_MEM_RETAIN };
static void *subscriber;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- who calls ---- */

static bool is_cuda(const char *path)
{
	static const char *const names[] = { "libcuda.so", "libcupti.so", "libcudart",
					     "libtidemark-" };
	const char *base = strrchr(path, '/');
	base = base ? base + 1 : path;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Returns the library that called the driver, as CUPTI names the source of other allocations. */
static tide_name caller(void)
{
	void *frames[24];
	Dl_info in;
	int n = tide__gpu_wanted & TIDE_GPU_SOURCE ? backtrace(frames, 24) : 0;
	for (int i = 1; i < n; i++)
		if (dladdr((char *)frames[i] - 1, &in) && in.dli_fname && !is_cuda(in.dli_fname))
			return tide_intern(in.dli_fname);
	return 0;
}

/* ---- calls ---- */

/* Fields: device, operation, handle, address, bytes, correlation, source, host. */
static void fill(uint64_t v[8], uint32_t id, const void *params, bool ok)
{
	if (id == CUPTI_MEM_CREATE) { /* one that failed has no bytes */
		const cuda_mem_create *p = params;
		v[0] = p->prop && p->prop->id > 0 ? (uint64_t)p->prop->id : 0;
		v[2] = ok && p->handle ? *p->handle : 0;
		v[4] = ok ? p->size : 0;
		v[6] = ok ? caller() : 0;
		v[7] = p->prop && p->prop->location != 1;
	} else if (id == CUPTI_MEM_RELEASE) {
		v[2] = ((const cuda_mem_release *)params)->handle;
	} else if (id == CUPTI_MEM_MAP) {
		const cuda_mem_map *p = params;
		v[2] = p->handle;
		v[3] = p->address;
		v[4] = p->size;
	} else if (id == CUPTI_MEM_UNMAP) {
		const cuda_mem_unmap *p = params;
		v[3] = p->address;
		v[4] = p->size;
	} else {
		const cuda_mem_retain *p = params;
		v[2] = p->handle ? *p->handle : 0;
	}
}

static void returned(void *user, int domain, uint32_t id, const void *data)
{
	const cupti_callback *c = data;
	tide_device_log l;
	(void)user;
	if (domain == CUPTI_DOMAIN_RESOURCE)
		tide__graphs_record(id, data);
	if (domain == CUPTI_DOMAIN_DRIVER && tide__graphs_record_call(id, c))
		return;
	if (domain != CUPTI_DOMAIN_DRIVER || c->site != CUPTI_ON_EXIT || !c->params || !c->result)
		return;
	bool ok = !*c->result;
	uint64_t v[8] = { 0, 0, 0, 0, 0, c->correlation, 0, 0 };
	if (!ok && id != CUPTI_MEM_CREATE)
		return;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (functions[i] == id)
			v[1] = i + 1; /* TIDE_VIRTUAL_* */
	fill(v, id, c->params, ok);
	l.n = 0;
	l.t = 0;
	tide__log_put(&l, TIDE_DEVICE_REC_VIRTUAL, (int64_t)tide__gpu_now(), v, 8);
	tide__log_flush(&l);
}

void tide__virtual_start(unsigned want)
{
	const cupti_api_table *c = &tide__cupti;
	bool memory = want & TIDE_GPU_VIRTUAL && want & TIDE_GPU_MEMORY;
	pthread_mutex_lock(&lock);
	if (!subscriber && c->subscribe && c->unsubscribe && c->enable_callback &&
	    c->subscribe(&subscriber, returned, NULL) != CUPTI_OK)
		subscriber = NULL;
	for (size_t i = 0; subscriber && memory && i < sizeof functions / sizeof *functions; i++)
		c->enable_callback(1, subscriber, CUPTI_DOMAIN_DRIVER, functions[i]);
	if (subscriber && want & TIDE_GPU_GRAPHS && want & TIDE_GPU_KERNELS)
		tide__graphs_enable(subscriber);
	pthread_mutex_unlock(&lock);
}

void tide__virtual_stop(void)
{
	pthread_mutex_lock(&lock);
	void *s = subscriber;
	subscriber = NULL;
	pthread_mutex_unlock(&lock);
	if (s)
		tide__cupti.unsubscribe(s);
}

/* ---- another tool subscribes: these replace CUPTI's functions for tools that link it ---- */

/* Writes the recorded events first: the other tool may change CUPTI's clock and its buffers. */
static void leave(void)
{
	tide__gpu_flush();
	tide__virtual_stop();
	tide__launches_stop();
}

EXPORT int cuptiSubscribe(void **out, cupti_callback_fn *f, void *user);
int cuptiSubscribe(void **out, cupti_callback_fn *f, void *user)
{
	int (*real)(void **, cupti_callback_fn *, void *) = NULL;
	void *p = tide__cupti_function("cuptiSubscribe");
	memcpy(&real, &p, sizeof real);
	leave();
	return real ? real(out, f, user) : 999; /* CUPTI_ERROR_UNKNOWN */
}

EXPORT int cuptiSubscribe_v2(void **out, cupti_callback_fn *f, void *user, void *params);
int cuptiSubscribe_v2(void **out, cupti_callback_fn *f, void *user, void *params)
{
	int (*real)(void **, cupti_callback_fn *, void *, void *) = NULL;
	void *p = tide__cupti_function("cuptiSubscribe_v2");
	memcpy(&real, &p, sizeof real);
	leave();
	return real ? real(out, f, user, params) : 999;
}
