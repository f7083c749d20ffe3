// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* whatif: the recorded requests under other allocator settings or on a smaller device. */
#include "analyze/allocator/sim/config.h"
#include "report/allocator/whatif_write.h"
#include "report/report.h"

enum { O_SET, O_CAPACITY, O_SWEEP, O_DEVICE };
static const tide_option options[] = {
	[O_SET] = { "set", 's', TIDE_OPT_TEXT, "NAME=VALUE", "an allocator setting", .many = true,
		    TIDE_FIELD(tide_whatif_options, set) },
	[O_CAPACITY] = { "capacity", 'c', TIDE_OPT_BYTES, "SIZE",
			 "memory available to the allocator, e.g. 40GiB (default: as recorded in "
			 "the trace)",
			 .least = 1, TIDE_FIELD(tide_whatif_options, capacity) },
	[O_SWEEP] = { "sweep", 0, TIDE_OPT_FLAG, NULL,
		      "also try a standard set of settings (the default without --set)",
		      TIDE_FIELD(tide_whatif_options, sweep) },
	[O_DEVICE] = { TIDE_REPORT_ONE_DEVICE, TIDE_FIELD(tide_whatif_options, device) },
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	const tide_value *set = &ask->opt[O_SET];
	tide_whatif_query q = { .device = ask->opt[O_DEVICE].device,
				.capacity = (uint64_t)ask->opt[O_CAPACITY].num,
				.set = set->list,
				.n_set = set->n_list,
				.standard = ask->opt[O_SWEEP].set || !set->n_list };
	tide_error own = { .offset = TIDE_NO_OFFSET };
	tide_code rc = tide__whatif_find(ask->models[0], &q, result, &own);
	if (rc == TIDE_EUSAGE)
		return tide__fail(err, rc, TIDE_NO_OFFSET, "%sset %s", ask->dashes, own.text);
	if (rc != TIDE_OK && err)
		*err = own;
	return rc;
}

static tide_code write_text(void *result, const tide_out *to)
{
	tide__whatif_text(result, to);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	tide__whatif_json(result, j);
	return TIDE_OK;
}

static void free_whatif(void *result)
{
	tide__whatif_free(result);
}

#define UNCHECKED .may = TIDE_MAY_BE_ABSENT
static const tide_member recorded[] = {
	{ "settings", NULL, TIDE_KIND_TEXT, .meaning = "allocator settings of the recording" },
	{ "settings_known", NULL, TIDE_KIND_BOOL, .meaning = "false: they are assumed" },
	{ "reserved_peak_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "highest reserved bytes" },
	{ "reserved_source", NULL, TIDE_KIND_WORD, .may = TIDE_MAY_BE_NULL,
	  .words = "segments,samples", .meaning = "where reserved bytes come from" },
	{ "segment_events", NULL, TIDE_KIND_COUNT, UNCHECKED,
	  .meaning = "if the trace has segments: their events" },
	{ "segment_events_reproduced", NULL, TIDE_KIND_COUNT, UNCHECKED,
	  .meaning = "of these, events that the replay reproduced" },
	{ "segment_events_followed", NULL, TIDE_KIND_COUNT, UNCHECKED,
	  .meaning = "of these, events without a known reason that the replay followed" },
	{ "reproduced", NULL, TIDE_KIND_BOOL, .may = TIDE_MAY_BE_NULL,
	  .meaning = "the replay reproduced all of them; null: there is nothing to compare" },
	{ "difference", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_ABSENT | TIDE_MAY_BE_NULL,
	  .meaning = "the first difference" },
	{ "simulated_reserved_peak_bytes", NULL, TIDE_KIND_BYTES, UNCHECKED,
	  .meaning = "highest reserved bytes of the replay" },
	{ "simulated_allocated_peak_bytes", NULL, TIDE_KIND_BYTES, UNCHECKED,
	  .meaning = "highest allocated bytes of the replay" },
	{ "empty_cache_calls", NULL, TIDE_KIND_COUNT,
	  .meaning = "times the program emptied the cache" },
	{ "allocations_before", NULL, TIDE_KIND_COUNT,
	  .meaning = "allocations older than the recording" },
	{ 0 },
};

static const tide_member runs_out[] = {
	{ "settings", NULL, TIDE_KIND_TEXT, .meaning = "allocator settings" },
	{ "stack", NULL, TIDE_KIND_TABLE, .members = tide__stack_members,
	  .meaning = "call stack of the request, from the innermost frame on" },
	{ 0 },
};

static const tide_member members[] = {
	{ "device", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL, .meaning = "device" },
	{ "capacity_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "memory available to the allocator; null: unlimited" },
	{ "requests", NULL, TIDE_KIND_COUNT, .meaning = "replayed requests" },
	{ "recorded", NULL, TIDE_KIND_OBJECT, .may = TIDE_MAY_BE_ABSENT, .members = recorded,
	  .meaning = "unless the trace has no allocations: the recorded settings, replayed" },
	{ "results", NULL, TIDE_KIND_TABLE, .members = tide__whatif_result_members,
	  .meaning = "settings, best first" },
	{ "runs_out", NULL, TIDE_KIND_TABLE, .members = runs_out,
	  .meaning = "settings with which memory runs out" },
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_whatif = {
	.name = "whatif",
	.group = TIDE_GROUP_MEMORY,
	.want = TIDE_WANT_MEMORY,
	.summary = "replay a recording under other allocator settings or on a smaller device",
	.help = "Sends every recorded request through a simulator of PyTorch's CUDA caching "
		"allocator and shows what it would have reserved, how much of that would have been "
		"unused, and where it would have run out. Settings have their "
		"PYTORCH_CUDA_ALLOC_CONF names: expandable_segments, max_split_size_mb, "
		"max_non_split_rounding_mb, large_segment_size_mb, "
		"roundup_power2_divisions, garbage_collection_threshold (as in PyTorch " TIDE_SIM_CHECKED
		"). Without --set a standard set of settings is tried; "
		"rows are sorted, best first. The recorded settings are replayed too: if they "
		"reproduce the recorded segments, the results are reliable.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_whatif_options),
	.size = sizeof(tide_whatif),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_whatif,
};
