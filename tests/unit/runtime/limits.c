// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A process whose address space is limited (ulimit -v) keeps most of it: the recorder takes a small
 * share and counts events without space as lost. Each case runs in its own child, because a limit
 * cannot be raised again. */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tidemark/record.h>

#include "testing.h"

enum { MIB = 1 << 20, THREADS = 24, STACK = 128 << 10 };

static char path[64];
static pthread_barrier_t all;

static uint64_t used(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%lu", &pages) != 1)
		exit(10);
	fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void leave_only(uint64_t bytes)
{
	struct rlimit lim = { used() + bytes, RLIM_INFINITY };
	if (setrlimit(RLIMIT_AS, &lim) != 0)
		exit(11);
}

static bool start(size_t ring_bytes)
{
	tide_options o = TIDE_OPTIONS_INIT;
	o.ring_bytes = ring_bytes;
	return tide_start(path, &o, NULL) == TIDE_OK;
}

/* qemu-user ignores RLIMIT_AS: it is the emulator that would run out. */
static void needs_a_limit(void)
{
	if (!getenv("MESON_EXE_WRAPPER"))
		return;
	puts("skipped an emulator does not limit the address space");
	skip();
}

/* Runs the body in a child and returns its exit status; 0 = success. */
static int child(int (*body)(void))
{
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		snprintf(path, sizeof path, "/tmp/tide-limits-%d.tide", (int)getpid());
		int rc = body();
		tide_stop(NULL);
		unlink(path);
		_exit(rc);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void *records(void *unused)
{
	tide_op_end(tide_op_begin(TIDE_NAME("work")));
	pthread_barrier_wait(&all); /* all are alive at once */
	pthread_barrier_wait(&all);
	return unused;
}

static void *records_later(void *unused)
{
	tide_name work = TIDE_NAME("work");
	pthread_barrier_wait(&all); /* it has begun */
	pthread_barrier_wait(&all);
	for (int i = 0; i < 3; i++)
		tide_mark(TIDE_CHECKPOINT, work, i);
	return unused;
}

/* Returns the bytes of the signal stack that AddressSanitizer gives to each thread. Processors with
 * large registers have large ones. */
static uint64_t signal_stack(void)
{
#ifdef __SANITIZE_ADDRESS__
	long bytes = sysconf(_SC_SIGSTKSZ);
	return bytes > 0 ? 4 * (uint64_t)bytes : 0;
#else
	return 0;
#endif
}

static int threads_and_rings(void)
{
	pthread_t t[THREADS];
	pthread_attr_t attr;
	tide_stats s;
	if (!start(16 * MIB))
		return 1;
	tide_name_static("work");
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_barrier_init(&all, NULL, THREADS + 1);
	leave_only(60 * MIB + THREADS * signal_stack());
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], &attr, records, NULL) != 0)
			return 2;
	pthread_barrier_wait(&all);
	void *p = mmap(NULL, 40 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_barrier_wait(&all);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	tide_stats_get(&s);
	if (p == MAP_FAILED) /* two thirds of it are the program's */
		return 3;
	return s.events + s.lost_other == 2 * THREADS && s.lost_other == 0 ? 0 : 4;
}

static void many_threads_leave_the_program_its_room(void **state)
{
#ifdef __SANITIZE_THREAD__
	puts("skipped what ThreadSanitizer takes for each thread is more than is left here");
	skip();
#endif
	assert_int_equal(child(threads_and_rings), 0);
}

/* Less space than a ring of 64 KiB: no ring is made, every event is counted as lost. */
static int nothing_left(void)
{
	pthread_t t;
	pthread_attr_t attr;
	tide_stats s;
	if (!start(16 * MIB))
		return 1;
	tide_op_end(tide_op_begin(TIDE_NAME("work"))); /* the first ring is taken */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_barrier_init(&all, NULL, 2);
	leave_only(2 * MIB);
	if (pthread_create(&t, &attr, records, NULL) != 0)
		return 2;
	pthread_barrier_wait(&all);
	void *p = mmap(NULL, MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_barrier_wait(&all);
	pthread_join(t, NULL);
	tide_stats_get(&s);
	if (p == MAP_FAILED)
		return 3;
	return s.lost_other == 2 && s.events == 2 ? 0 : 4;
}

static void a_process_with_nothing_left_is_left_alone(void **state)
{
	needs_a_limit();
	assert_int_equal(child(nothing_left), 0);
}

/* There is no space even for the thread's own few pages. */
static int nothing_at_all(void)
{
	pthread_t t;
	tide_stats s;
	if (!start(16 * MIB))
		return 1;
	tide_op_end(tide_op_begin(TIDE_NAME("work")));
	pthread_barrier_init(&all, NULL, 2);
	if (pthread_create(&t, NULL, records_later, NULL) != 0)
		return 2;
	pthread_barrier_wait(&all);
	leave_only(0);
	pthread_barrier_wait(&all);
	pthread_join(t, NULL);
	tide_stats_get(&s);
	return s.events == 2 && s.lost_other == 3 ? 0 : 3;
}

static void events_of_a_thread_that_cannot_join(void **state)
{
	needs_a_limit();
	assert_int_equal(child(nothing_at_all), 0);
}

/* Definitions reserve address space for 256 MiB of texts, rings theirs: a limit that was set before
 * the start is respected too. */
static int limited_from_the_start(void)
{
	tide_stats s;
	leave_only(128 * MIB);
	if (!start(16 * MIB))
		return 1;
	if (!tide_intern("a name") || !tide_op_begin(tide_intern("work")))
		return 2;
	void *p = mmap(NULL, 96 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	tide_stats_get(&s);
	if (p == MAP_FAILED)
		return 3;
	return s.events == 1 && s.lost_other == 0 ? 0 : 4;
}

static void a_limit_from_before_the_start(void **state)
{
	assert_int_equal(child(limited_from_the_start), 0);
}

/* Without a limit rings have the requested size. */
static int unlimited(void)
{
	tide_stats s;
	if (!start(16 * MIB))
		return 1;
	tide_stats_get(&s);
	return s.memory >= 16 * MIB ? 0 : 2;
}

static void no_limit(void **state)
{
	assert_int_equal(child(unlimited), 0);
}

/* The recorder sees a container of 64 MiB: all rings together take 8 MiB. */
static int in_container(void)
{
	tide_stats s;
	if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return 77;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", "/sys/fs/cgroup", "tmpfs", 0, NULL) != 0)
		return 77;
	FILE *f = fopen("/sys/fs/cgroup/memory.max", "w");
	if (!f || fputs("67108864\n", f) < 0 || fclose(f) != 0)
		return 77;
	if (!start(16 * MIB))
		return 1;
	tide_stats_get(&s);
	if (s.memory < 8 * MIB || s.memory >= 9 * MIB)
		return 2;
	tide_stop(NULL);
	tide_options o = TIDE_OPTIONS_INIT; /* a larger size that is requested explicitly is used */
	o.ring_bytes = o.max_ring_bytes = 16 * MIB;
	if (tide_start(path, &o, NULL) != TIDE_OK)
		return 3;
	tide_stats_get(&s);
	return s.memory >= 16 * MIB ? 0 : 4;
}

static void a_containers_memory(void **state)
{
	int rc = child(in_container);
	if (rc == 77) {
		puts("skipped name spaces are not available here");
		skip();
	}
	assert_int_equal(rc, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_threads_leave_the_program_its_room),
		cmocka_unit_test(a_process_with_nothing_left_is_left_alone),
		cmocka_unit_test(events_of_a_thread_that_cannot_join),
		cmocka_unit_test(a_limit_from_before_the_start),
		cmocka_unit_test(no_limit),
		cmocka_unit_test(a_containers_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
