// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* peak: the allocations alive at the highest point, in groups. */
#include "cli/cli.h"

#include "cli/job/each_rank.h"
#include "cli/select.h"
#include "render/report/memory/peak.h"

enum { O_BY, O_DEVICE, O_POOL, O_AT, O_TOP, O_UNFOLD, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_BY] = { "group-by", 'g', TIDE_OPT_ENUM,
		   "op,stack,tensor,role,pool,stream,size,frame,module",
		   "what to group by (default: op; stack if more bytes have one; size if none "
		   "has either)" },
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_POOL] = { "pool", 0, TIDE_OPT_TEXT, "NAME",
		     "only this pool, e.g. L1, which a device's figures leave out" },
	[O_AT] = TIDE_OPTION_AT,
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "groups to show, 0 = all; JSON has all unless given", .def = "20" },
	[O_UNFOLD] = { "unfold", 0, TIDE_OPT_FLAG, NULL,
		       "a row for each layer instead of one for layers.*" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "FILE",
		       "write to FILE; a name that ends in .html: the memory view as a page" },
};

static int show(const tide_args *a, const tide_peak *x)
{
	size_t top = tide__cli_top(&a->opt[O_TOP], a->opt[O_JSON].set);
	if (a->opt[O_JSON].set) {
		tide_json j;
		tide__json_begin(&j, a->out, true);
		tide__peak_json(x, top, &j);
		return tide__cli_json_end(a, &j);
	}
	tide__peak_text(x, top, &a->to);
	return tide__cli_finish(a);
}

static int run(const tide_args *a)
{
	tide_peak_query q = { .by = a->opt[O_BY].set ? (int)a->opt[O_BY].num : TIDE_PEAK_BEST };
	bool whole = a->opt[O_JSON].set || a->style.full_names;
	q.names = whole			 ? TIDE_NAMES_WHOLE
		  : a->opt[O_UNFOLD].set ? TIDE_NAMES_SHORT
					 : TIDE_NAMES_FOLDED;
	tide_peak x = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	int rc = 2;
	q.pool = a->opt[O_POOL].set ? a->opt[O_POOL].text : NULL;
	if (tide__cli_many(a))
		return tide__cli_run_each_rank(a, &a->opt[O_DEVICE], a->opt[O_JSON].set);
	tide_model *m = tide__cli_load(a, a->files[0],
				       TIDE_WANT_MEMORY | TIDE_WANT_SPANS | TIDE_WANT_FLOWS);
	if (!m)
		return 1;
	if (tide__cli_get_device(a, &a->opt[O_DEVICE], m, &q.device) &&
	    tide__cli_get_moment(a, &a->opt[O_AT], m, &q.at))
		rc = tide__peak_find(m, &q, &x, &err) == TIDE_OK
			     ? show(a, &x)
			     : tide__cli_fail(a->files[0], &err);
	tide__peak_free(&x);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_peak = {
	.name = "peak",
	.usage = "FILE... [--group-by WORD] [--device DEVICE] [--pool NAME] [--at TIME] [--json]",
	.summary = "show the allocations alive at the memory peak",
	.help = "Takes the device with the highest peak unless --device names one, and shows all "
		"allocations alive when it was first reached, in groups. The groups add up to the "
		"peak. The column Saves shows how much lower the peak of the whole trace would be "
		"without that group. L1 of a Tenstorrent device is separate from its DRAM and has "
		"its own peak.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.run = run,
	.page = "memory",
};
