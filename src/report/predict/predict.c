// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* predict: memory at sizes of the work (a batch, a sequence) that were not run, from recordings of
 * the same program at two other sizes; recordings between the two check the prediction. */
#include "report/predict/predict_write.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/names.h"
#include "report/report.h"

enum { O_CAPACITY, O_AT, O_DEVICE };
static const tide_option options[] = {
	[O_CAPACITY] = { "capacity", 'c', TIDE_OPT_BYTES, "SIZE",
			 "find the largest size that fits, e.g. 40GiB (default: the device's "
			 "memory, if recorded)",
			 .least = 1, TIDE_FIELD(tide_predict_options, capacity) },
	[O_AT] = { "at", 'a', TIDE_OPT_INT, "N",
		   "predict this size (default: 2 and 4 times the largest); with a program: run "
		   "it with {} replaced by N",
		   .many = true, .least = 1, .most = TIDE_MOST_SIZE,
		   TIDE_FIELD(tide_predict_options, at) },
	/* found in the largest recording, which need not be the last */
	[O_DEVICE] = { "device", 'd', TIDE_OPT_TEXT, "DEVICE", "only this device, e.g. cuda:0",
		       TIDE_FIELD(tide_predict_options, device) },
};

static int by_size(const void *a, const void *b)
{
	const tide_predict_run *x = a, *y = b;
	return (x->size > y->size) - (x->size < y->size);
}

static tide_code take_runs(const tide_report_ask *ask, tide_predict_answer *x, tide_error *err)
{
	if (ask->n < 2 || !ask->sizes)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				  "predict needs two recordings and the size of each");
	if (!(x->v = tide__calloc(ask->n, sizeof *x->v)))
		return tide__nomem(err);
	x->n = ask->n;
	for (size_t i = 0; i < x->n; i++) {
		x->v[i] = (tide_predict_run){
			.size = ask->sizes[i],
			.file = tide__ask_file(ask, i),
			.m = (tide_model *)(uintptr_t)ask->models[i], /* only read */
		};
		if (!ask->sizes[i] || ask->sizes[i] > TIDE_MOST_SIZE)
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "size: 1 to %d",
					  TIDE_MOST_SIZE);
	}
	qsort(x->v, x->n, sizeof *x->v, by_size);
	for (size_t i = 1; i < x->n; i++)
		if (x->v[i].size == x->v[i - 1].size)
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "there are two recordings of size %" PRIu64,
					  x->v[i].size);
	return TIDE_OK;
}

static tide_code measure(const tide_report_ask *ask, tide_predict_answer *x, tide_error *err)
{
	const tide_predict_run *last = tide__predict_last(x);
	uint32_t device;
	char option[16], name[64];
	snprintf(option, sizeof option, "%sdevice", ask->dashes);
	tide_code rc =
		tide__take_one_device(option, ask->opt[O_DEVICE].text, last->m, &device, err);
	if (rc != TIDE_OK)
		return rc;
	if (!device)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "%.100s has no allocations to predict from", last->file);
	tide__device_name(last->m, device, name, sizeof name);
	x->capacity = ask->opt[O_CAPACITY].set ? (uint64_t)ask->opt[O_CAPACITY].num
					       : last->m->devices.capacity[device];
	for (size_t i = 0; i < x->n && rc == TIDE_OK; i++) {
		rc = tide__take_device(option, name, x->v[i].m, &x->v[i].device, err);
		if (rc == TIDE_OK)
			rc = tide__predict_measure(&x->v[i], err);
	}
	return rc;
}

/* Checks that more work does not need less memory; slightly less is accepted (a late worker
 * process). */
static tide_code check_growth(const tide_predict_answer *x, tide_error *err)
{
	for (size_t i = 1; i < x->n; i++) {
		const tide_predict_run *less = &x->v[i - 1], *more = &x->v[i];
		if (more->peak < less->peak - less->peak / 16)
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "%" PRIu64 "=%.24s holds less than %" PRIu64
					  "=%.24s: are the sizes swapped, or is it another "
					  "program?",
					  more->size, more->file, less->size, less->file);
	}
	return TIDE_OK;
}

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	tide_predict_answer *x = result;
	const tide_value *v = &ask->opt[O_AT];
	tide_code rc = take_runs(ask, x, err);
	if (rc == TIDE_OK)
		rc = measure(ask, x, err);
	if (rc == TIDE_OK)
		rc = check_growth(x, err);
	if (rc != TIDE_OK)
		return rc;
	uint64_t most = tide__predict_last(x)->size, further[] = { most * 2, most * 4 };
	uint64_t *at = tide__alloc(v->n_list + 1, sizeof *at);
	if (!at)
		return tide__nomem(err);
	for (size_t i = 0; i < v->n_list; i++)
		at[i] = (uint64_t)v->numbers[i];
	rc = tide__predict_find(x, v->n_list ? at : further, v->n_list ? v->n_list : 2, err);
	tide__free(at);
	return rc;
}

static tide_code write_text(void *result, const tide_out *to)
{
	tide__predict_text(result, to);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	tide__predict_json(result, j);
	return TIDE_OK;
}

static void free_predict(void *result)
{
	tide_predict_answer *x = result;
	tide__predict_free(x);
	tide__free(x->v);
}

#define UNKNOWN .may = TIDE_MAY_BE_NULL
static const tide_member recording[] = {
	{ "size", NULL, TIDE_KIND_COUNT, .meaning = "size of its work" },
	{ "trace", NULL, TIDE_KIND_TEXT, .meaning = "name of the recording" },
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

static const tide_member matched[] = {
	{ "same", NULL, TIDE_KIND_COUNT, .meaning = "one to one" },
	{ "for_each", NULL, TIDE_KIND_COUNT, .meaning = "made for each of the size" },
	{ "more_in_one", NULL, TIDE_KIND_COUNT, .meaning = "more in one recording" },
	{ "in_one_alone", NULL, TIDE_KIND_COUNT, .meaning = "in one recording alone" },
	{ 0 },
};

static const tide_member peak_at[] = {
	{ "size", NULL, TIDE_KIND_COUNT, .meaning = "largest size that fits, else the last" },
	{ "peak_bytes", NULL, TIDE_KIND_BYTES, .meaning = "its predicted peak" },
	{ "roles", NULL, TIDE_KIND_TABLE, .members = tide__predict_role_members,
	  .meaning = "live bytes by role; they add up to the peak" },
	{ "modules", NULL, TIDE_KIND_TABLE, .members = tide__predict_module_members,
	  .meaning = "live bytes by module; they add up to the peak" },
	{ 0 },
};

static const tide_member members[] = {
	{ "device", NULL, TIDE_KIND_TEXT, .meaning = "device" },
	{ "recordings", NULL, TIDE_KIND_TABLE, .members = recording,
	  .meaning = "the recordings, by size" },
	{ "allocations", NULL, TIDE_KIND_OBJECT, .members = matched,
	  .meaning = "allocations of the smallest and the largest recording, by match" },
	{ "sizes", NULL, TIDE_KIND_TABLE, .members = tide__predict_size_members,
	  .meaning = "predicted and recorded sizes" },
	{ "capacity_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN, .meaning = "memory of the device" },
	{ "fits", NULL, TIDE_KIND_COUNT, UNKNOWN,
	  .meaning = "largest size whose peak fits; null also if every size does" },
	{ "fits_reserved", NULL, TIDE_KIND_COUNT, UNKNOWN,
	  .meaning = "the same by reserved bytes" },
	{ "reserved_by", NULL, TIDE_KIND_WORD, UNKNOWN, .words = "line,simulator",
	  .meaning = "how reserved bytes are predicted" },
	{ "growth", NULL, TIDE_KIND_WORD, .words = "linear,squares,parabola",
	  .meaning = "how memory grows with the size" },
	{ "peak_at", NULL, TIDE_KIND_OBJECT, .members = peak_at,
	  .meaning = "what the peak consists of" },
	{ 0 },
};

const tide_report_type tide__report_predict = {
	.name = "predict",
	.group = TIDE_GROUP_MEMORY,
	.input = TIDE_INPUT_SIZES,
	.want = TIDE_WANT_MEMORY | TIDE_WANT_SPANS,
	.summary = "predict the memory of a program without a GPU, or of another batch size",
	.help = "A program (a PyTorch script; Python runs a .py file) runs on virtual devices: nothing is computed, no "
		"device memory is used; its allocations are recorded and sent through a simulator "
		"of the caching allocator. With {} among its arguments it runs once per --at N, "
		"and those runs are used as recordings as below.\n\nWith recordings, N is the size "
		"of the work in FILE: the batch size or the sequence length. Allocations of the "
		"smallest and the largest recording are matched by op, module, call stack and "
		"their number in a step. Each match gives a straight line through the bytes at the "
		"two sizes. The peak at a size is the highest of these lines there. If one "
		"recording makes more allocations than the other at a place, such as a loader that "
		"allocates per sample, the highest of them is used. With 3 recordings or more, "
		"each is also predicted from the others: Off is the difference. Then follow the "
		"largest size that fits, and the allocations at its peak by role and module, with "
		"the growth of each per unit of size.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_predict_options),
	.size = sizeof(tide_predict_answer),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_predict,
};
