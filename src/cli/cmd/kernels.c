// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* kernels: device work by name, type, op or stream. */
#include "cli/cli.h"
#include "cli/cmd/kernels_counters.h"
#include "cli/job/ranks.h"
#include "cli/cmd/kernels_sequences.h"
#include "render/report/device/hta.h"

enum {
	O_RANKS,
	O_TOP = O_RANKS + TIDE_RANKS_OPTIONS,
	O_BY,
	O_SEQUENCES,
	O_MIN,
	O_COUNTERS,
	O_JSON,
	O_OUTPUT
};
static const tide_option options[] = {
	TIDE_RANKS_OPTION_ROWS,
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows to show, 0 = all; JSON has all unless given", .def = "20" },
	[O_BY] = { "by", 'b', TIDE_OPT_ENUM, "name,type,op,stream", "what to group by",
		   .def = "name" },
	[O_SEQUENCES] = { "sequences", 's', TIDE_OPT_TEXT, "OP",
			  "show the sequences of kernels that ops with OP in their name launch "
			  "instead" },
	[O_MIN] = { "min-kernels", 0, TIDE_OPT_INT, "N",
		    "with --sequences: at least N kernels per op", .def = "3", .least = 1 },
	[O_COUNTERS] = { "counters", 'c', TIDE_OPT_FLAG, NULL,
			 "show hardware counters of kernels and the ops that launched them "
			 "instead" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_PAGE,
};

static int run(const tide_args *a)
{
	tide_ranks_work w;
	tide_hta_job *job;
	char window[80];
	int by = (int)a->opt[O_BY].num;
	int rc = tide__ranks_read_options(a, O_RANKS, &w, window, sizeof window);
	if (rc)
		return rc;
	size_t top = tide__cli_top(&a->opt[O_TOP], a->opt[O_JSON].set);
	if (a->opt[O_SEQUENCES].set)
		return tide__cli_run_sequences(a, a->opt[O_SEQUENCES].text, &w.opt.window,
					       (size_t)a->opt[O_MIN].num, top, a->opt[O_JSON].set);
	if (a->opt[O_COUNTERS].set)
		return tide__cli_run_hwcounters(a, top, a->opt[O_JSON].set);
	tide_hta_view view = { .top = top, .window = window };
	w.want = a->opt[O_JSON].set ? TIDE_WANT_LAUNCH : 0; /* launch figures are in JSON only */
	rc = tide__ranks_run(a, &w, &job);
	if (rc)
		return rc;
	if (a->opt[O_JSON].set)
		tide__kernels_json(job, &view, by, a->out);
	else
		tide__kernels_text(job, &view, by, a->out, &a->style);
	tide__hta_job_free(job);
	return tide__cli_finish(a);
}

const tide_command tide__cmd_kernels = {
	.name = "kernels",
	.usage = "TRACE... [--by name|type|op|stream] [--top N] [--json]",
	.summary = "list kernels, copies and fills with their statistics",
	.help = "TRACE is a file, a folder of ranks or a pattern. Shows count, sum, mean, minimum, "
		"maximum, standard deviation and percentiles of single device rows, over all "
		"ranks. --by op groups by the innermost op around the launch.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.run = run,
	.page = "kernels",
};
