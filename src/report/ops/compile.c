// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* compile: the work of torch.compile from a log. Each table is one grid, so text and JSON have the
 * same rows. */
#include "render/report/compile_runs.h"
#include "report/ops/compile.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/advice/compile_advice.h"
#include "report/report.h"

static size_t rows(size_t n, size_t top)
{
	return top && top < n ? top : n;
}

static void maybe(tide_grid *g, int64_t v)
{
	if (v < 0)
		tide__grid_none(g);
	else
		tide__grid_int(g, v);
}

static void text(tide_grid *g, const tide_model *m, tide_str s)
{
	if (s.i)
		tide__grid_text(g, tide__text(m, s, NULL));
	else
		tide__grid_none(g);
}

static void slice(tide_grid *g, tide_slice s)
{
	if (s.n)
		tide__grid_textn(g, s.s, s.n);
	else
		tide__grid_none(g);
}

/* ---- tables ---- */

static const tide_member unit_cols[] = {
	{ "rank", "Rank", TIDE_KIND_PLAIN, 1, TIDE_MAY_BE_NULL, "rank" },
	TIDE_COLUMN("compile_id", "Compile", TEXT, TIDE_MAY_BE_NULL,
		    "frame, and number of its earlier compiles"),
	{ "direction", "Direction", TIDE_KIND_TEXT, 5, 0, "forward or backward" },
	TIDE_COLUMN("total_ns", "Total", NS, TIDE_MAY_BE_NULL, "wall time of the compile"),
	TIDE_COLUMN("backend_ns", "Backend", NS, TIDE_MAY_BE_NULL, "part of it after tracing"),
	TIDE_COLUMN("inductor_ns", "Inductor", NS, TIDE_MAY_BE_NULL, "part of it in Inductor"),
	{ "codegen_ns", "Codegen", TIDE_KIND_NS, 2, TIDE_MAY_BE_NULL,
	  "part of it that makes code" },
	TIDE_COLUMN("triton_ns", NULL, NS, TIDE_MAY_BE_NULL, "time of worker processes"),
	TIDE_COLUMN("autotune_ns", NULL, NS, TIDE_MAY_BE_NULL, "time of choosing kernels"),
	TIDE_COLUMN("graph_ops", "Ops", COUNT, TIDE_MAY_BE_NULL, "ops of the traced graph"),
	TIDE_COLUMN("ops_before_fusion", NULL, COUNT, TIDE_MAY_BE_NULL,
		    "operators that were compiled"),
	TIDE_COLUMN("kernels", "Kernels", COUNT, TIDE_MAY_BE_NULL, "kernels that were generated"),
	TIDE_COLUMN("kernel_calls", "Calls", COUNT, TIDE_MAY_BE_NULL, "calls of these in one run"),
	TIDE_COLUMN("library_calls", NULL, COUNT, TIDE_MAY_BE_NULL,
		    "calls of library kernels in one run"),
	{ "guards", "Guards", TIDE_KIND_COUNT, 3, TIDE_MAY_BE_NULL, "guards" },
	TIDE_COLUMN("graph_breaks", "Breaks", COUNT, TIDE_MAY_BE_NULL, "graph breaks"),
	TIDE_COLUMN("restarts", NULL, COUNT, TIDE_MAY_BE_NULL, "times that tracing began again"),
	{ "fx_graph_cache", "Cache", TIDE_KIND_TEXT, 4, TIDE_MAY_BE_NULL,
	  "hit, miss, bypass or disabled" },
	TIDE_COLUMN("autograd_cache", NULL, TEXT, TIDE_MAY_BE_NULL,
		    "hit, miss, bypass or disabled"),
	TIDE_COLUMN("recompile_reason", NULL, TEXT, TIDE_MAY_BE_NULL, "guard that failed"),
	TIDE_COLUMN("fail_type", NULL, TEXT, TIDE_MAY_BE_NULL, "exception that ended it"),
	TIDE_COLUMN("fail_reason", NULL, TEXT, TIDE_MAY_BE_NULL, "its text"),
	TIDE_COLUMN("cudagraph_skip_reason", NULL, TEXT, TIDE_MAY_BE_NULL,
		    "reason for running without CUDA graphs"),
	TIDE_COLUMN("finished", NULL, PLAIN, 0, "1: it ended"),
	TIDE_COLUMN("file", NULL, TEXT, TIDE_MAY_BE_NULL, "source file"),
	TIDE_COLUMN("line", NULL, PLAIN, TIDE_MAY_BE_NULL, "line in it"),
	TIDE_COLUMN("function", "Function", TEXT, TIDE_MAY_BE_NULL, "function"),
	{ 0 },
};

static void put_unit(tide_grid *g, const tide_model *m, const tide_compile_unit *u)
{
	maybe(g, m->processes.rank[u->process]);
	text(g, m, u->id);
	tide__grid_text(g, u->backward ? "backward" : "forward");
	maybe(g, u->total_ns);
	maybe(g, u->backend_ns);
	maybe(g, u->inductor_ns);
	maybe(g, u->codegen_ns);
	maybe(g, u->triton_ns);
	maybe(g, u->autotune_ns);
	maybe(g, u->graph_ops);
	maybe(g, u->ops);
	maybe(g, u->kernels);
	maybe(g, u->launches);
	maybe(g, u->external);
	maybe(g, u->guards);
	maybe(g, u->breaks);
	maybe(g, u->restarts);
	text(g, m, u->fx_cache);
	text(g, m, u->autograd_cache);
	text(g, m, u->recompile_reason);
	text(g, m, u->fail_type);
	text(g, m, u->fail_reason);
	text(g, m, u->cudagraph_skip);
	tide__grid_int(g, u->finished);
	text(g, m, u->file);
	maybe(g, u->line);
	text(g, m, u->function);
}

static tide_grid *units(const tide_model *m, const tide_compile_report *r, size_t top)
{
	tide_grid *g = tide__grid_new(unit_cols, sizeof unit_cols / sizeof *unit_cols - 1);
	for (size_t i = 0; g && i < rows(r->n_units, top); i++)
		put_unit(g, m, &r->units[i]);
	return g;
}

static const tide_member break_cols[] = {
	TIDE_COLUMN("count", "Count", COUNT, 0, "times"),
	TIDE_COLUMN("retrace_ns", "Retrace", NS, 0, "tracing time discarded because of it"),
	TIDE_COLUMN("resume_ns", "Resume", NS, 0, "time to compile the code after it"),
	TIDE_COLUMN("compile_id", NULL, TEXT, TIDE_MAY_BE_NULL,
		    "frame, and number of its earlier compiles"),
	TIDE_COLUMN("location", NULL, TEXT, TIDE_MAY_BE_NULL, "source file"),
	TIDE_COLUMN("line_number", "Line", PLAIN, TIDE_MAY_BE_NULL, "line in it"),
	TIDE_COLUMN("reason", "Reason", TEXT, TIDE_MAY_BE_NULL, "reason"),
	TIDE_COLUMN("explanation", NULL, TEXT, TIDE_MAY_BE_NULL, "explanation by torch"),
	TIDE_COLUMN("hint", NULL, TEXT, TIDE_MAY_BE_NULL, "hint by torch"),
	TIDE_COLUMN("suggestion", NULL, TEXT, 0, "change that removes it"),
	{ 0 },
};

static tide_grid *breaks(const tide_model *m, const tide_compile_report *r, size_t top)
{
	tide_grid *g = tide__grid_new(break_cols, sizeof break_cols / sizeof *break_cols - 1);
	for (size_t i = 0; g && i < rows(r->n_breaks, top); i++) {
		const tide_graph_break *b = &r->breaks[i];
		tide__grid_uint(g, b->count);
		tide__grid_int(g, b->retrace_ns);
		tide__grid_int(g, b->resume_ns);
		text(g, m, b->id);
		text(g, m, b->file);
		maybe(g, b->line ? b->line : -1);
		slice(g, b->reason);
		slice(g, b->explanation);
		slice(g, b->hint);
		tide__grid_text(g, b->suggestion);
	}
	return g;
}

static const tide_member recompile_cols[] = {
	TIDE_COLUMN("count", "Count", COUNT, 0, "times"),
	TIDE_COLUMN("total_ns", "Total", NS, TIDE_MAY_BE_NULL, "wall time of the compile"),
	TIDE_COLUMN("function", "Function", TEXT, TIDE_MAY_BE_NULL, "function"),
	TIDE_COLUMN("file", NULL, TEXT, TIDE_MAY_BE_NULL, "source file"),
	TIDE_COLUMN("line", NULL, PLAIN, TIDE_MAY_BE_NULL, "line in it"),
	TIDE_COLUMN("reason", "Reason", TEXT, TIDE_MAY_BE_NULL, "reason"),
	{ 0 },
};

static tide_grid *recompiles(const tide_model *m, const tide_compile_report *r, size_t top)
{
	tide_grid *g =
		tide__grid_new(recompile_cols, sizeof recompile_cols / sizeof *recompile_cols - 1);
	char reason[1024];
	for (size_t i = 0; g && i < rows(r->n_recompiles, top); i++) {
		const tide_recompile *x = &r->recompiles[i];
		tide__grid_uint(g, x->count);
		tide__grid_int(g, x->total_ns);
		text(g, m, x->function);
		text(g, m, x->file);
		maybe(g, x->line);
		tide__grid_text(
			g, tide__guard_text(tide__text(m, x->reason, NULL), reason, sizeof reason));
	}
	return g;
}

static const tide_member stage_cols[] = {
	TIDE_COLUMN("count", "Count", COUNT, 0, "times"),
	TIDE_COLUMN("self_ns", "Self", NS, 0, "time without nested stages"),
	TIDE_COLUMN("wall_ns", "Wall", NS, 0, "time; nested stages of the same name count once"),
	TIDE_COLUMN("stage", "Stage", TEXT, TIDE_MAY_BE_NULL, "name of the stage"),
	{ 0 },
};

static tide_grid *stages(const tide_model *m, const tide_compile_report *r, size_t top)
{
	tide_grid *g = tide__grid_new(stage_cols, sizeof stage_cols / sizeof *stage_cols - 1);
	for (size_t i = 0; g && i < rows(r->n_stages, top); i++) {
		tide__grid_uint(g, r->stages[i].count);
		tide__grid_int(g, r->stages[i].self_ns);
		tide__grid_int(g, r->stages[i].wall_ns);
		text(g, m, r->stages[i].name);
	}
	return g;
}

typedef tide_grid *make_grid(const tide_model *m, const tide_compile_report *r, size_t top);

static const struct section {
	const char *key, *title;
	make_grid *make;
} sections[] = {
	{ "graph_breaks_list", "Graph breaks", breaks },
	{ "recompiles_list", "Recompiles", recompiles },
	{ "compiles", "Compiles", units },
	{ "stages", "Stages", stages },
};
enum { N_SECTIONS = sizeof sections / sizeof *sections };

/* ---- text ---- */

/* Prints "1 graph break", "2 graph breaks". */
static void put_count(int64_t n, const char *noun, const char *after, FILE *out)
{
	fprintf(out, "%" PRId64 " %s%s%s", n, noun, n == 1 ? "" : "s", after);
}

static void head(const tide_compile_report *r, FILE *out)
{
	char total[32];
	tide__fmt_ns(total, sizeof total, (double)r->total_ns);
	put_count((int64_t)r->n_units, "compile", ", ", out);
	fprintf(out, "%s in all; %" PRIu64 " failed, %" PRIu64 " without an end\n", total,
		r->failed, r->unfinished);
	put_count((int64_t)r->graph_breaks, "graph break", " at ", out);
	put_count((int64_t)r->n_breaks, "place", ", ", out);
	put_count((int64_t)r->recompiled, "recompile", ", ", out);
	put_count((int64_t)r->cudagraph_skips, "graph", " without CUDA graphs\n", out);
	if (r->kernels >= 0) {
		put_count((int64_t)r->graphs, "generated module", " with ", out);
		put_count(r->kernels, "kernel", "", out);
	}
	if (r->launches >= 0) {
		fprintf(out, "; %" PRId64 " ops became ", r->ops);
		put_count(r->launches, "kernel call", " and ", out);
		put_count(r->external, "library call", "", out);
		fprintf(out, " (%.1f ops a call)", tide__compile_fusion(r));
	}
	if (r->kernels >= 0)
		fputc('\n', out);
	for (size_t c = 0; c < TIDE_CACHES; c++)
		if (r->cache[c][0] + r->cache[c][1] + r->cache[c][2] + r->cache[c][3])
			fprintf(out,
				"%s cache: %" PRIu64 " hits, %" PRIu64 " misses, %" PRIu64
				" bypassed, %" PRIu64 " disabled\n",
				tide__cache_text[c], r->cache[c][TIDE_CACHE_HIT],
				r->cache[c][TIDE_CACHE_MISS], r->cache[c][TIDE_CACHE_BYPASS],
				r->cache[c][TIDE_CACHE_DISABLED]);
}

static void put_text(const char *s, size_t n, FILE *out)
{
	char safe[2048];
	fputs(tide__fmt_name(safe, sizeof safe, s, n, 0), out);
}

static void put_breaks(const tide_model *m, const tide_compile_report *r, size_t top, FILE *out)
{
	char again[32], after[32];
	for (size_t i = 0; i < rows(r->n_breaks, top); i++) {
		const tide_graph_break *b = &r->breaks[i];
		size_t n;
		const char *file = tide__text(m, b->file, &n);
		fputs("  ", out);
		if (n)
			put_text(file, n, out);
		else
			fputs("(place unknown)", out);
		fprintf(out,
			":%" PRId64 "  %" PRIu64 "x, %s traced again, %s to compile the rest\n",
			b->line, b->count, tide__fmt_ns(again, sizeof again, (double)b->retrace_ns),
			tide__fmt_ns(after, sizeof after, (double)b->resume_ns));
		fputs("    ", out);
		put_text(b->reason.s, b->reason.n < 500 ? b->reason.n : 500, out);
		fprintf(out, "\n    %s\n", b->suggestion);
		if (b->hint.n) {
			fputs("    torch: ", out);
			put_text(b->hint.s, b->hint.n < 500 ? b->hint.n : 500, out);
			fputc('\n', out);
		}
	}
}

static void put_advice(const tide_model *m, const tide_compile_report *r, FILE *out)
{
	tide_advice v[TIDE_COMPILE_ADVICE_MAX];
	char safe[1024];
	size_t n = tide__compile_advise(m, r, v);
	fputs("\nRecommendations\n", out);
	if (!n)
		fputs("  No significant issues detected.\n", out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "  %-6s %s\n", tide__severity_text[v[i].severity],
			tide__fmt_name(safe, sizeof safe, v[i].text, strlen(v[i].text), 0));
}

void tide__compile_text(const tide_model *m, const tide_compile_report *r, size_t top, FILE *out,
			const tide_style *style)
{
	head(r, out);
	for (size_t i = 0; i < N_SECTIONS; i++) {
		tide_grid *g = sections[i].make(m, r, top);
		if (g && tide__grid_rows(g)) {
			fprintf(out, "\n%s\n", sections[i].title);
			if (sections[i].make == breaks)
				put_breaks(m, r, top, out);
			else
				tide__grid_print(g, out, style, 2);
		}
		tide__grid_free(g);
	}
	put_advice(m, r, out);
}

/* ---- JSON ---- */

static void caches(const tide_compile_report *r, tide_json *j)
{
	tide__json_kobject(j, "caches");
	for (size_t c = 0; c < TIDE_CACHES; c++) {
		tide__json_kobject(j, tide__cache_text[c]);
		for (size_t s = 0; s < TIDE_CACHE_STATES; s++)
			tide__json_kuint(j, tide__cache_state_text[s], r->cache[c][s]);
		tide__json_object_end(j);
	}
	tide__json_object_end(j);
}

static void advice(const tide_model *m, const tide_compile_report *r, tide_json *j)
{
	tide_advice v[TIDE_COMPILE_ADVICE_MAX];
	size_t n = tide__compile_advise(m, r, v);
	tide__json_karray(j, "recommendations");
	for (size_t i = 0; i < n; i++) {
		tide__json_object(j);
		tide__json_kstr(j, "id", v[i].id);
		tide__json_kstr(j, "severity", tide__severity_text[v[i].severity]);
		tide__json_kstr(j, "figure", v[i].figure);
		tide__json_kfixed(j, "value", v[i].value, 4);
		tide__json_kfixed(j, "threshold", v[i].threshold, 4);
		tide__json_kstr(j, "text", v[i].text);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

void tide__compile_json(const tide_model *m, const tide_compile_report *r, size_t top, tide_json *j)
{
	double fusion = tide__compile_fusion(r);
	tide__json_kuint(j, "compile_count", r->n_units);
	tide__json_kuint(j, "failed", r->failed);
	tide__json_kuint(j, "unfinished", r->unfinished);
	tide__json_kint(j, "compile_ns", r->total_ns);
	tide__json_kuint(j, "graph_breaks", r->graph_breaks);
	tide__json_kuint(j, "graph_break_places", r->n_breaks);
	tide__json_kuint(j, "recompiles", r->recompiled);
	tide__json_kuint(j, "cudagraph_skips", r->cudagraph_skips);
	tide__json_kuint(j, "modules", r->graphs);
	tide__json_kint_if(j, "kernels", r->kernels >= 0, r->kernels);
	tide__json_kint_if(j, "ops_before_fusion", r->ops >= 0, r->ops);
	tide__json_kint_if(j, "ops_after_fusion", r->launches >= 0, r->launches + r->external);
	tide__json_kint_if(j, "kernel_calls", r->launches >= 0, r->launches);
	tide__json_kint_if(j, "library_calls", r->launches >= 0, r->external);
	if (fusion > 0)
		tide__json_kfixed(j, "fusion_ratio", fusion, 4);
	else
		tide__json_knull(j, "fusion_ratio");
	caches(r, j);
	for (size_t i = 0; i < N_SECTIONS; i++) {
		tide_grid *g = sections[i].make(m, r, top);
		if (g)
			tide__grid_write_member(g, j, sections[i].key);
		else
			tide__json_knull(j, sections[i].key);
	}
	advice(m, r, j);
}

/* ---- the report ---- */

enum { O_TOP };
static const tide_option options[] = {
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows of each table, 0 = all; JSON has all unless given", .def = "15",
		    .whole = true, TIDE_FIELD(tide_compile_options, top) },
};

struct compile {
	const tide_model *m;
	tide_compile_report c;
	size_t top;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct compile *x = result;
	x->m = ask->models[0];
	x->top = (size_t)ask->opt[O_TOP].num;
	return tide__compile_report_find(x->m, &x->c, err);
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct compile *x = result;
	tide__compile_text(x->m, &x->c, x->top, to->out, &to->style);
	tide__put_model_losses(to, x->m);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	struct compile *x = result;
	tide__compile_json(x->m, &x->c, x->top, j);
	tide__losses_json(j, x->m);
	return TIDE_OK;
}

static void free_compile(void *result)
{
	tide__compile_report_free(&((struct compile *)result)->c);
}

static const tide_member states[] = {
	TIDE_MEMBER("hit", COUNT, "compiles that used it"),
	TIDE_MEMBER("miss", COUNT, "compiles that were not in it"),
	TIDE_MEMBER("bypass", COUNT, "compiles that it cannot hold"),
	TIDE_MEMBER("disabled", COUNT, "compiles without it"),
	{ 0 },
};
static const tide_member cache_members[] = {
	TIDE_MEMBER_OF("fx_graph", OBJECT, states, "cache of Inductor's graphs"),
	TIDE_MEMBER_OF("autograd", OBJECT, states, "cache of AOTAutograd"),
	{ 0 },
};
static const tide_member advice_members[] = {
	TIDE_MEMBER("id", TEXT, "name of the rule"),
	{ .key = "severity",
	  .kind = TIDE_KIND_WORD,
	  .words = "info,medium,high",
	  .meaning = "how much it matters" },
	TIDE_MEMBER("figure", TEXT, "the figure that decides"),
	TIDE_MEMBER_MAYBE("value", REAL, "its value"),
	TIDE_MEMBER("threshold", REAL, "the threshold"),
	TIDE_MEMBER("text", TEXT, "what to do, with its figures"),
	{ 0 },
};
/* Figures of a log. `may_`: TIDE_MAY_BE_ABSENT where nothing may have been compiled. */
#define FIGURE(key_, kind_, may_, list, text)                                           \
	{                                                                               \
		.key = key_, .kind = TIDE_KIND_##kind_, .may = (may_), .members = list, \
		.meaning = text                                                         \
	}
#define FIGURES(may_)                                                                              \
	FIGURE("compile_count", COUNT, may_, NULL, "compiles"),                                    \
		FIGURE("failed", COUNT, may_, NULL, "compiles that failed"),                       \
		FIGURE("unfinished", COUNT, may_, NULL, "compiles without an end"),                \
		FIGURE("compile_ns", NS, may_, NULL, "sum of the compiles that ended"),            \
		FIGURE("graph_breaks", COUNT, may_, NULL, "graph breaks"),                         \
		FIGURE("graph_break_places", COUNT, may_, NULL, "places with graph breaks"),       \
		FIGURE("recompiles", COUNT, may_, NULL, "compiles because a guard failed"),        \
		FIGURE("cudagraph_skips", COUNT, may_, NULL, "graphs without CUDA graphs"),        \
		FIGURE("modules", COUNT, may_, NULL, "generated modules"),                         \
		FIGURE("kernels", COUNT, TIDE_MAY_BE_NULL | may_, NULL, "kernels in them"),        \
		FIGURE("ops_before_fusion", COUNT, TIDE_MAY_BE_NULL | may_, NULL,                  \
		       "operators of the compiled graphs"),                                        \
		FIGURE("ops_after_fusion", COUNT, TIDE_MAY_BE_NULL | may_, NULL,                   \
		       "calls of kernels in one run"),                                             \
		FIGURE("kernel_calls", COUNT, TIDE_MAY_BE_NULL | may_, NULL,                       \
		       "calls of generated kernels among them"),                                   \
		FIGURE("library_calls", COUNT, TIDE_MAY_BE_NULL | may_, NULL,                      \
		       "calls of library kernels among them"),                                     \
		FIGURE("fusion_ratio", REAL, TIDE_MAY_BE_NULL | may_, NULL, "operators by calls"), \
		FIGURE("caches", OBJECT, may_, cache_members, "caches of compiled code"),          \
		FIGURE("graph_breaks_list", TABLE, may_, break_cols, "graph breaks by cost"),      \
		FIGURE("recompiles_list", TABLE, may_, recompile_cols, "recompiles by time"),      \
		FIGURE("compiles", TABLE, may_, unit_cols, "compiles in order of time"),           \
		FIGURE("stages", TABLE, may_, stage_cols, "stages by their own time"),             \
		FIGURE("recommendations", TABLE, may_, advice_members, "what to do")
static const tide_member members[] = { FIGURES(0), TIDE_MEMBERS_LOSSES, { 0 } };
const tide_member tide__compile_program_members[] = {
	TIDE_COMPILE_RUN_MEMBERS,
	TIDE_MEMBER_REPORT("memory_diff", "diff", TIDE_MAY_BE_NULL | TIDE_MAY_BE_ABSENT,
			   "with --memory: against eager"),
	{ .key = "eager",
	  .kind = TIDE_KIND_OBJECT,
	  .may = TIDE_MAY_BE_ABSENT,
	  .members = tide__compile_run_members,
	  .meaning = "with --mode: the run in eager mode" },
	FIGURES(TIDE_MAY_BE_ABSENT),
	FIGURE("losses", MAP, TIDE_MAY_BE_ABSENT, &tide__member_any, "lost and repaired data"),
	TIDE_MEMBER_IF("recovered_events", COUNT, "events read from rings"),
	{ 0 },
};

const tide_report_type tide__report_compile = {
	.name = "compile",
	.group = TIDE_GROUP_TIME,
	.want = TIDE_WANT_SPANS | TIDE_WANT_ARGS,
	.summary = "report on torch.compile: graph breaks, recompiles, kernels, stages",
	.help = "Reads a log that torch writes with TORCH_TRACE=FOLDER: what was compiled, how often and why, "
		"and what it cost.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_compile_options),
	.size = sizeof(struct compile),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_compile,
};
