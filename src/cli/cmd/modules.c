// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* modules: time and memory of each module of a model, forward and backward. */
#include "cli/cli.h"

#include "base/error.h"
#include "render/report/ops/modules.h"

enum { O_SORT, O_TOP, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_SORT] = { "sort", 's', TIDE_OPT_ENUM, "order,forward,backward,alloc,calls",
		     "order of the rows (default: order, of the first call)" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows to show, 0 = all; JSON has all unless given", .def = "40" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

static int show(const tide_args *a, const tide_model *m, const tide_modules *x)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	tide_modules_view v = { .sort = (tide_modules_sort)a->opt[O_SORT].num,
				.top = tide__cli_top(&a->opt[O_TOP], a->opt[O_JSON].set) };
	if (a->opt[O_JSON].set) {
		tide_json j;
		tide__json_begin(&j, a->out, true);
		if (tide__modules_json(m, x, &v, &j) == TIDE_OK)
			return tide__cli_json_end(a, &j);
		tide__json_free(&j);
	} else if (tide__modules_text(m, x, &v, &a->to) == TIDE_OK) {
		return tide__cli_finish(a);
	}
	return tide__cli_fail(a->files[0], &err);
}

static int run(const tide_args *a)
{
	tide_modules x = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_model *m = tide__cli_load(a, a->files[0],
				       TIDE_WANT_SPANS | TIDE_WANT_MEMORY | TIDE_WANT_FLOWS);
	if (!m)
		return 1;
	int rc = tide__find_modules(m, &x, &err) == TIDE_OK ? show(a, m, &x)
							    : tide__cli_fail(a->files[0], &err);
	tide__modules_free(&x);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_modules = {
	.name = "modules",
	.usage = "FILE [--sort WORD] [--top N] [--json]",
	.summary = "show time and memory of each module of a model, forward and backward",
	.help = "Time and allocations of a module include those of the modules in it. A backward "
		"op counts for the modules around its forward op.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
};
