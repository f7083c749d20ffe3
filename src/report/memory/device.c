// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* device: the ledger of a device's memory; for several recordings one ledger of all processes, then
 * one of each. */
#include "base/error.h"
#include "base/mem.h"
#include "render/report/memory/device.h"
#include "report/report.h"

struct device {
	const tide_model **m; /* owned, of borrowed models */
	const char **files;   /* owned, of borrowed names */
	tide_ledgers *l;      /* owned: of each trace */
	size_t n;
	tide_joined joined;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct device *x = result;
	tide_code rc = TIDE_OK;
	x->m = tide__calloc(ask->n, sizeof *x->m);
	x->files = tide__calloc(ask->n, sizeof *x->files);
	x->l = tide__calloc(ask->n, sizeof *x->l);
	if (!x->m || !x->files || !x->l)
		return tide__nomem(err);
	for (; x->n < ask->n && rc == TIDE_OK; x->n++) {
		x->m[x->n] = ask->models[x->n];
		x->files[x->n] = tide__ask_file(ask, x->n);
		rc = tide__find_ledgers(x->m[x->n], &x->l[x->n], err);
	}
	return rc == TIDE_OK && x->n > 1 ? tide__join_ledgers(x->l, x->n, &x->joined, err) : rc;
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct device *x = result;
	if (x->n > 1)
		tide__devices_text(x->files, &x->joined, to);
	for (size_t i = 0; i < x->n; i++)
		tide__device_text(x->m[i], &x->l[i], x->n > 1 ? x->files[i] : NULL, to);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	struct device *x = result;
	if (x->n == 1) {
		tide__device_json(x->m[0], &x->l[0], NULL, j);
		return TIDE_OK;
	}
	tide__devices_json(x->files, &x->joined, j);
	tide__json_karray(j, "recordings");
	for (size_t i = 0; i < x->n; i++) {
		tide__json_object(j);
		tide__device_json(x->m[i], &x->l[i], x->files[i], j);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
	return TIDE_OK;
}

static void free_device(void *result)
{
	struct device *x = result;
	for (size_t i = 0; i < x->n; i++)
		tide__ledgers_free(&x->l[i]);
	tide__joined_free(&x->joined);
	tide__free(x->files);
	tide__free(x->m);
	tide__free(x->l);
}

/* Figures of one process at a moment. `may`: of joined devices they are absent. */
#define OWN(may_)                                                                                  \
	{ "torch_live_bytes", NULL, TIDE_KIND_BYTES, .may = may_,                                  \
	  .meaning = "PyTorch's live allocations" },                                               \
		{ "torch_cached_bytes", NULL, TIDE_KIND_BYTES, .may = may_,                        \
		  .meaning = "device memory of PyTorch that is not live" },                        \
		{ "other_bytes", NULL, TIDE_KIND_BYTES, .may = may_,                               \
		  .meaning = "other allocations of the process" },                                 \
		{ "pooled_bytes", NULL, TIDE_KIND_BYTES, .may = may_,                              \
		  .meaning = "unused bytes of stream-ordered pools" },                             \
		{ "context_bytes", NULL, TIDE_KIND_BYTES, .may = may_,                             \
		  .meaning = "context and code" },                                                 \
	{                                                                                          \
		"profiler_bytes", NULL, TIDE_KIND_BYTES, .may = may_, .meaning = "CUPTI's buffers" \
	}
#define WHOLE                                                                                \
	{ "nvml_total_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,                \
	  .meaning = "memory of the device" },                                               \
	{                                                                                    \
		"nvml_used_bytes", NULL, TIDE_KIND_BYTES,                                    \
			.may = TIDE_MAY_BE_NULL, .meaning = "bytes in use, of all processes" \
	}
#define REST                                                                                  \
	{ "others_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,                     \
	  .meaning = "other processes" },                                                     \
		{ "reserved_bytes", NULL, TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,           \
		  .meaning = "driver and firmware" },                                         \
	{                                                                                     \
		"unexplained_bytes", NULL, TIDE_KIND_DELTA,                                   \
			.may = TIDE_MAY_BE_NULL, .meaning = "bytes in use minus all of these" \
	}
#define OF_ONE (TIDE_MAY_BE_ABSENT | TIDE_MAY_BE_NULL)
#define MOMENT                                                                                 \
	{                                                                                      \
		"t_ns", NULL, TIDE_KIND_AT, .may = TIDE_MAY_BE_ABSENT, .meaning = "the moment" \
	}
#define JOINED                                                           \
	{ "wall_ns", NULL, TIDE_KIND_WALL, .may = TIDE_MAY_BE_ABSENT,    \
	  .meaning = "of several recordings: the moment" },              \
	{                                                                \
		"processes", NULL, TIDE_KIND_TABLE,                      \
			.may = TIDE_MAY_BE_ABSENT, .members = process,   \
			.meaning = "of several recordings: each process" \
	}

static const tide_member process[] = {
	{ "file", NULL, TIDE_KIND_TEXT, .meaning = "name of the recording" },
	{ "pid", NULL, TIDE_KIND_PLAIN, .meaning = "process id" },
	{ "t_ns", NULL, TIDE_KIND_AT, .meaning = "the moment in this recording" },
	WHOLE,
	OWN(TIDE_MAY_BE_NULL),
	REST,
	{ 0 },
};

static const tide_member library[] = {
	{ "library", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL,
	  .meaning = "path of the library" },
	{ "caller", NULL, TIDE_KIND_TEXT, .meaning = "its name" },
	{ "bytes", NULL, TIDE_KIND_BYTES, .meaning = "bytes that it allocated" },
	{ "count", NULL, TIDE_KIND_COUNT, .meaning = "its allocations" },
	{ 0 },
};

static const tide_member moment[] = { MOMENT, JOINED, WHOLE, OWN(OF_ONE), REST, { 0 } };

static const tide_member ledger[] = {
	{ "index", NULL, TIDE_KIND_PLAIN, .meaning = "N of cuda:N" },
	{ "name", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL, .meaning = "model of the device" },
	MOMENT,
	JOINED,
	WHOLE,
	OWN(OF_ONE),
	REST,
	{ "libraries", NULL, TIDE_KIND_TABLE, .may = TIDE_MAY_BE_ABSENT, .members = library,
	  .meaning = "holders of other_bytes" },
	{ "over_time", NULL, TIDE_KIND_TABLE, .members = moment, .meaning = "the same over time" },
	{ 0 },
};

static const tide_member recording[] = {
	{ "file", NULL, TIDE_KIND_TEXT, .meaning = "name of the recording" },
	{ "devices", NULL, TIDE_KIND_TABLE, .members = ledger, .meaning = "its devices" },
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

static const tide_member members[] = {
	{ "devices", NULL, TIDE_KIND_TABLE, .members = ledger,
	  .meaning = "devices at the moment of highest use" },
	{ "recordings", NULL, TIDE_KIND_TABLE, .may = TIDE_MAY_BE_ABSENT, .members = recording,
	  .meaning = "of several recordings: each of them" },
	{ "losses", NULL, TIDE_KIND_MAP, .may = TIDE_MAY_BE_ABSENT, .members = &tide__member_any,
	  .meaning = "of one recording: lost and repaired data, by the name of the loss" },
	{ "recovered_events", NULL, TIDE_KIND_COUNT, .may = TIDE_MAY_BE_ABSENT,
	  .meaning = "of a recording that was not closed: events read from its rings" },
	{ 0 },
};

const tide_report_type tide__report_device = {
	.name = "device",
	.group = TIDE_GROUP_MEMORY,
	.input = TIDE_INPUT_RANKS,
	.want = TIDE_WANT_MEMORY | TIDE_WANT_SPANS,
	.summary =
		"show where a GPU's memory is: PyTorch, other libraries, context, other processes",
	.help = "Reads recordings of `tidemark run --gpu`. Compares the used bytes that NVML "
		"counts with the recorded allocations, at the moment of highest use and over "
		"time; the difference is shown as unexplained. For several files, a ledger of all "
		"processes on each device comes first, then that of each recording.",
	.members = members,
	.version = 1,
	.size = sizeof(struct device),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_device,
};
