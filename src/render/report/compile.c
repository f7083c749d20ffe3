// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See compile.h. Each table is one grid, so text and JSON have the same rows. */
#include "render/report/compile.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/advice/compile_advice.h"

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

static const tide_grid_col unit_cols[] = {
	{ "rank", "Rank", TIDE_CELL_PLAIN, 1 },
	{ "compile_id", "Compile", TIDE_CELL_TEXT },
	{ "direction", "Direction", TIDE_CELL_TEXT, 5 },
	{ "total_ns", "Total", TIDE_CELL_NS },
	{ "backend_ns", "Backend", TIDE_CELL_NS },
	{ "inductor_ns", "Inductor", TIDE_CELL_NS },
	{ "codegen_ns", "Codegen", TIDE_CELL_NS, 2 },
	{ "triton_ns", NULL, TIDE_CELL_NS },
	{ "autotune_ns", NULL, TIDE_CELL_NS },
	{ "graph_ops", "Ops", TIDE_CELL_COUNT },
	{ "ops_before_fusion", NULL, TIDE_CELL_COUNT },
	{ "kernels", "Kernels", TIDE_CELL_COUNT },
	{ "kernel_calls", "Calls", TIDE_CELL_COUNT },
	{ "library_calls", NULL, TIDE_CELL_COUNT },
	{ "guards", "Guards", TIDE_CELL_COUNT, 3 },
	{ "graph_breaks", "Breaks", TIDE_CELL_COUNT },
	{ "restarts", NULL, TIDE_CELL_COUNT },
	{ "fx_graph_cache", "Cache", TIDE_CELL_TEXT, 4 },
	{ "autograd_cache", NULL, TIDE_CELL_TEXT },
	{ "recompile_reason", NULL, TIDE_CELL_TEXT },
	{ "fail_type", NULL, TIDE_CELL_TEXT },
	{ "fail_reason", NULL, TIDE_CELL_TEXT },
	{ "cudagraph_skip_reason", NULL, TIDE_CELL_TEXT },
	{ "finished", NULL, TIDE_CELL_PLAIN },
	{ "file", NULL, TIDE_CELL_TEXT },
	{ "line", NULL, TIDE_CELL_PLAIN },
	{ "function", "Function", TIDE_CELL_TEXT },
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
	tide_grid *g = tide__grid_new(unit_cols, sizeof unit_cols / sizeof *unit_cols);
	for (size_t i = 0; g && i < rows(r->n_units, top); i++)
		put_unit(g, m, &r->units[i]);
	return g;
}

static const tide_grid_col break_cols[] = {
	{ "count", "Count", TIDE_CELL_COUNT },	 { "retrace_ns", "Retrace", TIDE_CELL_NS },
	{ "resume_ns", "Resume", TIDE_CELL_NS }, { "compile_id", NULL, TIDE_CELL_TEXT },
	{ "location", NULL, TIDE_CELL_TEXT },	 { "line_number", "Line", TIDE_CELL_PLAIN },
	{ "reason", "Reason", TIDE_CELL_TEXT },	 { "explanation", NULL, TIDE_CELL_TEXT },
	{ "hint", NULL, TIDE_CELL_TEXT },	 { "suggestion", NULL, TIDE_CELL_TEXT },
};

static tide_grid *breaks(const tide_model *m, const tide_compile_report *r, size_t top)
{
	tide_grid *g = tide__grid_new(break_cols, sizeof break_cols / sizeof *break_cols);
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

static const tide_grid_col recompile_cols[] = {
	{ "count", "Count", TIDE_CELL_COUNT },	    { "total_ns", "Total", TIDE_CELL_NS },
	{ "function", "Function", TIDE_CELL_TEXT }, { "file", NULL, TIDE_CELL_TEXT },
	{ "line", NULL, TIDE_CELL_PLAIN },	    { "reason", "Reason", TIDE_CELL_TEXT },
};

static tide_grid *recompiles(const tide_model *m, const tide_compile_report *r, size_t top)
{
	tide_grid *g =
		tide__grid_new(recompile_cols, sizeof recompile_cols / sizeof *recompile_cols);
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

static const tide_grid_col stage_cols[] = {
	{ "count", "Count", TIDE_CELL_COUNT },
	{ "self_ns", "Self", TIDE_CELL_NS },
	{ "wall_ns", "Wall", TIDE_CELL_NS },
	{ "stage", "Stage", TIDE_CELL_TEXT },
};

static tide_grid *stages(const tide_model *m, const tide_compile_report *r, size_t top)
{
	tide_grid *g = tide__grid_new(stage_cols, sizeof stage_cols / sizeof *stage_cols);
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
