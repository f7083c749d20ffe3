// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* leaks: groups of allocations that hold more memory after every step. */
#include "render/report/memory/leaks.h"
#include "report/memory/peak_write.h"
#include "report/report.h"

enum { O_BY, O_EVERY, O_TOP, O_DEVICE };
static const tide_option options[] = {
	[O_BY] = { "group-by", 'g', TIDE_OPT_ENUM, TIDE_GROUP_BY_WORDS,
		   "what to group by (default stack; else op, role or size)",
		   TIDE_FIELD(tide_leaks_options, group_by) },
	[O_EVERY] = { "every", 'e', TIDE_OPT_TEXT, "TIME",
		      "compare at equal intervals, e.g. 500ms or 5%, instead of the trace's steps",
		      TIDE_FIELD(tide_leaks_options, every) },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "rows to show, 0 = all", .def = "20",
		    TIDE_FIELD(tide_leaks_options, top) },
	[O_DEVICE] = { TIDE_REPORT_ONE_DEVICE, TIDE_FIELD(tide_leaks_options, device) },
};

struct leaks {
	tide_leaks l;
	tide_leaks_view v; /* v.l is the member above */
};

static tide_code take_every(const char *dashes, const tide_model *m, const char *text, int64_t *out,
			    tide_error *err)
{
	*out = 0;
	if (text && *dashes && tide__lacks_unit(text))
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "--every needs a unit: %.40ss, %.40sms or %.40s%%", text, text,
				  text);
	if (!text || (tide__parse_time(text, m->t_end, out) && *out > 0))
		return TIDE_OK;
	if (!m->t_end)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "every: the trace has no duration");
	return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
			  "every needs a time such as 500ms or 5%%, not '%.60s'", text);
}

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct leaks *x = result;
	const tide_model *m = ask->models[0];
	const tide_value *v = ask->opt;
	int by = v[O_BY].set ? (int)v[O_BY].num : (int)tide__group_by_best(m);
	int64_t every;
	tide_code rc =
		take_every(ask->dashes, m, v[O_EVERY].set ? v[O_EVERY].text : NULL, &every, err);
	x->v = (tide_leaks_view){ .m = m,
				  .device = v[O_DEVICE].device,
				  .l = &x->l,
				  .top = v[O_TOP].num ? (size_t)v[O_TOP].num : SIZE_MAX };
	return rc == TIDE_OK
		       ? tide__find_leaks(m, x->v.device, (tide_group_by)by, every, &x->l, err)
		       : rc;
}

static tide_code write_text(void *result, const tide_out *to)
{
	tide__leaks_text(&((struct leaks *)result)->v, to);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	tide__leaks_json(&((struct leaks *)result)->v, j);
	return TIDE_OK;
}

static void free_leaks(void *result)
{
	tide__leaks_free(&((struct leaks *)result)->l);
}

static const tide_member bytes = { "", NULL, TIDE_KIND_BYTES, .meaning = "bytes" };

#define FIGURES                                                                                    \
	{ "key", NULL, TIDE_KIND_TEXT, .meaning = "the group: a stack, an op, a role ..." },       \
		{ "slope_bytes_per_step", NULL, TIDE_KIND_REAL,                                    \
		  .meaning = "slope of a line through the live bytes after each step" },           \
		{ "first_bytes", NULL, TIDE_KIND_BYTES, .meaning = "live bytes after step 1" },    \
		{ "last_bytes", NULL, TIDE_KIND_BYTES,                                             \
		  .meaning = "live bytes after the last step" },                                   \
		{ "growth_bytes", NULL, TIDE_KIND_DELTA, .meaning = "last_bytes - first_bytes" },  \
		{ "last_count", NULL, TIDE_KIND_COUNT,                                             \
		  .meaning = "live allocations after the last step" },                             \
		{ "rose", NULL, TIDE_KIND_COUNT, .meaning = "steps after which it held more" },    \
		{ "fell", NULL, TIDE_KIND_COUNT, .meaning = "steps after which it held less" },    \
		{ "growing", NULL, TIDE_KIND_BOOL, .meaning = "grows in both halves of the run" }, \
	{                                                                                          \
		"steady", NULL, TIDE_KIND_BOOL, .meaning = "never fell"                            \
	}

static const tide_member total[] = { FIGURES, { 0 } };
static const tide_member growing[] = {
	FIGURES,
	{ "bytes_after_step", NULL, TIDE_KIND_LIST, .may = TIDE_MAY_BE_NULL, .members = &bytes,
	  .meaning = "live bytes after each step; null for long runs and after row 100" },
	{ "stack", NULL, TIDE_KIND_TABLE, .members = tide__stack_members,
	  .meaning = "call stack of its first allocation, from the innermost frame on" },
	{ 0 },
};

static const tide_member members[] = {
	{ "device", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL, .meaning = "device" },
	{ "steps_from", NULL, TIDE_KIND_TEXT, .meaning = "what the steps are" },
	{ "step_name", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "name of the range that is a step" },
	{ "steps", NULL, TIDE_KIND_COUNT, .meaning = "number of steps" },
	{ "known", NULL, TIDE_KIND_BOOL, .meaning = "false: growth is unknown" },
	{ "total", NULL, TIDE_KIND_OBJECT, .may = TIDE_MAY_BE_NULL, .members = total,
	  .meaning = "the device as a whole" },
	{ "growing", NULL, TIDE_KIND_TABLE, .members = growing,
	  .meaning = "groups that grow, steepest first" },
	{ "growing_count", NULL, TIDE_KIND_COUNT, .meaning = "groups that grow" },
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_leaks = {
	.name = "leaks",
	.group = TIDE_GROUP_MEMORY,
	.want = TIDE_WANT_MEMORY | TIDE_WANT_SPANS,
	.summary = "show allocations that grow from step to step",
	.help = "Takes the live bytes of every call stack at the end of each step, fits a line "
		"through them and lists those that grow, steepest first. Steps are step marks, "
		"else ProfilerStep ranges, else a range that repeats at least 3 times; --every "
		"uses equal intervals. Memory that the first step keeps does not count as growth.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_leaks_options),
	.each_rank = true,
	.size = sizeof(struct leaks),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_leaks,
};
