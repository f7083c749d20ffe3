// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "runtime/writer_tasks.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "runtime/guard.h"

enum { NONE, ASKED, DONE };

static struct {
	void (*what)(void *);
	void *arg;
	_Atomic uint32_t state; /* NONE ... */
} errand;			/* one at a time: slow sections hold the lock */

static _Atomic uint32_t bell;
static _Atomic bool own_table;
static __thread bool here __attribute__((tls_model("initial-exec")));

/* The table is empty, so that files of the program do not stay open here after it closes them. */
static bool take_table(void)
{
	enum { UNSHARE = 2, MOST = 1 << 20 };
#ifdef SYS_close_range
	if (syscall(SYS_close_range, 0U, ~0U, UNSHARE) == 0)
		return true;
#endif
	struct rlimit lim;
	if (unshare(CLONE_FILES) != 0) /* kernels before 5.9 come here */
		return false;
	int most = getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_max < MOST ? (int)lim.rlim_max
									      : MOST;
	for (int fd = 0; fd < most; fd++)
		tide__fd_close(fd);
	return true;
}

void tide__errand_unshare(void)
{
	here = true;
	tide__slow_mark_own_thread();
	atomic_store(&own_table, take_table());
}

bool tide__errand_private(void)
{
	return atomic_load(&own_table);
}

void tide__errand_run(void (*what)(void *arg), void *arg)
{
	if (here) {
		what(arg);
		return;
	}
	errand.what = what;
	errand.arg = arg;
	atomic_store_explicit(&errand.state, ASKED, memory_order_release);
	tide__bell_wake();
	while (atomic_load_explicit(&errand.state, memory_order_acquire) != DONE)
		tide__wait(&errand.state, ASKED, 0);
	atomic_store_explicit(&errand.state, NONE, memory_order_relaxed);
}

void tide__errand_look(void)
{
	if (atomic_load_explicit(&errand.state, memory_order_acquire) != ASKED)
		return;
	errand.what(errand.arg);
	atomic_store_explicit(&errand.state, DONE, memory_order_release);
	tide__wake(&errand.state);
}

void tide__errand_forget(void)
{
	atomic_store(&errand.state, NONE);
	atomic_store(&own_table, false);
}

uint32_t tide__bell(void)
{
	return atomic_load_explicit(&bell, memory_order_acquire);
}

void tide__bell_wait(uint32_t seen, uint64_t timeout_us)
{
	tide__wait(&bell, seen, timeout_us);
}

void tide__bell_wake(void)
{
	atomic_fetch_add_explicit(&bell, 1, memory_order_release);
	tide__wake(&bell);
}
