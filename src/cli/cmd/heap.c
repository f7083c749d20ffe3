// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* heap: the host heap of a program: high-water mark, leaks, temporary allocations. */
#include "cli/cli.h"

#include "base/error.h"
#include "render/report/memory/heap.h"

enum { O_SORT, O_TOP, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_SORT] = { "sort", 's', TIDE_OPT_ENUM, "peak,left,allocated,calls,temporary",
		     "order of the rows", .def = "peak" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows to show, 0 = all; JSON has all unless given", .def = "20" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

static int show(const tide_args *a, const tide_model *m, const tide_heap *h)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	tide_heap_view v = { .sort = (tide_heap_sort)a->opt[O_SORT].num,
			     .top = tide__cli_top(&a->opt[O_TOP], a->opt[O_JSON].set) };
	if (a->opt[O_JSON].set) {
		tide_json j;
		tide__json_begin(&j, a->out, true);
		if (tide__heap_json(m, h, &v, &j) == TIDE_OK)
			return tide__cli_json_end(a, &j);
		tide__json_free(&j);
	} else if (tide__heap_text(m, h, &v, &a->to) == TIDE_OK) {
		return tide__cli_finish(a);
	}
	return tide__cli_fail(a->files[0], &err);
}

static int run(const tide_args *a)
{
	tide_heap h = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_model *m = tide__cli_load(a, a->files[0], TIDE_WANT_MEMORY);
	if (!m)
		return 1;
	int rc = tide__heap_report_find(m, &h, &err) == TIDE_OK ? show(a, m, &h)
								: tide__cli_fail(a->files[0], &err);
	tide__heap_report_free(&h);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_heap = {
	.name = "heap",
	.usage = "FILE [--sort WORD] [--top N] [--json]",
	.summary = "show the host heap: high-water mark, blocks not freed, temporary allocations",
	.help = "Reads a recording of `tidemark run --heap`. Figures of a sampled heap are unbiased "
		"estimates with their standard error.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
};
