// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Simulates the recorder: its own code, with the order of all threads, signals, full disks and the
 * moment of a kill decided by a seed. `simulate FIRST COUNT` runs that many seeds, each in a process
 * of its own, and prints the first seed that breaks a promise; `simulate SEED 1` repeats it.
 *
 * What is judged, with the readers that every command uses: nothing that was recorded before a kill
 * is missing beyond what is counted; nothing is there twice, or that was not recorded; losses are
 * counted; live blocks are those of the program; both files of a recording of limited size together
 * have no gap; no step leaves a file that a reader calls damaged. After a stop, events and losses
 * add up to the calls. */
#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <tidemark/record.h>

#include "import/import.h"
#include "models.h"
#include "runtime/recorder.h"
#include "steps.h"

enum { THREADS = 3, MOST = 6000, LIVE = 5, BROKEN = 1, NO_ROOM = 2 };

/* A thread of the program: what it called, and which calls have returned. */
struct caller {
	tide_name name, in_signal;
	int task;
	uint32_t calls, todo;	     /* that returned, and that it makes */
	uint32_t marks, marks_begun; /* the values are 1, 2, ... */
	uint32_t blocks, blocks_begun, frees, frees_begun;
	uint32_t signals, signals_begun;
	uint32_t begun;
};
static struct caller callers[2 * THREADS];
static uint32_t n_callers;

static uint64_t seed;
static char path[256];
static tide_pool pool;
static uint64_t window;
static uint32_t longest;
static bool many_ops, started, stopped;
static tide_stats stats;
static tide_code start_code;

static _Noreturn __attribute__((format(printf, 1, 2))) void broken(const char *form, ...)
{
	va_list ap;
	va_start(ap, form);
	printf("seed %llu, step %llu: ", (unsigned long long)seed, (unsigned long long)sim_steps());
	vprintf(form, ap);
	printf("\nto repeat it: simulate %llu 1\n", (unsigned long long)seed);
	va_end(ap);
	fflush(stdout);
	_exit(BROKEN);
}

/* ---- the program ---- */

static struct caller *caller_of(int task)
{
	for (uint32_t i = 0; i < n_callers; i++)
		if (callers[i].task == task)
			return &callers[i];
	return NULL;
}

static void on_signal(int task)
{
	struct caller *c = caller_of(task);
	if (!c || !c->name || !started)
		return;
	c->begun++;
	tide_mark(TIDE_STEP, c->in_signal, ++c->signals_begun);
	c->signals++;
	c->calls++;
}

static uint64_t address(const struct caller *c, uint32_t block)
{
	return (uint64_t)(c - callers + 1) << 40 | (uint64_t)block << 9;
}

static void call_once(struct caller *c)
{
	static const char text[] =
		"some text that is longer than two of the ring's slots, as it should be";
	uint32_t what = sim_below(many_ops ? 16 : 8);
	c->begun++;
	if (what < 3) {
		tide_mark(TIDE_STEP, c->name, ++c->marks_begun);
		c->marks++;
	} else if (what < 6 && c->blocks - c->frees < LIVE) {
		tide_alloc_full(pool, address(c, ++c->blocks_begun), 100, 0, 0, what == 5 ? 90 : 0);
		c->blocks++;
	} else if (what < 7 && c->frees < c->blocks) {
		tide_free(pool, address(c, ++c->frees_begun));
		c->frees++;
	} else if (what < 8) {
		tide_annotate(c->name, text + sim_below(sizeof text));
	} else {
		tide_op op = tide_op_begin(c->name);
		c->calls++;
		c->begun++;
		tide_op_end(op);
	}
	c->calls++;
}

static void thread(int task)
{
	struct caller *c = caller_of(task);
	char name[16];
	snprintf(name, sizeof name, "t%d", (int)(c - callers));
	c->name = tide_intern(name);
	snprintf(name, sizeof name, "s%d", (int)(c - callers));
	c->in_signal = tide_intern(name);
	while (c->calls < c->todo)
		call_once(c);
}

static void begin_thread(void)
{
	struct caller *c = &callers[n_callers++];
	c->todo = (uint32_t)sim_small(longest);
	c->task = sim_spawn(thread);
}

static void join_threads(void)
{
	for (uint32_t i = 0; i < n_callers; i++)
		while (!sim_ended(callers[i].task))
			sim_usleep(100);
}

static void program(void)
{
	tide_options o = TIDE_OPTIONS_INIT;
	tide_error err = { 0 };
	o.ring_bytes = 65536;
	o.full_wait_us = sim_below(2) ? 100000 : 0;
	start_code = tide_start(path, &o, &err);
	if (start_code)
		return;
	tide__rec.opt.max_file_bytes = window; /* smaller than tide_start allows */
	pool = tide_pool_open(tide_device_open(TIDE_DEVICE_CUDA, 0, "any", 0), TIDE_POOL_DRAM,
			      "any", 0);
	started = true;
	uint32_t n = 1 + sim_below(THREADS);
	for (uint32_t i = 0; i < n; i++)
		begin_thread();
	if (sim_below(2)) { /* their rings go to others */
		join_threads();
		for (uint32_t i = 0; i < n; i++)
			begin_thread();
	}
	join_threads();
	if (tide_stop(&err) && err.sys_errno != ENOSPC)
		broken("stop: %s", err.text);
	tide_stats_get(&stats);
	stopped = true;
}

/* ---- the judge ---- */

struct found {
	int64_t first, last; /* marks of one name; 0 = none */
	int64_t n;
};

static struct found marks_of(const tide_model *m, const char *name)
{
	struct found f = { 0 };
	for (size_t i = 1; i < m->marks.n; i++) {
		if (m->marks.kind[i] != TIDE_STEP ||
		    strcmp(tide__text(m, m->marks.name[i], NULL), name) != 0)
			continue;
		int64_t v = m->marks.value[i];
		if (v <= f.last)
			broken("%s: mark %lld after %lld", name, (long long)v, (long long)f.last);
		f.first = f.n ? f.first : v;
		f.last = v;
		f.n++;
	}
	return f;
}

static tide_model *read_part(const char *file, bool must)
{
	tide_error err = { 0 };
	tide_load_options opt = { .threads = 1, .single = true };
	tide_model *m = NULL;
	if (tide__load(file, &opt, &m, &err) != TIDE_OK) {
		if (must)
			broken("%s: %s", file, err.text);
		return NULL;
	}
	if (tide__model_check(m, &err))
		broken("model: %s", err.text);
	return m;
}

/* A part's head says how many events earlier parts have that it lacks; the first part's says
 * nothing. */
static bool is_before(const tide_model *p, const tide_model *m)
{
	if (!fact_of(p, "recorder.max_file_bytes"))
		return fact_of(p, "tide.events") > 0; /* else the next one, which had only begun */
	return fact_of(p, "loss.window_events") < fact_of(m, "loss.window_events");
}

/* The file that was full before this one: under its final name, or not moved there yet. */
static tide_model *previous_part(const tide_model *m)
{
	char name[300];
	snprintf(name, sizeof name, "%s.4242.new", path);
	tide_model *p = read_part(name, false);
	if (p && is_before(p, m))
		return p;
	tide__model_free(p);
	snprintf(name, sizeof name, "%.*s.old.tide", (int)strlen(path) - 5, path);
	if (!(p = read_part(name, true)))
		broken("no previous part");
	return p;
}

/* Losses that are damage: not events that the recorder counted and what follows from them, nor
 * parts that it left out. */
static void check_losses(const tide_model *m, bool previous, bool lost)
{
	static const char *const fine[] = { "loss.events", "loss.window_events",
					    "loss.not_closed" };
	for (size_t i = 0; i < m->facts.n; i++) {
		const char *key = tide__text(m, m->facts.key[i], NULL);
		bool known = strncmp(key, "loss.", 5) != 0;
		for (int k = 0; k < (previous ? 3 : 2); k++)
			known |= !strcmp(key, fine[k]);
		known |= lost && !strcmp(key, "loss.free_unknown");
		known |= (lost || fact_of(m, "recorder.max_file_bytes")) &&
			 !strcmp(key, "loss.op_begin");
		if (!known)
			broken("%s%s: %lld, window %lld, lost %d",
			       previous ? "previous part: " : "", key,
			       (long long)m->facts.number[i],
			       (long long)fact_of(m, "loss.window_events"), lost);
	}
}

static void check_between(const char *what, uint64_t least, uint64_t n, uint64_t most)
{
	if (n < least || n > most)
		broken("%s: %llu, not %llu to %llu", what, (unsigned long long)n,
		       (unsigned long long)least, (unsigned long long)most);
}

/* Without losses: marks are complete, from the first or, in a window, from any. */
static void check_marks(const tide_model *m, const tide_model *old, const struct caller *c)
{
	char name[16];
	snprintf(name, sizeof name, "t%d", (int)(c - callers));
	struct found f = marks_of(m, name), before = { 0 };
	if (old)
		before = marks_of(old, name);
	int64_t first = before.n ? before.first : f.first, last = f.n ? f.last : before.last;
	if (old && !last) /* it ended before these parts */
		return;
	check_between("marks of a thread", c->marks, (uint64_t)last, c->marks_begun);
	if (last && (f.n + before.n != last - first + 1))
		broken("%s: marks %lld to %lld, but %lld of them", name, (long long)first,
		       (long long)last, (long long)(f.n + before.n));
	if (!old && first > 1)
		broken("%s: begins with mark %lld", name, (long long)first);
}

/* Without losses: which blocks live at the end. */
static void check_live(const tide_model *m)
{
	for (size_t i = 1; i < m->allocs.n; i++) {
		uint64_t at = m->allocs.addr[i] >> 40;
		if (!at || at > n_callers)
			broken("a block of nobody");
	}
	for (uint32_t k = 0; k < n_callers; k++) {
		const struct caller *c = &callers[k];
		for (uint32_t block = 1; block <= c->blocks_begun; block++) {
			bool lives = false, sure = block > c->frees_begun && block <= c->blocks;
			for (size_t i = 1; i < m->allocs.n; i++)
				lives |= m->allocs.addr[i] == address(c, block) &&
					 m->allocs.died[i] == TIDE_T_NEVER;
			if ((lives && block <= c->frees) || (sure && !lives))
				broken("t%u: block %u %s", k, block,
				       lives ? "lives" : "is missing");
			if (block + 4 * LIVE < c->frees) /* long gone */
				block = c->frees - 4 * LIVE;
		}
	}
}

static void judge(void)
{
	uint64_t calls = 0, begun = 0;
	if (!started && access(path, F_OK))
		return; /* killed before the recording had its name */
	tide_model *m = read_part(path, true);
	int64_t lost = fact_of(m, "loss.events");
	bool windowed = fact_of(m, "recorder.max_file_bytes") > 0;
	tide_model *old = fact_of(m, "loss.window_events") ? previous_part(m) : NULL;
	check_losses(m, false, lost > 0);
	if (old)
		check_losses(old, true, lost > 0);
	for (uint32_t i = 0; i < n_callers; i++) {
		calls += callers[i].calls;
		begun += callers[i].begun;
		if (!lost)
			check_marks(m, old, &callers[i]);
	}
	if (!lost)
		check_live(m);
	if (!windowed)
		check_between("events and losses", calls,
			      (uint64_t)(fact_of(m, "tide.events") + lost), begun);
	if (stopped)
		check_between("statistics", calls,
			      stats.events + stats.lost_full + stats.lost_signal + stats.lost_other,
			      begun);
	tide__model_free(m);
	tide__model_free(old);
}

/* ---- seeds ---- */

/* What a seed decides before its first step; the rest is drawn as the simulation goes on. */
static sim_options conditions(void)
{
	uint64_t r = seed * UINT64_C(0x9e3779b97f4a7c15);
	sim_options o = { .seed = seed, .kill_at = UINT64_MAX, .disk = UINT64_MAX };
	r ^= r >> 29;
	r *= UINT64_C(0xbf58476d1ce4e5b9);
	r ^= r >> 32;
	static const uint32_t lengths[] = { 20, 60, 300, MOST / 2 };
	longest = lengths[r % 4];
	tide__clock_kind = r >> 2 & 1 ? TIDE_CLOCK_TSC : TIDE_CLOCK_NS;
	window = r >> 3 & 1 ? 512u << (r >> 4 & 3) : 0;
	if (window && longest < 300)
		longest = 300;
	many_ops = r >> 6 & 1;
	o.signal = (r >> 7 & 3) == 0 ? on_signal : NULL;
	if ((r >> 9 & 7) == 0)
		o.disk = (550u << 10) + (r >> 12 & 0xfffff);
	if ((r >> 32 & 3) != 0)
		o.kill_at = 1 + (r >> 36) % (UINT64_C(40) << (r >> 34 & 3) * 4);
	return o;
}

static int run_seed(void)
{
	sim_options o = conditions();
	int how = sim_run(&o, program);
	if (how == SIM_HUNG)
		broken("every thread waits for another");
	if (how == SIM_ENDLESS)
		broken("no end");
	if (how == SIM_ENDED && start_code)
		return o.disk == UINT64_MAX ? BROKEN : 0;
	judge();
	return 0;
}

static void clear(const char *folder)
{
	char name[600];
	DIR *d = opendir(folder);
	for (struct dirent *e; d && (e = readdir(d));) {
		snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
		unlink(name);
	}
	if (d)
		closedir(d);
}

int main(int argc, char **argv)
{
	char folder[64] = "/dev/shm/tide-simulate-XXXXXX";
	uint64_t first = argc > 2 ? strtoull(argv[1], NULL, 10) : 0,
		 n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	int bad = 0;
	if (!n) {
		fprintf(stderr, "usage: simulate FIRST COUNT\n");
		return 2;
	}
	if (!mkdtemp(folder) && !mkdtemp(strcpy(folder, "/tmp/tide-simulate-XXXXXX")))
		return 2;
	snprintf(path, sizeof path, "%s/run.tide", folder);
	for (seed = first; seed < first + n && bad < 5; seed++) {
		int status;
		pid_t child = fork();
		if (child == 0)
			_exit(run_seed());
		waitpid(child, &status, 0);
		if (status) {
			bad++;
			if (WIFSIGNALED(status))
				printf("seed %llu: signal %d\nto repeat it: simulate %llu 1\n",
				       (unsigned long long)seed, WTERMSIG(status),
				       (unsigned long long)seed);
		}
		clear(folder);
	}
	rmdir(folder);
	printf("%llu schedules, %d broken\n", (unsigned long long)(seed - first), bad);
	return bad != 0;
}
