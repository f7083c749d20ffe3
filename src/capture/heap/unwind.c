// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/heap/unwind.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/heap/cfi.h"
#include "runtime/guard.h"
#include "runtime/guard.h"

/* ---- bounds -------------------------------------------------------------------------------- */

extern void *__libc_stack_end; /* glibc's: the outermost frame of the first thread */

void tide__stack_bounds_find(tide_stack_bounds *b)
{
	pthread_attr_t a;
	void *low;
	size_t n;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	*b = (tide_stack_bounds)TIDE_NO_BOUNDS;
	if (tide__calls_forbidden()) /* by a seccomp filter: this thread's stacks stay unknown */
		return;
	if (getpid() == (pid_t)syscall(SYS_gettid)) { /* its stack grows: only the end is fixed */
		uintptr_t high = (uintptr_t)__libc_stack_end;
		if (high > here && high - here < (uintptr_t)1 << 30)
			*b = (tide_stack_bounds){ high - ((uintptr_t)1 << 30), high };
		return;
	}
	if (pthread_getattr_np(pthread_self(), &a) != 0)
		return;
	if (pthread_attr_getstack(&a, &low, &n) == 0)
		*b = (tide_stack_bounds){ (uintptr_t)low, (uintptr_t)low + n };
	pthread_attr_destroy(&a);
}

/* ---- rows by return address ---------------------------------------------------------------- */

/* A row is packed into one word, so that it is read atomically: kind, fp_saved, offsets, and bits
 * of its address, which reveal a row that was replaced between two loads. */
enum { SLOTS = 1 << 19, MOST = SLOTS / 2, OFF_BITS = 21 };

struct slot {
	_Atomic uint64_t pc, row;
};

static struct slot *_Atomic rows; /* SLOTS rows; the kernel allocates pages on first use */
static _Atomic uint32_t n_rows;
static _Atomic uint64_t generation = 1; /* of rows: grows when code is unmapped */
static atomic_flag busy = ATOMIC_FLAG_INIT;

static inline uint64_t mix(uint64_t pc)
{
	return pc * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t pack(const tide_cfi *c, uint64_t pc)
{
	uint64_t mask = (UINT64_C(1) << OFF_BITS) - 1;
	return (uint64_t)c->kind | (uint64_t)c->fp_saved << 3 | ((uint64_t)c->cfa & mask) << 4 |
	       ((uint64_t)c->fp & mask) << (4 + OFF_BITS) | mix(pc) >> 50 << 50;
}

static inline int32_t signed_bits(uint64_t v)
{
	return (int32_t)((uint32_t)v << (32 - OFF_BITS)) >> (32 - OFF_BITS);
}

static inline tide_cfi unpack(uint64_t w)
{
	return (tide_cfi){ w & 7, w >> 3 & 1, signed_bits(w >> 4),
			   signed_bits(w >> (4 + OFF_BITS)) };
}

static struct slot *table(void)
{
	struct slot *t = atomic_load_explicit(&rows, memory_order_acquire), *none = NULL;
	if (t)
		return t;
	t = mmap(NULL, SLOTS * sizeof *t, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(&rows, &none, t))
		return t;
	munmap(t, SLOTS * sizeof *t);
	return none;
}

static bool lock(void)
{
	return !atomic_flag_test_and_set_explicit(&busy, memory_order_acquire);
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

static void keep(struct slot *t, uint64_t pc, uint64_t word)
{
	if (atomic_load_explicit(&n_rows, memory_order_relaxed) >= MOST || !lock())
		return; /* another thread is doing it: next time */
	size_t i = mix(pc) >> 40 & (SLOTS - 1);
	uint64_t have;
	while ((have = atomic_load_explicit(&t[i].pc, memory_order_relaxed)) && have != pc)
		i = (i + 1) & (SLOTS - 1);
	atomic_store_explicit(&t[i].row, word, memory_order_relaxed);
	if (!have)
		atomic_fetch_add_explicit(&n_rows, 1, memory_order_relaxed);
	atomic_store_explicit(&t[i].pc, pc, memory_order_release);
	unlock();
}

static __attribute__((noinline)) uint64_t learn(struct slot *t, uint64_t pc)
{
	tide_module m;
	tide_cfi c = { TIDE_CFI_NONE, false, 0, 0 };
	if (tide__module_find((uintptr_t)pc - 1, &m)) {
		c = tide__cfi_find(&m, (uintptr_t)pc - 1);
		if (c.kind == TIDE_CFI_NONE) { /* return address of a signal frame: it does not
		                                * follow a call */
			tide_cfi at = tide__cfi_find(&m, (uintptr_t)pc);
			if (at.kind == TIDE_CFI_SIGNAL)
				c = at;
		}
	}
	uint64_t word = pack(&c, pc);
	if (t)
		keep(t, pc, word);
	return word;
}

static inline tide_cfi row_of(struct slot *t, uint64_t pc)
{
	uint64_t h = mix(pc), have;
	for (size_t i = h >> 40 & (SLOTS - 1); t; i = (i + 1) & (SLOTS - 1)) {
		have = atomic_load_explicit(&t[i].pc, memory_order_acquire);
		if (!have)
			break;
		if (have != pc)
			continue;
		uint64_t w = atomic_load_explicit(&t[i].row, memory_order_relaxed);
		if (w >> 50 == h >> 50)
			return unpack(w);
		break;
	}
	return unpack(learn(t, pc));
}

void tide__unwind_forked(void)
{
	unlock();
}

void tide__unwind_forget(void)
{
	struct slot *t = atomic_load(&rows);
	for (int i = 0; t && !lock(); i++)
		if (i > 1000)
			sched_yield();
	if (!t)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		if (atomic_load_explicit(&t[i].pc, memory_order_relaxed)) {
			atomic_store_explicit(&t[i].row, 0, memory_order_relaxed);
			atomic_store_explicit(&t[i].pc, 0, memory_order_release);
		}
	atomic_store(&n_rows, 0);
	atomic_fetch_add(&generation, 1);
	unlock();
}

/* ---- walking ------------------------------------------------------------------------------- */

static inline bool inside(const tide_stack_bounds *b, uintptr_t at)
{
	return at >= b->low && at < b->high - 8 && at % 8 == 0;
}

/* ---- walks that are known ---- */

/* Truncated stacks share no outer frames, so each would add as many nodes as it has frames. Nested
 * imports of Python have more than 128. */
enum { WALKS = 32, FRAMES = 30, LOADS = 60, DEEPEST = 512 };

struct known_walk {
	tide_walk from;
	uintptr_t stop;
	uint64_t generation; /* 0 = empty */
	uint32_t n, n_loads;
	bool stopped;
	uint64_t hash;
	uintptr_t pc[FRAMES];
	struct {
		uintptr_t at, value;
	} load[LOADS];
};
struct tide_walks {
	struct known_walk at[WALKS];
	struct known_walk *open; /* being filled; NULL: the walk is too long */
	uintptr_t room[DEEPEST];
};

uintptr_t *tide__walks_room(tide_walks *w, size_t *most)
{
	*most = DEEPEST;
	return w->room;
}

tide_walks *tide__walks_new(void)
{
	void *p = mmap(NULL, sizeof(tide_walks), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

void tide__walks_free(tide_walks *w)
{
	if (w)
		munmap(w, sizeof *w);
}

static inline bool still(const struct known_walk *k)
{
	for (uint32_t i = 0; i < k->n_loads; i++)
		if (*(const volatile uintptr_t *)k->load[i].at != k->load[i].value)
			return false;
	return true;
}

static inline uintptr_t word_at(tide_walks *known, uintptr_t at)
{
	uintptr_t v = *(const volatile uintptr_t *)at;
	struct known_walk *k = known ? known->open : NULL;
	if (k && k->n_loads < LOADS) {
		k->load[k->n_loads].at = at;
		k->load[k->n_loads++].value = v;
	} else if (k) {
		known->open = NULL;
	}
	return v;
}

#if defined(__x86_64__)
/* The registers that a signal interrupted (ucontext_t of x86-64 Linux). */
static bool leave_signal(tide_walk *w, const tide_stack_bounds *b, tide_walks *k)
{
	enum { REGS = 40, RBP = 10, RSP = 15, RIP = 16 };
	uintptr_t at = w->sp + REGS;
	if (!inside(b, at) || !inside(b, at + 8 * RIP))
		return false;
	w->fp = word_at(k, at + 8 * RBP);
	w->pc = word_at(k, at + 8 * RIP) + 1; /* behind the instruction, as a return address is */
	w->sp = word_at(k, at + 8 * RSP);
	return true;
}
#endif

static inline bool by_frame_pointer(tide_walk *w, const tide_stack_bounds *b, tide_walks *k)
{
	uintptr_t fp = w->fp;
	if (fp < w->sp || !inside(b, fp) || !inside(b, fp + 8))
		return false;
	w->fp = word_at(k, fp);
	w->pc = word_at(k, fp + 8);
	w->sp = fp + 16;
	return true;
}

static inline bool leave(tide_walk *w, const tide_stack_bounds *b, struct slot *t, tide_walks *k)
{
#if defined(__x86_64__)
	tide_cfi c = row_of(t, w->pc);
	uintptr_t cfa;
	switch (c.kind) {
	case TIDE_CFI_SP:
		cfa = w->sp + (uintptr_t)(intptr_t)c.cfa;
		break;
	case TIDE_CFI_FP:
		cfa = w->fp + (uintptr_t)(intptr_t)c.cfa;
		break;
	case TIDE_CFI_DEREF:
		if (!inside(b, w->fp + (uintptr_t)(intptr_t)c.cfa))
			return false;
		cfa = word_at(k, w->fp + (uintptr_t)(intptr_t)c.cfa);
		break;
	case TIDE_CFI_SIGNAL:
		return leave_signal(w, b, k);
	case TIDE_CFI_NONE:
		return by_frame_pointer(w, b, k);
	default:
		return false;
	}
	if (cfa <= w->sp || !inside(b, cfa - 8))
		return false;
	uintptr_t saved = cfa + (uintptr_t)(intptr_t)c.fp;
	if (c.fp_saved) {
		if (!inside(b, saved))
			return false;
		w->fp = word_at(k, saved);
	}
	w->pc = word_at(k, cfa - 8);
	w->sp = cfa;
	return true;
#else
	(void)t;
	return by_frame_pointer(w, b, k);
#endif
}

static inline uint64_t add_hash(uint64_t h, uintptr_t pc)
{
	return (h ^ pc) * UINT64_C(0x9e3779b97f4a7c15) ^ h >> 29;
}

/* Returns the place of a walk among the thread's, emptied and open for filling unless it is
 * known. */
static inline struct known_walk *place_of(tide_walks *known, const tide_walk *w)
{
	return &known->at[mix(w->pc ^ w->sp << 4) >> 59];
}

static void keep_walk(struct known_walk *k, const tide_walk *from, uintptr_t stop, uint64_t now,
		      const tide_walked *r)
{
	if (r->n > FRAMES)
		return;
	for (size_t i = 0; i < r->n; i++)
		k->pc[i] = r->pc[i];
	k->from = *from;
	k->stop = stop;
	k->n = (uint32_t)r->n;
	k->stopped = r->stopped;
	k->hash = r->hash;
	k->generation = now;
}

tide_walked tide__unwind(tide_walk w, const tide_stack_bounds *b, tide_walks *known,
			 uintptr_t *room, size_t max, uintptr_t stop, uintptr_t stop_end)
{
	struct slot *t = table();
	tide_walk from = w;
	bool own = inside(b, w.sp);
	uint64_t now = atomic_load_explicit(&generation, memory_order_acquire);
	struct known_walk *k = known && own ? place_of(known, &w) : NULL;
	if (k && k->generation == now && k->from.pc == w.pc && k->from.sp == w.sp &&
	    k->from.fp == w.fp && k->stop == stop && still(k))
		return (tide_walked){ k->pc, k->n, k->stopped, k->hash };
	tide_walked r = { room, 0, false, 1 };
	if (known)
		known->open = k;
	if (k) {
		k->generation = 0;
		k->n_loads = 0;
	}
	while (r.n < max && w.pc > 4096) {
		if (w.pc >= stop && w.pc < stop_end) {
			r.stopped = true;
			break;
		}
		room[r.n++] = w.pc;
		r.hash = add_hash(r.hash, w.pc);
		if (!own || !leave(&w, b, t, known))
			break;
	}
	if (known && known->open)
		keep_walk(known->open, &from, stop, now, &r);
	return r;
}
