// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Allocates all heap memory of the library, in one place so that tests can make the n-th allocation
 * fail.
 *
 * Everything in libtidemark (never the recorder) allocates through these. Sizes are checked for
 * overflow here: callers pass count and element size, never a product of untrusted numbers. */
#ifndef TIDE_BASE_MEM_H
#define TIDE_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns uninitialised memory for n elements; NULL on overflow or if memory runs out. n = 0 gives
 * a valid pointer.
 */
void *tide__alloc(size_t n, size_t size);
/* The same, zeroed. */
void *tide__calloc(size_t n, size_t size);
/* Grows or shrinks p; on failure returns NULL and p stays valid. */
void *tide__realloc(void *p, size_t n, size_t size);
/* NULL is fine. */
void tide__free(void *p);
/* Grows `array` (an lvalue: NULL or a pointer from here) of capacity `cap` (an lvalue of type
 * size_t) to hold at least `need` elements, by half when it must grow. Returns false if memory runs
 * out; both are then unchanged. */
#define TIDE_ROOM(array, cap, need) tide__array_room(&(array), &(cap), (need), sizeof *(array))
bool tide__grow(void *array, size_t *cap, size_t need, size_t size);
static inline bool tide__array_room(void *array, size_t *cap, size_t need, size_t size)
{
	return need <= *cap || tide__grow(array, cap, need, size);
}
/* The members of a growing list in a struct, and appending to it: the new element is not
 * initialised; NULL if memory runs out. */
#define TIDE_VEC(type, name) \
	type *name;          \
	size_t n_##name, cap_##name
#define TIDE_PUSH(o, name)                                                                      \
	(TIDE_ROOM((o)->name, (o)->cap_##name, (o)->n_##name + 1) ? &(o)->name[(o)->n_##name++] \
								  : NULL)
/* Resizes `array` to exactly n elements, for arrays that share the capacity of another array and
 * for large ones that rarely grow. Returns false if memory runs out; `array` is then unchanged. */
#define TIDE_RESIZE(array, n) tide__array_resize(&(array), (n), sizeof *(array))
bool tide__array_resize(void *array, size_t n, size_t size);
/* Returns a copy of n bytes plus a terminating NUL. */
char *tide__strndup(const char *s, size_t n);

/* Sets a callback that is asked before every allocation of at least TIDE_MEM_LARGE more bytes; if
 * it returns false, the allocation fails as if memory had run out. For long-running programs: the
 * kernel overcommits and would kill them. `grows` is set for a growing table, whose sibling tables
 * will probably grow too. NULL = grant all (the default). */
#define TIDE_MEM_LARGE ((size_t)16 << 20)
void tide__mem_ask(int (*ok)(size_t bytes, int grows));

/* Sets the memory budget: an allocation that would exceed it fails, and tide__nomem reports the
 * budget. UINT64_MAX = none (the default). Blocks below 1 KiB are not counted, nor are allocations
 * made elsewhere (stdio buffers, zstd). */
void tide__mem_set_budget(uint64_t bytes);
uint64_t tide__mem_budget_now(void);
/* Makes the budget follow the inputs, until tide__mem_set_budget: once something was read, it is
 * TIDE_MEM_BASE and TIDE_MEM_TIMES the bytes of all inputs, at most `most`. If that is not enough, it
 * is doubled once, and `raised` is called with the new budget (from any thread, without a lock). */
#define TIDE_MEM_BASE  ((uint64_t)256 << 20)
#define TIDE_MEM_TIMES 64
void tide__mem_follow_inputs(uint64_t most, void (*raised)(uint64_t bytes));
/* Counts an input. */
void tide__mem_add_input(uint64_t bytes);
/* Gives each large block its own mapping from now on: a freed one returns to the kernel at once, and
 * a growing one moves without a second copy. The process then stays near its budget, at the cost of
 * page faults. For servers. */
void tide__mem_map_large(void);
/* Returns the bytes currently counted. */
uint64_t tide__mem_live(void);
/* Returns true if the budget refused an allocation since tide__mem_set_budget or tide__mem_forgive. */
bool tide__mem_refused(void);
void tide__mem_forgive(void);

/* Makes every allocation fail from now on, in all threads: the program is ending, and readers and
 * analyses unwind as if memory had run out. Long loops that allocate nothing check
 * tide__mem_stopped. */
void tide__mem_stop(bool stop);
bool tide__mem_stopped(void);

/* Tests: make the n-th allocation from now fail (1 = the next one), 0 = never.
 * Thread-safe; counts over all threads. */
void tide__mem_fail_at(uint64_t n);
/* Tests: allocations made since the last tide__mem_fail_at(). */
uint64_t tide__mem_count(void);

#endif
