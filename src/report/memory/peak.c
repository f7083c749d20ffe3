// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* peak: the allocations alive at the highest point, in groups. */
#include "report/memory/peak_write.h"
#include "report/report.h"

enum { O_BY, O_DEVICE, O_POOL, O_AT, O_TOP, O_UNFOLD };
static const tide_option options[] = {
	[O_BY] = { "group-by", 'g', TIDE_OPT_ENUM, TIDE_GROUP_BY_WORDS,
		   "what to group by (default: op; stack if more bytes have one; size if none "
		   "has either)",
		   TIDE_FIELD(tide_peak_options, group_by) },
	[O_DEVICE] = { TIDE_REPORT_DEVICE, TIDE_FIELD(tide_peak_options, device) },
	[O_POOL] = { "pool", 0, TIDE_OPT_TEXT, "NAME",
		     "only this pool, e.g. L1, which a device's figures leave out",
		     TIDE_FIELD(tide_peak_options, pool) },
	[O_AT] = { TIDE_REPORT_AT, TIDE_FIELD(tide_peak_options, at) },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "groups to show, 0 = all; JSON has all unless given", .def = "20",
		    .whole = true, TIDE_FIELD(tide_peak_options, top) },
	[O_UNFOLD] = { "unfold", 0, TIDE_OPT_FLAG, NULL,
		       "a row for each layer instead of one for layers.*", .text_only = true },
};

struct peak {
	tide_peak x;
	size_t top;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct peak *p = result;
	tide_peak_query q = {
		.by = ask->opt[O_BY].set ? (int)ask->opt[O_BY].num : TIDE_PEAK_BEST,
		.device = ask->opt[O_DEVICE].device,
		.pool = ask->opt[O_POOL].text,
		.at = ask->opt[O_AT].moment,
	};
	q.names = ask->document || ask->style->full_names ? TIDE_NAMES_WHOLE
		  : ask->opt[O_UNFOLD].set		  ? TIDE_NAMES_SHORT
							  : TIDE_NAMES_FOLDED;
	p->top = (size_t)ask->opt[O_TOP].num;
	return tide__peak_find(ask->models[0], &q, &p->x, err);
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct peak *p = result;
	tide__peak_text(&p->x, p->top, to);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	struct peak *p = result;
	tide__peak_json(&p->x, p->top, j);
	return TIDE_OK;
}

static void free_peak(void *result)
{
	tide__peak_free(&((struct peak *)result)->x);
}

/* Members of a device and of an on-chip memory. */
#define LEVEL                                                                               \
	{ "device", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL, .meaning = "device" },   \
		{ "pool", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_ABSENT,                  \
		  .meaning = "pool, of an on-chip memory" },                                \
		{ "peak_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,             \
		  .meaning = "highest live bytes" },                                        \
		{ "peak_time_ns", NULL, TIDE_KIND_AT, .may = TIDE_MAY_BE_NULL,              \
		  .meaning = "when they were first reached" },                              \
		{ "reserved_bytes_at_peak", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL, \
		  .meaning = "reserved bytes at that time" },                               \
	{                                                                                   \
		"reserved_source", NULL, TIDE_KIND_WORD,                                    \
			.may = TIDE_MAY_BE_NULL, .words = "segments,samples",               \
			.meaning = "where reserved bytes come from"                         \
	}

static const tide_member level[] = {
	LEVEL,
	{ "alive_count", NULL, TIDE_KIND_COUNT, .meaning = "live allocations at the peak" },
	{ "requested_bytes", NULL, TIDE_KIND_BYTES, .meaning = "the requested part of peak_bytes" },
	{ 0 },
};

static const tide_member members[] = {
	LEVEL,
	{ "at_time_ns", NULL, TIDE_KIND_AT, .may = TIDE_MAY_BE_ABSENT,
	  .meaning = "with `at`: the moment of the live figures" },
	{ "reserved_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "reserved bytes at the moment" },
	{ "alive_count", NULL, TIDE_KIND_COUNT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "allocations alive at the moment" },
	{ "alive_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL, .meaning = "their bytes" },
	{ "requested_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "their requested bytes" },
	{ "never_used_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL | TIDE_MAY_BE_ABSENT,
	  .meaning = "where uses are recorded: bytes at the peak that are never used again; null "
		     "at another moment or if that is unknown" },
	{ "group_by", NULL, TIDE_KIND_WORD, .words = TIDE_GROUP_BY_WORDS,
	  .meaning = "what the groups are" },
	{ "groups", NULL, TIDE_KIND_TABLE, .members = tide__peak_group_members,
	  .meaning = "live allocations in groups that add up to alive_bytes" },
	{ "evidence", NULL, TIDE_KIND_TABLE, .may = TIDE_MAY_BE_ABSENT,
	  .members = tide__peak_evidence_members,
	  .meaning = "grouped by role: the rules that determined the roles" },
	{ "devices", NULL, TIDE_KIND_TABLE, .members = level,
	  .meaning = "every device with allocations" },
	{ "on_chip", NULL, TIDE_KIND_TABLE, .members = level,
	  .meaning = "memories that a device's figures leave out, such as L1" },
	TIDE_MEMBERS_START,
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_peak = {
	.name = "peak",
	.group = TIDE_GROUP_MEMORY,
	.want = TIDE_WANT_MEMORY | TIDE_WANT_SPANS | TIDE_WANT_FLOWS,
	.summary = "show the allocations alive at the memory peak",
	.help = "Takes the device with the highest peak unless --device names one, and shows all "
		"allocations alive when it was first reached, in groups. The groups add up to the "
		"peak. The column Saves shows how much lower the peak of the whole trace would be "
		"without that group. L1 of a Tenstorrent device is separate from its DRAM and has "
		"its own peak.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_peak_options),
	.page = "memory",
	.each_rank = true,
	.size = sizeof(struct peak),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_peak,
};
