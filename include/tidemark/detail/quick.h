// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The recorder's inline fast path: tide_op_begin_full, tide_op_end, tide_alloc and tide_free in the
 * common case.
 *
 * For code compiled against the libtidemark-rt it runs with: the recorder itself and the PyTorch
 * hooks. The layout below belongs to one version of the library and is not a public interface. All
 * other code uses tidemark/record.h, which costs one more call. (In a busy program such a call is
 * expensive: on one host it took 15 ns, twice per op, while storing an event takes 5 ns.)
 *
 *     enter    busy set already? a signal handler is recording inside the recorder
 *              busy = 1; wrong generation, or no free slot? take the slow path
 *     store    32 bytes
 *     commit   head, with release; busy = 0
 *
 * No lock, no call, no allocation; errno is untouched. C11 and C++17, in shared libraries (-fPIC)
 * only: an executable would need a copy relocation of the recorder's variables, which the linker
 * refuses. */
#ifndef TIDEMARK_DETAIL_QUICK_H
#define TIDEMARK_DETAIL_QUICK_H

#include <stdbool.h>
#include <stdint.h>

#include <tidemark/record.h>
#include <tidemark/detail/slot.h>

#ifdef __cplusplus
#include <atomic>
#define TIDE_ATOMIC(T) std::atomic<T>
using std::atomic_load_explicit;
using std::atomic_signal_fence;
using std::atomic_store_explicit;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
extern "C" {
#else
#include <stdatomic.h>
#define TIDE_ATOMIC(T) _Atomic(T)
#endif

#define TIDE_LIKELY(x) __builtin_expect(!!(x), 1)
#define TIDE_INLINE    static inline __attribute__((always_inline))
#ifdef TIDE_IN_RECORDER /* direct access inside the recorder, still exported */
#define TIDE_QUICK_API __attribute__((visibility("protected")))
#else
#define TIDE_QUICK_API __attribute__((visibility("default")))
#endif

enum { TIDE_DEPTH_MAX = 4095 }; /* open ops per thread */

/* Per-thread state for storing an event: its first cache line, then the tokens of open ops. */
typedef struct tide_quick {
	TIDE_ATOMIC(uint32_t) busy; /* the thread is storing an event */
	uint32_t depth;		    /* open ops */
	TIDE_ATOMIC(uint64_t)
	generation;    /* generation of the recording the thread takes part
					   * in; 0 = none */
	uint64_t head; /* next slot number (private copy of the ring's head) */
	uint64_t room; /* first slot number that may not be used: last known tail + ring size. 0:
		        * unknown, or another thread requires the slow path at the next event */
	tide_ring_slot *slots;
	uint64_t mask;
	TIDE_ATOMIC(uint64_t) * published; /* the ring's head, read by the writer thread */
	void *kept; /* owned by the op hook; the next thread that gets this descriptor inherits
		     * it */
	uint64_t skipped; /* slots of earlier rings, plus 2 for each lost begin or end: makes
			   * tokens distinct */
	uint32_t open[TIDE_DEPTH_MAX + 1]; /* 0: ended by another thread */
} tide_quick;

extern __thread tide_quick *tide__self __attribute__((tls_model("initial-exec"))) TIDE_QUICK_API;

/* The words that decide whether anything is recorded, in a page of their own that the kernel wipes
 * in forked children (src/runtime/guard.h). */
enum { TIDE_PAGE = 4096 };
typedef struct tide_guard {
	TIDE_ATOMIC(uint64_t) generation; /* of the recording in progress; 0 = none */
	TIDE_ATOMIC(uint32_t)
	alive;			    /* 0: before the first call, or in a forked child; TIDE_ALIVE,
				     * or TIDE_FOLLOWER: a child that starts its own file with its
				     * first event */
	TIDE_ATOMIC(uint32_t) lock; /* 0 free, 1 locked, 2 locked with waiters */
} __attribute__((aligned(TIDE_PAGE))) tide_guard;
extern tide_guard tide__guard TIDE_QUICK_API;

/* Accessors for depth, room and open. The owning thread uses plain loads and stores. Another thread
 * reads them, and changes room and open, only to end an op of this thread (tide__end_elsewhere);
 * the owner sees that change eventually. */
#define TIDE_GET(word)	      __atomic_load_n(&(word), __ATOMIC_RELAXED)
#define TIDE_SET(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELAXED)

/* Reads the CPU's counter, whether or not it is the recorder's clock. */
static inline uint64_t tide__counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t t;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
	return 0;
#endif
}

static inline bool tide__takes_part(const tide_quick *t)
{
	return atomic_load_explicit(&t->generation, memory_order_relaxed) ==
	       atomic_load_explicit(&tide__guard.generation, memory_order_relaxed);
}

/* Enters the recorder if one slot is free and the clock can be read inline. Returns false, with
 * nothing changed, otherwise. */
TIDE_INLINE bool tide__enter(tide_quick *t)
{
	if (!TIDE_LIKELY(!atomic_load_explicit(&t->busy, memory_order_relaxed)))
		return false;
	atomic_store_explicit(&t->busy, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst); /* tide_stop's membarrier completes the
						    * ordering */
	if (TIDE_LIKELY(tide__takes_part(t) && t->head < TIDE_GET(t->room)))
		return true;
	atomic_store_explicit(&t->busy, 0, memory_order_relaxed);
	return false;
}

static inline tide_quick *tide__quick(void)
{
	tide_quick *t = tide__self;
	return TIDE_LIKELY(t && tide__enter(t)) ? t : NULL;
}

static inline void tide__leave(tide_quick *t)
{
	atomic_store_explicit(&t->busy, 0, memory_order_release);
}

/* Prefetches a cache line that will be stored to soon. In a ring larger than the caches the line
 * has been evicted, or is still in the writer thread's core. A store that waits for it also delays
 * the program's next locked instruction, such as any PyTorch reference count. At the end of the
 * ring the prefetched line lies outside the ring, which is harmless. */
enum { TIDE_AHEAD = 128 }; /* bytes: 2 cache lines, 4 slots */
static inline void tide__claim(const tide_ring_slot *now)
{
	const char *line = (const char *)((uintptr_t)now + TIDE_AHEAD);
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*line)); /* a no-op on CPUs without it */
#else
	__builtin_prefetch(line, 1);
#endif
}

/* Claims the next slot and fills the fields common to all events. */
static inline tide_ring_slot *tide__next_slot(tide_quick *t, uint64_t ticks, uint32_t type,
					      uint32_t pool, uint32_t depth)
{
	tide_ring_slot *s = &t->slots[t->head & t->mask];
	s->ticks = ticks;
	s->head = type | pool << 8 | depth << 20;
	tide__claim(s);
	return s;
}

static inline void tide__commit(tide_quick *t, uint64_t n)
{
	t->head += n;
	atomic_store_explicit(t->published, t->head, memory_order_release);
}

/* Stores and commits a one-slot event. */
static inline void tide__store(tide_quick *t, uint64_t ticks, uint32_t type, uint32_t pool,
			       uint32_t depth, uint64_t a, uint64_t b, uint32_t c)
{
	tide_ring_slot *s = tide__next_slot(t, ticks, type, pool, depth);
	s->addr = a;
	s->size = b;
	s->stack = c;
	tide__commit(t, 1);
}

/* Enters, stores and commits a one-slot event. Returns false when the slow path must be taken. */
static inline bool tide__quick_event(uint32_t type, uint32_t pool, uint64_t a, uint64_t b,
				     uint32_t c)
{
	tide_quick *t = tide__quick();
	if (!TIDE_LIKELY(t != NULL))
		return false;
	tide__store(t, tide__counter(), type, pool, TIDE_GET(t->depth), a, b, c);
	tide__leave(t);
	return true;
}

/* Returns the new op's token: the low 12 bits are the depth where it begins, one bit keeps it
 * non-zero, the rest is half its slot number. Two ops begun at one depth have an end or a loss
 * between them, so their tokens differ. */
static inline tide_op tide__open_op(tide_quick *t, uint32_t depth)
{
	tide_op op = (uint32_t)((t->head + t->skipped) >> 1) << 13 | 1u << 12 | depth;
	TIDE_SET(t->open[depth], op);
	TIDE_SET(t->depth, depth + 1);
	return op;
}

/* Begins an op. Returns 0 when the slow path must be taken. */
static inline tide_op tide__quick_begin(uint32_t type, tide_name name, uint64_t arg, uint64_t from)
{
	tide_quick *t = tide__quick();
	if (!TIDE_LIKELY(t != NULL))
		return 0;
	uint32_t depth = TIDE_GET(t->depth);
	tide_op op = 0;
	if (TIDE_LIKELY(depth < TIDE_DEPTH_MAX)) {
		op = tide__open_op(t, depth);
		tide__store(t, tide__counter(), type, 0, depth, arg, from, name);
	}
	tide__leave(t);
	return op;
}

/* Closes the op and every op inside it. Returns false if it is not open. */
static inline bool tide__close_op(tide_quick *t, tide_op op)
{
	uint32_t depth = op & 0xfff;
	if (!TIDE_LIKELY(depth < TIDE_GET(t->depth) && TIDE_GET(t->open[depth]) == op))
		return false;
	TIDE_SET(t->depth, depth);
	return true;
}

/* The fields stored for an end; readers ignore the rest of its slot. */
enum {
	TIDE_SLOT_BEGIN = 2,
	TIDE_SLOT_END,
	TIDE_SLOT_ALLOC,
	TIDE_SLOT_FREE,
	TIDE_SLOT_ALLOC_STACK = 14,
	TIDE_SLOT_BEGIN_ARG = 15,
	TIDE_SLOT_BEGIN_FULL = 17,
	TIDE_SLOT_USE = 20
};
static inline void tide__store_end(tide_quick *t, uint64_t ticks, uint32_t depth)
{
	tide__next_slot(t, ticks, TIDE_SLOT_END, 0, depth);
	tide__commit(t, 1);
}

/* ---- tide_op_begin_full, tide_op_end, tide_alloc, tide_free, in line -------------------------- */

#define TIDE_COLD static __attribute__((noinline, cold, unused)) /* kept out of the inlined code */

/* Identifies a hook's op by the address of the object that represents it while it is open, so no
 * token has to be stored: the op that ends is nearly always the innermost. The result lacks the bit
 * that tokens carry. */
static inline uint32_t tide__known_by(const void *op)
{
	uint32_t word = (uint32_t)((uintptr_t)op >> 3);
	return word + (word & ~UINT32_C(0xfff));
}

TIDE_COLD void tide__begin_long(const void *op, tide_name name, uint64_t arg, tide_stack stack,
				uint32_t origin)
{
	tide_op token = tide_op_begin_full(name, arg, stack, origin);
	if (token)
		TIDE_SET(tide__self->open[token & 0xfff], tide__known_by(op));
}

/* tide_op_begin_full for callers that have tide__self at hand. The writer thread leaves out fields
 * that are 0. */
TIDE_INLINE void tide__begin(tide_quick *t, const void *op, tide_name name, uint64_t arg,
			     tide_stack stack, uint32_t origin)
{
	if (TIDE_LIKELY(tide__enter(t))) {
		uint32_t depth = TIDE_GET(t->depth);
		if (TIDE_LIKELY(depth < TIDE_DEPTH_MAX)) {
			TIDE_SET(t->open[depth], tide__known_by(op));
			TIDE_SET(t->depth, depth + 1);
			tide__store(t, tide__counter(), TIDE_SLOT_BEGIN_FULL, 0, depth, arg,
				    stack | (uint64_t)origin << 32, name);
			tide__leave(t);
			return;
		}
		tide__leave(t);
	}
	tide__begin_long(op, name, arg, stack, origin);
}

/* Ends an op that is not open on this thread; another thread may have begun it. That thread
 * continues without it, from its next event on if the op was innermost there. */
void tide__end_elsewhere(uint32_t known_by) TIDE_QUICK_API;

/* Slow end: the op is not the innermost, or belongs to another thread. */
TIDE_COLD void tide__end_long(const void *op)
{
	tide_quick *t = tide__self;
	uint32_t depth = t ? TIDE_GET(t->depth) : 0, word = tide__known_by(op);
	for (uint32_t i = depth; i-- > 0;)
		if (TIDE_GET(t->open[i]) == word) {
			TIDE_SET(t->open[i], 1u << 12 | i);
			tide_op_end(1u << 12 | i);
			return;
		}
	if (depth < TIDE_DEPTH_MAX) /* else too deep: it was never begun */
		tide__end_elsewhere(word);
}

/* Returns the number of open ops on this thread. */
static inline uint32_t tide__depth(void)
{
	const tide_quick *t = tide__self;
	return t && tide__takes_part(t) ? TIDE_GET(t->depth) : 0;
}

/* Ends the innermost ops of this thread until at most `depth` are open. */
TIDE_COLD void tide__end_above(uint32_t depth)
{
	tide_quick *t = tide__self;
	if (tide__depth() <= depth)
		return;
	TIDE_SET(t->open[depth], 1u << 12 | depth);
	tide_op_end(1u << 12 | depth);
}

/* Ends an op: tide_op_end for hooks. */
TIDE_INLINE void tide__end(const void *op)
{
	tide_quick *t = tide__quick();
	if (TIDE_LIKELY(t != NULL)) {
		uint32_t depth = TIDE_GET(t->depth);
		if (TIDE_LIKELY(depth && TIDE_GET(t->open[depth - 1]) == tide__known_by(op))) {
			TIDE_SET(t->depth, depth - 1);
			tide__store_end(t, tide__counter(), depth - 1);
			tide__leave(t);
			return;
		}
		tide__leave(t);
	}
	tide__end_long(op);
}

/* Records device activity reported after the fact: n (at most 4,096) bytes of records
 * (src/format/device_log.h). */
void tide__device_log(const void *bytes, uint32_t n) TIDE_QUICK_API;

/* Defines n (at most 32) new stacks under one lock: frames on top of `parent`, outermost first.
 * Returns the first of n consecutive ids, one that ends with each frame; 0 if they cannot be
 * defined. Equal stacks are not looked for. */
typedef struct tide_text_frame {
	const char *function, *file; /* borrowed until it returns */
	uint32_t id; /* of the frame; 0: it is defined by its texts, and filled in */
} tide_text_frame;
uint32_t tide__stack_push_texts(uint32_t parent, tide_text_frame *frames, size_t n) TIDE_QUICK_API;

static const uint64_t TIDE_SIZE_MAX = (UINT64_C(1) << 48) - 1;

TIDE_COLD void tide__memory_long(bool alloc, tide_pool pool, uint64_t addr, uint64_t size,
				 tide_stream stream)
{
	if (alloc)
		tide_alloc(pool, addr, size, stream);
	else
		tide_free(pool, addr);
}

/* tide_alloc, or tide_free (size and stream 0), in one function for hooks that handle both. */
static inline void tide__memory(bool alloc, tide_pool pool, uint64_t addr, uint64_t size,
				tide_stream stream)
{
	bool fits = pool <= 4095 && size <= TIDE_SIZE_MAX;
	uint32_t type = TIDE_SLOT_FREE - alloc;
	if (!TIDE_LIKELY(fits &&
			 tide__quick_event(type, pool, addr, size | (uint64_t)stream << 48, 0)))
		tide__memory_long(alloc, pool, addr, size, stream);
}

#ifdef __cplusplus
}
#endif
#endif
