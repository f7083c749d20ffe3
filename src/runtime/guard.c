// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "runtime/guard.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/recorder.h"

tide_guard tide__guard;

static __thread uint32_t inside __attribute__((tls_model("initial-exec")));

bool tide__guard_init(void)
{
	return madvise(&tide__guard, sizeof tide__guard, MADV_WIPEONFORK) == 0;
}

void tide__wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_us)
{
	struct timespec ts = { (time_t)(timeout_us / 1000000),
			       (long)(timeout_us % 1000000) * 1000 };
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, timeout_us ? &ts : NULL, NULL, 0);
}

void tide__wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void tide__lock(void)
{
	_Atomic uint32_t *l = &tide__guard.lock;
	uint32_t seen = 0;
	if (atomic_compare_exchange_strong_explicit(l, &seen, 1, memory_order_acquire,
						    memory_order_relaxed))
		return;
	while (atomic_exchange_explicit(l, 2, memory_order_acquire) != 0)
		tide__wait(l, 2, 0);
}

void tide__unlock(void)
{
	if (atomic_exchange_explicit(&tide__guard.lock, 0, memory_order_release) == 2)
		tide__wake(&tide__guard.lock);
}

bool tide__slow_enter(tide_slow_section *s)
{
	if (inside)
		return false;
	s->saved_errno = errno;
	sigset_t all;
	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* blocked, a fault would end the program (ring_sigbus.h) */
	pthread_sigmask(SIG_SETMASK, &all, &s->mask);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &s->cancel);
	inside = 1;
	tide__lock();
	if (!atomic_load_explicit(&tide__guard.alive, memory_order_relaxed))
		tide__recorder_init();
	return true;
}

void tide__slow_leave(tide_slow_section *s)
{
	tide__unlock();
	inside = 0;
	pthread_setcancelstate(s->cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
	errno = s->saved_errno;
}

void tide__slow_mark_own_thread(void)
{
	inside = 1;
}

void *tide__pages_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}
