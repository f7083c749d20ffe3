// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/heap/stacks.h"

#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tidemark/detail/quick.h>

#include "capture/heap/cfi.h"

enum { DEEP = 128, BATCH = 32 /* most at once */, FIRST_SLOTS = 1 << 14, MOST_SLOTS = 1 << 24 };

/* ---- Python -------------------------------------------------------------------------------- */

typedef tide_stack py_fn(void);
static struct {
	_Atomic uint32_t tries; /* looks for the interpreter so far */
	_Atomic uintptr_t loop, loop_end;
	_Atomic bool whole; /* the loop is the whole interpreter: see find_loop() */
	_Atomic(py_fn *) stack;
} python;

/* Gets the code of the interpreter's loop. It has tens of KiB, unless every instruction is a
 * function that calls the next one at its end (CPython 3.14 may be built so): then native frames
 * end at the first one of the interpreter's own. */
static bool find_loop(uintptr_t loop, uintptr_t *start, uintptr_t *end)
{
	enum { LEAST = 16 << 10 };
	tide_module m;
	if (!tide__module_find(loop, &m) || !tide__cfi_find_function(&m, loop, start, end))
		return false;
	if (*end - *start < LEAST) {
		*start = m.start;
		*end = m.end;
		atomic_store(&python.whole, true);
	}
	return true;
}

/* The interpreter may be loaded late (by a program that embeds it), so look for it from time to
 * time. */
static void find_python(void)
{
	uint32_t n = atomic_fetch_add_explicit(&python.tries, 1, memory_order_relaxed);
	if (n & (n - 1)) /* at the 1st, 2nd, 4th, 8th ... new stack */
		return;
	void *loop = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
	void *stack = dlsym(RTLD_DEFAULT, "tide_torch_stack_now");
	uintptr_t start, end;
	py_fn *f;
	memcpy(&f, &stack, sizeof f);
	if (!loop || !stack || !find_loop((uintptr_t)loop, &start, &end))
		return;
	atomic_store(&python.stack, f);
	atomic_store(&python.loop_end, end);
	atomic_store(&python.loop, start);
}

/* ---- known stacks -------------------------------------------------------------------------- */

/* Maps keys to ids: nodes by parent and frame, frames and whole stacks by addresses of code.
 * Entries by address are discarded when code is unmapped; nodes stay, so that their stacks are not
 * defined again. */
#define USED_BIT (UINT64_C(1) << 63)
#define NODE_BIT (UINT64_C(1) << 62)

struct known {
	_Atomic uint64_t key; /* 0 = free; stored last */
	_Atomic uint32_t id;  /* 0 = forgotten */
};
struct table {
	size_t mask;
	_Atomic size_t n;
	struct known at[];
};

static struct table *_Atomic table; /* the old table stays: threads may be reading it */
static atomic_flag busy = ATOMIC_FLAG_INIT;

static struct table *make(size_t slots)
{
	struct table *t = mmap(NULL, sizeof *t + slots * sizeof t->at[0], PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t == MAP_FAILED)
		return NULL;
	t->mask = slots - 1;
	return t;
}

static void put(struct table *t, uint64_t key, uint32_t id)
{
	size_t i = key >> 20 & t->mask;
	uint64_t have;
	while ((have = atomic_load_explicit(&t->at[i].key, memory_order_relaxed)) && have != key)
		i = (i + 1) & t->mask;
	atomic_store_explicit(&t->at[i].id, id, memory_order_relaxed);
	if (!have)
		atomic_fetch_add_explicit(&t->n, 1, memory_order_relaxed);
	atomic_store_explicit(&t->at[i].key, key, memory_order_release);
}

static struct table *grown(struct table *old)
{
	size_t slots = old ? (old->mask + 1) * 2 : FIRST_SLOTS;
	struct table *t = slots <= MOST_SLOTS ? make(slots) : NULL;
	for (size_t i = 0; t && old && i <= old->mask; i++) {
		uint64_t key = atomic_load_explicit(&old->at[i].key, memory_order_relaxed);
		if (key)
			put(t, key, atomic_load_explicit(&old->at[i].id, memory_order_relaxed));
	}
	if (t)
		atomic_store_explicit(&table, t, memory_order_release);
	return t;
}

static tide_stack find(uint64_t key)
{
	struct table *t = atomic_load_explicit(&table, memory_order_acquire);
	for (size_t i = t ? key >> 20 & t->mask : 0; t; i = (i + 1) & t->mask) {
		uint64_t have = atomic_load_explicit(&t->at[i].key, memory_order_acquire);
		if (have == key)
			return atomic_load_explicit(&t->at[i].id, memory_order_relaxed);
		if (!have)
			break;
	}
	return 0;
}

static void remember(uint64_t key, tide_stack id)
{
	if (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		return; /* another thread is growing it; try again next time */
	struct table *t = atomic_load(&table);
	if (!t || (atomic_load(&t->n) + 1) * 2 > t->mask + 1)
		t = grown(t);
	if (t)
		put(t, key, id);
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

void tide__heap_stacks_forget(void)
{
	while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		sched_yield();
	struct table *t = atomic_load(&table);
	for (size_t i = 0; t && i <= t->mask; i++) {
		uint64_t key = atomic_load_explicit(&t->at[i].key, memory_order_relaxed);
		if (key && !(key & NODE_BIT))
			atomic_store_explicit(&t->at[i].id, 0, memory_order_relaxed);
	}
	atomic_flag_clear_explicit(&busy, memory_order_release);
	tide__unwind_forget();
}

void tide__heap_stacks_forked(void)
{
	atomic_flag_clear_explicit(&busy, memory_order_release);
	tide__unwind_forked();
}

/* ---- defining one -------------------------------------------------------------------------- */

static const char *path_of(const tide_module *m)
{
	static char own[PATH_MAX];
	static _Atomic int state; /* 0 not read, 1 another thread is reading, 2 read */
	int none = 0;
	if (m->path[0])
		return m->path;
	if (atomic_load(&state) == 2)
		return own;
	if (!atomic_compare_exchange_strong(&state, &none, 1))
		return "";
	ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
	own[n > 0 ? n : 0] = 0;
	atomic_store(&state, 2);
	return own;
}

void tide__heap_stacks_start(void)
{
	static const tide_module program = { .path = "" };
	tide_module m;
	path_of(&program);
	tide__module_find((uintptr_t)tide__heap_stacks_start, &m);
}

static uint64_t frame_key(uintptr_t pc)
{
	uint64_t key = (pc ^ UINT64_C(0x94d049bb133111eb)) * UINT64_C(0x9e3779b97f4a7c15);
	return ((key ^ key >> 29) | USED_BIT) & ~NODE_BIT;
}

static uint64_t node_key(tide_stack parent, uint32_t frame)
{
	uint64_t key = ((uint64_t)parent << 32 | frame) * UINT64_C(0xc2b2ae3d27d4eb4f);
	return (key ^ key >> 31) | USED_BIT | NODE_BIT;
}

/* Returns the frame at `pc`; `text` has room for its function, if its id is not known. */
static tide_text_frame frame_of(uintptr_t pc, char text[24])
{
	tide_module m;
	uint32_t id = find(frame_key(pc));
	if (id)
		return (tide_text_frame){ NULL, NULL, id };
	if (!tide__module_find(pc - 1, &m))
		return (tide_text_frame){ "[code made at run time]", NULL, 0 };
	snprintf(text, 24, "0x%lx", (unsigned long)(pc - 1 - m.base));
	return (tide_text_frame){ text, path_of(&m), 0 };
}

/* Defines k new nodes on top of `id`; pc[-1] is the outermost. Returns the last one, or 0. */
static tide_stack define_some(const uintptr_t *pc, size_t k, tide_stack id)
{
	tide_text_frame frames[BATCH]; /* a signal handler's stack may be small */
	char texts[BATCH][24];
	for (size_t i = 0; i < k; i++)
		frames[i] = frame_of(pc[-1 - (ptrdiff_t)i], texts[i]);
	tide_stack first = tide__stack_push_texts(id, frames, k);
	for (size_t i = 0; first && i < k; i++) {
		if (frames[i].function)
			remember(frame_key(pc[-1 - (ptrdiff_t)i]), frames[i].id);
		remember(node_key(id, frames[i].id), first + (uint32_t)i);
		id = first + (uint32_t)i;
	}
	return first ? id : 0;
}

/* The outer part is usually known from other stacks; the remaining frames are defined together,
 * under one lock. */
static __attribute__((noinline)) tide_stack define(const uintptr_t *pc, size_t n, tide_stack outer,
						   bool cut)
{
	tide_stack id = outer, next;
	uint32_t frame;
	if (cut)
		id = tide_stack_push(id, tide_name_static("[outer frames left out]"), 0, 0);
	while (n && (frame = find(frame_key(pc[n - 1]))) && (next = find(node_key(id, frame)))) {
		id = next;
		n--;
	}
	for (size_t k; n; n -= k) {
		k = n < BATCH ? n : BATCH;
		id = define_some(pc + n, k, id);
		if (!id)
			return 0;
	}
	return id;
}

tide_stack tide__heap_stack_walk(tide_walk w, const tide_stack_bounds *b, tide_walks *known)
{
	uintptr_t few[DEEP]; /* without walks; a signal handler's stack may be small */
	size_t most = DEEP;
	uintptr_t *room = known ? tide__walks_room(known, &most) : few;
	uintptr_t loop = atomic_load_explicit(&python.loop, memory_order_acquire);
	uintptr_t end = loop ? atomic_load_explicit(&python.loop_end, memory_order_relaxed) : 0;
	tide_walked r = tide__unwind(w, b, known, room, most, loop, end);
	tide_stack outer = r.stopped ? atomic_load(&python.stack)() : 0;
	if (r.stopped && !outer && atomic_load_explicit(&python.whole, memory_order_relaxed))
		r = tide__unwind(w, b, NULL, room = few, most = DEEP, 0, 0); /* no Python frame */
	uint64_t key = r.hash ^ (outer + 1) * UINT64_C(0xff51afd7ed558ccd);
	key = (key | USED_BIT) & ~NODE_BIT;
	tide_stack id = find(key);
	if (__builtin_expect(id != 0, 1))
		return id;
	if (!loop)
		find_python();
	id = define(r.pc, r.n, outer, r.n == most && !r.stopped);
	if (id)
		remember(key, id);
	return id;
}
