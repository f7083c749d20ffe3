// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* export: a trace in the format of another tool. */
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "analyze/cover.h"
#include "cli/cli.h"
#include "cli/names.h"
#include "render/export.h"

enum { O_TO, O_OUTPUT, O_GZIP, O_KIND, O_BY, O_MERGE, O_DEVICE };
static const tide_option options[] = {
	[O_TO] = { "to", 't', TIDE_OPT_TEXT, "FORMAT",
		   "chrome, perfetto, pprof, speedscope, folded, snapshot (default: by the "
		   "name of FILE)" },
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "FILE", "write to FILE; .gz is gzipped" },
	[O_GZIP] = { "gzip", 'z', TIDE_OPT_FLAG, NULL, "gzip whatever the name of FILE is" },
	[O_KIND] = { "kind", 'k', TIDE_OPT_ENUM, "cpu,gpu,memory",
		     "pprof, folded: what to weigh (default: cpu, else gpu, else memory)" },
	[O_BY] = { "by", 0, TIDE_OPT_ENUM, "auto,stack,op", "memory: call stacks or op paths",
		   .def = "auto" },
	[O_MERGE] = { "merge", 'm', TIDE_OPT_FLAG, NULL,
		      "pprof, folded: one tree for all threads" },
	[O_DEVICE] = { "device", 'd', TIDE_OPT_TEXT, "DEVICE",
		       "memory: whose (default: the highest peak)" },
};

static int list_formats(const tide_args *a)
{
	char list[300] = "";
	for (const tide_exporter *const *e = tide__exporters; *e; e++)
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "",
			 (*e)->name);
	if (a->opt[O_TO].set)
		return tide__cli_usage(a, "there is no format '%.60s' (there are %s)",
				       a->opt[O_TO].text, list);
	return tide__cli_usage(a, "choose a format with --to (%s)", list);
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

/* Host time where there is host work, else device time, else memory where there is any. */
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

static int write_out(const tide_args *a, const tide_exporter *e, const tide_model *m)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_export_stats st;
	tide_export_options o = { 0 };
	o.flame.merge = a->opt[O_MERGE].set;
	o.flame.max_depth = TIDE_FLAME_DEEP;
	o.flame.by = (tide_flame_by)a->opt[O_BY].num;
	o.flame.kind = a->opt[O_KIND].set ? (tide_flame_kind)a->opt[O_KIND].num : guess_kind(m);
	if (a->opt[O_DEVICE].set) {
		o.flame.device = tide__device_find(m, a->opt[O_DEVICE].text);
		if (!o.flame.device)
			return tide__no_device(a, m, a->opt[O_DEVICE].text);
	}
	if (tide__export(e, m, &o, wants_gzip(a), a->out, &st, &err) != TIDE_OK)
		return tide__cli_fail(tide__cli_output_name(a), &err);
	if (st.empty)
		fputs("note: the trace has nothing of that kind: the file is empty (--kind)\n",
		      stderr);
	if (st.extra_tracks)
		fprintf(stderr,
			"note: %llu tracks were added for spans that do not nest in their lane\n",
			(unsigned long long)st.extra_tracks);
	if (st.cut_spans)
		fprintf(stderr, "note: %llu spans were cut short so that they nest\n",
			(unsigned long long)st.cut_spans);
	return tide__cli_done(a);
}

static int run(const tide_args *a)
{
	const tide_exporter *e = format_of(a);
	if (!e)
		return list_formats(a);
	if ((e->binary || wants_gzip(a)) && isatty(fileno(a->out)))
		return tide__cli_usage(a,
				       "this would write binary data to the terminal: use -o FILE");
	tide_model *m = tide__cli_load(a, a->files[0], 0);
	if (!m)
		return 1;
	int rc = write_out(a, e, m);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_export = {
	.name = "export",
	.usage = "TRACE [--to FORMAT] -o FILE",
	.summary = "write a trace in the format of another tool",
	.help = "Formats: chrome (JSON as PyTorch's profiler writes it), perfetto (.pftrace), "
		"pprof "
		"(.pb.gz), speedscope (.speedscope.json), folded (stacks, one a line), "
		"snapshot (torch's memory snapshot). Spans are "
		"written strictly nested; what does not nest in its thread or stream goes to a "
		"track "
		"of its own. docs/guide/export.md says what each format keeps.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
};
