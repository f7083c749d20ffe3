// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* info: format and content of a trace. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "report/files/info_write.h"
#include "report/report.h"

struct info {
	const tide_model *m;
	char *file; /* owned */
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct info *x = result;
	const char *file = tide__ask_file(ask, 0);
	x->m = ask->models[0];
	x->file = tide__strndup(file, strlen(file));
	return x->file ? TIDE_OK : tide__nomem(err);
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct info *x = result;
	tide__info_text(x->m, x->file, to);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	struct info *x = result;
	tide__info_json(x->m, x->file, j);
	return TIDE_OK;
}

static void free_info(void *result)
{
	tide__free(((struct info *)result)->file);
}

static const tide_member rows = { "", NULL, TIDE_KIND_COUNT, .meaning = "rows" };

static const tide_member members[] = {
	{ "file", NULL, TIDE_KIND_TEXT, .meaning = "name of the trace" },
	{ "format", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL, .meaning = "its format" },
	{ "duration_ns", NULL, TIDE_KIND_NS, .meaning = "from the first event to the last" },
	TIDE_MEMBERS_START,
	{ "model_bytes", NULL, TIDE_KIND_BYTES, .meaning = "memory of the loaded trace" },
	{ "processes", NULL, TIDE_KIND_TABLE, .members = tide__info_processes_members,
	  .meaning = "processes" },
	{ "devices", NULL, TIDE_KIND_TABLE, .members = tide__info_devices_members,
	  .meaning = "devices" },
	{ "pools", NULL, TIDE_KIND_TABLE, .members = tide__info_pools_members,
	  .meaning = "memories and pools of the devices" },
	{ "lanes", NULL, TIDE_KIND_TABLE, .members = tide__info_lanes_members,
	  .meaning = "threads, streams and queues" },
	{ "tables", NULL, TIDE_KIND_MAP, .members = &rows,
	  .meaning = "rows of every table of the model" },
	{ "facts", NULL, TIDE_KIND_MAP, .members = &tide__member_any,
	  .meaning = "properties of the whole trace" },
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_info = {
	.name = "info",
	.group = TIDE_GROUP_FILES,
	.summary = "show the format and content of a trace",
	.help = "Shows format, duration, start, processes, devices, pools, lanes, rows of every table, "
		"facts and losses.\nFor several files, a folder or a pattern it prints one row per "
		"trace; recordings of one `tidemark run` form a group, with children below their "
		"parents.",
	.members = members,
	.version = 1,
	.each_rank = true,
	.size = sizeof(struct info),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_info,
};
