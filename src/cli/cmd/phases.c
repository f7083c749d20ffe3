// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* phases: memory phase by phase. */
#include "cli/cli.h"

#include "cli/select.h"
#include "render/report/phases.h"

enum { O_DEVICE, O_TRACKER, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_TRACKER] = { "tracker", 0, TIDE_OPT_FLAG, NULL,
			"write MB for MiB, as memory trackers do: for what reads their logs" },
	[O_JSON] = { "json", 'j', TIDE_OPT_FLAG, NULL, "print JSON, in bytes" },
	[O_OUTPUT] = TIDE_OPTION_PAGE,
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
	uint64_t cut = tide__phases_text(m, p, v, &a->to);
	int rc = tide__cli_done(a);
	tide__cli_cut(cut);
	return rc;
}

static int run(const tide_args *a)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_phases_view v = { .tracker = a->opt[O_TRACKER].set };
	tide_phases p = { 0 };
	int rc = 2;
	tide_model *m = tide__cli_load(a, a->files[0], TIDE_WANT_MEMORY);
	if (!m)
		return 1;
	if (tide__cli_device(a, &a->opt[O_DEVICE], m, &v.device))
		rc = tide__phases(m, &p, &err) == TIDE_OK ? show(a, m, &p, &v)
							  : tide__cli_fail(a->files[0], &err);
	tide__phases_free(&p);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_phases = {
	.name = "phases",
	.usage = "FILE [--device DEVICE] [--json]",
	.summary = "show memory phase by phase, between the marks a program set",
	.help = "For every stretch between phase marks, per device and pool: allocations, "
		"deallocations, "
		"the highest use above the phase's start, the change, and the cumulative peak and "
		"current "
		"use, in MiB; JSON has exact bytes.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
	.page = "phases",
};
