// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Compiled with frame pointers: the walk of a stack starts from this file's frames (unwind.h). */
#include "capture/heap/heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tidemark/detail/quick.h>
#include <tidemark/record.h>

#include "capture/common/run_file.h"
#include "capture/heap/stacks.h"

enum { UNDECIDED, OFF, SAMPLED, FULL };
enum { REST = 1 << 26 };     /* bytes between two checks while nothing is recorded */
enum { SPARSE = 128 << 10 }; /* from this mean on, a page per sample adds 3 % or less */

static _Atomic int mode;
static double mean;
static bool placing; /* sampled blocks are at the start of a page */
static tide_pool pool;

/* Set while the tracked blocks belong to this process: wiped in forked children, as the table
 * is. */
static struct {
	_Atomic uint32_t ready;
	uint8_t pad[4092];
} page __attribute__((aligned(4096)));

#define SELF (&tide__heap_self)

/* ---- chance -------------------------------------------------------------------------------- */

/* Natural logarithm of x in (0, 1]; libm is not linked. Error below 1e-10. */
static double log_of(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	int exponent = (int)(bits >> 52) - 1022;
	bits = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(1022) << 52; /* 0.5 <= m < 1 */
	double m;
	memcpy(&m, &bits, sizeof m);
	if (m < 0.70710678118654752) {
		m *= 2;
		exponent--;
	}
	double s = (m - 1) / (m + 1), q = s * s, sum = 0;
	for (int k = 15; k >= 1; k -= 2)
		sum = sum * q + 1.0 / k;
	return 2 * s * sum + exponent * 0.69314718055994531;
}

static uint64_t next_random(tide_heap_thread *t)
{
	uint64_t x = t->random;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	t->random = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* Returns the bytes to the next sample: exponential. */
static int64_t draw(tide_heap_thread *t)
{
	double u = ((double)(next_random(t) >> 11) + 0.5) / 9007199254740992.0;
	double x = -log_of(u) * mean;
	return x < 1e15 ? (int64_t)x : (int64_t)1e15;
}

/* Walks are cached if every allocation is walked; the end of the thread frees them. */
static pthread_key_t walks_key;
static bool has_key;

static void drop_walks(void *w)
{
	SELF->walks = NULL;
	tide__walks_free(w);
}

/* ---- start --------------------------------------------------------------------------------- */

static double rate_of(const char *text)
{
	char *end;
	double v = strtod(text, &end);
	return *end || !(v >= 1) || v > 1e15 ? 524288 : v;
}

/* ThreadSanitizer reports the recorder's own memory as races: it sees its calls of memcpy, but not
 * its atomics. */
static bool under_tsan(void)
{
	return dlsym(RTLD_DEFAULT, "__tsan_init") != NULL;
}

static void start(void)
{
	static char path[PATH_MAX]; /* called once */
	const char *what = getenv("TIDEMARK_HEAP");
	tide_options opt = TIDE_OPTIONS_INIT;
	int want = !what || !*what ? OFF : strcmp(what, "full") == 0 ? FULL : SAMPLED;
	bool maps = tide__maps_wanted();
	if ((want == OFF && !maps) || under_tsan() || !tide__tracked_init() ||
	    (!tide_recording() && !tide__run_file(path, sizeof path))) {
		atomic_store(&mode, OFF);
		return;
	}
	opt.ring_bytes = want == FULL ? 4 << 20 : 1 << 20;
	opt.full_wait_us = 100000; /* without frees the recording would be useless */
	if (!tide_recording())
		tide_start(path, &opt, NULL);
	if (!tide_recording()) {
		atomic_store(&mode, OFF);
		return;
	}
	mean = want == SAMPLED ? rate_of(what) : 0;
	placing = mean >= SPARSE;
	has_key = pthread_key_create(&walks_key, drop_walks) == 0;
	if (maps)
		tide__maps_start(tide_pool_open(tide_device_open(TIDE_DEVICE_HOST, 0, NULL, 0),
						TIDE_POOL_HEAP, "mmap", 0));
	if (want == OFF) {
		atomic_store(&mode, OFF);
		return;
	}
	pool = tide_pool_open(tide_device_open(TIDE_DEVICE_HOST, 0, NULL, 0), TIDE_POOL_HEAP,
			      "malloc", 0);
	tide__tracked_set_all(want == FULL);
	atomic_store(&page.ready, 1);
	atomic_store_explicit(&mode, want, memory_order_release);
}

/* Calls malloc as the program does and returns true if ours counted the block. The symbol alone is
 * not enough: an executable at a fixed address that takes malloc's address has an entry for it. */
static bool counts_malloc(void)
{
	void *(*theirs)(size_t) = (void *(*)(size_t))(uintptr_t)dlsym(RTLD_DEFAULT, "malloc");
	void (*give_back)(void *) = (void (*)(void *))(uintptr_t)dlsym(RTLD_DEFAULT, "free");
	int64_t before = SELF->left = INT64_MAX / 2;
	if (!theirs || !give_back)
		return true;
	give_back(theirs(1));
	return SELF->left != before;
}

/* A program that defines its own malloc never calls ours. */
static void say_if_not_ours(void)
{
	if (!counts_malloc())
		tide_annotate(tide_intern("loss.own_allocator"),
			      "the program defines its own malloc");
}

static void know_main(void);

/* Starts the recording: at the first call that libc is ready for, often one of a constructor of another
 * library, which all run before ours. */
static __attribute__((noinline)) void begin(void)
{
	static atomic_flag begun = ATOMIC_FLAG_INIT;
	int saved = errno;
	if (atomic_flag_test_and_set(&begun))
		return;
	tide__real_find();
	SELF->inside = true;
	start();
	if (atomic_load(&mode) > OFF) {
		know_main(); /* a filter may forbid its system calls later */
		say_if_not_ours();
		tide__operators_start();
	}
	SELF->inside = false;
	SELF->left = -1;
	errno = saved;
}

/* A process that allocates nothing before main. */
__attribute__((constructor)) static void load(void)
{
	begin();
}

/* A sanitizer that is preloaded or linked calls malloc while it looks up the functions that it
 * replaces: until it is done, most calls of libc go through a pointer that is NULL. It is done when
 * our constructor runs, since libraries later in the search order are initialised first. */
extern void __asan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));
extern void __lsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));

static bool has_sanitizer(void)
{
	return __asan_init || __hwasan_init || __lsan_init || __msan_init;
}

/* libc's own constructor, the first of all, sets the environment. */
static bool libc_is_ready(void)
{
	return environ != NULL && !has_sanitizer();
}

/* Discards the tracked blocks in a forked child: they belong to the parent. */
static __attribute__((noinline)) void begin_child(int m)
{
	uint32_t none = 0;
	if (!atomic_compare_exchange_strong(&page.ready, &none, 1))
		return;
	tide__heap_stacks_forked();
	tide__tracked_set_all(m == FULL);
}

/* ---- what is recorded ---------------------------------------------------------------------- */

/* Returns true if this allocation is recorded. The thread is then `inside` until done(). */
static inline bool due(tide_heap_thread *t, size_t n)
{
	int m = atomic_load_explicit(&mode, memory_order_acquire);
	if (t->inside)
		return false;
	if (__builtin_expect(m <= OFF, 0)) {
		if (m == UNDECIDED && libc_is_ready()) {
			begin();
			m = atomic_load_explicit(&mode, memory_order_acquire);
		}
		if (m <= OFF) {
			t->left = m == OFF ? REST : 0;
			return false;
		}
	}
	if (__builtin_expect(!atomic_load_explicit(&page.ready, memory_order_relaxed), 0))
		begin_child(m);
	if (m == FULL) {
		t->left = -1;
	} else {
		if (__builtin_expect(!t->random, 0)) {
			uint64_t now = tide__counter();
			t->random = ((uintptr_t)t ^ now * UINT64_C(0x9e3779b97f4a7c15)) | 1;
			t->left = draw(t) - (int64_t)n;
			if (t->left >= 0)
				return false;
		}
		t->left = draw(t);
	}
	t->inside = true;
	return true;
}

static inline void done(tide_heap_thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->inside = false;
}

/* ---- time ---------------------------------------------------------------------------------- */

/* While one thread alone allocates, the order of its ring is the order of events, and times may be
 * coarse: 4,096 ticks, about 1.5 us. Such times compress to almost nothing. Once a second thread
 * allocates, times are exact, since they order the threads' events. */
enum { COARSE = 4095 };
static _Atomic(tide_heap_thread *) only; /* the thread that allocates alone */
static _Atomic uint64_t precise;	 /* all ones: several do */

static inline uint64_t ticks_now(void)
{
	uint64_t keep = atomic_load_explicit(&precise, memory_order_relaxed);
	return tide__counter() & (keep | ~(uint64_t)COARSE);
}

static void know_walks(tide_heap_thread *t)
{
	if (atomic_load(&mode) != FULL || !has_key)
		return;
	t->walks = tide__walks_new();
	if (t->walks && pthread_setspecific(walks_key, t->walks) != 0) {
		tide__walks_free(t->walks);
		t->walks = NULL;
	}
}

static void meet(tide_heap_thread *t)
{
	tide_heap_thread *none = NULL;
	if (!atomic_compare_exchange_strong(&only, &none, t) && none != t)
		atomic_store(&precise, UINT64_MAX);
}

static inline bool store(uint32_t type, uint64_t addr, uint64_t size, uint32_t stack)
{
	tide_quick *q = tide__quick();
	if (!TIDE_LIKELY(q != NULL))
		return false;
	tide__store(q, ticks_now(), type, pool, TIDE_GET(q->depth), addr, size, stack);
	tide__leave(q);
	return true;
}

static inline void put_alloc(const void *p, size_t n, tide_stack stack)
{
	n = n ? n : 1;
	if (!stack || n > TIDE_SIZE_MAX || !store(TIDE_SLOT_ALLOC_STACK, (uintptr_t)p, n, stack))
		tide_alloc_full(pool, (uintptr_t)p, n, 0, stack, 0);
}

static inline void put_free(const void *p)
{
	if (!store(TIDE_SLOT_FREE, (uintptr_t)p, 0, 0))
		tide_free(pool, (uintptr_t)p);
}

static inline void know(tide_heap_thread *t)
{
	if (__builtin_expect(!t->bounds.high && !t->asking, 0)) {
		tide__stack_bounds_find(&t->bounds);
		meet(t);
		know_walks(t);
	}
}

static void know_main(void)
{
	know(SELF);
	tide__heap_stacks_start();
}

static inline tide_stack stack_of(tide_heap_thread *t, tide_walk w)
{
	static const tide_stack_bounds none = TIDE_NO_BOUNDS;
	return tide__heap_stack_walk(w, t->bounds.high ? &t->bounds : &none, t->walks);
}

tide_stack tide__heap_stack_now(tide_walk w)
{
	tide_heap_thread *t = SELF;
	know(t);
	return stack_of(t, w);
}

static inline bool full(void)
{
	return atomic_load_explicit(&mode, memory_order_relaxed) == FULL;
}

/* Records the stack and the event of a block. */
static inline void record(tide_heap_thread *t, const void *p, size_t n, tide_walk w)
{
	int saved = errno;
	know(t);
	t->last = p;
	if (p && (full() || tide__tracked_add(p)))
		put_alloc(p, n, stack_of(t, w));
	errno = saved;
}

void *tide__heap_malloc(size_t n)
{
	tide_heap_thread *t = SELF;
	if (!due(t, n))
		return tide__real.malloc(n);
	void *p = placing ? tide__place_malloc(n) : tide__real.malloc(n);
	record(t, p, n, TIDE_WALK_HERE());
	done(t);
	return p;
}

void *tide__heap_calloc(size_t n, size_t size)
{
	tide_heap_thread *t = SELF;
	if (!due(t, n * size))
		return tide__real.calloc(n, size);
	void *p = placing ? tide__place_calloc(n, size) : tide__real.calloc(n, size);
	record(t, p, n * size, TIDE_WALK_HERE());
	done(t);
	return p;
}

void *tide__heap_aligned(void *(*f)(size_t, size_t), size_t align, size_t n)
{
	tide_heap_thread *t = SELF;
	if (!due(t, n))
		return f(align, n);
	void *p = placing ? tide__place_aligned(f, align, n) : f(align, n);
	record(t, p, n, TIDE_WALK_HERE());
	done(t);
	return p;
}

void *tide__heap_paged(void *(*f)(size_t), size_t n)
{
	tide_heap_thread *t = SELF;
	if (!due(t, n))
		return f(n);
	void *p = f(n);
	record(t, p, n, TIDE_WALK_HERE());
	done(t);
	return p;
}

int tide__heap_posix(void **out, size_t align, size_t n)
{
	tide_heap_thread *t = SELF;
	if (!due(t, n))
		return tide__real.posix_memalign(out, align, n);
	int rc = placing ? tide__place_posix(out, align, n)
			 : tide__real.posix_memalign(out, align, n);
	if (rc == 0)
		record(t, *out, n, TIDE_WALK_HERE());
	done(t);
	return rc;
}

/* Records its free before the block can be reused. Returns true if it was recorded. */
static inline bool forget(const void *p)
{
	int m = atomic_load_explicit(&mode, memory_order_relaxed);
	bool there = p && m > OFF && (m == FULL || tide__tracked_take(p));
	if (there)
		put_free(p);
	return there;
}

void tide__heap_gone(const void *p)
{
	tide_heap_thread *t = SELF;
	if (t->inside || !tide__heap_maybe(p))
		return;
	t->inside = true;
	forget(p);
	done(t);
}

void tide__heap_made(const void *p, size_t n, tide_walk w)
{
	tide_heap_thread *t = SELF;
	if (!due(t, n))
		return;
	record(t, p, n, w);
	done(t);
}

void tide__heap_free(void *p)
{
	if (tide__real_early(p))
		return;
	tide__heap_gone(p);
	tide__real.free(p);
}

void *tide__heap_realloc(void *p, size_t n)
{
	tide_heap_thread *t = SELF;
	if (p && tide__real_early(p)) {
		void *q = malloc(n);
		size_t old = tide__real_early_size(p);
		return q ? memcpy(q, p, old < n ? old : n) : NULL;
	}
	if (t->inside)
		return tide__real.realloc(p, n);
	size_t was = p ? tide__real.usable(p) : 0;
	bool recorded, sampled = (n || !p) && t->left < 0 && due(t, n);
	t->inside = true;
	recorded = p && tide__heap_maybe(p) && forget(p);
	void *q = tide__real.realloc(p, n);
	if (!q && n && recorded) /* it failed: the old block is still there */
		record(t, p, was, TIDE_WALK_HERE());
	else if (q && sampled)
		record(t, q = placing ? tide__place_again(q, n) : q, n, TIDE_WALK_HERE());
	done(t);
	return q;
}

/* ---- unmapped code ------------------------------------------------------------------------ */

static int subs(struct dl_phdr_info *i, size_t n, void *out)
{
	(void)n;
	*(unsigned long long *)out = i->dlpi_subs;
	return 1;
}

void tide__heap_forget_unloaded(void)
{
	static _Atomic unsigned long long seen;
	unsigned long long now = 0;
	if (atomic_load(&mode) <= OFF || SELF->inside)
		return;
	SELF->inside = true;
	dl_iterate_phdr(subs, &now);
	if (atomic_exchange(&seen, now) != now) /* code was actually unmapped */
		tide__heap_stacks_forget();
	SELF->inside = false;
}
