// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* export: a trace in the format of another tool. */
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "analyze/common/interval_set.h"
#include "cli/cli.h"
#include "cli/select.h"
#include "render/text/out.h"
#include "cli/job/ranks.h"
#include "render/export/export.h"
#include "render/export/overlay.h"

enum { O_TO, O_OUTPUT, O_GZIP, O_KIND, O_BY, O_MERGE, O_DEVICE, O_OVERLAY };
static const tide_option options[] = {
	[O_TO] = { "to", 't', TIDE_OPT_ENUM, "chrome,perfetto,pprof,speedscope,folded,snapshot",
		   "which format (default: by the name of FILE)" },
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "FILE", "write to FILE; .gz is gzipped" },
	[O_GZIP] = { "gzip", 'z', TIDE_OPT_FLAG, NULL, "gzip regardless of the name of FILE" },
	[O_KIND] = { "kind", 'k', TIDE_OPT_ENUM, "cpu,gpu,memory",
		     "pprof, folded: the weight (default: cpu, else gpu, else memory)" },
	[O_BY] = { "by", 0, TIDE_OPT_ENUM, "auto,stack,op", "memory: call stacks or op paths",
		   .def = "auto" },
	[O_MERGE] = { "merge", 'm', TIDE_OPT_FLAG, NULL,
		      "pprof, folded: one tree for all threads" },
	[O_DEVICE] = { "device", 'd', TIDE_OPT_TEXT, "DEVICE",
		       "memory: of this device (default: the highest peak)" },
	[O_OVERLAY] = { "overlay", 0, TIDE_OPT_TEXT, "LIST",
			"chrome, perfetto: add what analyses found as tracks: all, or a list of "
			"critical-path, queue, bandwidth, findings" },
};

static int list_formats(const tide_args *a)
{
	char list[300] = "";
	for (const tide_exporter *const *e = tide__exporters; *e; e++)
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "",
			 (*e)->name);
	return tide__cli_fail_usage(a, "choose a format with --to (%s)", list);
}

static const tide_exporter *format_of(const tide_args *a)
{
	if (a->opt[O_TO].set)
		return tide__exporter_find(a->opt[O_TO].text);
	return a->opt[O_OUTPUT].set ? tide__exporter_for(a->opt[O_OUTPUT].text) : NULL;
}

static bool wants_gzip(const tide_args *a)
{
	const char *path = a->opt[O_OUTPUT].set ? a->opt[O_OUTPUT].text : "";
	size_t n = strlen(path);
	return a->opt[O_GZIP].set || (n > 3 && !strcasecmp(path + n - 3, ".gz"));
}

/* Returns host time if there is host work, else device time, else memory if there is any. */
static tide_flame_kind guess_kind(const tide_model *m)
{
	tide_flame_kind kind = m->allocs.n > 1 ? TIDE_FLAME_MEMORY : TIDE_FLAME_CPU;
	for (size_t i = 1; i < m->spans.n; i++) {
		tide_side side = tide__side(m, i);
		if (side == TIDE_SIDE_CPU)
			return TIDE_FLAME_CPU;
		if (side == TIDE_SIDE_GPU)
			kind = TIDE_FLAME_GPU;
	}
	return kind;
}

static void notes(const tide_export_stats *st)
{
	if (st->empty)
		tide__cli_note(
			"note: the trace has no data of that kind: the file is empty (--kind)");
	if (st->extra_tracks)
		tide__cli_note("note: %llu track%s added for spans that do not nest in their lane",
			       (unsigned long long)st->extra_tracks,
			       st->extra_tracks == 1 ? " was" : "s were");
	tide__cli_note_truncated(st->cut_texts);
	if (st->cut_spans)
		tide__cli_note("note: %llu span%s cut short so that they nest",
			       (unsigned long long)st->cut_spans,
			       st->cut_spans == 1 ? " was" : "s were");
}

/* Reads --overlay into *what. Returns the exit status of a wrong word. */
static int read_overlay(const tide_args *a, unsigned *what)
{
	*what = 0;
	if (!a->opt[O_OVERLAY].set)
		return 0;
	for (const char *s = a->opt[O_OVERLAY].text; *s;) {
		char word[32];
		size_t n = strcspn(s, ",");
		snprintf(word, sizeof word, "%.*s", (int)(n < 31 ? n : 31), s);
		int bit = tide__word_index(TIDE_OVERLAY_WORDS, word);
		if (bit < 0 && strcmp(word, "all") != 0)
			return tide__cli_fail_usage(a,
						    "--overlay: '%s' is none of all, "
						    "critical-path, queue, bandwidth, findings",
						    word);
		*what |= bit < 0 ? TIDE_OVERLAY_ALL : 1u << bit;
		s += n + (s[n] == ',');
	}
	return 0;
}

static int write_out(const tide_args *a, const tide_exporter *e, const tide_model *m,
		     const tide_overlay *overlay)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_export_stats st;
	tide_export_options o = { .overlay = overlay };
	o.flame.merge = a->opt[O_MERGE].set;
	o.flame.max_depth = TIDE_FLAME_DEEP;
	o.flame.by = (tide_flame_by)a->opt[O_BY].num;
	o.flame.kind = a->opt[O_KIND].set ? (tide_flame_kind)a->opt[O_KIND].num : guess_kind(m);
	if (a->opt[O_DEVICE].set) {
		o.flame.device = tide__device_find(m, a->opt[O_DEVICE].text);
		if (!o.flame.device)
			return tide__cli_fail_no_device(a, m, a->opt[O_DEVICE].text);
	}
	if (tide__export(e, m, &o, wants_gzip(a), a->out, &st, &err) != TIDE_OK)
		return tide__cli_fail(tide__cli_output_name(a), &err);
	notes(&st);
	char spans[32], allocs[32];
	tide__cli_wrote("spans: %s, allocations: %s; %s",
			tide__fmt_count(spans, sizeof spans, (int64_t)m->spans.n - 1),
			tide__fmt_count(allocs, sizeof allocs, (int64_t)m->allocs.n - 1), e->what);
	return tide__cli_finish(a);
}

/* Writes one trace, with what analyses found in it. */
static int write_one(const tide_args *a, const tide_exporter *e, const tide_model *m,
		     const char *file, unsigned what)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_overlay o;
	if (!what)
		return write_out(a, e, m, NULL);
	tide_code rc = tide__overlay_make(m, file, what, &o, &err);
	if (rc == TIDE_OK && o.no_path)
		tide__cli_note("note: no critical path: %s", o.no_path);
	int status = rc == TIDE_OK ? write_out(a, e, m, &o) : tide__cli_fail(file, &err);
	tide__overlay_free(&o);
	return status;
}

/* ---- several ranks ---- */

struct ranks {
	const tide_args *a;
	tide_rank_files files;
	tide_model *m; /* owned: the one being written */
};

static int64_t rank_of(const tide_model *m, const char *path)
{
	for (size_t p = 1; p < m->processes.n; p++)
		if (m->processes.rank[p] >= 0)
			return m->processes.rank[p];
	return tide__rank_in_name(path);
}

/* All data, with launch figures of kernels and shapes of ops. */
enum {
	WANTED = TIDE_WANT_SPANS | TIDE_WANT_MEMORY | TIDE_WANT_ARGS | TIDE_WANT_FLOWS |
		 TIDE_WANT_SHAPES | TIDE_WANT_LAUNCH
};

static const tide_model *load_rank(void *user, size_t i, int64_t *rank)
{
	struct ranks *r = user;
	tide__model_free(r->m);
	r->m = tide__cli_load(r->a, r->files.v[i].path, WANTED);
	if (r->m)
		*rank = rank_of(r->m, r->files.v[i].path);
	return r->m;
}

/* Writes several ranks into one file; unreadable traces are reported and left out. */
static int write_ranks(const tide_args *a, const tide_exporter *e, struct ranks *r)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_export_ranks of = { r->files.n, load_rank, r };
	tide_export_stats st;
	if (!e->write_ranks)
		return tide__cli_fail_usage(
			a,
			"%s holds one trace, and there are %zu (chrome and perfetto "
			"hold several)",
			e->name, r->files.n);
	if (tide__export_ranks(e, &of, wants_gzip(a), a->out, &st, &err) != TIDE_OK)
		return tide__cli_fail(tide__cli_output_name(a), &err);
	if (!st.traces)
		return 1;
	if (st.traces < r->files.n)
		tide__cli_note("tidemark export: %zu of %zu traces could not be read",
			       r->files.n - st.traces, r->files.n);
	if (st.untimed)
		tide__cli_note("note: %zu of %zu traces have no start time: they are placed at the "
			       "first one's start",
			       st.untimed, st.traces);
	notes(&st);
	tide__cli_wrote("traces: %zu; %s", st.traces, e->what);
	return tide__cli_finish(a);
}

static int run(const tide_args *a)
{
	const tide_exporter *e = format_of(a);
	if (!e)
		return list_formats(a);
	if ((e->binary || wants_gzip(a)) && isatty(fileno(a->out)))
		return tide__cli_fail_usage(
			a, "this would write binary data to the terminal: use -o FILE");
	unsigned overlay;
	if (read_overlay(a, &overlay))
		return 2;
	if (overlay && strcmp(e->name, "chrome") != 0 && strcmp(e->name, "perfetto") != 0)
		return tide__cli_fail_usage(a, "--overlay needs chrome or perfetto");
	bool one = a->n_files == 1 && !strcmp(a->files[0], "-");
	struct ranks r = { .a = a };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	int rc = 1;
	if (!one && tide__ranks_expand(a->files, a->n_files, &r.files, &err) != TIDE_OK)
		return tide__cli_fail(NULL, &err);
	if (one || r.files.n == 1) {
		const char *file = one ? "-" : r.files.v[0].path;
		r.m = tide__cli_load(a, file, WANTED | (overlay ? TIDE_WANT_RAW : 0));
		if (r.m)
			rc = write_one(a, e, r.m, file, overlay);
	} else if (overlay) {
		rc = tide__cli_fail_usage(a, "--overlay works with one trace");
	} else {
		rc = write_ranks(a, e, &r);
	}
	tide__model_free(r.m);
	tide__ranks_free(&r.files);
	return rc;
}

const tide_command tide__cmd_export = {
	.name = "export",
	.usage = "TRACE... --to FORMAT [-o FILE]",
	.summary = "write a trace in the format of another tool",
	.help = "Formats: chrome (JSON as PyTorch's profiler writes it), perfetto (.pftrace), "
		"pprof (.pb.gz), speedscope (.speedscope.json), folded (stacks, one per line), "
		"snapshot (torch's memory snapshot). Spans are written strictly nested; spans "
		"that do not nest in their thread or stream go to separate tracks. Several "
		"traces, or a folder of them, become one chrome or perfetto file with separate "
		"processes. docs/guide/export.md lists what each format keeps.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.ranks = true,
	.raw = true,
	.run = run,
	.page = "",
};
