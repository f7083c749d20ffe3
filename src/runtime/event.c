// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Events: the path that runs inside other people's loops.
 *
 *     enter    busy? a signal handler is recording inside the recorder: count it
 *              busy = 1; another generation than the thread's? join, or nothing to record
 *     reserve  slots between head and the last known tail; else look again, wait, or count a loss
 *     store    32 bytes
 *     commit   head, with release; busy = 0
 *
 * No lock, no system call, no allocation, errno untouched. quick() does enter and reserve when
 * nothing is out of the ordinary, without a call, so that the usual event needs no stack frame;
 * everything else goes the long way from the start. */
#include <string.h>

#include "runtime/recorder.h"

#define LIKELY(x)	   __builtin_expect(!!(x), 1)
#define COMPILER_BARRIER() atomic_signal_fence(memory_order_seq_cst)

static const uint64_t SIZE_MAX_48 = (UINT64_C(1) << 48) - 1;

static inline bool takes_part(tide_thread *t)
{
	return atomic_load_explicit(&t->generation, memory_order_relaxed) ==
	       atomic_load_explicit(&tide__guard.generation, memory_order_relaxed);
}

/* A thread that does not take part yet joins, unless `joined` says that it must have before. */
static inline tide_thread *enter(bool joined)
{
	tide_thread *t = tide__self;
	if (LIKELY(t != NULL)) {
		if (!LIKELY(!atomic_load_explicit(&t->busy, memory_order_relaxed))) {
			tide__count_signal(t);
			return NULL;
		}
		atomic_store_explicit(&t->busy, 1, memory_order_relaxed);
		COMPILER_BARRIER();
		if (LIKELY(takes_part(t)))
			return t;
		atomic_store_explicit(&t->busy, 0, memory_order_relaxed);
	}
	return joined ? NULL : tide__join();
}

static inline void leave(tide_thread *t)
{
	atomic_store_explicit(&t->busy, 0, memory_order_release);
}

/* Room for n slots? A loss is counted if not. */
static inline bool reserve(tide_thread *t, uint64_t n)
{
	return LIKELY(t->head + n <= t->room) || tide__make_room(t, n);
}

static inline void commit(tide_thread *t, uint64_t n)
{
	t->head += n;
	atomic_store_explicit(&t->shared->head, t->head, memory_order_release);
}

/* Ask for a line that will be stored to soon. In a ring larger than the caches it is far away by
 * now, or still in the writer thread's core; a store that waits for it is waited for in turn by the
 * next locked instruction of the program, such as any reference count of PyTorch's. */
enum { AHEAD = 4 }; /* slots: two lines */
static inline void claim(const tide_ring_slot *line)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*line)); /* does nothing on CPUs that lack it */
#else
	__builtin_prefetch(line, 1);
#endif
}

/* The next slot, of which what every event has is filled in. */
static inline tide_ring_slot *next_slot(tide_thread *t, uint64_t ticks, uint32_t type,
					uint32_t pool, uint32_t depth)
{
	tide_ring_slot *s = &t->slots[t->head & t->mask];
	s->ticks = ticks;
	s->head = type | pool << 8 | depth << 20;
	claim(&t->slots[(t->head + AHEAD) & t->mask]);
	return s;
}

static inline void fill(tide_thread *t, uint64_t ticks, uint32_t type, uint32_t pool,
			uint32_t depth, uint64_t a, uint64_t b, uint32_t c)
{
	tide_ring_slot *s = next_slot(t, ticks, type, pool, depth);
	s->addr = a;
	s->size = b;
	s->stack = c;
}

static inline void store(tide_thread *t, uint64_t ticks, uint32_t type, uint32_t pool,
			 uint32_t depth, uint64_t a, uint64_t b, uint32_t c)
{
	fill(t, ticks, type, pool, depth, a, b, c);
	commit(t, 1);
}

/* Enter with room for one slot and a clock that can be read in line (else there is no known room);
 * NULL: not so, nothing changed. */
static inline tide_thread *quick(void)
{
	tide_thread *t = tide__self;
	if (!LIKELY(t && !atomic_load_explicit(&t->busy, memory_order_relaxed)))
		return NULL;
	atomic_store_explicit(&t->busy, 1, memory_order_relaxed);
	COMPILER_BARRIER(); /* stop's membarrier does the rest */
	if (LIKELY(takes_part(t) && t->head < t->room))
		return t;
	atomic_store_explicit(&t->busy, 0, memory_order_relaxed);
	return NULL;
}

static __attribute__((noinline)) void long_way(uint32_t type, uint32_t pool, uint64_t a, uint64_t b,
					       uint32_t c)
{
	tide_thread *t = enter(false);
	if (!t)
		return;
	if (reserve(t, 1))
		store(t, tide__ticks(), type, pool, t->depth, a, b, c);
	leave(t);
}

/* A whole event of one slot. */
static inline void event(uint32_t type, uint32_t pool, uint64_t a, uint64_t b, uint32_t c)
{
	tide_thread *t = quick();
	if (!LIKELY(t != NULL)) {
		long_way(type, pool, a, b, c);
		return;
	}
	store(t, tide__counter(), type, pool, t->depth, a, b, c);
	leave(t);
}

static void count_other(tide_thread *t)
{
	_Atomic uint64_t *lost =
		t->shared ? &t->shared->lost_other : (_Atomic uint64_t *)&t->file->lost_other;
	atomic_fetch_add_explicit(lost, 1, memory_order_relaxed);
}

static __attribute__((noinline, cold)) void out_of_range(void)
{
	tide_thread *t = enter(false);
	if (!t)
		return;
	count_other(t);
	leave(t);
}

static inline bool in_range(uint32_t pool, uint64_t size)
{
	if (LIKELY(pool <= 4095 && size <= SIZE_MAX_48))
		return true;
	out_of_range();
	return false;
}

/* ---- ops ----------------------------------------------------------------------------------- */

/* The new op's token: low 12 bits the depth it is begun at, a bit so that it is never 0, and the
 * number of its slot, halved: two ops begun at one depth have an end between them, or a loss. */
static inline tide_op open_op(tide_thread *t, uint32_t depth, uint64_t slot)
{
	tide_op op = (uint32_t)((slot + t->skipped) >> 1) << 13 | 1u << 12 | depth;
	t->open[depth] = op;
	t->depth = depth + 1;
	return op;
}

static __attribute__((noinline)) tide_op begin_long_way(uint32_t type, tide_name name, uint64_t arg,
							uint64_t from)
{
	tide_thread *t = enter(false);
	tide_op op = 0;
	if (!t)
		return 0;
	if (t->depth < TIDE_DEPTH_MAX) {
		op = open_op(t, t->depth, t->head);
		if (reserve(t, 1))
			store(t, tide__ticks(), type, 0, t->depth - 1, arg, from, name);
		else
			t->skipped += 2;
	} else {
		count_other(t);
	}
	leave(t);
	return op;
}

static inline tide_op begin(uint32_t type, tide_name name, uint64_t arg, uint64_t from)
{
	tide_thread *t = quick();
	if (!LIKELY(t != NULL))
		return begin_long_way(type, name, arg, from);
	uint32_t depth = t->depth;
	if (!LIKELY(depth < TIDE_DEPTH_MAX)) {
		leave(t);
		return begin_long_way(type, name, arg, from);
	}
	tide_op op = open_op(t, depth, t->head);
	store(t, tide__counter(), type, 0, depth, arg, from, name);
	leave(t);
	return op;
}

tide_op tide_op_begin(tide_name name)
{
	return begin(TIDE_REC_BEGIN, name, 0, 0);
}

tide_op tide_op_begin_arg(tide_name name, uint64_t arg)
{
	return begin(TIDE_REC_BEGIN_ARG, name, arg, 0);
}

tide_op tide_op_begin_full(tide_name name, uint64_t arg, tide_stack stack, uint32_t origin)
{
	uint64_t from = stack | (uint64_t)origin << 32;
	return begin(from ? TIDE_REC_BEGIN_FULL : TIDE_REC_BEGIN_ARG, name, arg, from);
}

/* Close it and everything inside it; false: it is not open. */
static inline bool close_op(tide_thread *t, tide_op op)
{
	uint32_t depth = op & 0xfff;
	if (!LIKELY(depth < t->depth && t->open[depth] == op))
		return false;
	t->depth = depth;
	return true;
}

/* All that is stored of an end: readers look at nothing else in its slot. */
static inline void store_end(tide_thread *t, uint64_t ticks)
{
	next_slot(t, ticks, TIDE_REC_END, 0, t->depth);
	commit(t, 1);
}

static __attribute__((noinline)) void end_long_way(tide_op op)
{
	tide_thread *t = enter(true); /* who begins one has joined */
	if (!t)
		return;
	if (close_op(t, op)) {
		if (reserve(t, 1))
			store_end(t, tide__ticks());
		else
			t->skipped += 2;
	}
	leave(t);
}

void tide_op_end(tide_op op)
{
	if (!op)
		return;
	tide_thread *t = quick();
	if (!LIKELY(t != NULL)) {
		end_long_way(op);
		return;
	}
	if (close_op(t, op))
		store_end(t, tide__counter());
	leave(t);
}

/* ---- memory -------------------------------------------------------------------------------- */

void tide_alloc(tide_pool pool, uint64_t addr, uint64_t size, tide_stream stream)
{
	if (in_range(pool, size))
		event(TIDE_REC_ALLOC, pool, addr, size | (uint64_t)stream << 48, 0);
}

void tide_alloc_full(tide_pool pool, uint64_t addr, uint64_t size, tide_stream stream,
		     tide_stack stack, uint64_t requested)
{
	if (!in_range(pool, size))
		return;
	uint64_t b = size | (uint64_t)stream << 48;
	if (requested == 0 || requested == size) {
		event(stack ? TIDE_REC_ALLOC_STACK : TIDE_REC_ALLOC, pool, addr, b, stack);
		return;
	}
	tide_thread *t = enter(false);
	if (!t)
		return;
	if (reserve(t, 2)) {
		fill(t, tide__ticks(), TIDE_REC_ALLOC_FULL, pool, t->depth, addr, b, stack);
		t->slots[(t->head + 1) & t->mask] = (tide_ring_slot){ .ticks = requested };
		atomic_fetch_add_explicit(&t->shared->extra, 1, memory_order_relaxed);
		commit(t, 2);
	}
	leave(t);
}

void tide_free(tide_pool pool, uint64_t addr)
{
	if (in_range(pool, 0))
		event(TIDE_REC_FREE, pool, addr, 0, 0);
}

void tide_segment_alloc(tide_pool pool, uint64_t addr, uint64_t size, tide_stream stream, int kind)
{
	if (in_range(pool, size))
		event(TIDE_REC_SEG_ALLOC, pool, addr, size | (uint64_t)stream << 48,
		      (uint32_t)kind & 0xff);
}

void tide_segment_free(tide_pool pool, uint64_t addr, uint64_t size)
{
	if (in_range(pool, size))
		event(TIDE_REC_SEG_FREE, pool, addr, size, 0);
}

void tide_oom(tide_pool pool, uint64_t size, int64_t free_bytes)
{
	if (in_range(pool, size))
		event(TIDE_REC_OOM, pool, (uint64_t)free_bytes, size, 0);
}

/* An event of one slot and `n` bytes in the slots after it. */
static void long_event(uint32_t type, uint32_t pool, uint64_t a, uint64_t b, uint32_t c,
		       const void *bytes, size_t n)
{
	tide_thread *t = enter(false);
	if (!t)
		return;
	uint64_t more = (n + sizeof(tide_ring_slot) - 1) / sizeof(tide_ring_slot);
	if (reserve(t, 1 + more)) {
		fill(t, tide__ticks(), type, pool, t->depth, a, b, c);
		for (uint64_t i = 0; i < more; i++) {
			tide_ring_slot *s = &t->slots[(t->head + 1 + i) & t->mask];
			size_t at = i * sizeof *s, part = n - at < sizeof *s ? n - at : sizeof *s;
			memset(s, 0, sizeof *s);
			memcpy(s, (const char *)bytes + at, part);
		}
		atomic_fetch_add_explicit(&t->shared->extra, more, memory_order_relaxed);
		commit(t, 1 + more);
	}
	leave(t);
}

void tide_tensor(tide_pool pool, uint64_t addr, const tide_tensor_info *i)
{
	if (!i)
		return;
	if (i->ndim > 16 || (i->ndim && !i->shape)) {
		out_of_range();
		return;
	}
	if (!in_range(pool, 0))
		return;
	uint64_t b = i->dtype | (uint64_t)i->role << 8 | (uint64_t)i->requires_grad << 16 |
		     (uint64_t)i->ndim << 24;
	long_event(TIDE_REC_TENSOR, pool, addr, b, i->name, i->shape, i->ndim * sizeof *i->shape);
}

/* ---- moments and numbers ------------------------------------------------------------------- */

void tide_mark(int kind, tide_name name, int64_t value)
{
	event(TIDE_REC_MARK, 0, (uint64_t)value, (uint32_t)kind & 0xff, name);
}

void tide_counter(tide_name counter, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	event(TIDE_REC_SAMPLE, 0, bits, 0, counter);
}

void tide_annotate(tide_name key, const char *text)
{
	if (!text)
		return;
	size_t n = strnlen(text, 4096);
	long_event(TIDE_REC_ANNOTATE, 0, n, 0, key, text, n);
}
