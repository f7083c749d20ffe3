// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* inference: iterations of a server, prefill and decode. */
#include "analyze/device/inference.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "report/report.h"

enum { O_TOP };
static const tide_option options[] = {
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "iterations to show, 0 = all; JSON has all unless given", .def = "20",
		    .whole = true },
};

struct inference {
	const tide_model *m;
	tide_inference x;
	size_t top;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct inference *r = result;
	r->m = ask->models[0];
	r->top = (size_t)ask->opt[O_TOP].num;
	return tide__find_inference(r->m, &r->x, err);
}

/* clang-format off */
#define COL(key, heading, kind, text) { key, heading, TIDE_KIND_##kind, .meaning = text }
#define MAY(key, heading, kind, text) \
	{ key, heading, TIDE_KIND_##kind, .may = TIDE_MAY_BE_NULL, .meaning = text }
/* clang-format on */

static const tide_member kinds[] = {
	COL("kind", "Kind", TEXT, "prefill, decode, mixed, unknown"),
	COL("count", "Iterations", COUNT, "iterations"),
	MAY("requests", "Requests", COUNT, "sum of their requests"),
	MAY("tokens", "Tokens", COUNT, "tokens that they computed"),
	MAY("tokens_per_s", "Tokens/s", REAL, "tokens / sum of latencies"),
	COL("p50_ns", "p50", NS, "median latency, nearest rank"),
	COL("p90_ns", "p90", NS, "90th percentile"),
	COL("p99_ns", "p99", NS, "99th percentile"),
	COL("mean_ns", "Mean", NS, "mean latency"),
	COL("min_ns", NULL, NS, "shortest"),
	COL("max_ns", "Longest", NS, "longest"),
	COL("latency_ns", NULL, NS, "sum of latencies"),
	COL("device_ns", "Device", NS, "time of their device rows"),
	COL("device_p50_ns", NULL, NS, "median device time of an iteration"),
	COL("device_p90_ns", NULL, NS, "90th percentile"),
	COL("device_p99_ns", NULL, NS, "99th percentile"),
	{ 0 },
};
static const tide_member iterations[] = {
	COL("index", "#", COUNT, "from 0, by start"),
	COL("kind", "Kind", TEXT, "prefill, decode, mixed, unknown"),
	COL("start_ns", "Start", AT, "start of its range or module"),
	COL("latency_ns", "Latency", NS,
	    "from its start to the end of its last device row, or its end"),
	COL("host_ns", NULL, NS, "length of its range or module"),
	COL("device_ns", "Device", NS, "sum of the durations of its device rows"),
	COL("busy_ns", "Busy", NS, "time in which at least one of them runs"),
	COL("rows", "Rows", COUNT, "device rows launched in it"),
	COL("graph_launches", "Graphs", COUNT, "launches of CUDA or HIP graphs"),
	MAY("prefill_requests", "Prefills", COUNT, "requests whose prompt it computes"),
	MAY("prefill_tokens", "Prompt tokens", COUNT, "tokens of these"),
	MAY("decode_requests", "Decodes", COUNT, "requests for which it generates"),
	MAY("decode_tokens", "New tokens", COUNT, "tokens of these"),
	MAY("context_tokens", "Context", COUNT, "tokens in the caches that attention reads"),
	COL("name", NULL, NAME, "name of the range or module"),
	{ 0 },
};

static void put_count(tide_grid *g, int64_t v)
{
	v < 0 ? tide__grid_none(g) : tide__grid_int(g, v);
}

static tide_grid *kinds_of(const tide_inference *x)
{
	tide_grid *g = tide__grid_new(kinds, tide__member_count(kinds));
	for (int k = 0; k < TIDE_N_ITERATIONS; k++) {
		const tide_iteration_group *o = &x->kind[k];
		int64_t ns = tide__stat_sum(&o->latency);
		if (!o->latency.n)
			continue;
		tide__grid_text(g, tide__iteration_text[k]);
		tide__grid_uint(g, o->latency.n);
		put_count(g, o->requests);
		put_count(g, o->tokens);
		tide__grid_real(g, o->tokens >= 0 && ns > 0 ? 1e9 * (double)o->tokens / (double)ns
							    : (double)NAN);
		tide__grid_int(g, o->p50);
		tide__grid_int(g, o->p90);
		tide__grid_int(g, o->p99);
		tide__grid_int(g, tide__stat_mean(&o->latency));
		tide__grid_int(g, o->latency.min);
		tide__grid_int(g, o->latency.max);
		tide__grid_int(g, ns);
		tide__grid_int(g, tide__stat_sum(&o->device));
		tide__grid_int(g, o->device_p50);
		tide__grid_int(g, o->device_p90);
		tide__grid_int(g, o->device_p99);
	}
	return g;
}

static tide_grid *iterations_of(const struct inference *r)
{
	tide_grid *g = tide__grid_new(iterations, tide__member_count(iterations));
	const tide_model *m = r->m;
	for (size_t i = 0; i < r->x.n && (!r->top || i < r->top); i++) {
		const tide_iteration *it = &r->x.v[i];
		size_t n;
		const char *name = tide__text(m, m->spans.name[it->span], &n);
		tide__grid_uint(g, i);
		tide__grid_text(g, tide__iteration_text[it->kind]);
		tide__grid_int(g, m->spans.t0[it->span]);
		tide__grid_int(g, it->latency_ns);
		tide__grid_int(g, it->host_ns);
		tide__grid_int(g, it->device_ns);
		tide__grid_int(g, it->busy_ns);
		tide__grid_uint(g, it->device_rows);
		tide__grid_uint(g, it->graph_launches);
		put_count(g, it->of.prefill_requests);
		put_count(g, it->of.prefill_tokens);
		put_count(g, it->of.decode_requests);
		put_count(g, it->of.decode_tokens);
		put_count(g, it->of.context_tokens);
		tide__grid_textn(g, name, n);
	}
	return g;
}

static const char *const sources[] = { NULL, "server", "ranges", "modules" };

static bool print_table(tide_grid *g, size_t all, const char *heading, const tide_out *to)
{
	bool ok = g && !tide__grid_failed(g);
	if (ok && tide__grid_rows(g)) {
		tide__write_heading(to, "%s", heading);
		tide__grid_print(g, to->out, &to->style, 2);
		if (all > tide__grid_rows(g))
			fprintf(to->out, "  (%zu more)\n", all - tide__grid_rows(g));
		fputs("\n", to->out);
	}
	tide__grid_free(g);
	return ok;
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct inference *r = result;
	char a[32], b[32];
	if (!r->x.n)
		fputs("The trace has no iterations: no range of vLLM or SGLang, none with prefill or "
		      "decode in its name, and no module.\n",
		      to->out);
	bool ok = print_table(kinds_of(&r->x), 0, "Iterations by kind", to) &&
		  print_table(iterations_of(r), r->x.n, "Iterations", to);
	if (ok && r->x.n && r->x.outside_ns)
		fprintf(to->out, "Device time outside iterations: %s of %s\n",
			tide__fmt_ns(a, sizeof a, (double)r->x.outside_ns),
			tide__fmt_ns(b, sizeof b, (double)r->x.device_ns));
	if (ok)
		tide__put_model_losses(to, r->m);
	return ok ? TIDE_OK : TIDE_ENOMEM;
}

static tide_code write_json(void *result, tide_json *j)
{
	struct inference *r = result;
	tide_grid *g[] = { kinds_of(&r->x), iterations_of(r) };
	static const char *const keys[] = { "kinds", "iterations" };
	bool ok = g[0] && g[1] && !tide__grid_failed(g[0]) && !tide__grid_failed(g[1]);
	tide__json_kstr(j, "source", sources[r->x.source]);
	tide__json_kuint(j, "count", r->x.n);
	tide__json_kint(j, "device_ns", r->x.device_ns);
	tide__json_kint(j, "outside_ns", r->x.outside_ns);
	for (size_t i = 0; i < 2; i++) {
		if (ok)
			tide__grid_write_member(g[i], j, keys[i]);
		else
			tide__grid_free(g[i]);
	}
	tide__losses_json(j, r->m);
	return ok ? TIDE_OK : TIDE_ENOMEM;
}

static void free_result(void *result)
{
	tide__inference_free(&((struct inference *)result)->x);
}

static const tide_member members[] = {
	{ .key = "source",
	  .kind = TIDE_KIND_WORD,
	  .words = "server,ranges,modules",
	  .may = TIDE_MAY_BE_NULL,
	  .meaning = "what showed the iterations" },
	TIDE_MEMBER("count", COUNT, "iterations, also those beyond --top"),
	TIDE_MEMBER("device_ns", NS, "sum of the durations of all device rows"),
	TIDE_MEMBER("outside_ns", NS, "part of it that no iteration launched"),
	TIDE_MEMBER_OF("kinds", TABLE, kinds, "iterations by kind"),
	TIDE_MEMBER_OF("iterations", TABLE, iterations, "iterations by start"),
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_inference = {
	.name = "inference",
	.group = TIDE_GROUP_TIME,
	.want = TIDE_WANT_SPANS | TIDE_WANT_SHAPES,
	.summary = "split a serving trace into prefill and decode iterations",
	.help = "Shows each iteration of an inference server with its requests, tokens, latency and "
		"device time, and percentiles by kind. Iterations are ranges of vLLM and SGLang, else "
		"ranges with prefill or decode in their name, else calls of the outermost module.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.size = sizeof(struct inference),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_result,
};
