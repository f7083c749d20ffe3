// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Names by pointer: CUPTI keeps a kernel's name as long as its module is loaded, so a pointer can
 * later refer to another name. A few bytes of the text are compared too. */
#include "capture/cuda/inject.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 14, CALLS = 1024 };
static struct {
	const char *at;
	uint64_t sign;
	tide_name id;
} known[SLOTS];
static tide_name calls[3][CALLS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

typedef char *demangle_fn(const char *, char *, size_t *, int *);

static demangle_fn *demangler(void)
{
	static demangle_fn *f;
	static bool looked;
	if (!looked) {
		void *p = dlsym(RTLD_DEFAULT, "__cxa_demangle");
		if (!p) {
			void *h = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
			p = h ? dlsym(h, "__cxa_demangle") : NULL;
		}
		memcpy(&f, &p, sizeof f);
		looked = true;
	}
	return f;
}

static uint64_t sign_of(const char *s)
{
	uint64_t h = 1469598103934665603u;
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211u;
	return h;
}

static tide_name define(const char *mangled)
{
	int status = 0;
	demangle_fn *f = !strncmp(mangled, "_Z", 2) ? demangler() : NULL;
	char *readable = f ? f(mangled, NULL, NULL, &status) : NULL;
	tide_name id = tide_intern(readable ? readable : mangled);
	free(readable);
	return id;
}

tide_name tide__kernel_name(const char *mangled)
{
	if (!mangled)
		return tide_name_static("[unknown kernel]");
	uint64_t sign = sign_of(mangled);
	size_t i = (sign ^ sign >> 20) & (SLOTS - 1);
	pthread_mutex_lock(&lock);
	if (known[i].at != mangled || known[i].sign != sign) {
		known[i].at = mangled;
		known[i].sign = sign;
		known[i].id = define(mangled);
	}
	tide_name id = known[i].id;
	pthread_mutex_unlock(&lock);
	return id;
}

/* "cudaLaunchKernel_v7000" is cudaLaunchKernel, as Kineto calls it. */
static tide_name define_call(int domain, uint32_t id)
{
	const char *text = NULL;
	char name[128];
	if (!tide__cupti.callback_name ||
	    tide__cupti.callback_name(domain, id, &text) != CUPTI_OK || !text) {
		snprintf(name, sizeof name, "%s call %u",
			 domain == CUPTI_DOMAIN_DRIVER ? "driver" : "runtime", id);
		return tide_intern(name);
	}
	snprintf(name, sizeof name, "%s", text);
	char *v = strstr(name, "_v");
	if (v && v[2] >= '0' && v[2] <= '9')
		*v = 0;
	return tide_intern(name);
}

tide_name tide__call_name(int domain, uint32_t id)
{
	if (id >= CALLS || domain < 0 || domain > 2)
		return define_call(domain, id);
	pthread_mutex_lock(&lock);
	if (!calls[domain][id])
		calls[domain][id] = define_call(domain, id);
	tide_name n = calls[domain][id];
	pthread_mutex_unlock(&lock);
	return n;
}
