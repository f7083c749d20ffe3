// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Allocates sampled blocks at the start of a page if that costs little, so that a free recognises
 * all other blocks by a few bits of their address (heap.h). Each function returns the same as the
 * original, NULL included. If no page start is available, the block is an ordinary one and frees
 * look it up by its class (tracked.c). */
#include "capture/heap/heap.h"

#include <string.h>

enum { PAGE = 4096, COPY = 64 << 10 }; /* larger blocks are neither copied nor cleared twice */

void *tide__place_malloc(size_t n)
{
	void *p = tide__real.memalign(PAGE, n);
	return p ? p : tide__real.malloc(n);
}

/* libc maps large blocks, which are zero without being touched and 16 bytes into a page. */
void *tide__place_calloc(size_t n, size_t size)
{
	void *p = n * size <= COPY ? tide__real.memalign(PAGE, n * size) : NULL;
	return p ? memset(p, 0, n * size) : tide__real.calloc(n, size);
}

static bool may_grow(size_t align)
{
	return align >= sizeof(void *) && align < PAGE && !(align & (align - 1));
}

void *tide__place_aligned(void *(*f)(size_t, size_t), size_t align, size_t n)
{
	void *p = may_grow(align) ? f(PAGE, n) : NULL;
	return p ? p : f(align, n);
}

int tide__place_posix(void **out, size_t align, size_t n)
{
	void *p = may_grow(align) ? tide__real.memalign(PAGE, n) : NULL;
	if (!p)
		return tide__real.posix_memalign(out, align, n);
	*out = p;
	return 0;
}

void *tide__place_again(void *p, size_t n)
{
	void *q = n <= COPY && !tide__heap_placed(p) ? tide__real.memalign(PAGE, n) : NULL;
	if (!q)
		return p;
	memcpy(q, p, n);
	tide__real.free(p);
	return q;
}
