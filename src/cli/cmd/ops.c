// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* ops: the op tree, or a flat table by name. */
#include "cli/cli.h"

#include "base/error.h"
#include "cli/select.h"
#include "render/report/ops/ops.h"

enum { O_FLAT, O_SORT, O_TOP, O_DEPTH, O_ALL, O_DEVICE, O_STREAMS, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_FLAT] = { "flat", 'f', TIDE_OPT_FLAG, NULL, "one row per name instead of a tree" },
	[O_SORT] = { "sort", 's', TIDE_OPT_ENUM,
		     "order,wall,self,count,alloc,free,change,peak,name",
		     "order of the rows (default: order, of first appearance; flat: wall)" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows below each op, or of the table with --flat; 0 = all; JSON has all "
		    "unless given",
		    .def = "20" },
	[O_DEPTH] = { "depth", 'D', TIDE_OPT_INT, "N", "levels of the tree to show (default all)",
		      .least = 1 },
	[O_ALL] = { "all", 'a', TIDE_OPT_FLAG, NULL,
		    "every row (default: the 100 most important; all with --json)" },
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_STREAMS] = { "streams", 0, TIDE_OPT_FLAG, NULL,
			"also device rows: kernels, copies, waits" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_PAGE,
};

static tide_ops_view view_of(const tide_args *a)
{
	bool flat = a->opt[O_FLAT].set, json = a->opt[O_JSON].set;
	tide_ops_view v = { .sort = flat ? TIDE_OPS_WALL : TIDE_OPS_ORDER, .depth = SIZE_MAX };
	if (a->opt[O_SORT].set)
		v.sort = (tide_ops_sort)a->opt[O_SORT].num;
	if (a->opt[O_DEPTH].set)
		v.depth = (size_t)a->opt[O_DEPTH].num;
	v.top = tide__cli_top(&a->opt[O_TOP], json);
	if (!v.top || (a->opt[O_ALL].set && !a->opt[O_TOP].given))
		v.top = SIZE_MAX;
	v.brief = !flat && !json && !a->opt[O_ALL].set && !a->opt[O_TOP].given &&
		  !a->opt[O_DEPTH].set;
	return v;
}

static int show(const tide_args *a, const tide_ops *x)
{
	tide_ops_view v = view_of(a);
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	if (a->opt[O_JSON].set) {
		tide_json j;
		tide__json_begin(&j, a->out, true);
		if (tide__ops_json(x, &v, &j) == TIDE_OK)
			return tide__cli_json_end(a, &j);
		tide__json_free(&j);
	} else if (tide__ops_text(x, &v, &a->to) == TIDE_OK) {
		return tide__cli_finish(a);
	}
	return tide__cli_fail(a->files[0], &err);
}

static int run(const tide_args *a)
{
	tide_ops_query q = { .streams = a->opt[O_STREAMS].set, .flat = a->opt[O_FLAT].set };
	tide_ops x = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	int rc = 2;
	tide_model *m = tide__cli_load(a, a->files[0], TIDE_WANT_SPANS | TIDE_WANT_MEMORY);
	if (!m)
		return 1;
	if (tide__cli_get_device(a, &a->opt[O_DEVICE], m, &q.device))
		rc = tide__ops_find(m, &q, &x, &err) == TIDE_OK ? show(a, &x)
								: tide__cli_fail(a->files[0], &err);
	tide__ops_free(&x);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_ops = {
	.name = "ops",
	.usage = "FILE [--flat] [--sort WORD] [--top N] [--depth N] [--all] [--device DEVICE] "
		 "[--json]",
	.summary = "show ops with their counts, times and memory changes",
	.help = "Wall time, Allocated, Freed, Change and Peak of an op include nested ops; Self "
		"time does not. Change is allocated minus freed inside the op; Peak is the "
		"highest value of this balance in any of its runs.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
	.page = "ops",
};
