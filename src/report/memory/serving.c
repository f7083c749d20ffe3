// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* serving: where an inference server's memory goes, from its snapshots and a recording of it. */
#include "analyze/serving/serving.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/names.h"
#include "report/memory/serving_write.h"
#include "report/report.h"

enum { O_ROLE, O_SIZES, O_CAPACITY, O_OUTSIDE, O_DEVICE, O_TOP };
static const tide_option options[] = {
	[O_ROLE] = { "role", 'r', TIDE_OPT_TEXT, "PART=FILE[:FUNCTION]",
		     "allocations with such a frame on their stack are weights, kv_cache, workspace "
		     "or activations; * matches any characters",
		     .many = true },
	[O_SIZES] = { "sizes", 's', TIDE_OPT_TEXT, "N,N,...",
		      "batch sizes of the captures, in their order" },
	[O_CAPACITY] = { "capacity", 'c', TIDE_OPT_BYTES, "SIZE",
			 "memory of the device, e.g. 80GiB (default: as recorded)", .least = 1 },
	[O_OUTSIDE] = { "outside", 0, TIDE_OPT_BYTES, "SIZE",
			"device memory that is not PyTorch's: context, libraries, other processes "
			"(default: as recorded)" },
	[O_DEVICE] = { TIDE_REPORT_ONE_DEVICE },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "rows of each table, 0 = all", .def = "20",
		    .whole = true },
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct serving *x = result;
	const tide_value *v = ask->opt;
	tide_error own = { .offset = TIDE_NO_OFFSET };
	const tide_serving_query q = {
		.device = v[O_DEVICE].device,
		.rules = v[O_ROLE].list,
		.n_rules = v[O_ROLE].n_list,
		.sizes = v[O_SIZES].set ? v[O_SIZES].text : NULL,
		.capacity = v[O_CAPACITY].set ? (uint64_t)v[O_CAPACITY].num : 0,
		.outside = v[O_OUTSIDE].set ? (uint64_t)v[O_OUTSIDE].num : TIDE_SERVING_UNKNOWN,
	};
	x->top = (size_t)v[O_TOP].num;
	x->files = tide__calloc(ask->n, sizeof *x->files);
	if (!x->files)
		return tide__nomem(err);
	for (size_t i = 0; i < ask->n; i++)
		x->files[i] = tide__ask_file(ask, i);
	tide_code rc = tide__serving_find(ask->models, ask->n, &q, &x->s, &own);
	if (rc == TIDE_EUSAGE)
		return tide__fail(err, rc, TIDE_NO_OFFSET, "%s%s", ask->dashes, own.text);
	if (rc != TIDE_OK && err)
		*err = own;
	return rc;
}

static void free_serving(void *result)
{
	struct serving *x = result;
	tide__serving_free(&x->s);
	tide__free(x->files);
}

static tide_code write_text(void *result, const tide_out *to)
{
	return tide__serving_text(result, to);
}

static tide_code write_json(void *result, tide_json *j)
{
	return tide__serving_json(result, j);
}

/* ---- the document ---- */

static const tide_member device_members[] = {
	TIDE_MEMBER("file", TEXT, "the recording"),
	TIDE_MEMBER(
		"same_moment", BOOL,
		"false: the recording has no figures of the snapshot's time, so these are of its "
		"highest moment"),
	TIDE_MEMBER_MAYBE("total_bytes", BYTES, "memory of the device"),
	TIDE_MEMBER_MAYBE("used_bytes", BYTES, "bytes in use, of all processes"),
	TIDE_MEMBER_MAYBE(
		"allocator_bytes", BYTES,
		"reserved by PyTorch's allocator: the parts; at another moment that of the "
		"recording"),
	TIDE_MEMBER("libraries_bytes", BYTES, "other allocations of the process"),
	TIDE_MEMBER("pooled_bytes", BYTES, "unused bytes of stream-ordered pools"),
	TIDE_MEMBER("context_bytes", BYTES, "context and code"),
	TIDE_MEMBER("profiler_bytes", BYTES, "CUPTI's buffers"),
	TIDE_MEMBER("others_bytes", BYTES, "other processes"),
	TIDE_MEMBER("driver_bytes", BYTES, "driver and firmware"),
	TIDE_MEMBER_MAYBE("unexplained_bytes", DELTA, "used bytes minus all of these"),
	TIDE_MEMBER_OF("libraries", TABLE, tide__serving_libraries,
		       "allocations of other libraries at the recording's highest moment"),
	{ 0 },
};

static const tide_member replay_members[] = {
	TIDE_MEMBER("reproduced", BOOL,
		    "the simulator took the recorded segments in the recorded order"),
	TIDE_MEMBER("reserved_bytes", BYTES, "reserved at the end of the replay"),
	TIDE_MEMBER_MAYBE("recorded_bytes", BYTES, "reserved at the end of the snapshot"),
	{ 0 },
};

static const tide_member fit_members[] = {
	TIDE_MEMBER("bytes", BYTES, "the KV cache now"),
	TIDE_MEMBER_MAYBE("capacity_bytes", BYTES, "memory of the device"),
	TIDE_MEMBER_MAYBE("outside_bytes", BYTES, "device memory outside the allocator"),
	TIDE_MEMBER_MAYBE("rest_bytes", BYTES,
			  "highest reserved bytes beside the KV cache since it exists"),
	TIDE_MEMBER_MAYBE("largest_bytes", BYTES, "capacity minus outside minus rest"),
	{ "bound", NULL, TIDE_KIND_WORD, .may = TIDE_MAY_BE_NULL, .words = "exact,at_most",
	  .meaning = "at_most: memory outside the allocator is not known, so it counts as 0" },
	{ 0 },
};

static const tide_member members[] = {
	TIDE_MEMBER("file", TEXT, "the snapshot that the figures are of: the last one"),
	TIDE_MEMBER_MAYBE("device", TEXT, "device; null: no memory of a device is recorded"),
	TIDE_MEMBER_MAYBE("wall_ns", WALL, "its time"),
	TIDE_MEMBER_MAYBE("reserved_bytes", BYTES, "reserved by PyTorch's allocator"),
	TIDE_MEMBER(
		"loose_bytes", BYTES,
		"live bytes outside every known segment: the parts add up to reserved plus these"),
	TIDE_MEMBER_OF("parts", TABLE, tide__serving_parts, "parts of the reserved memory"),
	TIDE_MEMBER_OF("evidence", TABLE, tide__serving_evidence, "who says so"),
	TIDE_MEMBER_OF("pools", TABLE, tide__serving_pools, "pools of the allocator"),
	TIDE_MEMBER_OF("captures", TABLE, tide__serving_sizes,
		       "captured batch sizes, in the order of capture"),
	TIDE_MEMBER("captured_once_bytes", BYTES,
		    "kept for all captured sizes, because the first capture made them: of no size"),
	{ "replay", NULL, TIDE_KIND_OBJECT, .may = TIDE_MAY_BE_NULL, .members = replay_members,
	  .meaning = "the replay of all requests; null: they were not replayed" },
	TIDE_MEMBER_OF("kv_cache", OBJECT, fit_members, "the largest KV cache that fits"),
	{ "on_device", NULL, TIDE_KIND_OBJECT, .may = TIDE_MAY_BE_NULL, .members = device_members,
	  .meaning = "the device's memory, by a recording of `tidemark run --gpu`" },
	TIDE_MEMBER_OF("snapshots", TABLE, tide__serving_snapshots, "all snapshots, by time"),
	TIDE_MEMBER_OF("growth", TABLE, tide__serving_growth,
		       "parts and pools that changed from one snapshot to the next"),
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_serving = {
	.name = "serving",
	.group = TIDE_GROUP_MEMORY,
	.input = TIDE_INPUT_RANKS,
	.want = TIDE_WANT_MEMORY | TIDE_WANT_SPANS,
	.summary = "show where an inference server's memory goes: weights, KV cache, CUDA graphs",
	.help = "Reads memory snapshots of an inference server (torch.cuda.memory._dump_snapshot), "
		"one or several over time, and optionally a recording of `tidemark run --gpu`. "
		"Shows weights, KV cache, the private pools of captured CUDA graphs, activations, "
		"cached and unexplained bytes, what each captured batch size costs and what comes "
		"back without it, and the largest KV cache that fits. vLLM's and SGLang's names are "
		"known; --role adds rules.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.size = sizeof(struct serving),
	.page = "",
	.document_page = true,
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_serving,
};
