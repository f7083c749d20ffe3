// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* oom: why an allocation failed, and what would have made it succeed. */
#include "cli/cli.h"

#include "analyze/allocator/oom_events.h"
#include "cli/select.h"
#include "render/report/allocator/oom_report.h"

enum { O_BY, O_TOP, O_EVENTS, O_DEVICE, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_BY] = { "group-by", 'g', TIDE_OPT_ENUM, "op,stack,role,pool,stream,size,frame",
		   "what to group by (default stack; else op, role or size)" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "groups to try freeing", .def = "10" },
	[O_EVENTS] = { "events", 'e', TIDE_OPT_INT, "N", "events to explain in full, at most 64",
		       .def = "10", .most = TIDE_OOM_MOST_EVENTS },
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

static const tide_group_by choices[] = { TIDE_BY_OP,	 TIDE_BY_STACK, TIDE_BY_ROLE, TIDE_BY_POOL,
					 TIDE_BY_STREAM, TIDE_BY_SIZE,	TIDE_BY_FRAME };

static int print(const tide_args *a, const tide_oom_events *x)
{
	tide_json j;
	if (!a->opt[O_JSON].set) {
		tide__oom_text(x, &a->to);
		return tide__cli_finish(a);
	}
	tide__json_begin(&j, a->out, true);
	tide__oom_json(x, &j);
	return tide__cli_json_end(a, &j);
}

static int find_and_print(const tide_args *a, const tide_model *m, const tide_oom_query *q)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_oom_events x;
	tide_code rc = tide__oom_events_find(m, q, &x, &err);
	int status = rc == TIDE_OK ? print(a, &x) : tide__cli_fail(a->files[0], &err);
	tide__oom_events_free(&x);
	return status;
}

static int run(const tide_args *a)
{
	tide_oom_query q = { .top = (size_t)a->opt[O_TOP].num,
			     .full = (size_t)a->opt[O_EVENTS].num,
			     .others = a->opt[O_JSON].set ? TIDE_OOM_LIST : TIDE_OOM_SUM,
			     .settings = true };
	int rc = 2;
	tide_model *m = tide__cli_load(a, a->files[0], TIDE_WANT_MEMORY | TIDE_WANT_SPANS);
	if (!m)
		return 1;
	q.by = a->opt[O_BY].set ? choices[a->opt[O_BY].num] : tide__group_by_best(m);
	if (tide__cli_get_device(a, &a->opt[O_DEVICE], m, &q.device))
		rc = find_and_print(a, m, &q);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_oom = {
	.name = "oom",
	.usage = "FILE [--group-by WORD] [--top N] [--events N] [--device DEVICE] [--json]",
	.summary = "explain why an allocation failed and what would have helped",
	.help = "Shows for every out-of-memory event what was requested, what was free on the "
		"device and in the allocator, whether the device was full, fragmented or limited, "
		"which call stacks held enough memory to serve the request, and which allocator "
		"settings serve it when the recording is replayed. The first --events events are "
		"explained in full, the others counted by device and cause.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
};
