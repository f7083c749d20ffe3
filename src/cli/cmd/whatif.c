// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* whatif: the recorded requests under other allocator settings or on a smaller device. */
#include "cli/cli.h"

#include <string.h>

#include "cli/select.h"
#include "render/report/allocator/whatif.h"

enum { O_SET, O_CAPACITY, O_SWEEP, O_DEVICE, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_SET] = { "set", 's', TIDE_OPT_TEXT, "NAME=VALUE", "an allocator setting", .many = true },
	[O_CAPACITY] = { "capacity", 'c', TIDE_OPT_BYTES, "SIZE",
			 "memory available to the allocator, e.g. 40GiB (default: as recorded in "
			 "the trace)",
			 .unit = true },
	[O_SWEEP] = { "sweep", 0, TIDE_OPT_FLAG, NULL,
		      "also try a standard set of settings (the default without --set)" },
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

static int show(const tide_args *a, const tide_whatif *x)
{
	if (a->opt[O_JSON].set) {
		tide_json j;
		tide__json_begin(&j, a->out, true);
		tide__whatif_json(x, &j);
		return tide__cli_json_end(a, &j);
	}
	tide__whatif_text(x, &a->to);
	return tide__cli_finish(a);
}

static int answer(const tide_args *a, const tide_model *m, uint32_t device)
{
	const tide_value *set = &a->opt[O_SET];
	tide_whatif_query q = { .device = device,
				.capacity = (uint64_t)a->opt[O_CAPACITY].num,
				.set = set->list,
				.n_set = set->n_list,
				.standard = a->opt[O_SWEEP].set || !set->n_list };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_whatif x = { 0 };
	tide_code rc = tide__whatif_find(m, &q, &x, &err);
	int status = rc == TIDE_OK	 ? show(a, &x)
		     : rc == TIDE_EUSAGE ? tide__cli_fail_usage(a, "--set %s", err.text)
					 : tide__cli_fail(a->files[0], &err);
	tide__whatif_free(&x);
	return status;
}

static int run(const tide_args *a)
{
	uint32_t device;
	int rc;
	if (a->opt[O_CAPACITY].set && a->opt[O_CAPACITY].num <= 0)
		return tide__cli_fail_usage(a, "--capacity needs a size such as 40GiB");
	tide_model *m = tide__cli_load(a, a->files[0], TIDE_WANT_MEMORY);
	if (!m)
		return 1;
	if (tide__cli_get_one_device(a, &a->opt[O_DEVICE], m, &device, &rc))
		rc = answer(a, m, device);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_whatif = {
	.name = "whatif",
	.usage = "FILE [--set NAME=VALUE]... [--capacity SIZE] [--sweep] [--json]",
	.summary = "replay a recording under other allocator settings or on a smaller device",
	.help = "Sends every recorded request through a simulator of PyTorch's CUDA caching "
		"allocator and shows what it would have reserved, how much of that would have been "
		"unused, and where it would have run out. Settings have their "
		"PYTORCH_CUDA_ALLOC_CONF names: expandable_segments, max_split_size_mb, "
		"max_non_split_rounding_mb, roundup_power2_divisions, "
		"garbage_collection_threshold. Without --set a standard set of settings is tried; "
		"rows are sorted, best first. The recorded settings are replayed too: if they "
		"reproduce the recorded segments, the results are reliable.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
};
