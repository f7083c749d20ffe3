// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* ops: the op tree, or a flat table by name. */
#include "report/ops/ops_write.h"
#include "report/report.h"

const tide_option tide__ops_options[TIDE_OPS_OPTIONS] = {
	[TIDE_OPS_O_FLAT] = { "flat", 'f', TIDE_OPT_FLAG, NULL,
			      "one row per name instead of a tree",
			      TIDE_FIELD(tide_ops_options, flat) },
	[TIDE_OPS_O_SORT] = { "sort", 's', TIDE_OPT_ENUM,
			      "order,wall,self,count,alloc,free,change,peak,name",
			      "order of the rows (default: order, of first appearance; flat: wall)",
			      TIDE_FIELD(tide_ops_options, sort) },
	[TIDE_OPS_O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
			     "rows below each op, or of the table with --flat; 0 = all; JSON has all "
			     "unless given",
			     .def = "20", .whole = true, TIDE_FIELD(tide_ops_options, top) },
	[TIDE_OPS_O_DEPTH] = { "depth", 'D', TIDE_OPT_INT, "N",
			       "levels of the tree to show (default all)", .least = 1,
			       TIDE_FIELD(tide_ops_options, depth) },
	[TIDE_OPS_O_ALL] = { "all", 'a', TIDE_OPT_FLAG, NULL,
			     "every row (default: the 100 most important; all with --json)",
			     .text_only = true },
	[TIDE_OPS_O_DEVICE] = { TIDE_REPORT_DEVICE, TIDE_FIELD(tide_ops_options, device) },
	[TIDE_OPS_O_STREAMS] = { "streams", 0, TIDE_OPT_FLAG, NULL,
				 "also device rows: kernels, copies, waits",
				 TIDE_FIELD(tide_ops_options, streams) },
	[TIDE_OPS_O_BY] = { "by", 'b', TIDE_OPT_ENUM, "op,shape",
			    "shape: one row per op and shapes, dtypes and strides of its inputs, "
			    "with device time",
			    .def = "op", TIDE_FIELD(tide_ops_options, by) },
	[TIDE_OPS_O_CAPTURED] = TIDE_OPTION_CAPTURED,
};

static const tide_report_type *instead(const tide_value *v)
{
	return v[TIDE_OPS_O_BY].num ? &tide__report_op_shapes : NULL;
}

struct ops {
	tide_ops x;
	tide_ops_view v;
};

static tide_ops_view view_of(const tide_report_ask *ask)
{
	const tide_value *o = ask->opt;
	bool flat = o[TIDE_OPS_O_FLAT].set, all = o[TIDE_OPS_O_ALL].set;
	tide_ops_view v = { .sort = flat ? TIDE_OPS_WALL : TIDE_OPS_ORDER, .depth = SIZE_MAX };
	if (o[TIDE_OPS_O_SORT].set)
		v.sort = (tide_ops_sort)o[TIDE_OPS_O_SORT].num;
	if (o[TIDE_OPS_O_DEPTH].set)
		v.depth = (size_t)o[TIDE_OPS_O_DEPTH].num;
	v.top = (size_t)o[TIDE_OPS_O_TOP].num;
	if (!v.top || (all && !o[TIDE_OPS_O_TOP].given))
		v.top = SIZE_MAX;
	v.brief = !flat && !ask->document && !all && !o[TIDE_OPS_O_TOP].given &&
		  !o[TIDE_OPS_O_DEPTH].set;
	return v;
}

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct ops *x = result;
	tide_ops_query q = { .streams = ask->opt[TIDE_OPS_O_STREAMS].set,
			     .flat = ask->opt[TIDE_OPS_O_FLAT].set,
			     .device = ask->opt[TIDE_OPS_O_DEVICE].device };
	x->v = view_of(ask);
	return tide__ops_find(ask->models[0], &q, &x->x, err);
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct ops *x = result;
	return tide__ops_text(&x->x, &x->v, to);
}

static tide_code write_json(void *result, tide_json *j)
{
	struct ops *x = result;
	return tide__ops_json(&x->x, &x->v, j);
}

static void free_ops(void *result)
{
	tide__ops_free(&((struct ops *)result)->x);
}

#define OUTSIDE(name, kind_, text)                                                      \
	{                                                                               \
		name, NULL, TIDE_KIND_##kind_, .may = TIDE_MAY_BE_NULL, .meaning = text \
	}
static const tide_member outside[] = {
	OUTSIDE("allocs", COUNT, "allocations"),
	OUTSIDE("frees", COUNT, "frees"),
	OUTSIDE("alloc_bytes", BYTES, "allocated bytes"),
	OUTSIDE("free_bytes", BYTES, "freed bytes"),
	{ 0 },
};

static const tide_member members[] = {
	{ "device", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "device whose memory the rows count; null: all" },
	{ "flat", NULL, TIDE_KIND_BOOL, .meaning = "one row per name instead of a tree" },
	{ "outside", NULL, TIDE_KIND_OBJECT, .members = outside,
	  .meaning = "memory events outside any op" },
	{ "ops", NULL, TIDE_KIND_TABLE, .members = tide__ops_columns, .meaning = "ops" },
	{ "totals", NULL, TIDE_KIND_TABLE, .may = TIDE_MAY_BE_ABSENT,
	  .members = tide__ops_total_columns,
	  .meaning = "sums that the profile has, without single calls" },
	TIDE_MEMBERS_START,
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_ops = {
	.name = "ops",
	.group = TIDE_GROUP_TIME,
	.want = TIDE_WANT_SPANS | TIDE_WANT_MEMORY,
	.summary = "show ops with their counts, times and memory changes",
	.help = "Wall time, Allocated, Freed, Change and Peak of an op include nested ops; Self "
		"time does not. Change is allocated minus freed inside the op; Peak is the "
		"highest value of this balance in any of its runs. --by shape shows the calls, host "
		"time and device time of each op by the arguments it got.",
	TIDE_REPORT_OPTIONS(tide__ops_options),
	.instead = instead,
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_ops_options),
	.page = "ops",
	.size = sizeof(struct ops),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_ops,
};
