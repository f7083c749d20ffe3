// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* memory: use over time per device and pool, peaks, largest allocations. */
#include "cli/cli.h"

#include "cli/job/each_rank.h"
#include "cli/select.h"
#include "render/report/memory/memory.h"

enum { O_DEVICE, O_AT, O_TOP, O_BUCKETS, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_AT] = TIDE_OPTION_AT,
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "largest allocations to show", .def = "10" },
	[O_BUCKETS] = { "buckets", 0, TIDE_OPT_INT, "N", "points over time in JSON", .def = "200",
			.least = 1, .most = 1000000 },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_PAGE,
};

static int show(const tide_args *a, const tide_memory *x)
{
	if (a->opt[O_JSON].set) {
		tide_json j;
		tide__json_begin(&j, a->out, true);
		tide__memory_json(x, &j);
		return tide__cli_json_end(a, &j);
	}
	uint64_t cut = tide__memory_text(x, &a->to);
	if (cut == UINT64_MAX)
		return tide__cli_fail(a->files[0], &(tide_error){ .code = TIDE_ENOMEM,
								  .offset = TIDE_NO_OFFSET });
	int rc = tide__cli_finish(a);
	tide__cli_note_truncated(cut);
	return rc;
}

static int run(const tide_args *a)
{
	tide_memory_query q = { .top = (size_t)a->opt[O_TOP].num };
	tide_memory x = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	int rc = 2;
	if (tide__cli_many(a))
		return tide__cli_run_each_rank(a, &a->opt[O_DEVICE], a->opt[O_JSON].set);
	tide_model *m = tide__cli_load(a, a->files[0], TIDE_WANT_MEMORY | TIDE_WANT_SPANS);
	if (!m)
		return 1;
	q.buckets = a->opt[O_JSON].set ? (size_t)a->opt[O_BUCKETS].num
				       : tide__memory_chart_buckets(&a->style);
	if (tide__cli_get_device(a, &a->opt[O_DEVICE], m, &q.device) &&
	    tide__cli_get_moment(a, &a->opt[O_AT], m, &q.at))
		rc = tide__memory_find(m, &q, &x, &err) == TIDE_OK
			     ? show(a, &x)
			     : tide__cli_fail(a->files[0], &err);
	tide__memory_free(&x);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_memory = {
	.name = "memory",
	.usage = "FILE... [--at TIME] [--device DEVICE] [--json]",
	.summary = "show memory in use over time, per device and pool",
	.help = "Shows live and reserved bytes, peaks, a chart of the use over time, and the "
		"largest allocations. Figures are those at the end of the trace, or at the time of "
		"--at.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.run = run,
	.page = "memory",
};
