// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* leaks: groups of allocations that hold more memory after every step. */
#include "cli/cli.h"

#include "cli/options.h"
#include "cli/job/each_rank.h"
#include "cli/select.h"
#include "render/report/memory/leaks.h"

enum { O_BY, O_EVERY, O_TOP, O_DEVICE, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_BY] = { "group-by", 'g', TIDE_OPT_ENUM, "op,stack,role,pool,stream,size,frame",
		   "what to group by (default stack; else op, role or size)" },
	[O_EVERY] = { "every", 'e', TIDE_OPT_TEXT, "TIME",
		      "compare at equal intervals, e.g. 500ms or 5%, instead of the trace's steps" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "rows to show, 0 = all", .def = "20" },
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

static const tide_group_by choices[] = { TIDE_BY_OP,	 TIDE_BY_STACK, TIDE_BY_ROLE, TIDE_BY_POOL,
					 TIDE_BY_STREAM, TIDE_BY_SIZE,	TIDE_BY_FRAME };

static int show(const tide_args *a, const tide_leaks_view *v)
{
	if (a->opt[O_JSON].set) {
		tide_json j;
		tide__json_begin(&j, a->out, true);
		tide__leaks_json(v, &j);
		return tide__cli_json_end(a, &j);
	}
	tide__leaks_text(v, &a->to);
	return tide__cli_finish(a);
}

static int answer(const tide_args *a, const tide_model *m, uint32_t device)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_leaks l = { 0 };
	int64_t every = 0;
	if (a->opt[O_EVERY].set && !m->t_end)
		return tide__cli_fail_usage(a, "--every: the trace has no duration");
	if (a->opt[O_EVERY].set &&
	    (!tide__parse_time(a->opt[O_EVERY].text, m->t_end, &every) || every <= 0))
		return tide__cli_fail_usage(
			a, "--every needs a time such as 500ms or 5%%, not '%.60s'",
			a->opt[O_EVERY].text);
	tide_group_by by = a->opt[O_BY].set ? choices[a->opt[O_BY].num] : tide__group_by_best(m);
	tide_leaks_view v = { m, device, &l,
			      a->opt[O_TOP].num > 0 ? (size_t)a->opt[O_TOP].num : SIZE_MAX };
	int rc = tide__find_leaks(m, device, by, every, &l, &err) == TIDE_OK
			 ? show(a, &v)
			 : tide__cli_fail(a->files[0], &err);
	tide__leaks_free(&l);
	return rc;
}

static int run(const tide_args *a)
{
	uint32_t device;
	int rc;
	if (tide__cli_many(a))
		return tide__cli_run_each_rank(a, &a->opt[O_DEVICE], a->opt[O_JSON].set);
	tide_model *m = tide__cli_load(a, a->files[0], TIDE_WANT_MEMORY | TIDE_WANT_SPANS);
	if (!m)
		return 1;
	if (tide__cli_get_one_device(a, &a->opt[O_DEVICE], m, &device, &rc))
		rc = answer(a, m, device);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_leaks = {
	.name = "leaks",
	.usage = "FILE... [--every TIME] [--group-by WORD] [--device DEVICE] [--json]",
	.summary = "show allocations that grow from step to step",
	.help = "Takes the live bytes of every call stack at the end of each step, fits a line "
		"through them and lists those that grow, steepest first. Steps are step marks, "
		"else ProfilerStep ranges, else a range that repeats at least 3 times; --every "
		"uses equal intervals. Memory that the first step keeps does not count as growth.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.run = run,
};
