// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* heap: the host heap of a program: high-water mark, leaks, temporary allocations. */
#include "render/report/memory/heap.h"
#include "report/report.h"

enum { O_SORT, O_TOP };
static const tide_option options[] = {
	[O_SORT] = { "sort", 's', TIDE_OPT_ENUM, "peak,left,allocated,calls,temporary",
		     "order of the rows", .def = "peak", TIDE_FIELD(tide_heap_options, sort) },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows to show, 0 = all; JSON has all unless given", .def = "20", .whole = true,
		    TIDE_FIELD(tide_heap_options, top) },
};

struct heap {
	const tide_model *m;
	tide_heap h;
	tide_heap_view v;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct heap *x = result;
	x->m = ask->models[0];
	x->v = (tide_heap_view){ .sort = (tide_heap_sort)ask->opt[O_SORT].num,
				 .top = (size_t)ask->opt[O_TOP].num };
	return tide__heap_report_find(x->m, &x->h, err);
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct heap *x = result;
	return tide__heap_text(x->m, &x->h, &x->v, to);
}

static tide_code write_json(void *result, tide_json *j)
{
	struct heap *x = result;
	return tide__heap_json(x->m, &x->h, &x->v, j);
}

static void free_heap(void *result)
{
	tide__heap_report_free(&((struct heap *)result)->h);
}

static const tide_member members[] = {
	{ "recorded", NULL, TIDE_KIND_BOOL, .meaning = "false: the trace has no host heap" },
	{ "sample_mean_bytes", NULL, TIDE_KIND_REAL, .may = TIDE_MAY_BE_NULL,
	  .meaning = "mean bytes between samples; null: every call was recorded" },
	{ "samples", NULL, TIDE_KIND_COUNT, .meaning = "recorded allocations" },
	{ "peak_bytes", NULL, TIDE_KIND_BYTES, .meaning = "high-water mark" },
	{ "peak_error_bytes", NULL, TIDE_KIND_REAL, .meaning = "its standard error" },
	{ "peak_ns", NULL, TIDE_KIND_AT, .meaning = "when it was reached" },
	{ "allocated_bytes", NULL, TIDE_KIND_BYTES, .meaning = "sum of all allocations" },
	{ "count", NULL, TIDE_KIND_REAL, .meaning = "allocations" },
	{ "count_error", NULL, TIDE_KIND_REAL, .meaning = "the standard error of count" },
	{ "temporary", NULL, TIDE_KIND_REAL, .may = TIDE_MAY_BE_NULL,
	  .meaning = "allocations whose block the next heap event frees; null: sampled" },
	{ "left_bytes", NULL, TIDE_KIND_BYTES, .meaning = "bytes not freed at the end" },
	{ "left_error_bytes", NULL, TIDE_KIND_REAL, .meaning = "their standard error" },
	{ "left_count", NULL, TIDE_KIND_REAL, .meaning = "blocks not freed" },
	{ "left_count_error", NULL, TIDE_KIND_REAL, .meaning = "the standard error of left_count" },
	{ "stacks", NULL, TIDE_KIND_TABLE, .members = tide__heap_stack_members,
	  .meaning = "call stacks that allocated" },
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_heap = {
	.name = "heap",
	.group = TIDE_GROUP_MEMORY,
	.want = TIDE_WANT_MEMORY,
	.summary = "show the host heap: high-water mark, blocks not freed, temporary allocations",
	.help = "Reads a recording of `tidemark run --heap`. Figures of a sampled heap are unbiased "
		"estimates with their standard error.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_heap_options),
	.size = sizeof(struct heap),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_heap,
};
