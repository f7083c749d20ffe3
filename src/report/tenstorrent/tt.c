// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* tt: a run on Tenstorrent hardware, operation by operation. The command does more: cli/cmd/tt.c. */
#include "report/tenstorrent/tt.h"
#include "base/error.h"
#include "render/report/tenstorrent/tt_report.h"

enum { O_WARMUP, O_RUNS, O_RANK };
static const tide_option options[] = {
	[O_WARMUP] = { "skip-warmup", 0, TIDE_OPT_FLAG, NULL,
		       "leave out everything up to the first \"Got output shape:\"" },
	[O_RUNS] = { "skip-runs", 0, TIDE_OPT_INT, "N", "leave out the first N runs of programs",
		     .def = "0", .most = UINT32_MAX },
	[O_RANK] = { "rank", 0, TIDE_OPT_INT, "N", "only this rank" },
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	tide_tt_result *x = result;
	tide_tt_options o = TIDE_TT_OPTIONS_INIT;
	o.skip_warmup = ask->opt[O_WARMUP].set;
	o.skip_runs = (uint32_t)ask->opt[O_RUNS].num;
	o.rank = ask->opt[O_RANK].set ? ask->opt[O_RANK].num : -1;
	return tide__tt_find(ask->models[0], &o, &x->t, err);
}

static tide_code write_text(void *result, const tide_out *to)
{
	return tide__tt_print(((tide_tt_result *)result)->t, to->out, &to->style, NULL);
}

static tide_code write_json(void *result, tide_json *j)
{
	tide_tt *t = ((tide_tt_result *)result)->t;
	tide_code rc = tide__tt_json(t, j, NULL);
	tide__start_json(j, t->m);
	tide__losses_json(j, t->m);
	return rc;
}

static void free_tt(void *result)
{
	tide__tt_free(((tide_tt_result *)result)->t);
}

static const tide_member live_padding[] = {
	{ "logical_bytes", NULL, TIDE_KIND_BYTES, .meaning = "bytes without padding" },
	{ "padded_bytes", NULL, TIDE_KIND_BYTES, .meaning = "bytes of whole tiles" },
	{ "tensors", NULL, TIDE_KIND_COUNT, .meaning = "live tensors" },
	{ "index", NULL, TIDE_KIND_COUNT, .meaning = "element of the operation in the files" },
	{ "position", NULL, TIDE_KIND_COUNT, .meaning = "its position on the axis" },
	{ 0 },
};

static const tide_member members[] = {
	{ "operations", NULL, TIDE_KIND_COUNT, .meaning = "operations with a memory state" },
	{ "ranks", NULL, TIDE_KIND_COUNT, .meaning = "ranks" },
	{ "deallocates_excluded", NULL, TIDE_KIND_COUNT, .meaning = "deallocates, left out" },
	{ "get_devices_excluded", NULL, TIDE_KIND_COUNT, .meaning = "get_device, left out" },
	{ "operations_without_state", NULL, TIDE_KIND_COUNT,
	  .meaning = "operations without a memory state, left out" },
	{ "peak_padding_overhead_pct", NULL, TIDE_KIND_PCT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "highest padding of live tensors in DRAM" },
	{ "live_padding", NULL, TIDE_KIND_OBJECT, .may = TIDE_MAY_BE_NULL, .members = live_padding,
	  .meaning = "live tensors in DRAM when they fill the most tiles" },
	{ "peaks", NULL, TIDE_KIND_TABLE, .members = tide__tt_peak_members,
	  .meaning = "peak of each memory, and the operation that ran before it" },
	{ "dram_at_peak", NULL, TIDE_KIND_TABLE, .members = tide__tt_part_members,
	  .meaning = "what DRAM holds at its peak" },
	{ "dram_over_ops", NULL, TIDE_KIND_TABLE, .members = tide__tt_share_members,
	  .meaning = "weights against activations before an operation" },
	{ "top_growers_dram", NULL, TIDE_KIND_TABLE, .members = tide__tt_top_members,
	  .meaning = "operations that add the most DRAM" },
	{ "top_growers_l1", NULL, TIDE_KIND_TABLE, .members = tide__tt_top_members,
	  .meaning = "operations that add the most L1" },
	{ "top_consumers_dram", NULL, TIDE_KIND_TABLE, .members = tide__tt_top_members,
	  .meaning = "operations after which the most DRAM is allocated" },
	{ "fragmentation", NULL, TIDE_KIND_TABLE, .members = tide__tt_fragmentation_members,
	  .meaning = "fragmentation of each memory" },
	{ "padding", NULL, TIDE_KIND_TABLE, .members = tide__tt_padding_members,
	  .meaning = "results with the most tile padding" },
	{ "const_eval", NULL, TIDE_KIND_TABLE, .members = tide__tt_const_eval_members,
	  .meaning = "const-eval programs" },
	{ "out_of_memory", NULL, TIDE_KIND_TABLE, .members = tide__tt_oom_members,
	  .meaning = "failed requests" },
	{ "modules", NULL, TIDE_KIND_COUNT, .meaning = "modules of the model" },
	{ "weight_bytes", NULL, TIDE_KIND_BYTES, .meaning = "their weights, each counted once" },
	{ "weights", NULL, TIDE_KIND_TABLE, .members = tide__tt_weight_members,
	  .meaning = "weights, largest first" },
	{ "operations_by_name", NULL, TIDE_KIND_TABLE, .members = tide__tt_name_members,
	  .meaning = "operations by name" },
	{ "skipped", NULL, TIDE_KIND_TABLE, .members = tide__tt_skipped_members,
	  .meaning = "operations without a memory state" },
	TIDE_MEMBERS_START,
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_tt = {
	.name = "tt",
	.group = TIDE_GROUP_MEMORY,
	.summary = "report the memory of a Tenstorrent run op by op",
	.help = "Reads a log of the Tenstorrent runtime, or the recording or the files made of it.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.size = sizeof(tide_tt_result),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_tt,
};
