// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds the original malloc with dlsym, which may call malloc itself: earlier calls are served
 * from a small arena whose blocks are never freed. */
#include "capture/heap/heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

enum { ARENA = 64 << 10, ALIGN = 16 };
static _Alignas(ALIGN) char arena[ARENA];
static _Atomic size_t used;

bool tide__real_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)arena < ARENA;
}

static void *early(size_t align, size_t n)
{
	align = align < ALIGN ? ALIGN : align;
	size_t want = n + ALIGN + align;
	if (n > ARENA || want > ARENA)
		return NULL;
	size_t at = atomic_fetch_add(&used, (want + ALIGN - 1) / ALIGN * ALIGN);
	if (at > ARENA - want)
		return NULL;
	uintptr_t p = ((uintptr_t)arena + at + ALIGN + align - 1) / align * align;
	memcpy((void *)(p - sizeof n), &n, sizeof n);
	__atomic_store_n(&tide__heap_classes[tide__heap_class((void *)p)], UINT8_MAX,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&tide__heap_screen, 0, __ATOMIC_RELAXED);
	return (void *)p;
}

/* A free checks only the class of an address, so classes of this arena always count as recorded. */
bool tide__real_early_mark(void)
{
	size_t n = atomic_load(&used);
	for (size_t at = 0; at < n && at < ARENA; at += ALIGN)
		__atomic_store_n(&tide__heap_classes[tide__heap_class(arena + at)], UINT8_MAX,
				 __ATOMIC_RELAXED);
	return n > 0;
}

size_t tide__real_early_size(const void *p)
{
	size_t n;
	memcpy(&n, (const char *)p - sizeof n, sizeof n);
	return n;
}

/* ---- before they are known ---- */

static void *first_malloc(size_t n)
{
	tide__real_find();
	return tide__real.malloc != first_malloc ? tide__real.malloc(n) : early(0, n);
}

static void first_free(void *p)
{
	if (!p || tide__real_early(p))
		return;
	tide__real_find();
	if (tide__real.free != first_free)
		tide__real.free(p);
}

static void *first_calloc(size_t n, size_t size)
{
	tide__real_find();
	if (tide__real.calloc != first_calloc)
		return tide__real.calloc(n, size);
	return size && n > SIZE_MAX / size ? NULL : early(0, n * size); /* it is zero */
}

static void *first_realloc(void *p, size_t n)
{
	tide__real_find();
	if (!tide__real_early(p) && tide__real.realloc != first_realloc)
		return tide__real.realloc(p, n);
	void *q = tide__real.malloc(n);
	if (q && p)
		memcpy(q, p, tide__real_early_size(p) < n ? tide__real_early_size(p) : n);
	return q;
}

static void *first_aligned(size_t align, size_t n)
{
	tide__real_find();
	return tide__real.memalign != first_aligned ? tide__real.memalign(align, n)
						    : early(align, n);
}

static int first_posix(void **out, size_t align, size_t n)
{
	tide__real_find();
	if (tide__real.posix_memalign != first_posix)
		return tide__real.posix_memalign(out, align, n);
	*out = early(align, n);
	return *out ? 0 : ENOMEM;
}

static void *first_paged(size_t n)
{
	return first_aligned(4096, n);
}

static size_t first_usable(void *p)
{
	return p && tide__real_early(p) ? tide__real_early_size(p) : 0;
}

static int first_dlclose(void *handle)
{
	tide__real_find();
	return tide__real.dlclose != first_dlclose ? tide__real.dlclose(handle) : 0;
}

static int first_getattr(pthread_t t, pthread_attr_t *a)
{
	tide__real_find();
	return tide__real.getattr != first_getattr ? tide__real.getattr(t, a) : ENOSYS;
}

tide_real tide__real = { first_malloc, first_free,    first_calloc,  first_realloc,
			 first_posix,  first_aligned, first_aligned, first_paged,
			 first_paged,  first_usable,  first_dlclose, first_getattr };

static _Atomic int state; /* 0 not looked up, 1 another thread is looking, 2 done */

static void look(const char *name, void *at)
{
	void *p = dlsym(RTLD_NEXT, name);
	if (p)
		memcpy(at, &p, sizeof p);
}

void tide__real_find(void)
{
	int none = 0;
	if (!atomic_compare_exchange_strong(&state, &none, 1))
		return; /* done, or called by dlsym itself */
	tide_real r = tide__real;
	look("malloc", &r.malloc);
	look("free", &r.free);
	look("calloc", &r.calloc);
	look("realloc", &r.realloc);
	look("posix_memalign", &r.posix_memalign);
	look("aligned_alloc", &r.aligned_alloc);
	look("memalign", &r.memalign);
	look("valloc", &r.valloc);
	look("pvalloc", &r.pvalloc);
	look("malloc_usable_size", &r.usable);
	look("dlclose", &r.dlclose);
	look("pthread_getattr_np", &r.getattr);
	tide__real = r;
	atomic_store(&state, 2);
}
