// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The library's one door to the heap, so that tests can make the n-th allocation fail.
 *
 * Everything in libtidemark (never the recorder) allocates through these. Sizes are checked for
 * overflow here: callers pass count and element size, never a product of untrusted numbers. */
#ifndef TIDE_BASE_MEM_H
#define TIDE_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Uninitialised memory for n elements; NULL on overflow or exhaustion. n = 0 gives a valid pointer.
 */
void *tide__alloc(size_t n, size_t size);
/* The same, zeroed. */
void *tide__calloc(size_t n, size_t size);
/* Grow or shrink; on failure returns NULL and p stays valid. */
void *tide__realloc(void *p, size_t n, size_t size);
/* NULL is fine. */
void tide__free(void *p);
/* An array (an lvalue: a pointer, NULL or from here) that has room for `cap` elements (an lvalue of
 * type size_t) gets room for at least `need`: half as many again where it must grow. False on
 * exhaustion: both stay as they were. */
#define TIDE_ROOM(array, cap, need) tide__array_room(&(array), &(cap), (need), sizeof *(array))
bool tide__grow(void *array, size_t *cap, size_t need, size_t size);
static inline bool tide__array_room(void *array, size_t *cap, size_t need, size_t size)
{
	return need <= *cap || tide__grow(array, cap, need, size);
}
/* Copy of n bytes plus a terminating NUL. */
char *tide__strndup(const char *s, size_t n);

/* Ask `ok` before every allocation of at least TIDE_MEM_LARGE bytes more: false makes it fail as if
 * memory were out. For programs that must outlive it: the kernel grants more than there is and then
 * kills. `grows`: a table that grows, and others beside it likely too. NULL = grant all (the
 * default). */
#define TIDE_MEM_LARGE ((size_t)16 << 20)
void tide__mem_ask(int (*ok)(size_t bytes, int grows));

/* The memory budget: an allocation that would take the library's memory over it fails, and tide__nomem
 * says so. UINT64_MAX = none (the default). Blocks of less than 1 KiB do not count, nor does what is
 * allocated elsewhere (buffers of stdio, zstd). */
void tide__mem_budget(uint64_t bytes);
uint64_t tide__mem_budget_now(void);
/* Bytes that count, now. */
uint64_t tide__mem_live(void);
/* Whether the budget refused an allocation since tide__mem_budget or tide__mem_forgive. */
bool tide__mem_refused(void);
void tide__mem_forgive(void);

/* Tests: make the n-th allocation from now fail (1 = the next one), 0 = never.
 * Thread-safe; counts over all threads. */
void tide__mem_fail_at(uint64_t n);
/* Tests: allocations made since the last tide__mem_fail_at(). */
uint64_t tide__mem_count(void);

#endif
