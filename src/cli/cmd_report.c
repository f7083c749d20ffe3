// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* report: everything about a trace as one page that needs nothing but a browser. */
#include "cli/page.h"

enum { O_OUTPUT };
static const tide_option options[] = {
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "FILE",
		       "write to FILE (needed on a terminal)" },
};

static int run(const tide_args *a)
{
	if (!a->opt[O_OUTPUT].set && a->style.width)
		return tide__cli_usage(a, "a page is nothing for a terminal: use -o report.html");
	return tide__cli_page(a, NULL);
}

const tide_command tide__cmd_report = {
	.name = "report",
	.usage = "FILE -o report.html",
	.summary = "write one page with everything, to open in a browser",
	.help = "The page holds the overview, timeline, memory, flame graphs, ops, kernels, phases "
		"and the breakdown of device time. It is one file, works offline, fetches nothing, "
		"and shows names from the trace as text alone. Every figure in it is the one that "
		"the other commands print.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
};
