// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* phases: memory phase by phase. */
#include "base/error.h"
#include "render/report/memory/phases_tracker.h"
#include "report/memory/phases_write.h"
#include "report/report.h"

enum { O_DEVICE, O_BY, O_SUM, O_TRACKER };
static const tide_option options[] = {
	[O_DEVICE] = { TIDE_REPORT_DEVICE, TIDE_FIELD(tide_phases_options, device) },
	[O_BY] = { "by", 'b', TIDE_OPT_ENUM, "mark,annotation",
		   "what defines phases: marks, or ranges of record_function and NVTX",
		   .def = "mark", TIDE_FIELD(tide_phases_options, by) },
	[O_SUM] = { "sum", 's', TIDE_OPT_FLAG, NULL,
		    "one row per phase name: its phases summed, and the highest of their peaks",
		    TIDE_FIELD(tide_phases_options, sum) },
	[O_TRACKER] = { "tracker", 0, TIDE_OPT_FLAG, NULL,
			"write DRAM and L1 lines in MB, in the format of memory trackers",
			.text_only = true, TIDE_FIELD(tide_phases_options, tracker) },
};

struct phases {
	const tide_model *m;
	tide_phases p;
	tide_phases_view v;
	bool tracker;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct phases *x = result;
	const tide_value *v = ask->opt;
	x->m = ask->models[0];
	x->v.device = v[O_DEVICE].device;
	x->tracker = v[O_TRACKER].set;
	tide_code rc = (v[O_BY].num ? tide__phases_find_by_annotation
				    : tide__find_phases)(x->m, &x->p, err);
	return rc == TIDE_OK && v[O_SUM].set && !tide__phases_join(&x->p) ? tide__nomem(err) : rc;
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct phases *x = result;
	if (x->tracker) /* other tools read this text: no losses in it */
		tide__phases_write_tracker(x->m, &x->p, x->v.device, to->out);
	else
		tide__phases_text(x->m, &x->p, &x->v, to);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	struct phases *x = result;
	tide__phases_json(x->m, &x->p, &x->v, j);
	return TIDE_OK;
}

static void free_phases(void *result)
{
	tide__phases_free(&((struct phases *)result)->p);
}

static const tide_member level[] = {
	{ "scope", NULL, TIDE_KIND_WORD, .words = "pool,device,l1_cb,l1_buffer,l1,total",
	  .meaning = "what the figures are of" },
	{ "device", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_ABSENT,
	  .meaning = "unless of all devices: the device" },
	{ "pool", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_ABSENT | TIDE_MAY_BE_NULL,
	  .meaning = "of a pool: its name" },
	{ "segment_peak_bytes", NULL, TIDE_KIND_BYTES,
	  .meaning = "highest use above that at the phase's start" },
	{ "allocations_bytes", NULL, TIDE_KIND_BYTES, .meaning = "allocated bytes" },
	{ "deallocations_bytes", NULL, TIDE_KIND_BYTES, .meaning = "freed bytes" },
	{ "allocations", NULL, TIDE_KIND_COUNT, .meaning = "allocations" },
	{ "deallocations", NULL, TIDE_KIND_COUNT, .meaning = "frees" },
	{ "segment_change_bytes", NULL, TIDE_KIND_DELTA, .meaning = "allocated minus freed bytes" },
	{ "cumulative_peak_bytes", NULL, TIDE_KIND_BYTES,
	  .meaning = "highest use until the end of the phase" },
	{ "cumulative_current_bytes", NULL, TIDE_KIND_BYTES,
	  .meaning = "use at the end of the phase" },
	{ "highest_bytes", NULL, TIDE_KIND_BYTES,
	  .meaning = "highest use within the phase, its start included" },
	{ "before_bytes", NULL, TIDE_KIND_BYTES,
	  .meaning = "the part of allocations_bytes that existed before the recording" },
	{ 0 },
};

static const tide_member phase[] = {
	{ "name", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "name; null: between or after phases" },
	{ "count", NULL, TIDE_KIND_COUNT, .may = TIDE_MAY_BE_ABSENT,
	  .meaning = "with `sum`: phases of this name" },
	{ "start_ns", NULL, TIDE_KIND_AT, .meaning = "its start" },
	{ "end_ns", NULL, TIDE_KIND_AT, .meaning = "its end" },
	{ "memory", NULL, TIDE_KIND_TABLE, .members = level,
	  .meaning = "figures of each pool, of each device and of all" },
	{ 0 },
};

static const tide_member members[] = {
	{ "phases", NULL, TIDE_KIND_TABLE, .members = phase, .meaning = "phases in their order" },
	TIDE_MEMBERS_START,
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_phases = {
	.name = "phases",
	.group = TIDE_GROUP_MEMORY,
	.want = TIDE_WANT_MEMORY | TIDE_WANT_SPANS,
	.summary = "show memory per phase, between the program's marks",
	.help = "Shows for every phase, per device and pool, allocations, deallocations, the "
		"highest use above the phase's start, the change, and the cumulative peak and "
		"current use, in MiB; JSON has exact bytes. For a text log with memory summaries, "
		"for several files, and with a size option: model, optimizer state, gradients and "
		"activations, measured and theoretical, the parts of the peak, whether it fits a "
		"device, and advice if it does not.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_phases_options),
	.page = "phases",
	.size = sizeof(struct phases),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_phases,
};
