// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Records the host heap: every function of the malloc family is recorded and forwarded.
 *
 *     hooks.c    the functions that replace malloc's; two tests and a jump if nothing is recorded
 *     record.c   decides what is recorded and with which stack; start, fork, switching on and off
 *     sampled_blocks.c  where sampled blocks are allocated
 *     tracked.c  addresses that were recorded, so that their frees are recorded too
 *     real.c     the original functions
 *     operators.c  operator new and delete of an allocator that has its own
 *     maps.c     mmap, mremap and munmap (TIDEMARK_MMAP=1), in a separate pool
 *
 * TIDEMARK_HEAP selects what is recorded: a number (the mean of the bytes between two samples),
 * "full", or nothing: then this library only forwards. An allocation of s bytes is sampled with probability
 * 1 - exp(-s / mean); readers divide by that, so that sums of bytes and counts are unbiased
 * (docs/analyses/heap.md). A thread that is recording does not record its own calls. */
#ifndef TIDE_CAPTURE_HEAP_HEAP_H
#define TIDE_CAPTURE_HEAP_HEAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/heap/unwind.h"

#define TIDE_HIDDEN __attribute__((visibility("hidden")))
#define TIDE_EXPORT __attribute__((visibility("default")))

/* ---- the original functions ---- */

typedef struct tide_real {
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*usable)(void *);
	int (*dlclose)(void *);
	int (*getattr)(pthread_t, pthread_attr_t *);
} tide_real;
extern tide_real tide__real TIDE_HIDDEN; /* initially functions that look the others up */
/* Looks them up once; before that, a small arena serves the loader's own calls. */
void tide__real_find(void) TIDE_HIDDEN;
bool tide__real_early(const void *p) TIDE_HIDDEN; /* returns true for memory of that arena */
size_t tide__real_early_size(const void *p) TIDE_HIDDEN;

/* ---- a thread ---- */

typedef struct tide_heap_thread {
	int64_t left;	  /* bytes until the next sample; below 0: due() of record.c decides */
	const void *last; /* the block recorded last */
	bool inside;	  /* inside the recorder: calls are only forwarded */
	bool asking;	  /* inside pthread_getattr_np, which allocates under the thread's lock */
	uint64_t random;
	tide_stack_bounds bounds;
	tide_walks *walks; /* full mode; owned by the thread */
} tide_heap_thread;
extern __thread tide_heap_thread tide__heap_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* ---- recorded addresses ---- */

/* A free makes 3 checks, each needed more rarely than the previous one:
 *
 *     screen   does the address share no bit with this mask? 127 of 128 blocks of a sampled heap do
 *              share one, since sampled blocks are in the first 32 bytes of a page. The mask is 0
 *              while that does not hold for every recorded block: then each free continues.
 *     classes  is the byte of its class 0? Then no address of the class is recorded, nor of the
 *              early arena.
 *     table    is it there? Under a lock. */
enum { TIDE_SCREEN = 0xfe0, TIDE_CLASSES = 1 << 16 };
extern uintptr_t tide__heap_screen TIDE_HIDDEN; /* TIDE_SCREEN or 0 */
static inline bool tide__heap_placed(const void *p)
{
	return !((uintptr_t)p & TIDE_SCREEN);
}
/* One instruction. The thread that frees a block received it from a thread that had set the screen
 * before. */
static inline bool tide__heap_passes(const void *p)
{
#if defined(__x86_64__)
	bool some;
	__asm__("testq %2, %1" : "=@ccnz"(some) : "m"(tide__heap_screen), "r"(p));
	return some;
#else
	return (uintptr_t)p & __atomic_load_n(&tide__heap_screen, __ATOMIC_RELAXED);
#endif
}

extern uint8_t tide__heap_classes[TIDE_CLASSES] TIDE_HIDDEN;
static inline size_t tide__heap_class(const void *p)
{
	return ((uintptr_t)p >> 4 ^ (uintptr_t)p >> 12) & (TIDE_CLASSES - 1);
}
static inline bool tide__heap_maybe(const void *p)
{
	return __atomic_load_n(&tide__heap_classes[tide__heap_class(p)], __ATOMIC_RELAXED);
}
bool tide__real_early_mark(void) TIDE_HIDDEN; /* returns true if the arena was used */
bool tide__tracked_init(void) TIDE_HIDDEN;
/* Full mode: every address counts as recorded. */
void tide__tracked_set_all(bool all) TIDE_HIDDEN;
bool tide__tracked_add(const void *p) TIDE_HIDDEN;  /* returns false if the table is full */
bool tide__tracked_take(const void *p) TIDE_HIDDEN; /* removes it; returns true if it was present */

/* ---- sampled blocks ---- */

/* Like the original functions, but the block is at the start of a page if possible. */
void *tide__place_malloc(size_t n) TIDE_HIDDEN;
void *tide__place_calloc(size_t n, size_t size) TIDE_HIDDEN;
void *tide__place_aligned(void *(*f)(size_t, size_t), size_t align, size_t n) TIDE_HIDDEN;
int tide__place_posix(void **out, size_t align, size_t n) TIDE_HIDDEN;
/* Moves a block of `n` bytes to the start of a page, if it is small. Returns its address. */
void *tide__place_again(void *p, size_t n) TIDE_HIDDEN;

/* ---- recording ---- */

/* Slow paths of calls that may have to be recorded. Each forwards the call. */
void *tide__heap_malloc(size_t n) TIDE_HIDDEN;
void *tide__heap_calloc(size_t n, size_t size) TIDE_HIDDEN;
void *tide__heap_realloc(void *p, size_t n) TIDE_HIDDEN;
void *tide__heap_aligned(void *(*f)(size_t, size_t), size_t align, size_t n) TIDE_HIDDEN;
void *tide__heap_paged(void *(*f)(size_t), size_t n) TIDE_HIDDEN;
int tide__heap_posix(void **out, size_t align, size_t n) TIDE_HIDDEN;
void tide__heap_free(void *p) TIDE_HIDDEN;
/* Records a block that a function other than those above allocated, if a sample is due. */
void tide__heap_made(const void *p, size_t n, tide_walk w) TIDE_HIDDEN;
/* Records the end of a block, before it is freed. */
void tide__heap_gone(const void *p) TIDE_HIDDEN;
/* Returns the stack that starts at `w`; the thread is `inside`. 0 if it cannot be recorded. */
uint32_t tide__heap_stack_now(tide_walk w) TIDE_HIDDEN;

/* maps.c: returns whether mappings are recorded; records them into this pool from now on. */
bool tide__maps_wanted(void) TIDE_HIDDEN;
void tide__maps_start(uint16_t pool) TIDE_HIDDEN;

/* operators.c: records them from now on if they do not call malloc. */
void tide__operators_start(void) TIDE_HIDDEN;

/* Call after code was unmapped. */
void tide__heap_forget_unloaded(void) TIDE_HIDDEN;

#endif
