// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "runtime/last_thread.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "runtime/writer_tasks.h"

enum { EVERY_NS = 20000000 };

/* ---- libc's count -------------------------------------------------------------------------- */

static _Atomic int ours; /* threads of the recorder that run */

/* libthread_db reads this variable by name, so libc exports it. NULL: another libc. */
static _Atomic unsigned *libc_count;

void tide__threads_init(void)
{
	libc_count = (_Atomic unsigned *)dlsym(RTLD_DEFAULT, "__nptl_nthreads");
}

void tide__thread_uncount(void)
{
	atomic_fetch_add(&ours, 1);
	if (libc_count)
		atomic_fetch_sub(libc_count, 1);
}

/* While the last thread of the program runs exit(), the count is 0. A thread of ours that ended
 * with 1 would then call exit() a second time. */
void tide__thread_recount(void)
{
	atomic_fetch_sub(&ours, 1);
	if (libc_count && atomic_fetch_add(libc_count, 1) == 0)
		atomic_fetch_add(libc_count, 1);
}

void tide__program_forget(void)
{
	atomic_store(&ours, 0);
}

/* ---- the kernel's list --------------------------------------------------------------------- */

static int main_stat = -1; /* of the main thread; in the writer's own descriptor table */
static uint64_t asked_ns;
static bool main_last; /* the main thread still ran when the kernel was asked before */
static int exit_code;  /* as waitpid returns it */

void tide__program_watch(void)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)getpid());
	main_stat = tide__errand_private() ? tide__fd_open(path, O_RDONLY | O_CLOEXEC, 0) : -1;
	if (main_stat < 0 && tide__errand_private()) /* /proc numbers processes otherwise */
		main_stat = tide__fd_open("/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
	asked_ns = 0;
	main_last = true;
}

/* Reads the main thread's state, the number of threads and the main thread's exit code. */
static bool read_main(char *state, long *threads, int *code)
{
	enum { THREADS = 20 - 3, CODE = 52 - 3 }; /* fields after the state, which is the third */
	char text[1024];
	ssize_t n = main_stat < 0 ? -1 : tide__fd_read_at(main_stat, text, sizeof text - 1, 0);
	if (n <= 0)
		return false;
	text[n] = 0;
	char *at = strrchr(text, ')'); /* the end of the name */
	if (!at || !at[1])
		return false;
	*state = at[2];
	at += 3;
	*code = 0;
	for (int field = 1; *at && field <= CODE; field++) {
		long long v = strtoll(at, &at, 10);
		*threads = field == THREADS ? (long)v : *threads;
		*code = field == CODE ? (int)v : *code;
	}
	return true;
}

bool tide__program_gone(uint64_t now_ns)
{
	char state;
	long threads = 0;
	int code;
	if (now_ns - asked_ns < EVERY_NS)
		return false;
	asked_ns = now_ns;
	if (!read_main(&state, &threads, &code))
		return false;
	bool main_ended = state == 'Z' || state == 'X';
	if (main_ended && threads == 1 + atomic_load(&ours)) { /* it is listed until the end */
		exit_code = main_last ? code : 0;
		return true;
	}
	main_last = !main_ended;
	return false;
}

/* A kernel since 5.17 takes the status of the thread that ended last, an older one the main
 * thread's. If that was another thread, its status is unknown: that of a pthread is 0. */
_Noreturn void tide__program_end(void)
{
	int sig = exit_code & 0x7f;
	if (sig) { /* a seccomp filter ended the thread */
		sigset_t one;
		sigemptyset(&one);
		sigaddset(&one, sig);
		signal(sig, SIG_DFL);
		sigprocmask(SIG_UNBLOCK, &one, NULL);
		raise(sig);
	}
	for (;;)
		syscall(SYS_exit_group, exit_code >> 8 & 0xff);
}
