// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One function per rule; a rule fills in its advice and returns whether it applies. Percentages
 * are of the summed device windows (kernel_time) of all ranks unless the text says otherwise. */
#include "analyze/advice/time_advice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const tide__severity_text[3] = { "info", "medium", "high" };

__attribute__((format(printf, 3, 4))) static void say(char *to, size_t n, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(to, n, fmt, ap);
	va_end(ap);
}
#define TEXT(a, ...)	   say((a)->text, sizeof(a)->text, __VA_ARGS__)
#define BOTTLENECK(a, ...) say((a)->bottleneck, sizeof(a)->bottleneck, __VA_ARGS__)

/* Returns a name for a line of text: at most n bytes, then "..." if it is longer; control bytes as
 * '?'. buf has room for n + 4 bytes. */
static const char *short_name(const tide_hta *h, tide_str s, size_t n, char *buf)
{
	size_t len;
	const char *text = tide__hta_str(h, s, &len);
	bool cut = len > n;
	len = cut ? n : len;
	while (len && (text[len] & 0xc0) == 0x80) /* not in the middle of a character */
		len--;
	for (size_t i = 0; i < len; i++)
		buf[i] = (unsigned char)text[i] < 32 || text[i] == 127 ? '?' : text[i];
	memcpy(buf + len, cut ? "..." : "", cut ? 4 : 1);
	return buf;
}

/* Returns the advice that reduces launch calls. Only CUDA and HIP have graphs that PyTorch can
 * capture. */
static const char *graphs(const tide_hta_job *job)
{
	bool others = false;
	for (size_t r = 0; r < job->n_ranks; r++)
		for (size_t i = 0; i < job->ranks[r].h->streams.n; i++) {
			tide_str s = job->ranks[r].h->streams.v[i].kind;
			const char *kind = tide__hta_str(job->sum, s, NULL);
			if (!*kind || !strcmp(kind, "cuda") || !strcmp(kind, "hip"))
				return "CUDA Graphs";
			others = true;
		}
	return others ? "fewer, larger launches" : "CUDA Graphs";
}

/* Sets figure, value and threshold. Returns whether the value is above; severity high from `high`
 * on. */
static bool above(tide_advice *a, const char *figure, double value, double threshold, double high)
{
	a->figure = figure;
	a->value = value;
	a->threshold = threshold;
	a->severity = value > high ? TIDE_ADVICE_HIGH : TIDE_ADVICE_MEDIUM;
	return value > threshold; /* false for NaN (unknown) */
}

static double of_window(const tide_hta_job *job, int64_t ns)
{
	return tide__share_pct(ns, job->sum->h.kernel_time);
}

/* Returns the host's activity while streams waited: a name, or an equally informative cause; else
 * "". */
static const char *where(const tide_hta *h, uint32_t cause, char *buf, size_t n)
{
	char name[64];
	if (h->h.waited_in.i && h->h.waited_cause == cause)
		snprintf(buf, n, "; streams waited longest for the host in %s (%s)",
			 short_name(h, h->h.waited_in, 60, name), tide__cause_text[cause]);
	else if (cause == TIDE_CAUSE_LAUNCH && h->h.cause[cause])
		snprintf(buf, n, "; streams waited longest for the launch calls themselves");
	else
		*buf = 0;
	return buf;
}

static bool gpu_idle(const tide_hta_job *job, tide_advice *a)
{
	const tide_hta_head *h = &job->sum->h;
	uint32_t most = 0;
	char in[160];
	if (!above(a, "idle_pct", of_window(job, h->idle), 30, 60))
		return false;
	for (uint32_t c = 1; c < TIDE_CAUSES; c++)
		if (h->cause[c] > h->cause[most])
			most = c;
	BOTTLENECK(a, "GPU idle: %.1f%% of the device window (threshold 30%%)", a->value);
	TEXT(a,
	     "High GPU idle time (%.1f%%). Consider: %s, reducing Python overhead, or "
	     "overlapping compute with data loading. [idle %.1f%% > 30%%%s]",
	     a->value, graphs(job), a->value, where(job->sum, most, in, sizeof in));
	return true;
}

static bool communication(const tide_hta_job *job, tide_advice *a)
{
	const tide_hta_head *h = &job->sum->h;
	int64_t ns = h->type_ns[TIDE_GPU_COMM];
	if (!above(a, "communication_pct", of_window(job, ns), 20, 40))
		return false;
	BOTTLENECK(a, "Communication: %.1f%% of the device window (threshold 20%%)", a->value);
	TEXT(a,
	     "Significant communication overhead (%.1f%%). Consider: overlapping communication "
	     "with "
	     "compute, gradient compression, or reducing synchronization. [communication %.1f%% > "
	     "20%%; %.1f%% of it overlaps compute]",
	     a->value, a->value, tide__share_pct(h->overlap, ns));
	return true;
}

static bool small_kernels(const tide_hta_job *job, tide_advice *a)
{
	tide_stat s = { 0 };
	for (size_t i = 0; i < job->sum->kernels.n; i++)
		if (job->sum->kernels.v[i].type != TIDE_GPU_MEMORY)
			tide__stat_merge(&s, &job->sum->kernels.v[i].dur);
	double mean = s.n ? (double)tide__stat_mean(&s) / 1000 : 0;
	if (!above(a, "kernels", (double)s.n, 10000, 100000) || mean >= 10)
		return false;
	TEXT(a,
	     "Many small kernels (%" PRIu64
	     " launches, avg %.1fμs). Consider: torch.compile for kernel "
	     "fusion, or %s. [kernels %" PRIu64 " > 10000 and mean %.1f us < 10 us]",
	     s.n, mean, graphs(job), s.n, mean);
	BOTTLENECK(a, "Many small kernels: %" PRIu64 ", %.1f us on average", s.n, mean);
	return true;
}

/* Returns further advice for a kernel of this name. */
static const char *for_kernel(const tide_hta_kernel *k, const char *name)
{
	if (k->type == TIDE_GPU_COMM)
		return "It moves data between ranks: overlap it with compute, or send less; where "
		       "ranks wait for each other in it, see the stragglers.";
	if (k->type == TIDE_GPU_MEMORY)
		return "It copies or sets memory: copy less, copy from pinned memory, or beside "
		       "compute on a stream of its own.";
	if (strcasestr(name, "gemm") || strcasestr(name, "matmul"))
		return "Consider optimizing this specific kernel or finding alternatives. Consider "
		       "using torch.compile or Tensor Cores.";
	if (strcasestr(name, "elementwise"))
		return "Consider optimizing this specific kernel or finding alternatives. Multiple "
		       "elementwise ops - consider kernel fusion.";
	return "Consider optimizing this specific kernel or finding alternatives.";
}

static bool dominating(const tide_hta_job *job, tide_advice *a)
{
	const tide_hta *s = job->sum;
	char name[64];
	int64_t top20 = 0, all = 0;
	for (size_t i = 0; i < s->kernels.n; i++) {
		all = tide__add_sat(all, tide__stat_sum(&s->kernels.v[i].dur));
		if (i < 20)
			top20 = all;
	}
	if (s->kernels.n < 2)
		return false;
	int64_t first = tide__stat_sum(&s->kernels.v[0].dur);
	if (!above(a, "top_kernel_pct", tide__share_pct(first, top20), 50, 75))
		return false;
	short_name(s, s->kernels.v[0].name, 40, name);
	double share = tide__share_pct(first, all);
	BOTTLENECK(a, "Single kernel dominates: %s (%.1f%%)", name, share);
	TEXT(a,
	     "Kernel '%s' dominates (%.1f%% of GPU time). %s [%.1f%% of the time of the 20 longest "
	     "kernels > 50%%]",
	     name, share,
	     for_kernel(&s->kernels.v[0], tide__hta_str(s, s->kernels.v[0].name, NULL)), a->value);
	return true;
}

static bool cpu_overhead(const tide_hta_job *job, tide_advice *a)
{
	if (!above(a, "idle_host_active_pct", of_window(job, job->sum->h.idle_host_active), 30, 60))
		return false;
	BOTTLENECK(a, "CPU overhead: %.1f%% of total time", a->value);
	TEXT(a,
	     "CPU overhead: %.1f%% of total time. Consider %s or reducing Python overhead. "
	     "[device idle while the host works %.1f%% > 30%%]",
	     a->value, graphs(job), a->value);
	return true;
}

static bool launch_rate(const tide_hta_job *job, tide_advice *a)
{
	const tide_hta_head *h = &job->sum->h;
	double ms = (double)h->kernel_time / 1e6;
	if (h->launches <= 1000 || ms <= 0)
		return false;
	if (!above(a, "launches_per_ms", (double)h->launches / ms, 100, 300))
		return false;
	BOTTLENECK(a, "High kernel launch rate: %.1f launches/ms", a->value);
	TEXT(a,
	     "High kernel launch rate: %.1f launches/ms. Consider %s or torch.compile for "
	     "kernel fusion. [launches %" PRIu64 " > 1000 and %.1f per ms > 100]",
	     a->value, graphs(job), h->launches, a->value);
	return true;
}

static bool short_kernels(const tide_hta_job *job, tide_advice *a)
{
	const tide_hta_head *h = &job->sum->h;
	double pct = tide__share_pct((int64_t)h->short_kernels, (int64_t)h->launches);
	if (h->launches < 100 || !above(a, "short_kernel_pct", pct, 25, 60))
		return false;
	BOTTLENECK(a, "Launching costs more than the work: %.1f%% of launches", pct);
	TEXT(a,
	     "%.1f%% of %" PRIu64
	     " launches take longer on the host than their kernels on the device, not counting "
	     "calls over the cut-off (50 us unless --short-cutoff). Consider fusing kernels, or "
	     "%s. [short kernels %.1f%% > 25%%]",
	     pct, h->launches, graphs(job), pct);
	return true;
}

static bool waits(const tide_hta_job *job, tide_advice *a, int cause, double threshold,
		  const char *figure, const char *what)
{
	int64_t idle = 0, ns = job->sum->h.cause[cause];
	for (int c = 0; c < TIDE_CAUSES; c++)
		idle = tide__add_sat(idle, job->sum->h.cause[c]);
	/* causes are summed over streams, hence the share of host wait times the share of idle */
	double pct = tide__share_pct(ns, idle) * of_window(job, job->sum->h.idle) / 100;
	if (!above(a, figure, pct, threshold, 2 * threshold))
		return false;
	BOTTLENECK(a, "Device waits on the host (%s): %.1f%%", tide__cause_text[cause], pct);
	TEXT(a, "%s [%s is %.1f%% of all host wait; that share of idle time is %.1f%% > %.0f%%]",
	     what, tide__cause_text[cause], tide__share_pct(ns, idle), pct, threshold);
	return true;
}

static bool syncs(const tide_hta_job *job, tide_advice *a)
{
	return waits(
		job, a, TIDE_CAUSE_SYNC, 10, "sync_wait_pct",
		"The device idles while the host sits in synchronising calls. Consider removing "
		".item(), .cpu() and explicit synchronisation from the step.");
}

static bool data_loading(const tide_hta_job *job, tide_advice *a)
{
	return waits(
		job, a, TIDE_CAUSE_DATA, 10, "data_wait_pct",
		"The device waits for data loading. Consider more loader workers, prefetching, and "
		"pinned memory with non-blocking copies.");
}

static bool allocation(const tide_hta_job *job, tide_advice *a)
{
	return waits(
		job, a, TIDE_CAUSE_ALLOC, 5, "allocation_wait_pct",
		"The device waits while the host takes or frees device memory. Consider a caching "
		"allocator, fixed shapes, or expandable segments.");
}

static bool pageable(const tide_hta_job *job, tide_advice *a)
{
	int64_t ns = 0;
	for (size_t i = 0; i < job->sum->kernels.n; i++)
		if (strstr(tide__hta_str(job->sum, job->sum->kernels.v[i].name, NULL), "Pageable"))
			ns = tide__add_sat(ns, tide__stat_sum(&job->sum->kernels.v[i].dur));
	if (!above(a, "pageable_copy_pct", of_window(job, ns), 5, 20))
		return false;
	BOTTLENECK(a, "Copies from pageable memory: %.1f%% of the device window", a->value);
	TEXT(a,
	     "Copies between the device and pageable host memory take %.1f%% of the device window. "
	     "Consider pinned memory and non_blocking=True. [%.1f%% > 5%%]",
	     a->value, a->value);
	return true;
}

static bool memory_time(const tide_hta_job *job, tide_advice *a)
{
	double pct = of_window(job, job->sum->h.type_ns[TIDE_GPU_MEMORY]);
	if (!above(a, "memory_pct", pct, 10, 20))
		return false;
	BOTTLENECK(a, "Copies and fills: %.1f%% of the device window (threshold 10%%)", pct);
	TEXT(a,
	     "Copies and fills run for %.1f%% of the device window. Consider keeping data on the "
	     "device and overlapping copies with compute. [memory %.1f%% > 10%%]",
	     pct, pct);
	return true;
}

static bool queue_full(const tide_hta_job *job, tide_advice *a)
{
	int64_t full = 0, time = 0;
	for (size_t i = 0; i < job->n_ranks; i++)
		for (size_t s = 0; s < job->ranks[i].h->streams.n; s++) {
			full = tide__add_sat(full, job->ranks[i].h->streams.v[s].queue_full);
			time = tide__add_sat(time, job->ranks[i].h->streams.v[s].queue_time);
		}
	if (!above(a, "queue_full_pct", tide__share_pct(full, time), 1, 20))
		return false;
	BOTTLENECK(a, "Launch queue full: %.1f%% of the time", a->value);
	TEXT(a,
	     "A stream's queue holds %d or more launches for %.1f%% of the time, so launch calls "
	     "block: the device limits the speed then. [%.1f%% > 1%%]",
	     TIDE_QUEUE_LIMIT, a->value, a->value);
	return true;
}

static bool custom(const tide_hta_job *job, tide_advice *a)
{
	const tide_hta_head *h = &job->sum->h;
	if (!above(a, "custom_collective_rows", (double)h->custom_rows, 0, 1e30))
		return false;
	a->severity = TIDE_ADVICE_INFO;
	TEXT(a,
	     "%" PRIu64
	     " kernels look like custom collectives (%.3f ms); they count as compute, so "
	     "communication is understated by as much. [rows %" PRIu64 " > 0]",
	     h->custom_rows, (double)h->custom_ns / 1e6, h->custom_rows);
	return true;
}

static const struct {
	const char *id;
	bool (*applies)(const tide_hta_job *, tide_advice *);
} rules[] = {
	{ "gpu_idle", gpu_idle },	    { "communication", communication },
	{ "small_kernels", small_kernels }, { "dominating_kernel", dominating },
	{ "cpu_overhead", cpu_overhead },   { "launch_rate", launch_rate },
	{ "short_kernels", short_kernels }, { "sync", syncs },
	{ "data_loading", data_loading },   { "allocation", allocation },
	{ "pageable_copies", pageable },    { "memory", memory_time },
	{ "queue_full", queue_full },	    { "custom_collectives", custom },
};
_Static_assert(sizeof rules / sizeof *rules < TIDE_ADVICE_MAX, "room for every rule and 'fine'");

static void fine(const tide_hta_job *job, tide_advice *a)
{
	const tide_hta_head *h = &job->sum->h;
	*a = (tide_advice){ .id = "fine", .figure = "idle_pct", .threshold = 30, .below = true };
	a->value = of_window(job, h->idle);
	TEXT(a,
	     "Profile looks well-optimized. Consider micro-optimizations if needed. [idle %.1f%% "
	     "<= "
	     "30%%, communication %.1f%% <= 20%%, no other rule applies]",
	     a->value, of_window(job, h->type_ns[TIDE_GPU_COMM]));
}

static int severe_first(const void *a, const void *b)
{
	const tide_advice *x = *(const tide_advice *const *)a, *y = *(const tide_advice *const *)b;
	if (x->severity != y->severity)
		return y->severity - x->severity;
	return x < y ? -1 : x > y; /* equal severity: in the order of the rules */
}

size_t tide__find_time_advice(const tide_hta_job *job, tide_advice out[TIDE_ADVICE_MAX])
{
	tide_advice found[TIDE_ADVICE_MAX];
	const tide_advice *order[TIDE_ADVICE_MAX];
	size_t n = 0;
	if (!job->sum->h.rows)
		return 0;
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		found[n] = (tide_advice){ .id = rules[i].id };
		if (rules[i].applies(job, &found[n])) {
			order[n] = &found[n];
			n++;
		}
	}
	bool only_info = true;
	for (size_t i = 0; i < n; i++)
		only_info &= found[i].severity == TIDE_ADVICE_INFO;
	if (only_info) {
		fine(job, &found[n]);
		order[n] = &found[n];
		n++;
	}
	qsort(order, n, sizeof *order, severe_first);
	for (size_t i = 0; i < n; i++)
		out[i] = *order[i];
	return n;
}
