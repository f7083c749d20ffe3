// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "base/mem.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t counted;
static _Atomic uint64_t fail_at;
static int (*_Atomic large_ok)(size_t bytes, int grows);

void tide__mem_ask(int (*ok)(size_t bytes, int grows))
{
	atomic_store(&large_ok, ok);
}

/* ---- the memory budget ---- */

enum { COUNTED = 1024 }; /* smaller blocks are not counted, bytes */

static _Atomic int64_t live;
static _Atomic uint64_t budget = UINT64_MAX;
static _Atomic bool refused;

static _Atomic uint64_t inputs, follow_most; /* follow_most 0: the budget is fixed */
static _Atomic bool doubled;
static void (*_Atomic tell_raised)(uint64_t bytes);

void tide__mem_set_budget(uint64_t bytes)
{
	atomic_store(&follow_most, 0);
	atomic_store(&budget, bytes);
	tide__mem_forgive();
}

void tide__mem_follow_inputs(uint64_t most, void (*raised)(uint64_t bytes))
{
	tide__mem_set_budget(most);
	atomic_store(&inputs, 0);
	atomic_store(&doubled, false);
	atomic_store(&tell_raised, raised);
	atomic_store(&follow_most, most);
}

/* Returns the budget for the inputs so far. */
static uint64_t share_of_inputs(void)
{
	uint64_t most = atomic_load(&follow_most), n = atomic_load(&inputs);
	int twice = atomic_load(&doubled) ? 2 : 1;
	uint64_t bytes = n < UINT64_MAX / TIDE_MEM_TIMES / 4
				 ? (TIDE_MEM_BASE + TIDE_MEM_TIMES * n) * (uint64_t)twice
				 : UINT64_MAX;
	return bytes < most ? bytes : most;
}

void tide__mem_add_input(uint64_t bytes)
{
	if (!atomic_load(&follow_most))
		return;
	atomic_fetch_add(&inputs, bytes);
	atomic_store(&budget, share_of_inputs());
}

/* Doubles a budget that follows the inputs, once. Returns true if there is more now. */
static bool raise_budget(void)
{
	uint64_t had = atomic_load(&budget);
	if (!atomic_load(&follow_most) || atomic_exchange(&doubled, true))
		return false;
	uint64_t now = share_of_inputs();
	if (now <= had)
		return false;
	atomic_store(&budget, now);
	void (*told)(uint64_t) = atomic_load(&tell_raised);
	if (told)
		told(now);
	return true;
}

void tide__mem_map_large(void)
{
	enum { MAPPED = 512 << 10 }; /* fixed thresholds: glibc raises its own after each free */
	mallopt(M_MMAP_THRESHOLD, MAPPED);
	mallopt(M_TRIM_THRESHOLD, 2 * MAPPED);
	malloc_trim(0);
}

uint64_t tide__mem_budget_now(void)
{
	return atomic_load(&budget);
}

uint64_t tide__mem_live(void)
{
	int64_t n = atomic_load_explicit(&live, memory_order_relaxed);
	return n > 0 ? (uint64_t)n : 0;
}

bool tide__mem_refused(void)
{
	return atomic_load(&refused);
}

void tide__mem_forgive(void)
{
	atomic_store(&refused, false);
}

static bool fits(size_t more)
{
	uint64_t most = atomic_load_explicit(&budget, memory_order_relaxed);
	uint64_t now = more < COUNTED || most == UINT64_MAX ? 0 : tide__mem_live();
	return more < COUNTED || (now <= most && more <= most - now);
}

static bool affordable(size_t more)
{
	if (fits(more) || (raise_budget() && fits(more)))
		return true;
	atomic_store(&refused, true);
	return false;
}

/* Asks the budget, then the callback, before a large allocation. */
static int granted(size_t more, int grows)
{
	int (*ok)(size_t, int) = atomic_load_explicit(&large_ok, memory_order_relaxed);
	return affordable(more) && (more < TIDE_MEM_LARGE || !ok || ok(more, grows));
}

/* Counts a block by its usable size, which is the same at allocation and at free. */
static void *came(void *p)
{
	size_t n = malloc_usable_size(p);
	if (n >= COUNTED)
		atomic_fetch_add_explicit(&live, (int64_t)n, memory_order_relaxed);
	return p;
}

static void goes(void *p)
{
	size_t n = malloc_usable_size(p);
	if (n >= COUNTED)
		atomic_fetch_sub_explicit(&live, (int64_t)n, memory_order_relaxed);
}

/* ---- tests ---- */

void tide__mem_fail_at(uint64_t n)
{
	atomic_store(&counted, 0);
	atomic_store(&fail_at, n);
}

uint64_t tide__mem_count(void)
{
	return atomic_load(&counted);
}

static _Atomic bool stopped;

void tide__mem_stop(bool stop)
{
	atomic_store(&stopped, stop);
}

bool tide__mem_stopped(void)
{
	return atomic_load_explicit(&stopped, memory_order_relaxed);
}

static int refuse(size_t n, size_t size)
{
	if (tide__mem_stopped())
		return 1;
	uint64_t k = atomic_fetch_add_explicit(&counted, 1, memory_order_relaxed) + 1;
	if (k == atomic_load_explicit(&fail_at, memory_order_relaxed))
		return 1;
	return size && n > PTRDIFF_MAX / size;
}

/* Returns at least 1, so that an allocation of 0 bytes yields a valid pointer. */
static size_t at_least_one(size_t bytes)
{
	return bytes ? bytes : 1;
}

void *tide__alloc(size_t n, size_t size)
{
	if (refuse(n, size) || !granted(n * size, 0))
		return NULL;
	return came(malloc(at_least_one(n * size)));
}

void *tide__calloc(size_t n, size_t size)
{
	if (refuse(n, size) || !granted(n * size, 0))
		return NULL;
	return came(calloc(n ? n : 1, size ? size : 1));
}

void *tide__realloc(void *p, size_t n, size_t size)
{
	if (refuse(n, size))
		return NULL;
	size_t had = malloc_usable_size(p);
	if (n * size > had && !granted(n * size - had, 1))
		return NULL;
	goes(p);
	void *q = realloc(p, at_least_one(n * size));
	came(q ? q : p);
	return q;
}

bool tide__grow(void *array, size_t *cap, size_t need, size_t size)
{
	enum { FIRST = 16 };
	void *p;
	memcpy(&p, array, sizeof p); /* a pointer of any type */
	size_t want = need < SIZE_MAX / 2 ? need + need / 2 + FIRST : need;
	p = tide__realloc(p, want, size);
	if (!p)
		return false;
	memcpy(array, &p, sizeof p);
	*cap = want;
	return true;
}

bool tide__array_resize(void *array, size_t n, size_t size)
{
	void *p;
	memcpy(&p, array, sizeof p);
	p = tide__realloc(p, n, size);
	if (!p)
		return false;
	memcpy(array, &p, sizeof p);
	return true;
}

void tide__free(void *p)
{
	goes(p);
	free(p);
}

char *tide__strndup(const char *s, size_t n)
{
	char *out = n < SIZE_MAX ? tide__alloc(n + 1, 1) : NULL;
	if (out) {
		memcpy(out, s, n);
		out[n] = 0;
	}
	return out;
}
