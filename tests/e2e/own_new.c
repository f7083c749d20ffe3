// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* An allocator as jemalloc and tcmalloc are: malloc of its own, and operators that do not call it.
 * heap_run.py preloads it. */
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
extern void __libc_free(void *p);

EXPORT void *malloc(size_t n)
{
	return __libc_malloc(n);
}

EXPORT void *calloc(size_t n, size_t size)
{
	return __libc_calloc(n, size);
}

EXPORT void *realloc(void *p, size_t n)
{
	return __libc_realloc(p, n);
}

EXPORT void *memalign(size_t align, size_t n)
{
	return __libc_memalign(align, n);
}

EXPORT void free(void *p)
{
	__libc_free(p);
}

EXPORT void *_Znwm(size_t n)
{
	return __libc_malloc(n);
}

/* As jemalloc's: it calls a function of the malloc family after all. */
EXPORT void *_ZnwmSt11align_val_t(size_t n, size_t align)
{
	return memalign(align, n);
}

/* As tcmalloc's: the library calls its own function through a slot. */
EXPORT void *_Znam(size_t n)
{
	return _Znwm(n);
}

EXPORT void _ZdlPv(void *p)
{
	__libc_free(p);
}

EXPORT void _ZdlPvm(void *p, size_t n)
{
	(void)n;
	__libc_free(p);
}
