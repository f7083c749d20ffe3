// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* oom: why an allocation failed, and what would have made it succeed. */
#include "analyze/allocator/oom_events.h"
#include "report/allocator/oom_report.h"
#include "report/allocator/standing.h"
#include "report/report.h"

enum { O_BY, O_TOP, O_EVENTS, O_DEVICE };
static const tide_option options[] = {
	[O_BY] = { "group-by", 'g', TIDE_OPT_ENUM, TIDE_GROUP_BY_WORDS,
		   "what to group by (default stack; else op, role or size)",
		   TIDE_FIELD(tide_oom_options, group_by) },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "groups to try freeing", .def = "10",
		    TIDE_FIELD(tide_oom_options, top) },
	[O_EVENTS] = { "events", 'e', TIDE_OPT_INT, "N", "events to explain in full, at most 64",
		       .def = "10", .most = TIDE_OOM_MOST_EVENTS,
		       TIDE_FIELD(tide_oom_options, events) },
	[O_DEVICE] = { TIDE_REPORT_DEVICE, TIDE_FIELD(tide_oom_options, device) },
};

struct oom {
	tide_oom_events x;
	tide_standing now; /* if there is no event */
	size_t top;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	const tide_model *m = ask->models[0];
	const tide_value *v = ask->opt;
	const tide_oom_query q = {
		.device = v[O_DEVICE].device,
		.by = v[O_BY].set ? (tide_group_by)v[O_BY].num : tide__group_by_best(m),
		.top = (size_t)v[O_TOP].num,
		.full = (size_t)v[O_EVENTS].num,
		.others = ask->document ? TIDE_OOM_LIST : TIDE_OOM_SUM,
		.settings = true,
	};
	struct oom *o = result;
	o->top = q.top;
	tide_code rc = tide__oom_events_find(m, &q, &o->x, err);
	return rc == TIDE_OK && !o->x.n ? tide__standing_find(m, q.device, q.by, &o->now, err) : rc;
}

static tide_code write_text(void *result, const tide_out *to)
{
	const struct oom *o = result;
	tide__oom_text(&o->x, to);
	if (o->now.known) {
		fputc('\n', to->out);
		tide__standing_text(&o->now, o->x.m, o->top, to);
	}
	tide__put_model_losses(to, o->x.m);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	const struct oom *o = result;
	if (o->now.known) {
		tide__json_kobject(j, "now");
		tide__standing_json(&o->now, o->x.m, o->top, j);
		tide__json_object_end(j);
	}
	tide__oom_json(&o->x, j);
	return TIDE_OK;
}

static void free_oom(void *result)
{
	struct oom *o = result;
	tide__oom_events_free(&o->x);
	tide__standing_free(&o->now);
}

#define UNKNOWN .may = TIDE_MAY_BE_NULL
#define BANKS	.may = TIDE_MAY_BE_ABSENT | TIDE_MAY_BE_NULL
static const tide_member event[] = {
	{ "device", NULL, TIDE_KIND_TEXT, .meaning = "device" },
	{ "time_ns", NULL, TIDE_KIND_AT, .meaning = "when the request failed" },
	{ "requested_bytes", NULL, TIDE_KIND_BYTES, .meaning = "the request" },
	{ "segment_bytes", NULL, TIDE_KIND_BYTES, .meaning = "requested from the device" },
	{ "device_free_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN, .meaning = "free on the device" },
	{ "reserved_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN, .meaning = "reserved bytes" },
	{ "reserved_source", NULL, TIDE_KIND_WORD, UNKNOWN, .words = "segments,samples",
	  .meaning = "where reserved bytes come from" },
	{ "allocated_bytes", NULL, TIDE_KIND_BYTES, .meaning = "allocated" },
	{ "active_bytes", NULL, TIDE_KIND_BYTES,
	  .meaning = "in use, with blocks that wait to be freed" },
	{ "reserved_unallocated_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "reserved_bytes - allocated_bytes" },
	{ "free_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN, .meaning = "in blocks not in use" },
	{ "segments_source", NULL, TIDE_KIND_WORD, UNKNOWN, .words = "recorded,replayed",
	  .meaning = "where segments and free blocks come from" },
	{ "segments_unknown", NULL, TIDE_KIND_TEXT, UNKNOWN,
	  .meaning = "where a replay differs from the recording, if it was tried in vain" },
	{ "largest_free_block_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "the largest free block" },
	{ "inactive_split_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "free beside blocks in use" },
	{ "cached_free_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "free in whole segments" },
	{ "capacity_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "the most that the allocator could reserve" },
	{ "cause", NULL, TIDE_KIND_WORD, .words = "unknown,fragmented,full,limited",
	  .meaning = "why it failed" },
	{ "limit_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "limited: the limit that the program set, if the recording knows it" },
	{ "limit_below_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "limited: the limit is below this" },
	{ "missing_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "full, fragmented: bytes that were missing" },
	{ "banks", NULL, TIDE_KIND_COUNT, BANKS, .meaning = "of a pool with banks: their number" },
	{ "bank_needed_bytes", NULL, TIDE_KIND_BYTES, BANKS, .meaning = "needed in each bank" },
	{ "bank_capacity_bytes", NULL, TIDE_KIND_BYTES, BANKS, .meaning = "size of a bank" },
	{ "bank_allocated_bytes", NULL, TIDE_KIND_BYTES, BANKS, .meaning = "allocated in a bank" },
	{ "bank_free_bytes", NULL, TIDE_KIND_BYTES, BANKS, .meaning = "free in a bank" },
	{ "bank_largest_free_bytes", NULL, TIDE_KIND_BYTES, BANKS,
	  .meaning = "largest free block of a bank" },
	{ "stack", NULL, TIDE_KIND_TABLE, UNKNOWN, .members = tide__stack_members,
	  .meaning = "call stack of the request, from the innermost frame on" },
	{ "holders", NULL, TIDE_KIND_TABLE, UNKNOWN, .members = tide__oom_holder_members,
	  .meaning = "memory by group, and the effect of freeing it" },
	{ "settings", NULL, TIDE_KIND_TABLE, UNKNOWN, .members = tide__oom_setting_members,
	  .meaning = "the recording replayed under other settings" },
	{ 0 },
};

static const tide_member members[] = {
	{ "now", NULL, TIDE_KIND_OBJECT, .may = TIDE_MAY_BE_ABSENT,
	  .members = tide__standing_members,
	  .meaning = "without failed requests, with segments: the allocator at the end" },
	{ "ooms", NULL, TIDE_KIND_TABLE, .members = event, .meaning = "failed requests" },
	{ "explained_count", NULL, TIDE_KIND_COUNT,
	  .meaning = "the first events, which have stack, holders and settings" },
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_oom = {
	.name = "oom",
	.group = TIDE_GROUP_MEMORY,
	.want = TIDE_WANT_MEMORY | TIDE_WANT_SPANS,
	.summary = "explain why an allocation failed and what would have helped",
	.help = "Shows for every out-of-memory event what was requested, what was free on the "
		"device and in the allocator, whether the device was full, fragmented or limited, "
		"which call stacks held enough memory to serve the request, and which allocator "
		"settings serve it when the recording is replayed. The first --events events are "
		"explained in full, the others counted by device and cause. Without such an event "
		"it shows what holds the allocator's memory at the end, and what to record next "
		"time.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_oom_options),
	.size = sizeof(struct oom),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_oom,
};
