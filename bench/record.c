// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Measures the cost of one event for the traced program.
 *
 *     record cost FILE        ns an event: clock alone, one thread, two threads, LTTng-UST
 *     record sustained FILE   events/s that reach the file with nothing lost
 *     record count FILE N     N events and nothing else, for callgrind
 *
 * Costs are medians over batches of 2,000 events inside an op, alternating alloc and free. The
 * rings are larger than the whole run and faulted in before; a loss fails the run. While a cost is
 * measured, the writer thread runs at idle priority and uses only time that the measured threads
 * leave. All rows are measured in one run with alternating batches, so a machine that slows down
 * affects all of them.
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tidemark/record.h>

#ifdef HAVE_LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "record_lttng.h"
#endif

enum { BATCH = 2000, ROUNDS = 600 }; /* a batch is much shorter than a time slice, for all rows */

static tide_pool pool;

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* ---- measured operations: n events each ------------------------------------------------------- */

static volatile uint64_t sink;

static void clock_alone(long n)
{
	uint64_t sum = 0;
	for (long i = 0; i < n; i++) {
#if defined(__x86_64__)
		sum += __builtin_ia32_rdtsc();
#else
		struct timespec ts;
		clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
		sum += (uint64_t)ts.tv_nsec;
#endif
	}
	sink = sum;
}

static void tidemark(long n)
{
	for (long i = 0; i < n; i += 2) {
		uint64_t addr = 0x7f0000000000u + (uint64_t)(i & 0xfff) * 512;
		tide_alloc(pool, addr, 512 + (uint64_t)(i & 0xff) * 256, 1);
		tide_free(pool, addr);
	}
}

#ifdef HAVE_LTTNG
static void lttng(long n)
{
	for (long i = 0; i < n; i += 2) {
		uint64_t addr = 0x7f0000000000u + (uint64_t)(i & 0xfff) * 512;
		lttng_ust_tracepoint(tide_bench, alloc, addr, 512 + (uint64_t)(i & 0xff) * 256, 7,
				     pool, 1);
		lttng_ust_tracepoint(tide_bench, alloc, addr, 0, 7, pool, 1);
	}
}
#endif

/* ---- measuring ----------------------------------------------------------------------------- */

typedef struct row {
	const char *name;
	void (*body)(long);
	double ns[ROUNDS * 2];
	int n;
} row;

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(row *r)
{
	qsort(r->ns, (size_t)r->n, sizeof *r->ns, by_value);
	return r->ns[r->n / 2];
}

static double batch(void (*body)(long))
{
	double t0 = now();
	body(BATCH);
	return (now() - t0) / BATCH;
}

static pthread_barrier_t together;

static void *second_thread(void *arg)
{
	row *r = arg;
	tidemark(2);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&together);
		r->ns[ROUNDS + i] = batch(r->body);
		pthread_barrier_wait(&together);
	}
	return NULL;
}

/* Idle priority for the recorder's writer thread; LTTng's own threads keep theirs. */
static void quiet_writer(void)
{
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *e; d && (e = readdir(d));) {
		char path[300], name[32] = "";
		snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
		FILE *f = fopen(path, "r");
		if (f && fgets(name, sizeof name, f) && !strcmp(name, "tidemark\n")) {
			struct sched_param p = { 0 };
			sched_setscheduler(atoi(e->d_name), SCHED_IDLE, &p);
		}
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
}

static void begin(const char *file, size_t ring_bytes, uint32_t wait_us)
{
	tide_options o = TIDE_OPTIONS_INIT;
	tide_error err;
	o.ring_bytes = ring_bytes;
	o.full_wait_us = wait_us;
	if (tide_start(file, &o, &err) != TIDE_OK) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	pool = tide_pool_open(tide_device_open(TIDE_DEVICE_CUDA, 0, "gpu", 0), TIDE_POOL_DRAM,
			      "DRAM", 0);
}

static void end(uint64_t *events)
{
	tide_error err;
	if (tide_stop(&err) != TIDE_OK) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	tide_stats s;
	tide_stats_get(&s);
	if (s.lost_full + s.lost_signal + s.lost_other) {
		fprintf(stderr, "events were lost: the run does not count\n");
		exit(1);
	}
	*events = s.events;
}

static int cost(const char *file)
{
	static row rows[] = {
		{ .name = "clock read alone", .body = clock_alone },
		{ .name = "tidemark, one thread", .body = tidemark },
#ifdef HAVE_LTTNG
		{ .name = "lttng-ust, one thread", .body = lttng },
#endif
	};
	static row two = { .name = "tidemark, two threads", .body = tidemark };
	enum { ROWS = sizeof rows / sizeof *rows };
	begin(file, (size_t)128 << 20, 0);
	tidemark(2);
	quiet_writer();
	tide_op op = tide_op_begin(TIDE_NAME("bench"));
	for (int i = -20; i < ROUNDS; i++) /* some rounds to warm up */
		for (int k = 0; k < ROWS; k++) {
			double ns = batch(rows[k].body);
			if (i >= 0)
				rows[k].ns[rows[k].n++] = ns;
		}
	pthread_t t;
	pthread_barrier_init(&together, NULL, 2);
	pthread_create(&t, NULL, second_thread, &two);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&together);
		two.ns[i] = batch(two.body);
		pthread_barrier_wait(&together);
	}
	two.n = 2 * ROUNDS;
	pthread_join(t, NULL);
	tide_op_end(op);
	uint64_t events;
	end(&events);
	double ours = 0;
	for (int k = 0; k < ROWS; k++) {
		double m = median(&rows[k]);
		ours = k == 1 ? m : ours;
		printf("%-24s %7.1f ns\n", rows[k].name, m);
	}
	printf("%-24s %7.1f ns  %.2fx one thread\n", two.name, median(&two), median(&two) / ours);
#ifdef HAVE_LTTNG
	printf("%-24s %7.1fx\n", "lttng / tidemark", median(&rows[2]) / ours);
#endif
	printf("%-24s %7llu, 0 lost\n", "events recorded", (unsigned long long)events);
	return 0;
}

static int sustained(const char *file)
{
	enum { N = 20000000 };
	begin(file, (size_t)16 << 20, 10000000);
	double t0 = now();
	tide_op op = tide_op_begin(TIDE_NAME("bench"));
	tidemark(N);
	tide_op_end(op);
	uint64_t events;
	end(&events);
	double s = (now() - t0) / 1e9;
	printf("%-24s %7.1f M events/s to the file (%llu in %.2f s, 0 lost)\n",
	       "sustained, one thread", (double)events / s / 1e6, (unsigned long long)events, s);
	return 0;
}

static int count(const char *file, long n)
{
	begin(file, (size_t)32 << 20, 0);
	tidemark(n);
	uint64_t events;
	end(&events);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "cost"))
		return cost(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "sustained"))
		return sustained(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "count"))
		return count(argv[2], atol(argv[3]));
	fprintf(stderr, "usage: record cost|sustained FILE, record count FILE N\n");
	return 2;
}
