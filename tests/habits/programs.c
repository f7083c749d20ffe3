// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Small programs of every habit: `programs NAME [ARGUMENT]`, one function each; `programs` lists
 * their names. habits.py runs each of them bare and under each mode of recording, and compares what
 * can be seen from outside. Compiled twice: with LINKED it records itself, with tide_start.
 *
 * A program prints what it sees of itself: descriptors, children, statuses. It must print the same
 * in every run, so it prints no address, no number of a process and no time. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef LINKED
#include <tidemark/record.h>
#endif

enum { SKIP = 77 };
extern char **environ;
static char **arguments; /* of main, from the program's name on */

/* ---- parts --------------------------------------------------------------------------------- */

/* Allocates with several stacks, so that there is something to record. */
static __attribute__((noinline)) void *deeper(int depth, size_t n)
{
	void *volatile p = depth ? deeper(depth - 1, n) : malloc(n);
	return p;
}

static void work(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		void *p = deeper(i % 7, (size_t)(100 << (i % 12))), *q = calloc(3, 50);
		memset(p, 1, 100);
		q = realloc(q, 5000);
		free(p);
		free(q);
	}
#ifdef LINKED
	for (int i = 0; i < rounds; i++)
		tide_mark(TIDE_STEP, tide_intern("work"), i);
#endif
}

static void say_open(void)
{
	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("fd %d\n", fd);
	fflush(stdout);
}

static void say_status(const char *what, int status)
{
	if (WIFEXITED(status))
		printf("%s: status %d\n", what, WEXITSTATUS(status));
	else
		printf("%s: signal %d\n", what, WTERMSIG(status));
	fflush(stdout);
}

static void reap(const char *what, pid_t pid)
{
	int status = 0;
	while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		;
	say_status(what, status);
}

static void say_late(void)
{
	printf("at exit\n");
	work(5);
}

static void *short_thread(void *unused)
{
	work(20);
	return unused;
}

static void *long_thread(void *text)
{
	usleep(30000);
	work(20);
	printf("%s\n", (char *)text);
	return NULL;
}

static void *endless_thread(void *unused)
{
	for (;;) {
		work(1);
		usleep(1000);
	}
	return unused;
}

static pthread_t begin(void *(*f)(void *), void *arg)
{
	pthread_t t;
	if (pthread_create(&t, NULL, f, arg))
		exit(SKIP);
	return t;
}

/* ---- how a program ends -------------------------------------------------------------------- */

static int returns(void)
{
	atexit(say_late);
	work(50);
	return 5;
}

static int exits_quick(void)
{
	at_quick_exit(say_late);
	work(50);
	fflush(stdout);
	quick_exit(6);
}

static int exits_at_once(void)
{
	printf("lost, since nothing is flushed\n");
	work(50);
	_exit(9);
}

static int aborts(void)
{
	work(50);
	abort();
}

static int faults(void)
{
	work(50);
	*(volatile int *)8 = 1;
	return 0;
}

static int terminates_itself(void)
{
	work(50);
	kill(getpid(), SIGTERM);
	pause();
	return 0;
}

static int alarm_ends_it(void)
{
	alarm(1);
	for (;;)
		pause();
	return 0;
}

static int broken_pipe(void)
{
	int p[2];
	work(50);
	if (pipe(p))
		return SKIP;
	close(p[0]);
	return (int)write(p[1], "x", 1);
}

static int pthread_exit_of_main(void)
{
	atexit(say_late);
	work(50);
	printf("flushed at exit ");
	pthread_exit(NULL);
}

static int threads_outlive_main(void)
{
	static char text[] = "the thread ended";
	atexit(say_late);
	begin(long_thread, text);
	work(5);
	pthread_exit(NULL);
}

static int detached_outlives_main(void)
{
	static char text[] = "the detached thread ended";
	atexit(say_late);
	pthread_detach(begin(long_thread, text));
	pthread_exit(NULL);
}

static int returns_beside_threads(void)
{
	for (int i = 0; i < 4; i++)
		pthread_detach(begin(endless_thread, NULL));
	work(50);
	return 4;
}

static void *exit_thread(void *unused)
{
	work(20);
	exit(3);
	return unused;
}

static int thread_exits(void)
{
	atexit(say_late);
	begin(exit_thread, NULL);
	for (;;)
		pause();
	return 0;
}

static int main_ends_raw(void)
{
	work(50);
	fflush(stdout);
	syscall(SYS_exit, 3);
	return 0;
}

static int main_ends_raw_before_thread(void)
{
	static char text[] = "the thread ended";
	setvbuf(stdout, NULL, _IONBF, 0);
	begin(long_thread, text);
	syscall(SYS_exit, 0);
	return 0;
}

static void *group_exit_thread(void *unused)
{
	usleep(30000);
	syscall(SYS_exit_group, 7);
	return unused;
}

static int thread_ends_group(void)
{
	begin(group_exit_thread, NULL);
	work(5);
	syscall(SYS_exit, 3);
	return 0;
}

static pthread_key_t key;
static void key_ends(void *unused)
{
	(void)unused;
	printf("the key's destructor ran\n");
	work(5);
}

static int key_of_main(void)
{
	pthread_key_create(&key, key_ends);
	pthread_setspecific(key, &key);
	atexit(say_late);
	pthread_exit(NULL);
}

/* ---- threads ------------------------------------------------------------------------------- */

static int many_threads(void)
{
	enum { AT_ONCE = 50 };
	pthread_t t[AT_ONCE];
	int rounds = arguments[2] ? atoi(arguments[2]) / AT_ONCE : 10;
	for (int i = 0; i < rounds; i++) {
		for (int k = 0; k < AT_ONCE; k++)
			t[k] = begin(short_thread, NULL);
		for (int k = 0; k < AT_ONCE; k++)
			pthread_join(t[k], NULL);
	}
	printf("%d threads\n", rounds * AT_ONCE);
	return 0;
}

static int cancelled(void)
{
	void *result;
	pthread_t t = begin(endless_thread, NULL);
	usleep(5000);
	pthread_cancel(t);
	pthread_join(t, &result);
	printf("cancelled: %d\n", result == PTHREAD_CANCELED);
	return 0;
}

static void *raw_end_thread(void *unused)
{
	work(20);
	syscall(SYS_exit, 1);
	return unused;
}

static int thread_ends_raw(void)
{
	begin(raw_end_thread, NULL);
	usleep(10000);
	work(50);
	printf("main goes on\n");
	fflush(stdout);
	_exit(2); /* libc counts that thread for ever */
}

static int small_stacks(void)
{
	pthread_attr_t a;
	pthread_t t[8];
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 32 << 10);
	for (int i = 0; i < 8; i++)
		if (pthread_create(&t[i], &a, short_thread, NULL))
			return SKIP;
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	return 0;
}

static pthread_mutex_t robust;
static void *die_holding(void *unused)
{
	pthread_mutex_lock(&robust);
	work(5);
	return unused;
}

static int robust_mutex(void)
{
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &a);
	pthread_join(begin(die_holding, NULL), NULL);
	printf("owner died: %d\n", pthread_mutex_lock(&robust) == EOWNERDEAD);
	return 0;
}

static _Atomic int timer_came;
static void on_timer(union sigval unused)
{
	(void)unused;
	work(3);
	atomic_fetch_add(&timer_came, 1);
}

static int timer_threads(void)
{
	struct sigevent e = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer };
	struct itimerspec at = { { 0, 1000000 }, { 0, 1000000 } };
	timer_t t;
	if (timer_create(CLOCK_MONOTONIC, &e, &t) || timer_settime(t, 0, &at, NULL))
		return SKIP;
	while (atomic_load(&timer_came) < 5)
		usleep(1000);
	timer_delete(t);
	return 0;
}

static int one_processor(void)
{
	cpu_set_t set;
	pthread_t t[4];
	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof set, &set);
	for (int i = 0; i < 4; i++)
		t[i] = begin(short_thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}

static ucontext_t back, there;
static void coroutine(void)
{
	for (int i = 0; i < 3; i++) {
		work(5);
		printf("coroutine %d\n", i);
		swapcontext(&there, &back);
	}
}

static int coroutines(void)
{
	static char stack[64 << 10];
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof stack;
	there.uc_link = &back;
	makecontext(&there, coroutine, 0);
	for (int i = 0; i < 3; i++)
		swapcontext(&back, &there);
	return 0;
}

/* ---- signals ------------------------------------------------------------------------------- */

static sigjmp_buf jump;
static void jump_back(int sig)
{
	siglongjmp(jump, sig);
}

static int jumps_out_of_handlers(void)
{
	static volatile int times;
	signal(SIGUSR1, jump_back);
	if (sigsetjmp(jump, 1))
		times++;
	work(3);
	if (times < 100)
		raise(SIGUSR1);
	printf("%d jumps\n", times);
	return 0;
}

static int survives_faults(void)
{
	static volatile int times;
	signal(SIGSEGV, jump_back);
	signal(SIGBUS, jump_back);
	if (sigsetjmp(jump, 1))
		times++;
	work(3);
	if (times < 10)
		*(volatile int *)8 = 1;
	printf("%d faults\n", times);
	return 0;
}

/* A mapping beyond its file's end: SIGBUS, whose handler is the recorder's neighbour. */
static int own_bus_handler(void)
{
	FILE *f = tmpfile();
	if (!f || sigsetjmp(jump, 1)) {
		printf("%s\n", f ? "SIGBUS came" : "no file");
		return 0;
	}
	char *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(f), 0);
	signal(SIGBUS, jump_back);
	work(5);
	return *(volatile char *)p;
}

static int bus_ends_it(void)
{
	FILE *f = tmpfile();
	char *p = f ? mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(f), 0) : MAP_FAILED;
	work(5);
	return p == MAP_FAILED ? SKIP : *(volatile char *)p;
}

static volatile int overflow_depth;
static __attribute__((noinline)) int overflow(int n)
{
	volatile char page[4096];
	page[0] = (char)n;
	overflow_depth = n;
	return overflow(n + 1) + page[0];
}

static int stack_overflow(void)
{
	static char alt[64 << 10];
	stack_t s = { .ss_sp = alt, .ss_size = sizeof alt };
	struct sigaction a = { .sa_handler = jump_back, .sa_flags = SA_ONSTACK };
	sigaltstack(&s, NULL);
	sigaction(SIGSEGV, &a, NULL);
	work(5);
	if (sigsetjmp(jump, 1)) {
		work(5);
		printf("the stack was full\n");
		return 0;
	}
	return overflow(0);
}

static __attribute__((noinline)) int recurse(int n)
{
	char *volatile p = n % 100 ? NULL : malloc(16);
	int below = n ? recurse(n - 1) : 0;
	free(p);
	return below + 1;
}

static int deep_recursion(void)
{
	printf("%d\n", recurse(60000));
	return 0;
}

static volatile sig_atomic_t ticks;
static void tick(int sig)
{
	(void)sig;
	ticks++;
}

static int timer_signals(void)
{
	struct itimerval every = { { 0, 200 }, { 0, 200 } };
	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &every, NULL);
	while (ticks < 100)
		work(10);
	return 0;
}

static int signal_descriptor(void)
{
	struct signalfd_siginfo info;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, 0);
	kill(getpid(), SIGUSR1);
	work(5);
	printf("read %d\n", read(fd, &info, sizeof info) == sizeof info);
	say_open();
	return 0;
}

static int waits_for_signal(void)
{
	sigset_t set;
	int got = 0;
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	work(5);
	kill(getpid(), SIGUSR2);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigwait(&set, &got);
	printf("got %d\n", got == SIGUSR2);
	return 0;
}

/* Blocked and ignored signals, as the kernel says. */
static int signal_masks(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");
	work(20);
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "SigBlk", 6) || !strncmp(line, "SigIgn", 6))
			printf("%s", line);
	for (int i = 1; i < 32; i++) {
		struct sigaction a;
		if (i != SIGBUS && sigaction(i, NULL, &a) == 0 && a.sa_handler != SIG_DFL)
			printf("signal %d is not as usual\n", i);
	}
	return 0;
}

static int stop_and_continue(void)
{
	int status;
	pid_t pid = fork();
	if (!pid) {
		work(5);
		raise(SIGSTOP);
		work(5);
		_exit(3);
	}
	waitpid(pid, &status, WUNTRACED);
	printf("stopped: %d\n", WIFSTOPPED(status));
	kill(pid, SIGCONT);
	reap("child", pid);
	return 0;
}

/* Prints "ready" and waits for a signal, which habits.py sends. */
static int waits_to_be_ended(void)
{
	work(20);
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
	return 0;
}

static void end_well(int sig)
{
	(void)sig;
	_exit(11);
}

static int ends_well_when_asked(void)
{
	signal(SIGTERM, end_well);
	return waits_to_be_ended();
}

static void *ready_thread(void *unused)
{
	waits_to_be_ended();
	return unused;
}

static int only_a_thread_waits(void)
{
	begin(ready_thread, NULL);
	pthread_exit(NULL);
}

/* ---- children ------------------------------------------------------------------------------ */

static int forks(void)
{
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		if (!pid) {
			work(20);
			exit(10 + i);
		}
		reap("child", pid);
	}
	printf("no child left: %d\n", waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD);
	return 0;
}

static int child_pthread_exits(void)
{
	pid_t pid = fork();
	if (!pid) {
		work(20);
		pthread_exit(NULL);
	}
	reap("child", pid);
	return 0;
}

static int child_of_a_threaded_program(void)
{
	pthread_detach(begin(endless_thread, NULL));
	usleep(2000);
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();
		if (!pid) {
			work(5);
			_exit(4);
		}
		reap("child", pid);
	}
	return 0;
}

static int double_fork(void)
{
	int p[2];
	char x = 0;
	pid_t pid;
	if (pipe(p))
		return SKIP;
	if (!(pid = fork())) {
		if (!fork()) {
			work(20);
			ssize_t n = write(p[1], "g", 1);
			_exit((int)n);
		}
		_exit(0);
	}
	reap("child", pid);
	close(p[1]);
	ssize_t n = read(p[0], &x, 1), end = read(p[0], &x, 1);
	printf("%zd %zd\n", n, end);
	return 0;
}

static int daemonises(void)
{
	int out = dup(1);
	work(5);
	fflush(stdout);
	if (daemon(0, 0))
		return SKIP;
	for (int fd = 3; fd < 256; fd++)
		if (fd != out)
			close(fd);
	work(20);
	dprintf(out, "the daemon's descriptors:");
	for (int fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			dprintf(out, " %d", fd);
	dprintf(out, "\n");
	return 0;
}

static int orphan_outlives(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!fork()) {
		usleep(20000);
		work(20);
		printf("the orphan ended\n");
		_exit(0);
	}
	return 0;
}

static int vfork_exits(void)
{
	pid_t pid = vfork();
	if (!pid)
		_exit(3);
	reap("child", pid);
	return 0;
}

static int vfork_execs(void)
{
	pid_t pid = vfork();
	if (!pid) {
		execl("/bin/sh", "sh", "-c", "exit 6", (char *)NULL);
		_exit(127);
	}
	reap("child", pid);
	work(5);
	return 0;
}

static char clone_stack[256 << 10] __attribute__((aligned(16)));
static int clone_work(void *unused)
{
	(void)unused;
	work(20);
	return 7;
}

static int clone_with(int flags)
{
	pid_t pid = clone(clone_work, clone_stack + sizeof clone_stack, flags, NULL);
	if (pid < 0)
		return SKIP;
	reap("child", pid);
	work(5);
	return 5;
}

static int clone_plain(void)
{
	return clone_with(SIGCHLD);
}

static int clone_no_signal(void)
{
	return clone_with(0);
}

static int clone_shares_memory(void)
{
	return clone_with(CLONE_VM | CLONE_VFORK | SIGCHLD);
}

static int clone_shares_files(void)
{
	return clone_with(CLONE_FILES | CLONE_FS | SIGCHLD);
}

static int clone_raw(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		work(20);
		syscall(SYS_exit, 6);
	}
	reap("child", pid);
	return 0;
}

static int clone_3(void)
{
	struct clone_args a = { .exit_signal = SIGCHLD };
	pid_t pid = (pid_t)syscall(SYS_clone3, &a, sizeof a);
	if (pid < 0)
		return SKIP;
	if (!pid) {
		work(20);
		syscall(SYS_exit, 8);
	}
	reap("child", pid);
	return 0;
}

static _Atomic uint32_t bare_tid = 1;
static int bare_work(void *unused) /* without storage of its own: no libc here */
{
	(void)unused;
	syscall(SYS_write, 1, "a bare thread\n", 14);
	return 0;
}

static int bare_thread(void)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
		    CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
	if (clone(bare_work, clone_stack + sizeof clone_stack, flags, NULL, NULL, NULL, &bare_tid) <
	    0)
		return SKIP;
	while (atomic_load(&bare_tid))
		usleep(500);
	work(20);
	return 0;
}

static int spawns(void)
{
	static char sh[] = "sh", c[] = "-c", command[] = "echo spawned; exit 4";
	char *argv[] = { sh, c, command, NULL };
	pid_t pid;
	fflush(stdout);
	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ))
		return SKIP;
	reap("child", pid);
	return 0;
}

static int shells(void)
{
	char line[64] = "";
	fflush(stdout);
	say_status("system", system("exit 3"));
	FILE *f = popen("echo through a pipe", "r");
	if (f && fgets(line, sizeof line, f))
		printf("%s", line);
	say_status("pclose", f ? pclose(f) : 0);
	say_open();
	return 0;
}

static int ignores_children(void)
{
	signal(SIGCHLD, SIG_IGN);
	pid_t pid = fork();
	if (!pid)
		_exit(3);
	printf("wait: %d\n", waitpid(pid, NULL, 0) < 0 && errno == ECHILD);
	return 0;
}

static int traces_child(void)
{
	int status;
	pid_t pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		work(20);
		_exit(5);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, 0,
		       WSTOPSIG(status) == SIGSTOP ? 0 : (long)WSTOPSIG(status));
	say_status("traced", status);
	return 0;
}

static int dies_with_parent(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	pid_t middle = fork();
	if (!middle) {
		int p[2];
		char x;
		if (pipe(p))
			_exit(1);
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			ssize_t n = write(p[1], "x", 1);
			work(5);
			for (;;)
				pause();
			_exit((int)n);
		}
		ssize_t n = read(p[0], &x, 1);
		_exit((int)n);
	}
	reap("middle", middle);
	return 0;
}

/* ---- exec ---------------------------------------------------------------------------------- */

static int exec_chain(void)
{
	char left[16];
	int n = arguments[2] ? atoi(arguments[2]) : 4;
	work(10);
	say_open();
	if (!n)
		return 4;
	snprintf(left, sizeof left, "%d", n - 1);
	execl("/proc/self/exe", "programs", arguments[1], left, (char *)NULL);
	return SKIP;
}

static void *exec_thread(void *unused)
{
	work(5);
	execl("/bin/sh", "sh", "-c", "echo by a thread; exit 3", (char *)NULL);
	return unused;
}

static int thread_execs(void)
{
	begin(exec_thread, NULL);
	for (;;)
		pause();
	return 0;
}

static int exec_by_descriptor(void)
{
	static char sh[] = "sh", c[] = "-c", command[] = "echo by a descriptor; exit 2";
	char *argv[] = { sh, c, command, NULL };
	int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	work(5);
	fexecve(fd, argv, environ);
	return SKIP;
}

static int exec_without_environment(void)
{
	static char name[] = "programs", row[] = "returns";
	char *argv[] = { name, row, NULL }, *none[] = { NULL };
	work(5);
	fflush(stdout);
	execve("/proc/self/exe", argv, none);
	return SKIP;
}

/* ---- environment --------------------------------------------------------------------------- */

static int changes_environment(void)
{
	clearenv();
	setenv("ONLY", "one", 1);
	work(20);
	for (char **e = environ; e && *e; e++)
		printf("%s\n", *e);
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		work(5);
		execl("/bin/sh", "sh", "-c", "echo $ONLY; exit 2", (char *)NULL);
	}
	reap("child", pid);
	return 0;
}

static int no_environment(void)
{
	environ = NULL;
	work(20);
	pid_t pid = fork();
	if (!pid) {
		work(5);
		_exit(0);
	}
	reap("child", pid);
	setenv("A", "b", 1);
	printf("%s\n", getenv("A"));
	return 0;
}

static int renames_itself(void)
{
	char name[32] = "", line[64] = "";
	memset(arguments[0], 'x', strlen(arguments[0]));
	prctl(PR_SET_NAME, "renamed");
	work(20);
	prctl(PR_GET_NAME, name);
	int fd = open("/proc/self/cmdline", O_RDONLY);
	ssize_t n = read(fd, line, 4);
	printf("%s %.*s\n", name, (int)n, line);
	return 0;
}

static int session(void)
{
	printf("group %d session %d\n", getpgrp() == getpgid(getppid()),
	       getsid(0) == getsid(getppid()));
	printf("nice %d umask %o\n", getpriority(PRIO_PROCESS, 0), umask(0));
	return 0;
}

static int folder_vanishes(void)
{
	char name[] = "/tmp/tide-habit-XXXXXX";
	char here[64];
	if (!mkdtemp(name) || chdir(name) || rmdir(name))
		return SKIP;
	work(20);
	printf("%d\n", getcwd(here, sizeof here) == NULL);
	return 0;
}

/* ---- descriptors --------------------------------------------------------------------------- */

static int next_descriptor(void)
{
	work(20);
	printf("next %d\n", open("/dev/null", O_RDONLY));
	say_open();
	return 0;
}

static int closes_all(void)
{
	work(5);
#ifdef SYS_close_range
	syscall(SYS_close_range, 3, ~0U, 0);
#endif
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	int fd = open("/dev/null", O_RDWR);
	work(20);
	printf("next %d, written %zd\n", fd, write(fd, "x", 1));
	say_open();
	return 0;
}

static int closes_standard(void)
{
	close(0);
	work(5);
	printf("next %d\n", open("/dev/null", O_RDONLY));
	close(2);
	say_open();
	return 0;
}

static int no_descriptor_left(void)
{
	struct rlimit few = { 16, 16 };
	int n = 0;
	setrlimit(RLIMIT_NOFILE, &few);
	while (dup(0) >= 0)
		n++;
	work(20);
	pthread_join(begin(short_thread, NULL), NULL);
	printf("%d more, then %d\n", n, errno == EMFILE);
	return 0;
}

/* ---- limits and rights --------------------------------------------------------------------- */

static int file_size_limit(void)
{
	struct rlimit none = { 0, 0 };
	setrlimit(RLIMIT_FSIZE, &none);
	work(50);
	return 0;
}

static int little_memory(void)
{
	struct rlimit much = { 1 << 30, 1 << 30 };
	setrlimit(RLIMIT_AS, &much);
	work(20);
	printf("refused: %d\n", deeper(1, (size_t)4 << 30) == NULL);
	return 0;
}

static int no_processes(void)
{
	struct rlimit none = { 0, 0 };
	work(5);
	setrlimit(RLIMIT_NPROC, &none);
	if (setuid(65534) && geteuid() == 0)
		return SKIP;
	work(20);
	pthread_t t;
	printf("thread: %d\n", pthread_create(&t, NULL, short_thread, NULL) != 0);
	return 0;
}

static int drops_rights(void)
{
	if (geteuid() != 0)
		return SKIP;
	pthread_detach(begin(endless_thread, NULL));
	work(5);
	if (setgid(65534) || setuid(65534))
		return 1;
	work(20);
	printf("uid %d, back: %d\n", (int)geteuid(), setuid(0));
	return 0;
}

static int who(void)
{
	work(20);
	printf("uid %d euid %d\n", (int)getuid(), (int)geteuid());
	return 0;
}

static int namespaces(void)
{
	if (unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS))
		return SKIP;
	pid_t pid = fork();
	if (!pid) {
		work(20);
		printf("number %d\n", (int)getpid());
		fflush(stdout);
		syscall(SYS_exit, getpid() + 2);
	}
	reap("child", pid);
	return 0;
}

/* The kernel refuses this to a process with 2 threads. */
static int own_user_namespace(void)
{
	work(20);
	errno = 0;
	printf("unshare: %s\n", unshare(CLONE_NEWUSER) ? strerror(errno) : "done");
	return 0;
}

static int cloned_namespace(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD | CLONE_NEWUSER | CLONE_NEWPID, 0, 0, 0, 0);
	if (pid < 0)
		return SKIP;
	if (!pid) {
		work(20);
		syscall(SYS_exit, syscall(SYS_getpid) + 2);
	}
	reap("child", pid);
	return 0;
}

static int changes_root(void)
{
	if (chroot("/proc/self/fdinfo") || chdir("/"))
		return SKIP;
	work(20);
	pthread_join(begin(short_thread, NULL), NULL);
	return 0;
}

/* ---- sandboxes ----------------------------------------------------------------------------- */

static int strict_ends(void)
{
	work(20);
	fflush(stdout);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return SKIP;
	syscall(SYS_write, 1, "strict\n", 7);
	syscall(SYS_exit, 6);
	return 0;
}

static int strict_is_killed(void)
{
	work(20);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return SKIP;
	syscall(SYS_getppid);
	return 0;
}

#define ALLOW(call)                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* Everything that these programs themselves call from then on. */
#define FILTER(otherwise)                                                                     \
	{                                                                                     \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),        \
			ALLOW(SYS_write), ALLOW(SYS_brk), ALLOW(SYS_mmap), ALLOW(SYS_munmap), \
			ALLOW(SYS_madvise), ALLOW(SYS_exit), ALLOW(SYS_exit_group),           \
			ALLOW(SYS_newfstatat), ALLOW(SYS_fstat),                              \
			BPF_STMT(BPF_RET | BPF_K, otherwise)                                  \
	}

static bool sandbox(unsigned otherwise, bool by_call)
{
	struct sock_filter errors[] = FILTER(SECCOMP_RET_ERRNO | EPERM),
			   kills[] = FILTER(SECCOMP_RET_KILL_PROCESS),
			   threads[] = FILTER(SECCOMP_RET_KILL_THREAD);
	struct sock_filter *f = otherwise == SECCOMP_RET_ERRNO	       ? errors
				: otherwise == SECCOMP_RET_KILL_THREAD ? threads
								       : kills;
	struct sock_fprog p = { sizeof errors / sizeof *errors, f };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return false;
	return by_call ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p) == 0
		       : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p, 0, 0) == 0;
}

static int filter_kills(void)
{
	work(20);
	printf("before\n");
	if (!sandbox(SECCOMP_RET_KILL_PROCESS, false))
		return SKIP;
	work(50);
	printf("after\n");
	return 3;
}

static int filter_kills_later_stacks(void) /* first allocations, and so stacks, come later */
{
	free(deeper(0, 1)); /* libc asks for random bytes then */
	if (!sandbox(SECCOMP_RET_KILL_PROCESS, true))
		return SKIP;
	work(200);
	printf("after\n");
	return 4;
}

static int filter_refuses(void)
{
	work(20);
	if (!sandbox(SECCOMP_RET_ERRNO, true))
		return SKIP;
	work(50);
	printf("getppid: %ld\n", syscall(SYS_getppid));
	return 3;
}

static int filter_ends_program(void)
{
	work(20);
	if (!sandbox(SECCOMP_RET_KILL_PROCESS, false))
		return SKIP;
	work(20);
	syscall(SYS_getppid);
	return 0;
}

static void *sandboxed_thread(void *unused)
{
	if (sandbox(SECCOMP_RET_KILL_THREAD, false)) {
		work(20);
		syscall(SYS_getppid);
	}
	return unused;
}

static int filter_ends_thread(void)
{
	begin(sandboxed_thread, NULL);
	usleep(30000);
	work(20);
	printf("main goes on\n");
	fflush(stdout);
	_exit(3);
}

/* ---- memory -------------------------------------------------------------------------------- */

static int allocator_calls(void)
{
	void *p = NULL;
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	printf("%d", posix_memalign(&p, 4096, 100));
	printf(" %d", (int)((uintptr_t)p % 4096));
	printf(" %d\n", malloc_usable_size(p) >= 100);
	free(p);
	free(aligned_alloc(64, 640));
	free(memalign(256, 10));
	free(valloc(10));
	free(strdup("text"));
	errno = 0;
	p = reallocarray(NULL, SIZE_MAX / 2, (size_t)arguments[0][0]);
	printf("%d %d\n", p == NULL, errno == ENOMEM);
	malloc_trim(0);
	return 0;
}

static int maps_and_unmaps(void)
{
	for (int i = 0; i < 50; i++) {
		char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		p[5] = 1;
		p = mremap(p, 1 << 20, 2 << 20, MREMAP_MAYMOVE);
		printf("%d", p[5]);
		munmap(p, 2 << 20);
	}
	printf("\n");
	return 0;
}

static int code_of_its_own(void)
{
#ifdef __x86_64__
	static const unsigned char code[] = { 0xb8, 0x2a, 0, 0, 0, 0xc3 }; /* return 42 */
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	if (p == MAP_FAILED)
		return SKIP;
	memcpy(p, code, sizeof code);
	work(5);
	return ((int (*)(void))(uintptr_t)p)();
#else
	return SKIP;
#endif
}

static int loads_libraries(void)
{
	for (int i = 0; i < 5; i++) {
		void *lib = dlopen("libm.so.6", RTLD_NOW);
		work(5);
		printf("%d", lib != NULL && dlsym(lib, "cos") != NULL);
		dlclose(lib);
	}
	printf("\n");
	return 0;
}

/* ---- the table ----------------------------------------------------------------------------- */

#define PROGRAM(f)    \
	{             \
#f, f \
	}

static const struct {
	const char *name;
	int (*run)(void);
} programs[] = {
	PROGRAM(returns),
	PROGRAM(exits_quick),
	PROGRAM(exits_at_once),
	PROGRAM(aborts),
	PROGRAM(faults),
	PROGRAM(terminates_itself),
	PROGRAM(alarm_ends_it),
	PROGRAM(broken_pipe),
	PROGRAM(pthread_exit_of_main),
	PROGRAM(threads_outlive_main),
	PROGRAM(detached_outlives_main),
	PROGRAM(returns_beside_threads),
	PROGRAM(thread_exits),
	PROGRAM(main_ends_raw),
	PROGRAM(main_ends_raw_before_thread),
	PROGRAM(thread_ends_group),
	PROGRAM(key_of_main),
	PROGRAM(many_threads),
	PROGRAM(cancelled),
	PROGRAM(thread_ends_raw),
	PROGRAM(small_stacks),
	PROGRAM(robust_mutex),
	PROGRAM(timer_threads),
	PROGRAM(one_processor),
	PROGRAM(coroutines),
	PROGRAM(jumps_out_of_handlers),
	PROGRAM(survives_faults),
	PROGRAM(own_bus_handler),
	PROGRAM(bus_ends_it),
	PROGRAM(stack_overflow),
	PROGRAM(deep_recursion),
	PROGRAM(timer_signals),
	PROGRAM(signal_descriptor),
	PROGRAM(waits_for_signal),
	PROGRAM(signal_masks),
	PROGRAM(stop_and_continue),
	PROGRAM(waits_to_be_ended),
	PROGRAM(ends_well_when_asked),
	PROGRAM(only_a_thread_waits),
	PROGRAM(forks),
	PROGRAM(child_pthread_exits),
	PROGRAM(child_of_a_threaded_program),
	PROGRAM(double_fork),
	PROGRAM(daemonises),
	PROGRAM(orphan_outlives),
	PROGRAM(vfork_exits),
	PROGRAM(vfork_execs),
	PROGRAM(clone_plain),
	PROGRAM(clone_no_signal),
	PROGRAM(clone_shares_memory),
	PROGRAM(clone_shares_files),
	PROGRAM(clone_raw),
	PROGRAM(clone_3),
	PROGRAM(bare_thread),
	PROGRAM(spawns),
	PROGRAM(shells),
	PROGRAM(ignores_children),
	PROGRAM(traces_child),
	PROGRAM(dies_with_parent),
	PROGRAM(exec_chain),
	PROGRAM(thread_execs),
	PROGRAM(exec_by_descriptor),
	PROGRAM(exec_without_environment),
	PROGRAM(changes_environment),
	PROGRAM(no_environment),
	PROGRAM(renames_itself),
	PROGRAM(session),
	PROGRAM(folder_vanishes),
	PROGRAM(next_descriptor),
	PROGRAM(closes_all),
	PROGRAM(closes_standard),
	PROGRAM(no_descriptor_left),
	PROGRAM(file_size_limit),
	PROGRAM(little_memory),
	PROGRAM(no_processes),
	PROGRAM(drops_rights),
	PROGRAM(who),
	PROGRAM(namespaces),
	PROGRAM(own_user_namespace),
	PROGRAM(cloned_namespace),
	PROGRAM(changes_root),
	PROGRAM(strict_ends),
	PROGRAM(strict_is_killed),
	PROGRAM(filter_kills),
	PROGRAM(filter_kills_later_stacks),
	PROGRAM(filter_refuses),
	PROGRAM(filter_ends_program),
	PROGRAM(filter_ends_thread),
	PROGRAM(allocator_calls),
	PROGRAM(maps_and_unmaps),
	PROGRAM(code_of_its_own),
	PROGRAM(loads_libraries),
};

int main(int argc, char **argv)
{
	arguments = argv;
#ifdef LINKED
	tide_error e;
	const char *file = getenv("HABIT_FILE");
	tide_options o = TIDE_OPTIONS_INIT;
	o.follow_fork = true;
	if (argc > 1 && file && tide_start(file, &o, &e) != TIDE_OK) {
		fprintf(stderr, "start: %s\n", e.text);
		return SKIP;
	}
#endif
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		if (argc < 2)
			printf("%s\n", programs[i].name);
		else if (!strcmp(argv[1], programs[i].name))
			return programs[i].run();
	}
	return argc < 2 ? 0 : 2;
}
