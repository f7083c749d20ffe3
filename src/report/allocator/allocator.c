// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* allocator: segments and blocks at a moment, fragmentation over time, and advice. */
#include "report/allocator/allocator_write.h"
#include "report/report.h"

enum { O_AT, O_MAP, O_BUCKETS, O_ADVICE, O_DEVICE };
static const tide_option options[] = {
	[O_AT] = { TIDE_REPORT_AT, TIDE_FIELD(tide_allocator_options, at) },
	[O_MAP] = { "map", 'm', TIDE_OPT_INT, "N", "largest segments to draw, 0 = all", .def = "16",
		    .text_only = true },
	[O_BUCKETS] = { "buckets", 0, TIDE_OPT_INT, "N", "points over time in JSON", .def = "200",
			.least = 1, .most = 1000000, TIDE_FIELD(tide_allocator_options, buckets) },
	[O_ADVICE] = { "no-advice", 0, TIDE_OPT_FLAG, NULL, "do not replay the trace for advice",
		       TIDE_FIELD(tide_allocator_options, no_advice) },
	[O_DEVICE] = { TIDE_REPORT_ONE_DEVICE, TIDE_FIELD(tide_allocator_options, device) },
};

struct allocator {
	tide_allocator x;
	size_t map;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct allocator *r = result;
	tide_allocator_query q = {
		.device = ask->opt[O_DEVICE].device,
		.at = ask->opt[O_AT].moment,
		.points = ask->document ? (size_t)ask->opt[O_BUCKETS].num : 1,
		.buckets =
			tide__allocator_chart_buckets(ask->style ? ask->style : &(tide_style){ 0 }),
		.advice = !ask->opt[O_ADVICE].set,
	};
	r->map = ask->opt[O_MAP].num ? (size_t)ask->opt[O_MAP].num : SIZE_MAX;
	return tide__allocator_find(ask->models[0], &q, &r->x, err);
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct allocator *r = result;
	tide__allocator_text(&r->x, r->map, to);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	tide__allocator_json(&((struct allocator *)result)->x, j);
	return TIDE_OK;
}

static void free_allocator(void *result)
{
	tide__allocator_free(&((struct allocator *)result)->x);
}

static const tide_member block[] = {
	{ "address", NULL, TIDE_KIND_HEX, .meaning = "address" },
	{ "size", NULL, TIDE_KIND_BYTES, .meaning = "size" },
	{ "state", NULL, TIDE_KIND_WORD, .words = "inactive,active_pending_free,active_allocated",
	  .meaning = "inactive: free; active_pending_free: a stream still uses it" },
	{ "requested_size", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_ABSENT,
	  .meaning = "of a block in use: the requested bytes" },
	{ "alloc", NULL, TIDE_KIND_PLAIN, .may = TIDE_MAY_BE_ABSENT,
	  .meaning = "of a block in use: the row of its allocation" },
	{ "stack", NULL, TIDE_KIND_PLAIN, .may = TIDE_MAY_BE_ABSENT,
	  .meaning = "of a block in use: the row of its call stack" },
	{ 0 },
};

static const tide_member segment[] = {
	{ "address", NULL, TIDE_KIND_HEX, .meaning = "address" },
	{ "total_size", NULL, TIDE_KIND_BYTES, .meaning = "size" },
	{ "active_size", NULL, TIDE_KIND_BYTES, .meaning = "bytes in use" },
	{ "kind", NULL, TIDE_KIND_TEXT, .meaning = "what the segment is" },
	{ "stream", NULL, TIDE_KIND_PLAIN, .meaning = "number of its stream" },
	{ "pool", NULL, TIDE_KIND_PLAIN, .meaning = "row of its pool" },
	{ "before_recording", NULL, TIDE_KIND_BOOL,
	  .meaning = "it existed before the recording began" },
	{ "blocks", NULL, TIDE_KIND_TABLE, .members = block, .meaning = "its blocks" },
	{ 0 },
};

static const tide_member advice[] = {
	{ "kind", NULL, TIDE_KIND_TEXT, .meaning = "name of the advice" },
	{ "severity", NULL, TIDE_KIND_WORD, .words = "info,medium,high", .meaning = "severity" },
	{ "text", NULL, TIDE_KIND_TEXT, .meaning = "the advice, with its evidence" },
	{ "bytes", NULL, TIDE_KIND_BYTES, .meaning = "bytes concerned" },
	{ 0 },
};

#define UNKNOWN .may = TIDE_MAY_BE_NULL
static const tide_member members[] = {
	{ "device", NULL, TIDE_KIND_TEXT, UNKNOWN, .meaning = "device" },
	{ "time_ns", NULL, TIDE_KIND_AT, .meaning = "the moment" },
	{ "memory_events", NULL, TIDE_KIND_COUNT, .meaning = "memory events until then" },
	{ "reserved_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN, .meaning = "reserved bytes" },
	{ "reserved_source", NULL, TIDE_KIND_WORD, UNKNOWN, .words = "segments,samples",
	  .meaning = "where reserved bytes come from" },
	{ "active_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "in use, with blocks that wait to be freed" },
	{ "allocated_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN, .meaning = "allocated" },
	{ "requested_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "the requested part of them" },
	{ "rounding_waste_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "active_bytes - requested_bytes" },
	{ "free_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN, .meaning = "in blocks not in use" },
	{ "cached_free_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "free in whole segments" },
	{ "inactive_split_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "free beside blocks in use" },
	{ "expandable_free_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "free in expandable segments" },
	{ "largest_free_block_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "the largest free block" },
	{ "segments_count", NULL, TIDE_KIND_COUNT, UNKNOWN, .meaning = "segments" },
	{ "free_blocks_count", NULL, TIDE_KIND_COUNT, UNKNOWN, .meaning = "free blocks" },
	{ "loose_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "in use outside all known segments" },
	{ "fragmentation_index", NULL, TIDE_KIND_REAL, UNKNOWN,
	  .meaning = "1 - largest_free_block_bytes / free_bytes" },
	{ "over_time", NULL, TIDE_KIND_TABLE, .members = tide__allocator_point_members,
	  .meaning = "the state at the end of equal intervals" },
	{ "most_unused", NULL, TIDE_KIND_TABLE, .members = tide__allocator_point_members,
	  .meaning = "the state when reserved minus active bytes were highest" },
	{ "segments", NULL, TIDE_KIND_TABLE, .members = segment,
	  .meaning = "segments at the moment" },
	{ "advice", NULL, TIDE_KIND_TABLE, .members = advice, .meaning = "what would help" },
	TIDE_MEMBERS_START,
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_allocator = {
	.name = "allocator",
	.group = TIDE_GROUP_MEMORY,
	.want = TIDE_WANT_MEMORY | TIDE_WANT_SPANS,
	.summary = "show the allocator's segments and blocks, and how fragmented they are",
	.help = "Shows the bytes reserved, in use, lost to rounding and free (and whether they can "
		"be released to the device), the largest free block, and a map of the largest "
		"segments, at the end of the trace or at --at. Then it shows reserved and used "
		"bytes over time, and advice with its evidence. JSON has every segment with its "
		"blocks.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_allocator_options),
	.size = sizeof(struct allocator),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_allocator,
};
