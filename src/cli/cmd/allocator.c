// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* allocator: segments and blocks at a moment, fragmentation over time, and advice. */
#include "cli/cli.h"

#include "cli/select.h"
#include "render/report/allocator/allocator.h"

enum { O_AT, O_MAP, O_BUCKETS, O_ADVICE, O_DEVICE, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_AT] = TIDE_OPTION_AT,
	[O_MAP] = { "map", 'm', TIDE_OPT_INT, "N", "largest segments to draw, 0 = all",
		    .def = "16" },
	[O_BUCKETS] = { "buckets", 0, TIDE_OPT_INT, "N", "points over time in JSON", .def = "200",
			.least = 1, .most = 1000000 },
	[O_ADVICE] = { "no-advice", 0, TIDE_OPT_FLAG, NULL, "do not replay the trace for advice" },
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

static int show(const tide_args *a, const tide_allocator *x)
{
	if (a->opt[O_JSON].set) {
		tide_json j;
		tide__json_begin(&j, a->out, true);
		tide__allocator_json(x, &j);
		return tide__cli_json_end(a, &j);
	}
	tide__allocator_text(x, a->opt[O_MAP].num > 0 ? (size_t)a->opt[O_MAP].num : SIZE_MAX,
			     &a->to);
	return tide__cli_finish(a);
}

static int answer(const tide_args *a, const tide_model *m, tide_allocator_query *q)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_allocator x = { 0 };
	if (!tide__cli_get_moment(a, &a->opt[O_AT], m, &q->at))
		return 2;
	int rc = tide__allocator_find(m, q, &x, &err) == TIDE_OK
			 ? show(a, &x)
			 : tide__cli_fail(a->files[0], &err);
	tide__allocator_free(&x);
	return rc;
}

static int run(const tide_args *a)
{
	tide_allocator_query q = {
		.points = a->opt[O_JSON].set ? (size_t)a->opt[O_BUCKETS].num : 1,
		.buckets = tide__allocator_chart_buckets(&a->style),
		.advice = !a->opt[O_ADVICE].set,
	};
	int rc;
	tide_model *m = tide__cli_load(a, a->files[0], TIDE_WANT_MEMORY | TIDE_WANT_SPANS);
	if (!m)
		return 1;
	if (tide__cli_get_one_device(a, &a->opt[O_DEVICE], m, &q.device, &rc))
		rc = answer(a, m, &q);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_allocator = {
	.name = "allocator",
	.usage = "FILE [--at TIME] [--map N] [--device DEVICE] [--json]",
	.summary = "show the allocator's segments and blocks, and how fragmented they are",
	.help = "Shows the bytes reserved, in use, lost to rounding and free (and whether they can "
		"be released to the device), the largest free block, and a map of the largest "
		"segments, at the end of the trace or at --at. Then it shows reserved and used "
		"bytes over time, and advice with its evidence. JSON has every segment with its "
		"blocks.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
};
