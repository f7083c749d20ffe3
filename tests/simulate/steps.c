// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "steps.h"

#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <ucontext.h>

enum { TASKS = 16, STACK = 256 << 10, ENDLESS = 20000000, PAGE = 4096 };

typedef struct task {
	ucontext_t context;
	uint8_t *tls; /* the program's thread-local variables */
	int saved_errno;
	bool used, done, program, in_signal;
	_Atomic uint32_t *word; /* waits for a wake of it; NULL: it does not wait, or sleeps */
	bool waits, woken;
	uint64_t until; /* UINT64_MAX = no end */
	uint64_t mask;	/* blocked signals */
	void *value;	/* of the one key */
	void *(*body)(void *);
	void *arg;
	void (*program_body)(int);
} task;

static task tasks[TASKS];
static task *running; /* NULL: not simulating */
static ucontext_t outside;
static sim_options opt;
static uint64_t rng, steps, next_stop, now_ns = 1000000000, step_ns = 100, allocated;
static bool spurious, signals, no_exchange;
static int result;
static void (*destructor)(void *);

/* ---- random numbers ---- */

static uint64_t draw(void)
{
	rng += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = rng;
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint32_t sim_below(uint32_t n)
{
	return (uint32_t)((draw() >> 32) * n >> 32);
}

uint64_t sim_small(uint64_t most)
{
	uint64_t n = UINT64_C(1) << sim_below(64 - (uint32_t)__builtin_clzll(most | 1));
	uint64_t v = n + draw() % n;
	return v > most ? most : v;
}

uint64_t sim_steps(void)
{
	return steps;
}

/* ---- thread-local variables of the program ---- */

static struct {
	uint8_t *at; /* this thread's */
	size_t bytes, given;
	const uint8_t *initial;
} tls;

static int find_tls(struct dl_phdr_info *info, size_t size, void *unused)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS) {
			tls.at = info->dlpi_tls_data;
			tls.bytes = info->dlpi_phdr[i].p_memsz;
			tls.given = info->dlpi_phdr[i].p_filesz;
			tls.initial =
				(const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		}
	return 1; /* the program comes first */
}

/* ---- the scheduler ---- */

static bool can_run(const task *t)
{
	if (!t->used || t->done)
		return false;
	return !t->waits || t->woken || now_ns >= t->until;
}

static task *pick(void)
{
	task *some[TASKS];
	int n = 0;
	uint64_t earliest = UINT64_MAX;
	for (int i = 0; i < TASKS; i++) {
		task *t = &tasks[i];
		bool early = spurious && t->used && !t->done && t->waits && !sim_below(64);
		if (can_run(t) || early)
			some[n++] = t;
		else if (t->used && !t->done && t->until < earliest)
			earliest = t->until;
	}
	if (n)
		return some[sim_below((uint32_t)n)];
	if (earliest == UINT64_MAX)
		return NULL;
	now_ns = earliest;
	return pick();
}

static void leave(int how)
{
	result = how;
	running->saved_errno = errno;
	memcpy(running->tls, tls.at, tls.bytes);
	running = NULL;
	setcontext(&outside);
	abort();
}

/* The first task that is not the running one ends the burst of it. */
static void set_stop(void)
{
	static const uint32_t bursts[] = { 4, 4, 4, 4, 64, 64, 64, 2000, 20000 };
	next_stop = steps + 1 + sim_below(bursts[sim_below(sizeof bursts / sizeof *bursts)]);
	if (next_stop > opt.kill_at)
		next_stop = opt.kill_at;
}

static void change(void)
{
	task *was = running, *to = pick();
	bool any = false;
	for (int i = 0; i < TASKS; i++)
		any |= tasks[i].used && !tasks[i].done;
	if (!to)
		leave(any ? SIM_HUNG : SIM_ENDED);
	set_stop();
	if (to == was)
		return;
	was->saved_errno = errno;
	memcpy(was->tls, tls.at, tls.bytes);
	memcpy(tls.at, to->tls, tls.bytes);
	running = to;
	swapcontext(&was->context, &to->context);
	errno = running->saved_errno;
}

static void maybe_signal(void)
{
	task *t = running;
	if (!signals || !t->program || t->in_signal || (t->mask >> (SIGUSR1 - 1) & 1) ||
	    sim_below(8))
		return;
	int saved = errno;
	t->in_signal = true;
	opt.signal((int)(t - tasks));
	t->in_signal = false;
	errno = saved;
}

void sim_step(void)
{
	if (!running)
		return;
	now_ns += step_ns;
	if (++steps < next_stop)
		return;
	if (steps >= opt.kill_at)
		leave(SIM_KILLED);
	if (steps > ENDLESS)
		leave(SIM_ENDLESS);
	change();
	maybe_signal();
}

static void wait_for(_Atomic uint32_t *word, uint64_t ns)
{
	task *t = running;
	t->word = word;
	t->woken = false;
	t->waits = true;
	t->until = ns == UINT64_MAX ? ns : now_ns + ns;
	change();
	t->waits = false;
	t->word = NULL;
	t->until = UINT64_MAX;
}

/* ---- tasks ---- */

static void run_task(void)
{
	task *t = running;
	if (t->program_body)
		t->program_body((int)(t - tasks));
	else
		t->body(t->arg);
	if (t->value && destructor) {
		void *v = t->value;
		t->value = NULL;
		destructor(v);
	}
	t->done = true;
	change();
	abort(); /* a task that ended never runs */
}

static task *new_task(void)
{
	task *t = tasks;
	while (t < tasks + TASKS && t->used)
		t++;
	if (t == tasks + TASKS)
		abort();
	*t = (task){ .used = true, .until = UINT64_MAX, .tls = calloc(1, tls.bytes + 1) };
	memcpy(t->tls, tls.initial, tls.given);
	getcontext(&t->context);
	t->context.uc_stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	t->context.uc_stack.ss_size = STACK;
	makecontext(&t->context, run_task, 0);
	return t;
}

int sim_spawn(void (*body)(int))
{
	task *t = new_task();
	t->program = true;
	t->program_body = body;
	return (int)(t - tasks);
}

bool sim_ended(int i)
{
	return tasks[i].done;
}

static void (*first_body)(void);
static void run_first(int unused)
{
	first_body();
}

int sim_run(const sim_options *o, void (*main_task)(void))
{
	static const uint64_t scales[] = { 5, 100, 2000, 50000 };
	dl_iterate_phdr(find_tls, NULL);
	opt = *o;
	rng = o->seed * UINT64_C(0xd1342543de82ef95) + 1;
	step_ns = scales[sim_below(4)];
	spurious = !sim_below(8);
	no_exchange = !sim_below(4);
	signals = o->signal != NULL;
	uint8_t *mine = malloc(tls.bytes + 1);
	memcpy(mine, tls.at, tls.bytes);
	first_body = main_task;
	task *first = &tasks[sim_spawn(run_first)];
	volatile bool back = false;
	getcontext(&outside);
	if (back) {
		memcpy(tls.at, mine, tls.bytes);
		free(mine);
		return result;
	}
	back = true;
	memcpy(tls.at, first->tls, tls.bytes);
	running = first;
	set_stop();
	setcontext(&first->context);
	abort();
}

/* ---- what the recorder calls ---- */

uint64_t sim_now(void)
{
	return now_ns;
}

int sim_clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t t = now_ns + (id == CLOCK_REALTIME ? UINT64_C(1700000000000000000) : 0);
	*ts = (struct timespec){ (time_t)(t / 1000000000), (long)(t % 1000000000) };
	now_ns += 20; /* so that time passes while somebody waits for it */
	return 0;
}

int sim_usleep(useconds_t us)
{
	if (running)
		wait_for(NULL, us * UINT64_C(1000));
	return 0;
}

int sim_yield(void)
{
	return sim_usleep(1);
}

pid_t sim_getpid(void)
{
	return 4242;
}

ssize_t sim_getrandom(void *buf, size_t n, unsigned flags)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)buf)[i] = (uint8_t)draw();
	return (ssize_t)n;
}

int sim_allocate(int fd, off_t at, off_t n)
{
	struct stat st;
	sim_step();
	if (fstat(fd, &st) || at + n <= st.st_size)
		return 0;
	uint64_t more = (uint64_t)(at + n - st.st_size);
	if (running && allocated + more > opt.disk)
		return ENOSPC;
	allocated += running ? more : 0;
	return ftruncate(fd, at + n) ? errno : 0; /* in memory: nothing else can fail */
}

int sim_create(pthread_t *t, const pthread_attr_t *attr, void *(*body)(void *), void *arg)
{
	task *made = new_task();
	made->body = body;
	made->arg = arg;
	made->mask = running ? running->mask : 0;
	*t = (pthread_t)(made - tasks);
	sim_step();
	return 0;
}

int sim_tryjoin(pthread_t t, void **unused)
{
	sim_step();
	return tasks[t].done ? 0 : EBUSY;
}

int sim_setname(pthread_t t, const char *name)
{
	return 0;
}

int sim_key_create(pthread_key_t *key, void (*d)(void *))
{
	destructor = d;
	*key = 1;
	return 0;
}

int sim_setspecific(pthread_key_t key, const void *value)
{
	if (running)
		running->value = (void *)(uintptr_t)value;
	return 0;
}

static long futex(_Atomic uint32_t *word, int what, uint32_t value, const struct timespec *limit)
{
	sim_step();
	if (!running)
		return 0;
	if (what == FUTEX_WAKE_PRIVATE) {
		for (int i = 0; i < TASKS; i++)
			tasks[i].woken |= tasks[i].waits && tasks[i].word == word;
		return 0;
	}
	if (__atomic_load_n((uint32_t *)word, __ATOMIC_RELAXED) == value)
		wait_for(word,
			 limit ? (uint64_t)limit->tv_sec * 1000000000 + (uint64_t)limit->tv_nsec
			       : UINT64_MAX);
	return 0;
}

static long block(int how, const uint64_t *set, uint64_t *before)
{
	if (!running)
		return 0;
	if (before)
		*before = running->mask;
	if (set)
		running->mask = how == SIG_BLOCK     ? running->mask | *set
				: how == SIG_UNBLOCK ? running->mask & ~*set
						     : *set;
	return 0;
}

/* Writes the pages of a chunk one by one. */
static long write_at(int fd, const char *buf, size_t n, uint64_t at)
{
	size_t first = PAGE - at % PAGE, pages = n <= first ? 1 : 1 + (n - first + PAGE - 1) / PAGE;
	bool backwards = sim_below(2);
	if (!sim_below(64) && n > 1)
		return pwrite(fd, buf, n / 2, (off_t)at); /* it may write less */
	for (size_t i = 0; i < pages; i++) {
		size_t k = backwards ? pages - 1 - i : i, from = k ? first + (k - 1) * PAGE : 0,
		       to = first + k * PAGE;
		sim_step();
		if (to > n)
			to = n;
		if (pwrite(fd, buf + from, to - from, (off_t)(at + from)) != (ssize_t)(to - from))
			return -1;
	}
	sim_step();
	return (long)n;
}

long sim_syscall(long number, ...)
{
	va_list ap;
	long a[6];
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	switch (number) {
	case SYS_futex:
		return futex((_Atomic uint32_t *)a[0], (int)a[1], (uint32_t)a[2],
			     (const struct timespec *)a[3]);
	case SYS_rt_sigprocmask:
		return block((int)a[0], (const uint64_t *)a[1], (uint64_t *)a[2]);
	case SYS_gettid:
		return running ? 4242 + (running - tasks) : 4242;
	case SYS_close_range:
	case SYS_membarrier:
		sim_step();
		return 0;
	case SYS_pwrite64:
		return write_at((int)a[0], (const char *)a[1], (size_t)a[2], (uint64_t)a[3]);
	case SYS_renameat2:
		if (no_exchange) { /* as NFS */
			errno = EINVAL;
			return -1;
		}
		break;
	case SYS_openat:
		if (!strncmp((const char *)a[1], "/proc", 5) ||
		    !strncmp((const char *)a[1], "/sys", 4)) {
			errno = ENOENT;
			return -1;
		}
		break;
	default:
		break;
	}
	sim_step();
	return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
