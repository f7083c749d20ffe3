// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* phases: memory phase by phase. */
#include "base/error.h"
#include "cli/cli.h"

#include "cli/output/page.h"
#include "cli/cmd/phases_sizes.h"
#include "cli/select.h"
#include "render/report/memory/phases.h"

enum { O_DEVICE = TIDE_SIZES_OPTIONS_N, O_BY, O_SUM, O_TRACKER, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	TIDE_SIZES_OPTIONS,
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_BY] = { "by", 'b', TIDE_OPT_ENUM, "mark,annotation",
		   "what defines phases: marks, or ranges of record_function and NVTX",
		   .def = "mark" },
	[O_SUM] = { "sum", 's', TIDE_OPT_FLAG, NULL,
		    "one row per phase name: its phases summed, and the highest of their peaks" },
	[O_TRACKER] = { "tracker", 0, TIDE_OPT_FLAG, NULL,
			"write DRAM and L1 lines in MB, in the format of memory trackers" },
	[O_JSON] = { "json", 'j', TIDE_OPT_FLAG, NULL, "print JSON, in bytes" },
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "FILE",
		       "write to FILE; .html: a page, .png or .svg: stacked bars of the peak" },
};

static int show(const tide_args *a, const tide_model *m, const tide_phases *p,
		const tide_phases_view *v)
{
	if (a->opt[O_JSON].set) {
		tide_json j;
		tide__json_begin(&j, a->out, true);
		tide__phases_json(m, p, v, &j);
		return tide__cli_json_end(a, &j);
	}
	if (a->opt[O_TRACKER].set) { /* other tools read this text: no losses in it */
		tide__phases_write_tracker(m, p, v->device, a->out);
		tide__put_losses(m, tide__cli_errors(), &(tide_style){ 0 });
		return tide__cli_finish(a);
	}
	uint64_t cut = tide__phases_text(m, p, v, &a->to);
	int rc = tide__cli_finish(a);
	tide__cli_note_truncated(cut);
	return rc;
}

static tide_code find(const tide_args *a, const tide_model *m, tide_phases *p, tide_error *err)
{
	tide_code rc =
		(a->opt[O_BY].num ? tide__phases_find_by_annotation : tide__find_phases)(m, p, err);
	if (rc == TIDE_OK && a->opt[O_SUM].set && !tide__phases_join(p))
		rc = tide__nomem(err);
	return rc;
}

static int report_of(const tide_args *a)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_phases_view v = { 0 };
	tide_phases p = { 0 };
	int rc = 2;
	tide_model *m = tide__cli_load(a, a->files[0],
				       TIDE_WANT_MEMORY | (a->opt[O_BY].num ? TIDE_WANT_SPANS : 0));
	if (!m)
		return 1;
	if (tide__cli_get_device(a, &a->opt[O_DEVICE], m, &v.device))
		rc = find(a, m, &p, &err) == TIDE_OK ? show(a, m, &p, &v)
						     : tide__cli_fail(a->files[0], &err);
	tide__phases_free(&p);
	tide__model_free(m);
	return rc;
}

/* Returns the name of a given option that has no effect on sizes; NULL = none. */
static const char *not_for_sizes(const tide_args *a)
{
	for (int i = O_BY; i <= O_TRACKER; i++)
		if (a->opt[i].given)
			return options[i].name;
	return NULL;
}

static int run(const tide_args *a)
{
	bool sizes = tide__wants_sizes(a);
	if (sizes && not_for_sizes(a))
		return tide__cli_fail_usage(a,
					    "--%s works on one recording, without a size option, a "
					    "picture or a log",
					    not_for_sizes(a));
	if (sizes)
		return tide__sizes_run(a, &a->opt[O_DEVICE], a->opt[O_JSON].set, &a->opt[O_OUTPUT]);
	if (!a->n_files)
		return tide__cli_fail_usage(a, "which file?");
	return tide__cli_named_page(a) ? tide__cli_write_page(a, "phases") : report_of(a);
}

const tide_command tide__cmd_phases = {
	.name = "phases",
	.usage = "FILE... [--capacity SIZE] [--fail-if EXPR]... [--device DEVICE] [--json]",
	.summary = "show memory per phase, between the program's marks",
	.help = "Shows for every phase, per device and pool, allocations, deallocations, the "
		"highest use above the phase's start, the change, and the cumulative peak and "
		"current use, in MiB; JSON has exact bytes. For a text log with memory summaries, "
		"for several files, and with a size option: model, optimizer state, gradients and "
		"activations, measured and theoretical, the parts of the peak, whether it fits a "
		"device, and advice if it does not.",
	TIDE_COMMAND_OPTIONS(options),
	.max_files = SIZE_MAX,
	.run = run,
	.page = "",
	.endings = ".png,.svg",
};
