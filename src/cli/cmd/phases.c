// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* phases: logs, several files and sizes (phases_sizes.h), and its page. */
#include "cli/cli.h"
#include "cli/cmd/phases_sizes.h"
#include "cli/output/page.h"
#include "cli/report_run.h"

static const tide_option options[] = { TIDE_SIZES_OPTIONS };

/* Shows the report of one recording; ranges of the program are loaded only if they are the phases. */
static int answer(const tide_args *a)
{
	bool ranges = tide__cli_option(a, "by")->num == 1;
	tide_model *m =
		tide__cli_load(a, a->files[0], TIDE_WANT_MEMORY | (ranges ? TIDE_WANT_SPANS : 0));
	if (!m)
		return 1;
	const tide_report_traces in = { .models = (const tide_model *const *)&m,
					.n = 1,
					.files = (const char *const *)a->files };
	int status = tide__cli_answer(a, &in, NULL);
	if (!status && tide__cli_option(a, "tracker")->set && !tide__cli_option(a, "json")->set)
		tide__put_losses(m, tide__cli_errors(), &(tide_style){ 0 });
	tide__model_free(m);
	return status;
}

/* Returns the name of a given option that has no effect on sizes; NULL = none. */
static const char *not_for_sizes(const tide_args *a)
{
	static const char *const names[] = { "by", "sum", "tracker", "csv" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (tide__cli_option(a, names[i])->given)
			return names[i];
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
		return tide__sizes_run(a);
	if (!a->n_files)
		return tide__cli_fail_usage(a, "which file?");
	return tide__cli_named_page(a) ? tide__cli_write_page(a, "phases") : answer(a);
}

const tide_command tide__cmd_phases = {
	.usage = "FILE... [--capacity SIZE] [--fail-if EXPR]... [--device DEVICE] [--json]",
	TIDE_COMMAND_OPTIONS(options),
	.max_files = SIZE_MAX,
	.run = run,
	.page = "",
	.endings = ".png,.svg",
};
