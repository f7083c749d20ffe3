// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "runtime/guard.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/recorder.h"

tide_guard tide__guard;

static __thread uint32_t inside __attribute__((tls_model("initial-exec")));

_Atomic bool tide__no_calls;
static __thread bool own_thread __attribute__((tls_model("initial-exec")));

void tide__calls_forbid(void)
{
	atomic_store(&tide__no_calls, true);
}

bool tide__calls_forbidden(void)
{
	return atomic_load_explicit(&tide__no_calls, memory_order_relaxed);
}

static bool no_calls_here(void)
{
	return tide__calls_forbidden() && !own_thread;
}

void tide__pause(void)
{
	enum { TURNS = 1000 };
	if (!no_calls_here()) {
		sched_yield();
		return;
	}
	for (volatile int i = 0; i < TURNS; i++)
		;
}

uint64_t tide__thread_number(void)
{
	static pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; /* stores its owner's */
	if (!no_calls_here())
		return (uint64_t)syscall(SYS_gettid);
	if (pthread_mutex_trylock(&m) != 0)
		return 0;
	uint64_t n = (uint64_t)m.__data.__owner;
	pthread_mutex_unlock(&m);
	return n;
}

bool tide__guard_init(void)
{
	return madvise(&tide__guard, sizeof tide__guard, MADV_WIPEONFORK) == 0;
}

void tide__wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_us)
{
	if (no_calls_here()) { /* returning early is allowed */
		tide__pause();
		return;
	}
	struct timespec ts = { (time_t)(timeout_us / 1000000),
			       (long)(timeout_us % 1000000) * 1000 };
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, timeout_us ? &ts : NULL, NULL, 0);
}

void tide__wake(_Atomic uint32_t *word)
{
	if (!no_calls_here()) /* those that wait look again from time to time */
		syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

bool tide__lock(void)
{
	enum { RECHECK_US = 10000, PATIENCE = 20000 };
	_Atomic uint32_t *l = &tide__guard.lock;
	uint32_t seen = 0;
	if (atomic_compare_exchange_strong_explicit(l, &seen, 1, memory_order_acquire,
						    memory_order_relaxed))
		return true;
	for (int tries = 0; atomic_exchange_explicit(l, 2, memory_order_acquire) != 0;) {
		if (no_calls_here() && tries++ > PATIENCE)
			return false;
		tide__wait(l, 2, RECHECK_US);
	}
	return true;
}

void tide__unlock(void)
{
	if (atomic_exchange_explicit(&tide__guard.lock, 0, memory_order_release) == 2)
		tide__wake(&tide__guard.lock);
}

uint64_t tide__signals_block(void)
{
	enum { CANCEL = 32, SETXID = 33 }; /* libc's */
	uint64_t before = 0, bus = UINT64_C(1) << (SIGBUS - 1);
	uint64_t all = ~(bus | UINT64_C(1) << (CANCEL - 1) | UINT64_C(1) << (SETXID - 1));
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof all);
	if (before & bus) /* a fault would end the program (ring_sigbus.h) */
		syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &bus, NULL, sizeof bus);
	return before;
}

void tide__signals_restore(uint64_t before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}

static void leave_quietly(tide_slow_section *s)
{
	pthread_setcancelstate(s->cancel, NULL);
	if (s->blocked)
		tide__signals_restore(s->mask);
	errno = s->saved_errno;
}

static struct {
	_Atomic uintptr_t low, bytes; /* written again by each start, with equal values */
} own_stack;

void tide__slow_own_stack(const void *low, size_t bytes)
{
	atomic_store_explicit(&own_stack.low, (uintptr_t)low, memory_order_relaxed);
	atomic_store_explicit(&own_stack.bytes, bytes, memory_order_relaxed);
}

static bool on_own_stack(void)
{
	uintptr_t low = atomic_load_explicit(&own_stack.low, memory_order_relaxed);
	return (uintptr_t)__builtin_frame_address(0) - low <
	       atomic_load_explicit(&own_stack.bytes, memory_order_relaxed);
}

bool tide__slow_enter(tide_slow_section *s)
{
	if (inside || on_own_stack())
		return false;
	s->saved_errno = errno;
	s->blocked = !no_calls_here();
	if (s->blocked)
		s->mask = tide__signals_block();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &s->cancel);
	inside = 1;
	if (!tide__lock()) {
		inside = 0;
		leave_quietly(s);
		return false;
	}
	if (!atomic_load_explicit(&tide__guard.alive, memory_order_relaxed))
		tide__recorder_init();
	return true;
}

void tide__slow_leave(tide_slow_section *s)
{
	tide__unlock();
	inside = 0;
	leave_quietly(s);
}

void tide__slow_mark_own_thread(void)
{
	inside = 1;
	own_thread = true;
}

void *tide__pages_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}
