// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Events: the slow path, and the calls of record.h.
 *
 * tidemark/detail/quick.h stores the usual event without a call. This file handles the rest: a
 * signal handler inside the recorder, a thread's first event, a ring that looks full, a clock that
 * is a system call, and events of several slots. No lock except to join, no allocation, errno
 * untouched. */
#include <string.h>

#include "runtime/recorder.h"

/* Slot types equal record tags. */
#define SAME(name) _Static_assert((int)TIDE_SLOT_##name == (int)TIDE_REC_##name, #name)
SAME(END);
SAME(ALLOC);
SAME(FREE);
SAME(BEGIN);
SAME(ALLOC_STACK);
SAME(BEGIN_ARG);
SAME(BEGIN_FULL);
SAME(USE);

/* Enters the recorder; a thread that does not take part yet joins, unless `joined` says that it
 * must have joined before. */
static inline tide_thread *enter(bool joined)
{
	tide_quick *t = tide__self;
	if (TIDE_LIKELY(t != NULL)) {
		if (!TIDE_LIKELY(!atomic_load_explicit(&t->busy, memory_order_relaxed))) {
			tide__count_signal(tide__thread(t));
			return NULL;
		}
		atomic_store_explicit(&t->busy, 1, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
		if (TIDE_LIKELY(tide__takes_part(t)))
			return tide__thread(t);
		atomic_store_explicit(&t->busy, 0, memory_order_relaxed);
	}
	return joined ? NULL : tide__thread_join();
}

static inline void leave(tide_thread *t)
{
	tide__leave(&t->quick);
}

/* Reserves n slots; counts a loss and returns false if there are none. */
static inline bool reserve(tide_thread *t, uint64_t n)
{
	return TIDE_LIKELY(t->quick.head + n <= TIDE_GET(t->quick.room)) || tide__make_room(t, n);
}

static void end_now(tide_thread *t, uint32_t depth)
{
	if (reserve(t, 1))
		tide__store_end(&t->quick, tide__ticks(), depth);
	else
		t->quick.skipped += 2;
}

static bool any_ended(const tide_thread *t)
{
	for (uint32_t i = TIDE_GET(t->quick.depth); i-- > 0;)
		if (!TIDE_GET(t->quick.open[i]))
			return true;
	return false;
}

/* Ends the innermost ops that other threads have ended. While more of them are below an open op,
 * events take the slow path. */
static void settle(tide_thread *t)
{
	if (TIDE_LIKELY(!atomic_load_explicit(&t->ended, memory_order_acquire)))
		return;
	atomic_store(&t->ended, false); /* before they are read */
	for (uint32_t d = TIDE_GET(t->quick.depth); d && !TIDE_GET(t->quick.open[d - 1]); d--) {
		TIDE_SET(t->quick.depth, d - 1);
		end_now(t, d - 1);
	}
	if (any_ended(t))
		atomic_store(&t->ended, true);
}

static __attribute__((noinline)) void long_way(uint32_t type, uint32_t pool, uint64_t a, uint64_t b,
					       uint32_t c)
{
	tide_thread *t = enter(false);
	if (!t)
		return;
	settle(t);
	if (reserve(t, 1))
		tide__store(&t->quick, tide__ticks(), type, pool, TIDE_GET(t->quick.depth), a, b,
			    c);
	leave(t);
}

/* Stores a whole event of one slot. */
static inline void event(uint32_t type, uint32_t pool, uint64_t a, uint64_t b, uint32_t c)
{
	if (!TIDE_LIKELY(tide__quick_event(type, pool, a, b, c)))
		long_way(type, pool, a, b, c);
}

/* Stores the first slot of several; the caller stores the others. */
static inline void first_slot(tide_thread *t, uint32_t type, uint32_t pool, uint64_t a, uint64_t b,
			      uint32_t c)
{
	tide_ring_slot *s =
		tide__next_slot(&t->quick, tide__ticks(), type, pool, TIDE_GET(t->quick.depth));
	s->addr = a;
	s->size = b;
	s->stack = c;
}

static inline tide_ring_slot *slot_after(tide_thread *t, uint64_t n)
{
	return &t->quick.slots[(t->quick.head + n) & t->quick.mask];
}

static __attribute__((noinline, cold)) void out_of_range(void)
{
	tide_thread *t = enter(false);
	if (!t)
		return;
	tide__count_other(t);
	leave(t);
}

static inline bool in_range(uint32_t pool, uint64_t size)
{
	if (TIDE_LIKELY(pool <= 4095 && size <= TIDE_SIZE_MAX))
		return true;
	out_of_range();
	return false;
}

/* ---- ops ----------------------------------------------------------------------------------- */

static __attribute__((noinline)) tide_op begin_long_way(uint32_t type, tide_name name, uint64_t arg,
							uint64_t from)
{
	tide_thread *t = enter(false);
	if (!t)
		return 0;
	settle(t);
	uint32_t depth = TIDE_GET(t->quick.depth);
	tide_op op = 0;
	if (depth < TIDE_DEPTH_MAX) {
		op = tide__open_op(&t->quick, depth);
		if (reserve(t, 1))
			tide__store(&t->quick, tide__ticks(), type, 0, depth, arg, from, name);
		else
			t->quick.skipped += 2;
	} else {
		tide__count_other(t);
	}
	leave(t);
	return op;
}

static inline tide_op begin(uint32_t type, tide_name name, uint64_t arg, uint64_t from)
{
	tide_op op = tide__quick_begin(type, name, arg, from);
	return TIDE_LIKELY(op) ? op : begin_long_way(type, name, arg, from);
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
	return begin(TIDE_REC_BEGIN_FULL, name, arg, stack | (uint64_t)origin << 32);
}

static __attribute__((noinline)) void end_long_way(tide_op op)
{
	tide_thread *t = enter(true); /* the beginning thread has joined */
	if (!t)
		return;
	if (tide__close_op(&t->quick, op))
		end_now(t, op & 0xfff);
	settle(t);
	leave(t);
}

void tide_op_end(tide_op op)
{
	if (!op)
		return;
	tide_quick *t = tide__quick();
	if (!TIDE_LIKELY(t != NULL)) {
		end_long_way(op);
		return;
	}
	if (tide__close_op(t, op))
		tide__store_end(t, tide__counter(), op & 0xfff);
	tide__leave(t);
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
		first_slot(t, TIDE_REC_ALLOC_FULL, pool, addr, b, stack);
		*slot_after(t, 1) = (tide_ring_slot){ .ticks = requested };
		tide__count_extra(t, 1);
		tide__commit(&t->quick, 2);
	}
	leave(t);
}

void tide_free(tide_pool pool, uint64_t addr)
{
	if (in_range(pool, 0))
		event(TIDE_REC_FREE, pool, addr, 0, 0);
}

void tide_use(tide_pool pool, uint64_t addr)
{
	if (in_range(pool, 0))
		event(TIDE_REC_USE, pool, addr, 0, 0);
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
	if (size <= INT64_MAX && in_range(pool, 0)) /* requested, not allocated: any size is
	                                             * valid */
		event(TIDE_REC_OOM, pool, (uint64_t)free_bytes, size, 0);
	else if (size > INT64_MAX)
		out_of_range();
}

/* Stores an event of one slot and `n` bytes in the following slots. */
static void long_event(uint32_t type, uint32_t pool, uint64_t a, uint64_t b, uint32_t c,
		       const void *bytes, size_t n)
{
	tide_thread *t = enter(false);
	if (!t)
		return;
	uint64_t more = (n + sizeof(tide_ring_slot) - 1) / sizeof(tide_ring_slot);
	if (reserve(t, 1 + more)) {
		first_slot(t, type, pool, a, b, c);
		for (uint64_t i = 0; i < more; i++) {
			tide_ring_slot *s = slot_after(t, 1 + i);
			size_t at = i * sizeof *s, part = n - at < sizeof *s ? n - at : sizeof *s;
			memset(s, 0, sizeof *s);
			memcpy(s, (const char *)bytes + at, part);
		}
		tide__count_extra(t, more);
		tide__commit(&t->quick, 1 + more);
	}
	leave(t);
}

void tide__device_log(const void *bytes, uint32_t n)
{
	if (n && n <= 4096)
		long_event(TIDE_REC_DEVICE_LOG, 0, n, 0, 0, bytes, n);
}

static bool tensor_in_range(tide_pool pool, const tide_tensor_info *i)
{
	if (i->ndim > 16 || (i->ndim && !i->shape)) {
		out_of_range();
		return false;
	}
	return in_range(pool, 0);
}

static uint64_t tensor_bits(const tide_tensor_info *i)
{
	return i->dtype | (uint64_t)i->role << 8 | (uint64_t)i->requires_grad << 16 |
	       (uint64_t)i->ndim << 24;
}

void tide_tensor(tide_pool pool, uint64_t addr, const tide_tensor_info *i)
{
	if (i && tensor_in_range(pool, i))
		long_event(TIDE_REC_TENSOR, pool, addr, tensor_bits(i), i->name, i->shape,
			   i->ndim * sizeof *i->shape);
}

void tide_tensor_view(tide_pool pool, uint64_t addr, uint64_t offset, const tide_tensor_info *i)
{
	uint64_t words[17] = { offset };
	if (!i || !tensor_in_range(pool, i))
		return;
	for (unsigned k = 0; k < i->ndim; k++)
		words[1 + k] = i->shape[k];
	long_event(TIDE_REC_VIEW, pool, addr, tensor_bits(i), i->name, words,
		   (1u + i->ndim) * sizeof *words);
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
