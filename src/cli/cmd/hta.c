// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* hta: where the device time of a trace, or of all ranks of a job, went. */
#include "cli/cli.h"
#include "cli/job/hta_compat.h"
#include "cli/job/ranks.h"
#include "render/report/device/hta.h"

enum {
	O_RANKS,
	O_SHORT = O_RANKS + TIDE_RANKS_OPTIONS,
	O_DELAY,
	O_TOP,
	O_COMPAT,
	O_KEEP,
	O_JSON,
	O_OUTPUT
};
static const tide_option options[] = {
	TIDE_RANKS_OPTION_ROWS,
	[O_SHORT] = { "short-cutoff", 0, TIDE_OPT_INT, "NS",
		      "launch calls longer than NS are outliers", .def = "50000", .least = 1 },
	[O_DELAY] = { "delay-cutoff", 0, TIDE_OPT_INT, "NS",
		      "launch delays longer than NS are outliers", .def = "100000", .least = 1 },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows of long tables, 0 = all; JSON has all unless given", .def = "10" },
	[O_COMPAT] = { "hta-compat", 0, TIDE_OPT_FLAG, NULL,
		       "Holistic Trace Analysis's own numbers: its rounding, its GPU rule, its "
		       "dropped last step" },
	[O_KEEP] = { "keep-last-step", 0, TIDE_OPT_FLAG, NULL,
		     "with --hta-compat: do not drop the last step" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_PAGE,
};

static int run(const tide_args *a)
{
	tide_ranks_work w;
	tide_hta_job *job;
	char window[80];
	int rc = tide__ranks_read_options(a, O_RANKS, &w, window, sizeof window);
	if (rc)
		return rc;
	w.opt.short_ns = a->opt[O_SHORT].num;
	w.opt.delay_ns = a->opt[O_DELAY].num;
	if (a->opt[O_COMPAT].set)
		return tide__cli_run_hta_compat(a, a->opt[O_KEEP].set, a->opt[O_JSON].set);
	tide_hta_view view = { .window = window };
	view.top = tide__cli_top(&a->opt[O_TOP], a->opt[O_JSON].set);
	w.want = a->opt[O_JSON].set ? TIDE_WANT_LAUNCH : 0; /* launch figures are in JSON only */
	rc = tide__ranks_run(a, &w, &job);
	if (rc)
		return rc;
	if (a->opt[O_JSON].set)
		tide__hta_json(job, &view, a->out);
	else
		tide__hta_text(job, &view, a->out, &a->style);
	tide__hta_job_free(job);
	return tide__cli_finish(a);
}

const tide_command tide__cmd_hta = {
	.name = "hta",
	.usage = "TRACE... [--json] [-o FILE]",
	.summary = "show why a step is slow: what the GPU did, and what it waited for",
	.help = "Splits device time into compute, communication, copies and idle. TRACE is a file, a folder of ranks or a pattern. For each rank it shows busy and "
		"idle time, time by type, the overlap of communication with compute, idle time of "
		"every stream and what the host did meanwhile, launches, queues, copies, "
		"collectives and steps. For all ranks together it shows kernels, ops, annotations, "
		"and recommendations with their figures. Figures are exact to the nanosecond; "
		"docs/analyses/ defines them.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.run = run,
	.page = "hta",
};
