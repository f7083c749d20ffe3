// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See compile_advice.h. One function per rule; a rule without evidence adds nothing. */
#include "analyze/advice/compile_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct rules {
	const tide_model *m;
	const tide_compile_report *r;
	tide_advice *out;
	size_t n;
} rules;

static tide_advice *rule(rules *w, const char *id, const char *figure, double value,
			 double threshold, int severity)
{
	tide_advice *a = &w->out[w->n++];
	*a = (tide_advice){ .id = id,
			    .figure = figure,
			    .value = value,
			    .threshold = threshold,
			    .severity = severity };
	return a;
}

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

static int cut(size_t n, size_t most)
{
	return (int)(n < most ? n : most);
}

static void failures(rules *w)
{
	if (!w->r->failed)
		return;
	tide_advice *a =
		rule(w, "compile_failed", "failed", (double)w->r->failed, 0, TIDE_ADVICE_HIGH);
	const tide_compile_unit *u = w->r->units;
	while (!u->fail_type.i)
		u++;
	char why[161];
	tide__guard_text(tide__text(w->m, u->fail_reason, NULL), why, sizeof why);
	snprintf(a->bottleneck, sizeof a->bottleneck, "%" PRIu64 " compiles failed", w->r->failed);
	snprintf(a->text, sizeof a->text,
		 "%" PRIu64 " compile%s failed and run%s eagerly. The first is %.80s: %.60s%s%s.",
		 w->r->failed, w->r->failed == 1 ? "" : "s", w->r->failed == 1 ? "s" : "",
		 tide__text(w->m, u->function, NULL), tide__text(w->m, u->fail_type, NULL),
		 why[0] ? ": " : "", why);
}

static void breaks(rules *w)
{
	const tide_compile_report *r = w->r;
	if (!r->graph_breaks)
		return;
	const tide_graph_break *b = &r->breaks[0];
	int64_t cost = 0;
	for (size_t i = 0; i < r->n_breaks; i++)
		cost += r->breaks[i].retrace_ns;
	bool high = r->total_ns > 0 && cost > r->total_ns / 5;
	tide_advice *a = rule(w, "graph_breaks", "graph_breaks", (double)r->graph_breaks, 0,
			      high ? TIDE_ADVICE_HIGH : TIDE_ADVICE_MEDIUM);
	const char *breaks = r->graph_breaks == 1 ? "" : "s", *places = r->n_breaks == 1 ? "" : "s";
	snprintf(a->bottleneck, sizeof a->bottleneck, "%" PRIu64 " graph break%s at %zu place%s",
		 r->graph_breaks, breaks, r->n_breaks, places);
	snprintf(
		a->text, sizeof a->text,
		"Found %" PRIu64
		" graph break%s at %zu place%s, which took %.3f s of tracing again. "
		"Consider using fullgraph=True and fixing breaks for best performance. The costliest "
		"is at %.90s:%" PRId64 ": %.*s. %s.",
		r->graph_breaks, breaks, r->n_breaks, places, seconds(cost),
		tide__text(w->m, b->file, NULL), b->line, cut(b->reason.n, 80), b->reason.s,
		b->suggestion);
}

static void recompiles(rules *w)
{
	const tide_compile_report *r = w->r;
	if (!r->n_recompiles)
		return;
	const tide_recompile *x = &r->recompiles[0];
	char reason[161];
	tide__guard_text(tide__text(w->m, x->reason, NULL), reason, sizeof reason);
	bool shape = strstr(reason, "size mismatch") || strstr(reason, "shape");
	int64_t ns = 0;
	for (size_t i = 0; i < r->n_recompiles; i++)
		ns += r->recompiles[i].total_ns;
	tide_advice *a =
		rule(w, "recompiles", "recompiles", (double)r->recompiled, 0, TIDE_ADVICE_MEDIUM);
	snprintf(a->bottleneck, sizeof a->bottleneck, "%" PRIu64 " recompiles, %.3f s",
		 r->recompiled, seconds(ns));
	snprintf(
		a->text, sizeof a->text,
		"%" PRIu64 " recompiles took %.3f s. The costliest is of %.60s: %s. %s",
		r->recompiled, seconds(ns), tide__text(w->m, x->function, NULL), reason,
		shape ? "Pad inputs to a few sizes, or use torch._dynamo.mark_dynamic or dynamic=True."
		      : "Keep what the guard checks constant between calls.");
}

static void cudagraphs(rules *w)
{
	if (!w->r->cudagraph_skips)
		return;
	const tide_compile_unit *u = w->r->units;
	while (!u->cudagraph_skip.i)
		u++;
	tide_advice *a = rule(w, "cudagraph_skips", "cudagraph_skips",
			      (double)w->r->cudagraph_skips, 0, TIDE_ADVICE_MEDIUM);
	snprintf(a->bottleneck, sizeof a->bottleneck, "%" PRIu64 " graphs run without CUDA graphs",
		 w->r->cudagraph_skips);
	snprintf(a->text, sizeof a->text,
		 "%" PRIu64 " compiled graphs run without CUDA graphs. The first reason: %.240s",
		 w->r->cudagraph_skips, tide__text(w->m, u->cudagraph_skip, NULL));
}

static void slow(rules *w)
{
	const tide_compile_report *r = w->r;
	if (r->total_ns <= INT64_C(30) * 1000000000)
		return;
	uint64_t hits = r->cache[TIDE_CACHE_FX][TIDE_CACHE_HIT],
		 misses = r->cache[TIDE_CACHE_FX][TIDE_CACHE_MISS];
	tide_advice *a =
		rule(w, "compile_time", "compile_s", seconds(r->total_ns), 30, TIDE_ADVICE_MEDIUM);
	snprintf(a->bottleneck, sizeof a->bottleneck, "compiling took %.1f s",
		 seconds(r->total_ns));
	snprintf(
		a->text, sizeof a->text,
		"High compilation time (%.1f s; %" PRIu64 " graph cache hit%s, %" PRIu64
		" miss%s). Keep TORCHINDUCTOR_CACHE_DIR between runs, or save compiled models with "
		"torch.export.",
		seconds(r->total_ns), hits, hits == 1 ? "" : "s", misses, misses == 1 ? "" : "es");
}

static void fusion(rules *w)
{
	double f = tide__compile_fusion(w->r);
	int64_t calls = w->r->launches + w->r->external;
	if (f <= 2)
		return;
	tide_advice *a = rule(w, "fusion", "fusion_ratio", f, 2, TIDE_ADVICE_INFO);
	snprintf(a->text, sizeof a->text,
		 "Good kernel fusion: %" PRId64 " ops → %" PRId64 " call%s (%.1fx reduction)",
		 w->r->ops, calls, calls == 1 ? "" : "s", f);
}

static int by_severity(const void *a, const void *b)
{
	return ((const tide_advice *)b)->severity - ((const tide_advice *)a)->severity;
}

size_t tide__compile_advise(const tide_model *m, const tide_compile_report *r,
			    tide_advice out[TIDE_COMPILE_ADVICE_MAX])
{
	static void (*const all[])(rules *) = { failures,   breaks, recompiles,
						cudagraphs, slow,   fusion };
	rules w = { m, r, out, 0 };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		all[i](&w);
	if (w.n)
		qsort(out, w.n, sizeof *out, by_severity);
	return w.n;
}
