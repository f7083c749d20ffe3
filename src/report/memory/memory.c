// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* memory: use over time per device and pool, peaks, largest allocations. */
#include "report/memory/memory_write.h"
#include "report/report.h"

enum { O_DEVICE, O_AT, O_TOP, O_BUCKETS };
static const tide_option options[] = {
	[O_DEVICE] = { TIDE_REPORT_DEVICE, TIDE_FIELD(tide_memory_options, device) },
	[O_AT] = { TIDE_REPORT_AT, TIDE_FIELD(tide_memory_options, at) },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "largest allocations to show", .def = "10",
		    TIDE_FIELD(tide_memory_options, top) },
	[O_BUCKETS] = { "buckets", 0, TIDE_OPT_INT, "N", "points over time in JSON", .def = "200",
			.least = 1, .most = 1000000, TIDE_FIELD(tide_memory_options, buckets) },
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	tide_memory_query q = {
		.device = ask->opt[O_DEVICE].device,
		.at = ask->opt[O_AT].moment,
		.top = (size_t)ask->opt[O_TOP].num,
		.buckets = ask->document ? (size_t)ask->opt[O_BUCKETS].num
					 : tide__memory_chart_buckets(ask->style),
	};
	return tide__memory_find(ask->models[0], &q, result, err);
}

static tide_code write_text(void *result, const tide_out *to)
{
	return tide__memory_text(result, to);
}

static tide_code write_json(void *result, tide_json *j)
{
	tide__memory_json(result, j);
	return TIDE_OK;
}

static void free_memory(void *result)
{
	tide__memory_free(result);
}

static const tide_member point = { "", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
				   .meaning = "bytes" };

static const tide_member sampled[] = {
	{ "allocated_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "allocated bytes of the last sample" },
	{ "peak_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "the highest sample" },
	{ "peak_time_ns", NULL, TIDE_KIND_AT, .may = TIDE_MAY_BE_NULL, .meaning = "its time" },
	{ "own_peak_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "highest value of the device's own peak counter" },
	{ "own_peak_since_ns", NULL, TIDE_KIND_AT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "it was reached after this" },
	{ "own_peak_told_ns", NULL, TIDE_KIND_AT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "and before this" },
	{ "samples", NULL, TIDE_KIND_COUNT, .meaning = "number of samples" },
	{ "series_bytes", NULL, TIDE_KIND_LIST, .members = &point,
	  .meaning = "allocated bytes over time" },
	{ 0 },
};

static const tide_member relative[] = {
	{ "events", NULL, TIDE_KIND_COUNT, .meaning = "memory events" },
	{ "bytes", NULL, TIDE_KIND_DELTA, .meaning = "live bytes minus those at the start" },
	{ "high_bytes", NULL, TIDE_KIND_DELTA, .meaning = "their highest value" },
	{ "high_time_ns", NULL, TIDE_KIND_AT, .meaning = "when it was reached" },
	{ "low_bytes", NULL, TIDE_KIND_DELTA, .meaning = "their lowest value" },
	{ "low_time_ns", NULL, TIDE_KIND_AT, .meaning = "when it was reached" },
	{ "least_peak_bytes", NULL, TIDE_KIND_BYTES, .meaning = "the peak is at least this" },
	{ "alloc_bytes", NULL, TIDE_KIND_BYTES, .meaning = "sum of all allocations" },
	{ "free_bytes", NULL, TIDE_KIND_BYTES, .meaning = "sum of all frees" },
	{ 0 },
};

static const tide_member device[] = {
	{ "device", NULL, TIDE_KIND_TEXT, .meaning = "device" },
	{ "name", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL, .meaning = "its model" },
	{ "totals", NULL, TIDE_KIND_OBJECT, .may = TIDE_MAY_BE_NULL,
	  .members = tide__memory_level_members, .meaning = "the pools that count in its figures" },
	{ "pools", NULL, TIDE_KIND_TABLE, .members = tide__memory_level_members,
	  .meaning = "its pools" },
	{ "live_series_bytes", NULL, TIDE_KIND_LIST, .members = &point,
	  .meaning = "live bytes over time: the highest of each interval" },
	{ "sampled", NULL, TIDE_KIND_OBJECT, .may = TIDE_MAY_BE_NULL, .members = sampled,
	  .meaning = "of a device with samples" },
	{ "relative", NULL, TIDE_KIND_OBJECT, .may = TIDE_MAY_BE_NULL, .members = relative,
	  .meaning = "of memory events with sizes but no addresses" },
	{ "reserved_series_bytes", NULL, TIDE_KIND_LIST, .may = TIDE_MAY_BE_ABSENT,
	  .members = &point, .meaning = "if reserved bytes are known: these over time" },
	{ 0 },
};

static const tide_member members[] = {
	{ "at_time_ns", NULL, TIDE_KIND_AT, .meaning = "time of the live figures" },
	{ "duration_ns", NULL, TIDE_KIND_NS, .meaning = "the trace's length" },
	TIDE_MEMBERS_START,
	{ "devices", NULL, TIDE_KIND_TABLE, .members = device,
	  .meaning = "devices with memory events" },
	{ "largest", NULL, TIDE_KIND_TABLE, .members = tide__memory_largest_members,
	  .meaning = "the largest allocations; with `at`, of those alive then" },
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_memory = {
	.name = "memory",
	.group = TIDE_GROUP_MEMORY,
	.want = TIDE_WANT_MEMORY | TIDE_WANT_SPANS,
	.summary = "show memory in use over time, per device and pool",
	.help = "Shows live and reserved bytes, peaks, a chart of the use over time, and the "
		"largest allocations. Figures are those at the end of the trace, or at the time of "
		"--at.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_memory_options),
	.page = "memory",
	.each_rank = true,
	.size = sizeof(tide_memory),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_memory,
};
