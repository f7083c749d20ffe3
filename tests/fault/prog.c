// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The traced programs of the fault tests, one function per scene; faults.py runs them and checks
 * their files. `prog SCENE FILE ARGS...`; exit status 0 means that the scene itself succeeded.
 *
 * A thread's events are marks numbered 1, 2, 3 ... under the thread's name, so a reader can find
 * missing ones. Each thread publishes the number of its last call that returned in its own page of
 * FILE.pub, which survives a kill. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tidemark/record.h>

#define CHECK(x)                                                                \
	do {                                                                    \
		if (!(x)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
			exit(1);                                                \
		}                                                               \
	} while (0)

enum { MAX_THREADS = 512, PAGE_WORDS = 512 };

static _Atomic uint64_t *published; /* word 512 * i: thread i */
static _Atomic int stop_now;
static int pace_us, per_pace;

static void open_published(const char *file)
{
	char path[4096];
	snprintf(path, sizeof path, "%s.pub", file);
	const char *elsewhere = getenv("PUB");
	int fd = open(elsewhere ? elsewhere : path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	CHECK(fd >= 0 && ftruncate(fd, MAX_THREADS * 4096) == 0);
	published = mmap(NULL, MAX_THREADS * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(published != MAP_FAILED);
}

static void start(const char *file, size_t ring_bytes)
{
	tide_options o = TIDE_OPTIONS_INIT;
	tide_error e = { 0 };
	o.ring_bytes = ring_bytes;
	if (tide_start(file, &o, &e) != TIDE_OK) {
		fprintf(stderr, "start: %s\n", e.text);
		exit(3);
	}
}

static tide_name thread_name(long i)
{
	char name[32];
	snprintf(name, sizeof name, "thread-%ld", i);
	return tide_intern(name);
}

/* Numbered marks until stop_now, at most `limit`. */
static uint64_t numbered(long i, uint64_t limit)
{
	tide_name name = thread_name(i);
	uint64_t n = 0;
	while (n < limit && !atomic_load_explicit(&stop_now, memory_order_relaxed)) {
		tide_mark(TIDE_STEP, name, (int64_t)++n);
		atomic_store_explicit(&published[i * PAGE_WORDS], n, memory_order_relaxed);
		if (pace_us && n % (uint64_t)per_pace == 0)
			usleep((useconds_t)pace_us);
	}
	return n;
}

static uint64_t limit_each = UINT64_MAX;
static pthread_barrier_t all_alive;
static bool wait_for_all;

static void *numbered_thread(void *arg)
{
	if (wait_for_all) {
		tide_mark(TIDE_STEP, 0, 0); /* takes a ring, if there is one left */
		pthread_barrier_wait(&all_alive);
	}
	numbered((long)(intptr_t)arg, limit_each);
	return NULL;
}

static void spawn(pthread_t *t, int n, void *(*body)(void *))
{
	for (int i = 0; i < n; i++)
		CHECK(pthread_create(&t[i], NULL, body, (void *)(intptr_t)i) == 0);
}

static void join_all(pthread_t *t, int n)
{
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

/* kill FILE RING_BYTES PACE_US PER_PACE: eight threads record until they are killed. */
static int scene_kill(char **v)
{
	pthread_t t[8];
	open_published(v[0]);
	pace_us = atoi(v[2]);
	per_pace = atoi(v[3]);
	start(v[0], (size_t)atol(v[1]));
	spawn(t, 8, numbered_thread);
	puts("ready");
	fflush(stdout);
	join_all(t, 8);
	return 0;
}

static tide_pool blocks;

/* Steps until the kill: a mark, a new block, and the free of one of 50 steps ago. Publishes the
 * number of the last whole step. */
static void *stepping_thread(void *arg)
{
	enum { LIVE = 50 };
	long i = (long)(intptr_t)arg;
	tide_name name = thread_name(i);
	for (uint64_t n = 1;; n++) {
		uint64_t base = (uint64_t)(i + 1) << 40;
		tide_mark(TIDE_STEP, name, (int64_t)n);
		tide_alloc(blocks, base + n * 512, 100 + n % 400, 0);
		if (n > LIVE)
			tide_free(blocks, base + (n - LIVE) * 512);
		atomic_store_explicit(&published[i * PAGE_WORDS], n, memory_order_relaxed);
		if (n % 100 == 0)
			usleep(500);
	}
	return NULL;
}

/* killwindow FILE: 4 threads record into a file of at most 1 MiB until they are killed. None of
 * them loses an event: they wait for the writer. */
static int scene_killwindow(char **v)
{
	pthread_t t[4];
	tide_options o = TIDE_OPTIONS_INIT;
	tide_error e = { 0 };
	o.max_file_bytes = 1 << 20;
	o.full_wait_us = 100000000;
	open_published(v[0]);
	if (tide_start(v[0], &o, &e) != TIDE_OK) {
		fprintf(stderr, "start: %s\n", e.text);
		exit(3);
	}
	blocks = tide_pool_open(tide_device_open(TIDE_DEVICE_CUDA, 0, "any", 0), TIDE_POOL_DRAM,
				"any", 0);
	spawn(t, 4, stepping_thread);
	puts("ready");
	fflush(stdout);
	join_all(t, 4);
	return 0;
}

/* full FILE THREADS EACH MODE: threads record EACH marks; then `stop`, or `abort` (killed). */
static int scene_full(char **v)
{
	pthread_t t[MAX_THREADS];
	int n = atoi(v[1]);
	open_published(v[0]);
	limit_each = (uint64_t)atol(v[2]);
	pace_us = 500;
	per_pace = 3000;
	start(v[0], 0);
	pthread_barrier_init(&all_alive, NULL, (unsigned)n);
	wait_for_all = true;
	spawn(t, n, numbered_thread);
	join_all(t, n);
	if (!strcmp(v[3], "abort"))
		raise(SIGKILL);
	tide_error e = { 0 };
	tide_code rc = tide_stop(&e);
	printf("%d %s\n", (int)rc, e.text);
	return rc == TIDE_OK || rc == TIDE_EIO ? 0 : 1;
}

/* nostart FILE: recording does not start, nothing else happens, calls stay harmless. */
static int scene_nostart(char **v)
{
	tide_error e = { 0 };
	errno = 77;
	tide_code rc = tide_start(v[0], NULL, &e);
	CHECK(errno == 77);
	CHECK(rc == TIDE_EIO && e.code == TIDE_EIO && e.sys_errno != 0 && e.text[0]);
	CHECK(!tide_recording());
	tide_mark(TIDE_STEP, TIDE_NAME("x"), 1);
	tide_op_end(tide_op_begin(TIDE_NAME("y")));
	CHECK(tide_stop(NULL) == TIDE_OK);
	puts(e.text);
	return 0;
}

/* fsize FILE: a limit on file sizes is a full disk, not a signal. */
static int scene_fsize(char **v)
{
	struct rlimit lim = { 3 << 20, 3 << 20 };
	open_published(v[0]); /* 2 MiB */
	CHECK(setrlimit(RLIMIT_FSIZE, &lim) == 0);
	limit_each = 2000000;
	start(v[0], 0);
	numbered_thread((void *)0);
	printf("%d\n", (int)tide_stop(NULL));
	return 0;
}

/* ---- fork ---------------------------------------------------------------------------------- */

static void wait_for(pid_t pid)
{
	int status;
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void child_work(void)
{
	tide_op op = tide_op_begin(TIDE_NAME("in child"));
	for (int i = 1; i <= 100; i++)
		tide_mark(TIDE_STEP, TIDE_NAME("child"), i);
	tide_op_end(op);
}

/* fork FILE HOW: fork | noevents | exec | clone | nofollow | own | grandchild | _exit */
static int scene_fork(char **v)
{
	const char *how = v[1];
	tide_options o = TIDE_OPTIONS_INIT;
	o.follow_fork = strcmp(how, "nofollow") != 0;
	CHECK(tide_start(v[0], &o, NULL) == TIDE_OK);
	tide_pool pool = tide_pool_open(tide_device_open(TIDE_DEVICE_HOST, 0, "cpu", 0),
					TIDE_POOL_HEAP, "heap", 0);
	tide_op op = tide_op_begin(TIDE_NAME("in parent"));
	for (int i = 1; i <= 50; i++)
		tide_mark(TIDE_STEP, TIDE_NAME("parent"), i);
	pid_t pid = !strcmp(how, "clone") ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (!strcmp(how, "exec")) {
			execl("/proc/self/exe", "prog", "noop", v[0], (char *)NULL);
			_exit(9);
		}
		if (!strcmp(how, "own")) {
			char path[4096];
			snprintf(path, sizeof path, "%s.own", v[0]);
			CHECK(tide_start(path, NULL, NULL) == TIDE_OK);
		}
		if (strcmp(how, "noevents") != 0) {
			child_work();
			tide_alloc(pool, 4096, 64, 0);
		}
		if (!strcmp(how, "grandchild")) {
			pid_t next = fork();
			if (next == 0) {
				child_work();
				exit(0);
			}
			wait_for(next);
		}
		tide_op_end(op); /* the parent's: the child does not end it */
		if (!strcmp(how, "_exit") || !strcmp(how, "clone"))
			_exit(0);
		exit(0);
	}
	for (int i = 51; i <= 100; i++)
		tide_mark(TIDE_STEP, TIDE_NAME("parent"), i);
	wait_for(pid);
	for (int i = 101; i <= 150; i++)
		tide_mark(TIDE_STEP, TIDE_NAME("parent"), i);
	tide_op_end(op);
	CHECK(tide_stop(NULL) == TIDE_OK);
	return 0;
}

static int scene_noop(char **v)
{
	child_work();
	CHECK(!tide_recording());
	return 0;
}

static void *intern_forever(void *arg)
{
	char name[64];
	for (long i = 0; !atomic_load(&stop_now); i++) {
		snprintf(name, sizeof name, "name %ld of thread %ld", i % 20000,
			 (long)(intptr_t)arg);
		tide_op_end(tide_op_begin(tide_intern(name)));
	}
	return NULL;
}

/* forkstorm FILE N: fork while other threads hold the recorder's lock most of the time. */
static int scene_forkstorm(char **v)
{
	pthread_t t[3];
	start(v[0], 65536);
	spawn(t, 3, intern_forever);
	for (int i = 0; i < atoi(v[1]); i++) {
		pid_t pid = fork();
		if (pid == 0) {
			char name[64];
			snprintf(name, sizeof name, "child's own %d", i);
			tide_mark(TIDE_STEP, tide_intern(name), i);
			tide_mark(TIDE_STEP, tide_intern("name 0 of thread 0"), i);
			_exit(tide_stop(NULL) == TIDE_OK ? 0 : 1);
		}
		wait_for(pid);
	}
	atomic_store(&stop_now, 1);
	join_all(t, 3);
	CHECK(tide_stop(NULL) == TIDE_OK);
	return 0;
}

static pthread_mutex_t areas_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *areas[16]; /* as large as rings, so they take their places */
enum { AREA = (1 << 20) + 4096 };

static void *map_forever(void *arg)
{
	for (unsigned i = 0; !atomic_load(&stop_now); i = (i + 1) % 16) {
		pthread_mutex_lock(&areas_lock);
		if (areas[i])
			munmap(areas[i], AREA);
		areas[i] = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				0);
		areas[i][0] = areas[i][AREA - 1] = 0xab;
		pthread_mutex_unlock(&areas_lock);
	}
	return NULL;
}

static void *mark_forever(void *arg)
{
	while (!atomic_load(&stop_now)) {
		tide_mark(TIDE_STEP, TIDE_NAME("mark"), 1);
		usleep(200);
	}
	return NULL;
}

static const char *restarted;
static void *restart_forever(void *arg)
{
	while (!atomic_load(&stop_now)) {
		start(restarted, 1 << 20);
		usleep(2000); /* most threads have a ring by now */
		CHECK(tide_stop(NULL) == TIDE_OK);
	}
	return NULL;
}

static pthread_barrier_t both;

static void *first_mark(void *unused)
{
	pthread_barrier_wait(&both);
	tide_mark(TIDE_STEP, tide_intern("child"), 1);
	return unused;
}

/* forkstart FILE N: a child forks at the moment its own recording starts. Parent and child have one
 * recording each. */
static int scene_forkstart(char **v)
{
	start(v[0], 65536);
	tide_mark(TIDE_STEP, tide_intern("parent"), 1);
	for (int i = 0; i < atoi(v[1]); i++) {
		pid_t pid = fork();
		if (pid == 0) {
			pthread_t t;
			pthread_barrier_init(&both, NULL, 2);
			pthread_create(&t, NULL, first_mark, NULL);
			pthread_barrier_wait(&both);
			for (int spin = 0; spin < i * 2000; spin++)
				__asm__ volatile("" ::: "memory");
			pid_t next = fork();
			if (next == 0) {
				tide_mark(TIDE_STEP, tide_intern("grandchild"), 1);
				_exit(tide_stop(NULL) == TIDE_OK ? 0 : 1);
			}
			pthread_join(t, NULL);
			wait_for(next);
			_exit(tide_stop(NULL) == TIDE_OK ? 0 : 1);
		}
		wait_for(pid);
	}
	CHECK(tide_stop(NULL) == TIDE_OK);
	return 0;
}

/* forkstop FILE N: fork while a recording stops and gives its places in memory to others: the
 * child's memory is whole. */
static int scene_forkstop(char **v)
{
	pthread_t t[10];
	int destroyed = 0;
	restarted = v[0];
	spawn(t, 8, mark_forever);
	spawn(t + 8, 1, map_forever);
	spawn(t + 9, 1, restart_forever);
	for (int i = 0; i < atoi(v[1]); i++) {
		pthread_mutex_lock(&areas_lock);
		pid_t pid = fork();
		if (pid == 0) {
			for (int k = 0; k < 16; k++)
				destroyed |= areas[k] && (areas[k][0] & areas[k][AREA - 1]) != 0xab;
			_exit(destroyed);
		}
		pthread_mutex_unlock(&areas_lock);
		wait_for(pid);
	}
	atomic_store(&stop_now, 1);
	join_all(t, 10);
	return 0;
}

/* ---- threads ------------------------------------------------------------------------------- */

static void *short_life(void *arg)
{
	long i = (long)(intptr_t)arg;
	tide_op_begin(TIDE_NAME("never ended"));
	tide_op op = tide_op_begin(TIDE_NAME("ended"));
	tide_mark(TIDE_STEP, TIDE_NAME("short"), i);
	tide_op_end(op);
	return NULL;
}

/* threads FILE N: so many, eight at a time; each ends inside an op. */
static int scene_threads(char **v)
{
	long n = atol(v[1]);
	start(v[0], 0);
	for (long i = 0; i < n; i += 8) {
		pthread_t t[8];
		for (long k = 0; k < 8; k++)
			CHECK(pthread_create(&t[k], NULL, short_life, (void *)(intptr_t)(i + k)) ==
			      0);
		join_all(t, 8);
	}
	tide_stats s;
	tide_stats_get(&s);
	CHECK(s.threads == n && s.events == (uint64_t)n * 4);
	printf("rings %u memory %llu\n", s.rings, (unsigned long long)s.memory);
	CHECK(tide_stop(NULL) == TIDE_OK);
	return 0;
}

/* twice FILE: a second start is refused and harms nothing; a later one is fine. */
static int scene_twice(char **v)
{
	char second[4096];
	snprintf(second, sizeof second, "%s.second", v[0]);
	tide_error e = { 0 };
	start(v[0], 0);
	tide_name kept = tide_intern("kept");
	tide_mark(TIDE_STEP, kept, 1);
	CHECK(tide_start(second, NULL, &e) == TIDE_EBUSY && e.code == TIDE_EBUSY);
	CHECK(access(second, F_OK) != 0);
	tide_mark(TIDE_STEP, kept, 2);
	CHECK(tide_stop(NULL) == TIDE_OK && tide_stop(NULL) == TIDE_OK);
	tide_mark(TIDE_STEP, kept, 3);
	CHECK(tide_start(second, NULL, NULL) == TIDE_OK);
	tide_mark(TIDE_STEP, kept, 4);
	CHECK(tide_intern("kept") == kept);
	exit(0); /* exit stops the recording */
}

static void *busy_thread(void *arg)
{
	tide_name name = thread_name((long)(intptr_t)arg);
	for (int64_t i = 0; !atomic_load_explicit(&stop_now, memory_order_relaxed); i++) {
		tide_op op = tide_op_begin(name);
		tide_alloc(1, (uint64_t)i * 64, 64, 0);
		tide_free(1, (uint64_t)i * 64);
		tide_op_end(op);
	}
	return NULL;
}

/* stop FILE N: N recordings (FILE.0, FILE.1 ...) started and stopped while four threads record. */
static int scene_stop(char **v)
{
	pthread_t t[4];
	CHECK(tide_pool_open(tide_device_open(TIDE_DEVICE_HOST, 0, "cpu", 0), TIDE_POOL_HEAP,
			     "heap", 0) == 1);
	spawn(t, 4, busy_thread);
	for (int i = 0; i < atoi(v[1]); i++) {
		char path[4096];
		snprintf(path, sizeof path, "%s.%d", v[0], i);
		start(path, 65536);
		usleep(2000);
		CHECK(tide_stop(NULL) == TIDE_OK);
	}
	atomic_store(&stop_now, 1);
	join_all(t, 4);
	return 0;
}

/* ---- signals ------------------------------------------------------------------------------- */

static _Atomic uint64_t handled;
static tide_name in_handler;

static void on_alarm(int sig)
{
	tide_mark(TIDE_STEP, in_handler, (int64_t)atomic_fetch_add(&handled, 1) + 1);
}

/* signal FILE N: a thread records N marks while a handler on it records as well. */
static int scene_signal(char **v)
{
	open_published(v[0]);
	start(v[0], 1 << 24);
	in_handler = tide_intern("handler");
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	sigaction(SIGALRM, &sa, NULL);
	struct itimerval it = { { 0, 50 }, { 0, 50 } };
	setitimer(ITIMER_REAL, &it, NULL);
	numbered(0, (uint64_t)atol(v[1]));
	memset(&it, 0, sizeof it);
	setitimer(ITIMER_REAL, &it, NULL);
	tide_stats s;
	tide_stats_get(&s);
	CHECK(tide_stop(NULL) == TIDE_OK);
	printf("handled %llu lost_signal %llu\n", (unsigned long long)handled,
	       (unsigned long long)s.lost_signal);
	return 0;
}

static void on_usr1(int sig)
{
	tide_mark(TIDE_STEP, tide_intern("asked in a handler"), 1);
	tide_op_end(tide_op_begin(TIDE_NAME("op in a handler")));
	tide_stats s;
	tide_stats_get(&s);
	atomic_fetch_add(&handled, 1);
}

static void *signal_forever(void *arg)
{
	while (!atomic_load(&stop_now)) {
		kill(getpid(), SIGUSR1);
		usleep(20);
	}
	return NULL;
}

/* siglock FILE N: handlers that take the recorder's lock, while their thread holds it. */
static int scene_siglock(char **v)
{
	start(v[0], 65536);
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };
	sigaction(SIGUSR1, &sa, NULL);
	pthread_t t;
	spawn(&t, 1, signal_forever);
	while (atomic_load(&handled) == 0)
		sched_yield();
	char name[64];
	for (int i = 0; i < atoi(v[1]); i++) {
		snprintf(name, sizeof name, "fresh name %d", i);
		tide_mark(TIDE_STEP, tide_intern(name), i);
	}
	atomic_store(&stop_now, 1);
	pthread_join(t, NULL);
	CHECK(tide_stop(NULL) == TIDE_OK);
	CHECK(atomic_load(&handled) > 0);
	return 0;
}

/* closefd FILE: the program closes descriptors it does not know, and reuses their numbers. Exit
 * status 3: the stop failed. */
static int scene_closefd(char **v)
{
	char other[4096];
	struct stat st, opened;
	int mine[8]; /* without a table of its own, the recorder may take numbers between them */
	open_published(v[0]);
	start(v[0], 1 << 20);
	for (int round = 0; round < 3; round++) {
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		for (int i = 0; i < 8; i++) {
			snprintf(other, sizeof other, "%s.other%d", v[0], i);
			mine[i] = open(other, O_RDWR | O_CREAT | O_TRUNC, 0666);
			CHECK(mine[i] >= 0);
		}
		pthread_t t[2]; /* new rings, new chunks */
		limit_each = 20000;
		pace_us = 100;
		per_pace = 500;
		CHECK(pthread_create(&t[0], NULL, numbered_thread, (void *)(intptr_t)(2 * round)) ==
		      0);
		CHECK(pthread_create(&t[1], NULL, numbered_thread,
				     (void *)(intptr_t)(2 * round + 1)) == 0);
		join_all(t, 2);
	}
	tide_error e = { 0 };
	if (tide_stop(&e) != TIDE_OK) {
		printf("stop: %s\n", e.text);
		return 3;
	}
	for (int i = 0; i < 8; i++) {
		snprintf(other, sizeof other, "%s.other%d", v[0], i);
		CHECK(stat(other, &st) == 0 && st.st_size == 0);
		/* and the recorder closed none of them */
		CHECK(fstat(mine[i], &opened) == 0 && opened.st_ino == st.st_ino);
	}
	return 0;
}

/* Repeatedly replaces and closes every descriptor from 3 on, until stop_now. */
static void *close_forever(void *file)
{
	char other[4096];
	snprintf(other, sizeof other, "%s.other", (char *)file);
	int mine = open(other, O_RDWR | O_CREAT, 0666), high = fcntl(mine, F_DUPFD, 100);
	while (!atomic_load_explicit(&stop_now, memory_order_relaxed)) {
		for (int fd = 3; fd < 24; fd++)
			dup2(high, fd);
		syscall(SYS_close_range, 3, 99, 0);
	}
	return NULL;
}

/* whosefd FILE: does the program's descriptor table have the recorder's files? */
static int scene_whosefd(char **v)
{
	int n = 0;
	start(v[0], 0);
	for (int fd = 0; fd < 256; fd++) {
		char name[64], to[4096] = "";
		snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
		if (readlink(name, to, sizeof to - 1) > 0)
			n += !strncmp(to, v[0], strlen(v[0]));
	}
	CHECK(tide_stop(NULL) == TIDE_OK);
	puts(n ? "shared" : "private");
	return 0;
}

/* closerace FILE: the same as closefd, at every moment of the recording: new threads, new names,
 * chunks, and the stop. No byte of the recording may go into the program's files. */
static int scene_closerace(char **v)
{
	char other[4096];
	struct stat st;
	pthread_t closer, t[2];
	open_published(v[0]);
	snprintf(other, sizeof other, "%s.other", v[0]);
	start(v[0], 1 << 20);
	CHECK(pthread_create(&closer, NULL, close_forever, v[0]) == 0);
	limit_each = 20000;
	pace_us = 100;
	per_pace = 500;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 2; i++)
			CHECK(pthread_create(&t[i], NULL, numbered_thread,
					     (void *)(intptr_t)(2 * round + i)) == 0);
		join_all(t, 2);
	}
	tide_error e = { 0 };
	if (tide_stop(&e) != TIDE_OK)
		printf("stop: %s\n", e.text);
	stop_now = 1;
	pthread_join(closer, NULL);
	CHECK(stat(other, &st) == 0);
	printf("%lld bytes in the program's file\n", (long long)st.st_size);
	return *e.text ? 1 : 0;
}

enum { ANNOTATED = 30 };
static void *annotating_thread(void *unused)
{
	for (int i = 0; i < ANNOTATED; i++)
		tide_annotate(TIDE_NAME("note"), "another text that is longer than one slot");
	return unused;
}

/* Every call of a recording was an event or a loss. Prints the number of calls. */
static void check_counts(uint64_t calls)
{
	tide_stats s;
	tide_stats_get(&s);
	uint64_t lost = s.lost_full + s.lost_signal + s.lost_other;
	fprintf(stderr, "%llu calls, %llu events, %llu lost\n", (unsigned long long)calls,
		(unsigned long long)s.events, (unsigned long long)lost);
	CHECK(s.events + lost == calls);
	printf("%llu calls\n", (unsigned long long)calls);
}

/* cutrings FILE: the ring file is truncated while threads record into it. They continue; the stop
 * reports it, and no call is counted twice or not at all. */
static int scene_cutrings(char **v)
{
	char rings[4096];
	pthread_t t[2];
	open_published(v[0]);
	start(v[0], 1 << 20);
	pace_us = 100;
	per_pace = 100;
	spawn(t, 2, numbered_thread);
	tide_stats s;
	uint64_t calls = 0;
	for (; calls < 50; calls++) /* events of several slots */
		tide_annotate(TIDE_NAME("note"), "a text that is longer than one slot of a ring");
	do { /* until some chunks are in the file */
		usleep(1000);
		tide_stats_get(&s);
	} while (s.written < 1 << 14);
	snprintf(rings, sizeof rings, "%s-rings", v[0]);
	CHECK(truncate(rings, 0) == 0);
	usleep(100000);
	tide_intern("a name after that");
	stop_now = 1;
	join_all(t, 2);
	spawn(t, 1, annotating_thread); /* gets no ring, or one whose counts are lost */
	join_all(t, 1);
	tide_error e = { 0 };
	CHECK(tide_stop(&e) == TIDE_EIO);
	puts(e.text);
	check_counts(calls + ANNOTATED + published[0] + published[PAGE_WORDS]);
	start(v[1], 1 << 20); /* and another recording is as good as ever */
	tide_mark(TIDE_STEP, tide_intern("again"), 1);
	CHECK(tide_stop(&e) == TIDE_OK);
	return 0;
}

/* together FILE N: N unrelated processes start to record into one file at the same moment; each
 * prints the file it got. */
static int scene_together(char **v)
{
	int n = atoi(v[1]), go[2], failed = 0, status;
	_Atomic int *recording = mmap(NULL, sizeof *recording, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(recording != MAP_FAILED && pipe(go) == 0);
	for (int i = 0; i < n; i++) {
		if (fork())
			continue;
		char x, into[5000];
		close(go[1]);
		CHECK(read(go[0], &x, 1) == 0); /* all at once */
		CHECK(tide_recording_path(into, sizeof into) == 0 && !*into);
		start(v[0], 65536);
		tide_mark(TIDE_STEP, TIDE_NAME("mine"), (uint64_t)i);
		size_t len = tide_recording_path(into, sizeof into);
		CHECK(len && len == strlen(into));
		atomic_fetch_add(recording, 1);
		for (int ms = 0; atomic_load(recording) < n && ms < 300000; ms++)
			usleep(1000); /* all of them at the same time */
		CHECK(tide_stop(NULL) == TIDE_OK);
		printf("%d %s\n", i, strrchr(into, '/') + 1);
		fflush(stdout);
		_exit(0);
	}
	close(go[1]);
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}

/* exec FILE: system() and posix_spawn while recording (vfork inside). */
static int scene_system(char **v)
{
	start(v[0], 0);
	tide_mark(TIDE_STEP, TIDE_NAME("parent"), 1);
	CHECK(system("true") == 0);
	tide_mark(TIDE_STEP, TIDE_NAME("parent"), 2);
	CHECK(tide_stop(NULL) == TIDE_OK);
	return 0;
}

/* fullwait FILE N: the recorder does not wait for a full disk, even if it may wait for a full
 * ring. */
static int scene_fullwait(char **v)
{
	tide_options o = TIDE_OPTIONS_INIT;
	o.ring_bytes = 65536;
	o.full_wait_us = 50000;
	open_published(v[0]);
	CHECK(tide_start(v[0], &o, NULL) == TIDE_OK);
	numbered(0, (uint64_t)atol(v[1]));
	CHECK(tide_stop(NULL) == TIDE_OK);
	return 0;
}

/* wait FILE N: a full ring with waiting allowed loses nothing. */
static int scene_wait(char **v)
{
	tide_options o = TIDE_OPTIONS_INIT;
	o.ring_bytes = 65536;
	o.full_wait_us = 600000000; /* however late the writer gets a processor */
	open_published(v[0]);
	CHECK(tide_start(v[0], &o, NULL) == TIDE_OK);
	numbered(0, (uint64_t)atol(v[1]));
	CHECK(tide_stop(NULL) == TIDE_OK);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(char **);
	int args;
} scenes[] = {
	{ "kill", scene_kill, 4 },
	{ "full", scene_full, 4 },
	{ "nostart", scene_nostart, 1 },
	{ "fsize", scene_fsize, 1 },
	{ "fork", scene_fork, 2 },
	{ "noop", scene_noop, 1 },
	{ "forkstorm", scene_forkstorm, 2 },
	{ "threads", scene_threads, 2 },
	{ "twice", scene_twice, 1 },
	{ "stop", scene_stop, 2 },
	{ "signal", scene_signal, 2 },
	{ "siglock", scene_siglock, 2 },
	{ "wait", scene_wait, 2 },
	{ "closefd", scene_closefd, 1 },
	{ "whosefd", scene_whosefd, 1 },
	{ "system", scene_system, 1 },
	{ "fullwait", scene_fullwait, 2 },
	{ "closerace", scene_closerace, 1 },
	{ "killwindow", scene_killwindow, 1 },
	{ "cutrings", scene_cutrings, 2 },
	{ "together", scene_together, 2 },
	{ "forkstop", scene_forkstop, 2 },
	{ "forkstart", scene_forkstart, 2 },
};

int main(int argc, char **argv)
{
#ifdef __SANITIZE_THREAD__
	if (argc > 1 && !strncmp(argv[1], "fork", 4)) {
		fprintf(stderr, "ThreadSanitizer knows no threads in a forked child\n");
		return 77;
	}
#endif
	for (size_t i = 0; argc > 2 && i < sizeof scenes / sizeof *scenes; i++)
		if (!strcmp(argv[1], scenes[i].name) && argc - 2 == scenes[i].args)
			return scenes[i].run(argv + 2);
	fprintf(stderr, "usage: prog SCENE FILE ARGS...\n");
	return 2;
}
