// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See findings.h. Each area fills the list from its own analysis; the score is a sum over it. */
#include "analyze/advice/findings.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/advice/compile_advice.h"
#include "analyze/advice/memory_advice.h"
#include "analyze/advice/size_text.h"
#include "analyze/memory/heap.h"
#include "analyze/live/usage.h"

const char *const tide__area_text[TIDE_AREAS] = { "time", "memory", "allocator", "compile" };

static const struct {
	const char *id, *title;
} titles[] = {
	{ "out_of_memory", "Out of memory" },
	{ "memory_usage", "The device's memory is nearly full" },
	{ "capacity", "The device's memory is nearly full" },
	{ "growth", "Memory grows from step to step" },
	{ "stale", "Memory is held after its last use" },
	{ "kept", "Nearly everything is kept" },
	{ "activations", "Activations hold much of the peak" },
	{ "optimizer", "Optimizer state holds much of the peak" },
	{ "gradients", "Gradients hold much of the peak" },
	{ "waste", "Blocks are larger than requested" },
	{ "fragmentation", "Free memory is fragmented" },
	{ "setting", "Another allocator setting reserves less" },
	{ "retries", "Requests waited for the cache to be released" },
	{ "empty_cache", "The cache is emptied often" },
};

/* Returns the title of a finding whose analysis gives it none. */
static const char *title_of(const char *id)
{
	for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
		if (!strcmp(titles[i].id, id))
			return titles[i].title;
	return id;
}

static tide_finding *add(tide_findings *f, tide_area area, const char *id, int severity)
{
	static const int points[] = {
		[TIDE_ADVICE_INFO] = 0, [TIDE_ADVICE_MEDIUM] = -8, [TIDE_ADVICE_HIGH] = -15
	};
	f->looked[area] = true;
	if (f->n == TIDE_FINDINGS_MAX)
		return NULL;
	tide_finding *x = &f->v[f->n++];
	*x = (tide_finding){
		.area = area, .id = id, .severity = severity, .points = points[severity], .t = -1
	};
	snprintf(x->heading, sizeof x->heading, "%s", title_of(id));
	return x;
}

static void add_advice(tide_findings *f, tide_area area, const tide_advice *a)
{
	tide_finding *x = add(f, area, a->id, a->severity);
	if (!x)
		return;
	x->figure = a->figure;
	x->value = a->value;
	x->threshold = a->threshold;
	snprintf(x->heading, sizeof x->heading, "%s", a->bottleneck);
	snprintf(x->text, sizeof x->text, "%s", a->text);
}

/* ---- time ---- */

/* Returns true if the word at s[i] is negated: "nonfused", "non_fused", "unfused". */
static bool negated(const char *s, size_t i)
{
	size_t dash = i && (s[i - 1] == '_' || s[i - 1] == '-');
	if (i >= dash + 3 && !strncasecmp(s + i - dash - 3, "non", 3))
		return true;
	return i >= 2 && !strncasecmp(s + i - 2, "un", 2) &&
	       (i == 2 || !isalpha((unsigned char)s[i - 3]));
}

static bool contains(const char *s, size_t n, const char *word)
{
	size_t k = strlen(word);
	for (size_t i = 0; i + k <= n; i++)
		if (!strncasecmp(s + i, word, k) && !negated(s, i))
			return true;
	return false;
}

/* Names of kernels known to be efficient; each is mentioned once. */
static void good_kernels(tide_findings *f, const tide_hta *sum)
{
	static const struct {
		const char *word, *id, *what;
		int points;
	} good[] = {
		{ "flash", "flash_attention", "Flash attention is in use", 5 },
		{ "fused", "fused_kernels", "Fused kernels are in use", 3 },
		{ "cudnn", "cudnn", "cuDNN kernels are in use", 3 },
	};
	for (size_t g = 0; g < sizeof good / sizeof *good; g++)
		for (size_t i = 0; i < sum->kernels.n; i++) {
			size_t n;
			const char *name = tide__hta_str(sum, sum->kernels.v[i].name, &n);
			if (!contains(name, n, good[g].word))
				continue;
			tide_finding *x = add(f, TIDE_AREA_TIME, good[g].id, TIDE_ADVICE_INFO);
			if (x) {
				x->points = good[g].points;
				snprintf(x->heading, sizeof x->heading, "%s", good[g].what);
				snprintf(x->text, sizeof x->text, "%s: %.*s", good[g].what,
					 (int)(n < 100 ? n : 100), name);
			}
			break;
		}
}

static void time_area(tide_findings *f, const tide_hta_job *job)
{
	tide_advice v[TIDE_ADVICE_MAX];
	if (!job)
		return;
	size_t n = tide__find_time_advice(job, v);
	f->looked[TIDE_AREA_TIME] = true;
	for (size_t i = 0; i < n; i++)
		add_advice(f, TIDE_AREA_TIME, &v[i]);
	good_kernels(f, job->sum);
}

/* ---- memory ---- */

enum { FULL_PCT = 80, FULL_HIGH_PCT = 95 };

/* Adds a finding and returns true if the device was nearly full. */
static bool nearly_full(tide_findings *f, const tide_model *m, uint32_t device,
			const tide_level *peak)
{
	uint64_t capacity = m->devices.capacity[device];
	double pct = capacity ? 100.0 * (double)peak->peak / (double)capacity : 0;
	if (pct <= FULL_PCT)
		return false;
	tide_finding *x = add(f, TIDE_AREA_MEMORY, "memory_usage",
			      pct > FULL_HIGH_PCT ? TIDE_ADVICE_HIGH : TIDE_ADVICE_MEDIUM);
	if (!x)
		return true;
	x->figure = "peak_pct";
	x->value = pct;
	x->threshold = FULL_PCT;
	x->device = device;
	x->t = peak->peak_t;
	x->bytes = peak->peak;
	snprintf(x->text, sizeof x->text,
		 "High memory usage: %.1f%% of %s:%" PRId64
		 " (peak %s of %s). Consider gradient checkpointing or mixed precision.",
		 pct, tide__device_kind_name(m, device), m->devices.index[device],
		 tide__size_text((double)peak->peak).text, tide__size_text((double)capacity).text);
	return true;
}

/* Adds a finding if requests to this device failed. Such a run never gets a good score. */
static void out_of_memory(tide_findings *f, const tide_model *m, uint32_t device)
{
	const tide_marks *k = &m->marks;
	size_t n = 0, first = 0;
	char room[64] = "";
	for (size_t i = 1; i < k->n; i++)
		if (k->kind[i] == TIDE_MARK_OOM && m->pools.device[k->pool[i].i].i == device &&
		    !n++)
			first = i;
	tide_finding *x = n ? add(f, TIDE_AREA_MEMORY, "out_of_memory", TIDE_ADVICE_HIGH) : NULL;
	if (!x)
		return;
	x->device = device;
	x->t = k->t[first];
	x->figure = "failed_requests";
	x->value = (double)n;
	x->bytes = k->value[first] > 0 ? (uint64_t)k->value[first] : 0;
	if (k->extra[first] >= 0)
		snprintf(room, sizeof room, " with %s free on the device",
			 tide__size_text((double)k->extra[first]).text);
	snprintf(x->text, sizeof x->text,
		 "%s:%" PRId64 " ran out of memory %zu time%s, first when %s were requested%s. "
		 "`tidemark oom` explains what held the memory and what would have helped.",
		 tide__device_kind_name(m, device), m->devices.index[device], n, n == 1 ? "" : "s",
		 tide__size_text((double)x->bytes).text, room);
}

struct memory {
	const tide_model *m;
	const tide_usage *u;
	bool replay;
};

/* Returns true if the device has a caching allocator, whose settings could be tried. */
static bool caches(const tide_model *m, uint32_t device)
{
	for (size_t i = 1; i < m->segments.n; i++)
		if (m->pools.device[m->segments.pool[i].i].i == device)
			return true;
	return m->devices.kind[device] == TIDE_DEVICE_CUDA;
}

/* `full`: the device was already reported as nearly full, so `capacity` advice is skipped. */
static tide_code device_memory(tide_findings *f, const struct memory *w, uint32_t device, bool full,
			       tide_error *err)
{
	tide_memory_advices v = { .n = 0 };
	f->untried |= !w->replay && caches(w->m, device);
	tide_code rc = w->replay ? tide__find_full_device(w->m, device, &v, err)
				 : tide__find_memory_advice(w->m, device, NULL, NULL, &v, err);
	for (size_t i = 0; rc == TIDE_OK && i < v.n; i++) {
		bool setting =
			!strcmp(v.v[i].kind, "setting") || !strcmp(v.v[i].kind, "fragmentation");
		if (full && !strcmp(v.v[i].kind, "capacity"))
			continue;
		tide_finding *x = add(f, setting ? TIDE_AREA_ALLOCATOR : TIDE_AREA_MEMORY,
				      v.v[i].kind, (int)v.v[i].severity);
		if (!x)
			break;
		x->device = device;
		x->t = w->u->devices[device].peak_t;
		x->bytes = v.v[i].bytes;
		x->figure = "bytes";
		x->value = (double)v.v[i].bytes;
		snprintf(x->text, sizeof x->text, "%s", v.v[i].text);
	}
	return rc;
}

enum { KEPT_PCT = 80, KEPT_LEAST = 16 << 20 };

/* Adds a finding if most of the host heap at its high-water mark was never freed. */
static tide_code kept_heap(tide_findings *f, const tide_model *m, tide_error *err)
{
	tide_heap h = { 0 };
	char error[48] = "";
	tide_code rc = tide__heap_report_find(m, &h, err);
	double pct = h.total.peak ? 100.0 * (double)h.total.left / (double)h.total.peak : 0;
	tide_finding *x = rc == TIDE_OK && h.total.left >= KEPT_LEAST && pct >= KEPT_PCT
				  ? add(f, TIDE_AREA_MEMORY, "kept", TIDE_ADVICE_MEDIUM)
				  : NULL;
	if (x) {
		uint64_t most = 0;
		for (size_t i = 0; i < h.n; i++)
			most = h.rows[i].left > most ? h.rows[i].left : most;
		if (h.left_error > 0)
			snprintf(error, sizeof error, " ± %s", tide__size_text(h.left_error).text);
		x->figure = "left_pct";
		x->value = pct;
		x->threshold = KEPT_PCT;
		x->device = m->pools.device[h.pool].i;
		x->t = h.peak_t;
		x->bytes = h.total.left;
		snprintf(x->text, sizeof x->text,
			 "%s%s were never freed, %.0f %% of the %s at the high-water mark, and %s "
			 "of them by one call stack: `tidemark heap` lists the stacks. Memory that "
			 "the program does not need until its end can be freed earlier.",
			 tide__size_text((double)h.total.left).text, error, pct,
			 tide__size_text((double)h.total.peak).text,
			 tide__size_text((double)most).text);
	}
	tide__heap_report_free(&h);
	return rc == TIDE_ENOTFOUND ? TIDE_OK : rc;
}

/* Adds findings of a program without an accelerator. Only advice with evidence counts, so that a
 * recording of malloc, for example, gets no score for areas that were not judged. */
static tide_code host_memory(tide_findings *f, const struct memory *w, tide_error *err)
{
	const tide_devices *v = &w->m->devices;
	tide_code rc = TIDE_OK;
	for (uint32_t d = 1; d < v->n; d++)
		if (v->kind[d] != TIDE_DEVICE_HOST && w->u->devices[d].peak)
			return rc;
	for (uint32_t d = 1; d < v->n && rc == TIDE_OK; d++)
		if (w->u->devices[d].peak)
			rc = device_memory(f, w, d, false, err);
	return rc == TIDE_OK ? kept_heap(f, w->m, err) : rc;
}

static tide_code memory_area(tide_findings *f, const tide_model *m, bool replay, tide_error *err)
{
	tide_usage u;
	const struct memory w = { m, &u, replay };
	for (uint32_t d = 1; d < m->devices.n; d++)
		out_of_memory(f, m, d);
	tide_code rc =
		m->allocs.n > 1 ? tide__find_usage(m, UINT64_MAX, 0, &u, err) : TIDE_ENOTFOUND;
	if (rc == TIDE_ENOTFOUND)
		return TIDE_OK;
	if (rc != TIDE_OK)
		return rc;
	bool history = tide__fact_find(m, "loss.no_history") < 0; /* otherwise the peak is
	                                                           * unknown */
	for (uint32_t d = 1; d < m->devices.n && rc == TIDE_OK; d++) {
		if (m->devices.kind[d] == TIDE_DEVICE_HOST || !u.devices[d].peak)
			continue;
		if (history)
			f->looked[TIDE_AREA_MEMORY] = f->looked[TIDE_AREA_ALLOCATOR] = true;
		bool full = nearly_full(f, m, d, &u.devices[d]);
		rc = device_memory(f, &w, d, full, err);
	}
	if (rc == TIDE_OK)
		rc = host_memory(f, &w, err);
	tide__usage_free(&u);
	return rc;
}

/* ---- compile ---- */

static tide_code compile_area(tide_findings *f, const tide_model *m, tide_error *err)
{
	tide_compile_report r;
	tide_advice v[TIDE_COMPILE_ADVICE_MAX];
	if (!m->format || strcmp(m->format, "torchtrace") != 0)
		return TIDE_OK;
	tide_code rc = tide__compile_report_find(m, &r, err);
	if (rc != TIDE_OK)
		return rc;
	f->looked[TIDE_AREA_COMPILE] = true;
	size_t n = tide__compile_advise(m, &r, v);
	for (size_t i = 0; i < n; i++)
		add_advice(f, TIDE_AREA_COMPILE, &v[i]);
	tide__compile_report_free(&r);
	return TIDE_OK;
}

/* ---- the score ---- */

static int by_severity(const void *a, const void *b)
{
	const tide_finding *x = a, *y = b;
	if (x->severity != y->severity)
		return y->severity - x->severity;
	if (x->area != y->area)
		return (int)x->area - (int)y->area;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	int id = strcmp(x->id, y->id);
	return id ? id : (x->device > y->device) - (x->device < y->device);
}

static void grade(tide_findings *f)
{
	static const struct {
		int least;
		char grade;
	} grades[] = { { 90, 'A' }, { 75, 'B' }, { 60, 'C' }, { 40, 'D' }, { 0, 'F' } };
	bool any = false;
	int score = 100;
	for (int a = 0; a < TIDE_AREAS; a++)
		any |= f->looked[a];
	for (size_t i = 0; i < f->n; i++)
		score += f->v[i].points;
	f->score = !any ? -1 : score < 0 ? 0 : score > 100 ? 100 : score;
	for (size_t i = 0; any && !f->grade; i++)
		f->grade = f->score >= grades[i].least ? grades[i].grade : 0;
}

tide_code tide__collect_findings(const tide_model *m, const tide_findings_query *q,
				 tide_findings *out, tide_error *err)
{
	*out = (tide_findings){ .n = 0 };
	time_area(out, q->job);
	tide_code rc = memory_area(
		out, m, !q->most_replayed || m->memory_events.n <= q->most_replayed, err);
	if (rc == TIDE_OK)
		rc = compile_area(out, m, err);
	if (out->n)
		qsort(out->v, out->n, sizeof *out->v, by_severity);
	grade(out);
	return rc;
}
