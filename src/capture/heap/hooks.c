// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Replaces libc's malloc family. Each function is as short as possible: it counts down, or checks a
 * few bits of an address, and jumps to the original function. */
#include "capture/heap/heap.h"

__thread tide_heap_thread tide__heap_self __attribute__((tls_model("initial-exec")));

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define PASSES(n) LIKELY((tide__heap_self.left -= (int64_t)(n)) >= 0)

TIDE_EXPORT void *malloc(size_t n);
TIDE_EXPORT void free(void *p);
TIDE_EXPORT void *calloc(size_t n, size_t size);
TIDE_EXPORT void *realloc(void *p, size_t n);
TIDE_EXPORT void *reallocarray(void *p, size_t n, size_t size);
TIDE_EXPORT int posix_memalign(void **out, size_t align, size_t n);
TIDE_EXPORT void *aligned_alloc(size_t align, size_t n);
TIDE_EXPORT void *memalign(size_t align, size_t n);
TIDE_EXPORT void *valloc(size_t n);
TIDE_EXPORT void *pvalloc(size_t n);
TIDE_EXPORT void cfree(void *p);
TIDE_EXPORT void free_sized(void *p, size_t n);
TIDE_EXPORT void free_aligned_sized(void *p, size_t align, size_t n);
TIDE_EXPORT size_t malloc_usable_size(void *p);
TIDE_EXPORT int dlclose(void *handle);
TIDE_EXPORT int pthread_getattr_np(pthread_t t, pthread_attr_t *a);

void *malloc(size_t n)
{
	return PASSES(n) ? tide__real.malloc(n) : tide__heap_malloc(n);
}

void free(void *p)
{
	if (LIKELY(tide__heap_passes(p)))
		tide__real.free(p);
	else
		tide__heap_free(p);
}

void *calloc(size_t n, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, size, &bytes) || PASSES(bytes))
		return tide__real.calloc(n, size);
	return tide__heap_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	bool counted = PASSES(n);
	if (LIKELY(tide__heap_passes(p)) && counted)
		return tide__real.realloc(p, n);
	return tide__heap_realloc(p, n);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, size, &bytes))
		bytes = SIZE_MAX; /* refused with ENOMEM by realloc */
	return realloc(p, bytes);
}

int posix_memalign(void **out, size_t align, size_t n)
{
	return PASSES(n) ? tide__real.posix_memalign(out, align, n)
			 : tide__heap_posix(out, align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	return PASSES(n) ? tide__real.aligned_alloc(align, n)
			 : tide__heap_aligned(tide__real.aligned_alloc, align, n);
}

void *memalign(size_t align, size_t n)
{
	return PASSES(n) ? tide__real.memalign(align, n)
			 : tide__heap_aligned(tide__real.memalign, align, n);
}

void *valloc(size_t n)
{
	return PASSES(n) ? tide__real.valloc(n) : tide__heap_paged(tide__real.valloc, n);
}

void *pvalloc(size_t n)
{
	return PASSES(n) ? tide__real.pvalloc(n) : tide__heap_paged(tide__real.pvalloc, n);
}

void cfree(void *p)
{
	free(p);
}

/* C23: libc's may check the size, an older libc has neither. */
void free_sized(void *p, size_t n)
{
	(void)n;
	free(p);
}

void free_aligned_sized(void *p, size_t align, size_t n)
{
	(void)align;
	(void)n;
	free(p);
}

size_t malloc_usable_size(void *p)
{
	return tide__real_early(p) ? 0 : tide__real.usable(p);
}

int dlclose(void *handle)
{
	int rc = tide__real.dlclose(handle);
	tide__heap_forget_unloaded();
	return rc;
}

/* The recorder also calls it, to find the bounds of a thread's stack at its first event. */
int pthread_getattr_np(pthread_t t, pthread_attr_t *a)
{
	bool was = tide__heap_self.asking;
	tide__heap_self.asking = true;
	int rc = tide__real.getattr(t, a);
	tide__heap_self.asking = was;
	return rc;
}
