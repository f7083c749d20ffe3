// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The addresses of sampled blocks. A free that the screen does not let pass checks the byte of its
 * class, which is nearly always 0; only then the table, under a lock that only samples compete for.
 * The table is wiped in forked children. */
#include "capture/heap/heap.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { SLOTS = 1 << 20, MOST = SLOTS / 2 };

uintptr_t tide__heap_screen = TIDE_SCREEN;
uint8_t tide__heap_classes[TIDE_CLASSES] __attribute__((aligned(4096)));
static bool every; /* every address counts as recorded, or early ones do */
static struct {
	_Atomic uint32_t lock;
	uint32_t n;
	uint32_t n_odd; /* blocks that are not at the start of a page */
	uint8_t pad[4084];
} held __attribute__((aligned(4096)));
static uintptr_t *slots;

bool tide__tracked_init(void)
{
	void *p = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	slots = p;
	madvise(p, SLOTS * sizeof *slots, MADV_WIPEONFORK);
	madvise(&held, sizeof held, MADV_WIPEONFORK);
	return madvise(slots, SLOTS * sizeof *slots, MADV_WIPEONFORK) == 0;
}

static void set_screen(void)
{
	__atomic_store_n(&tide__heap_screen, every || held.n_odd ? 0 : TIDE_SCREEN,
			 __ATOMIC_RELAXED);
}

void tide__tracked_set_all(bool all)
{
	memset(tide__heap_classes, all ? 0xff : 0, sizeof tide__heap_classes);
	every = tide__real_early_mark() || all;
	set_screen();
}

static void lock(void)
{
	uint32_t free_ = 0;
	for (int i = 0; !atomic_compare_exchange_weak_explicit(
		     &held.lock, &free_, 1, memory_order_acquire, memory_order_relaxed);
	     i++, free_ = 0)
		if (i > 100)
			sched_yield();
}

static void unlock(void)
{
	atomic_store_explicit(&held.lock, 0, memory_order_release);
}

static size_t place(uintptr_t p)
{
	return (size_t)(p * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (SLOTS - 1);
}

bool tide__tracked_add(const void *p)
{
	bool room = false;
	lock();
	if (slots && held.n < MOST) {
		size_t i = place((uintptr_t)p);
		while (slots[i] && slots[i] != (uintptr_t)p)
			i = (i + 1) & (SLOTS - 1);
		held.n += !slots[i];
		held.n_odd += !slots[i] && !tide__heap_placed(p);
		slots[i] = (uintptr_t)p;
		set_screen();
		uint8_t *c = &tide__heap_classes[tide__heap_class(p)];
		if (*c < 255) /* otherwise it stays, and a few more frees are looked up */
			__atomic_store_n(c, (uint8_t)(*c + 1), __ATOMIC_RELAXED);
		room = true;
	}
	unlock();
	return room;
}

/* Closes the gap at i: moves back later entries that belong before it. */
static void close_gap(size_t i)
{
	for (size_t k = (i + 1) & (SLOTS - 1); slots[k]; k = (k + 1) & (SLOTS - 1)) {
		size_t want = place(slots[k]);
		if (((k - want) & (SLOTS - 1)) >= ((k - i) & (SLOTS - 1))) {
			slots[i] = slots[k];
			i = k;
		}
	}
	slots[i] = 0;
}

bool tide__tracked_take(const void *p)
{
	bool found = false;
	if (!slots)
		return false;
	lock();
	size_t i = place((uintptr_t)p);
	while (slots[i] && slots[i] != (uintptr_t)p)
		i = (i + 1) & (SLOTS - 1);
	if (slots[i]) {
		found = true;
		close_gap(i);
		held.n--;
		held.n_odd -= !tide__heap_placed(p);
		set_screen();
		uint8_t *c = &tide__heap_classes[tide__heap_class(p)];
		if (*c && *c < 255)
			__atomic_store_n(c, (uint8_t)(*c - 1), __ATOMIC_RELAXED);
	}
	unlock();
	return found;
}
