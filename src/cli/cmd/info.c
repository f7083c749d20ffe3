// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* info: format and content of a trace. */
#include "cli/cli.h"

#include "cli/job/each_rank.h"
#include "cli/job/info_group.h"
#include "render/report/info.h"

enum { O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

static int show(const tide_args *a, const tide_model *m)
{
	if (a->opt[O_JSON].set) {
		tide_json j;
		tide__json_begin(&j, a->out, true);
		tide__info_json(m, a->files[0], &j);
		return tide__cli_json_end(a, &j);
	}
	tide__info_text(m, a->files[0], &a->to);
	return tide__cli_finish(a);
}

static int run(const tide_args *a)
{
	if (tide__cli_many(a))
		return tide__cli_run_info_group(a, a->opt[O_JSON].set);
	tide_model *m = tide__cli_load(a, a->files[0], 0);
	if (!m)
		return 1;
	int rc = show(a, m);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_info = {
	.name = "info",
	.usage = "FILE... [--json]",
	.summary = "show the format and content of a trace",
	.help = "Shows format, duration, start, processes, devices, pools, lanes, rows of every table, "
		"facts and losses.\nFor several files, a folder or a pattern it prints one row per "
		"trace; recordings of one `tidemark run` form a group, with children below their "
		"parents.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.run = run,
};
