// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* predict: memory at sizes of the work (a batch, a sequence) that were not run, from recordings of
 * the same program at two other sizes; recordings between the two check the prediction. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/run/predict_program.h"
#include "cli/select.h"
#include "render/report/predict/predict.h"
#include "model/names.h"

enum {
	O_CAPACITY,
	O_AT,
	O_LIKE,
	O_WORLD,
	O_STEPS,
	O_LIMIT,
	O_CONF,
	O_KEEP,
	O_DEVICE,
	O_JSON,
	O_OUTPUT
};
static const tide_option options[] = {
	[O_CAPACITY] = { "capacity", 'c', TIDE_OPT_BYTES, "SIZE",
			 "find the largest size that fits, e.g. 40GiB (default: the device's "
			 "memory, if recorded)" },
	[O_AT] = { "at", 'a', TIDE_OPT_INT, "N",
		   "predict this size (default: 2 and 4 times the largest); with a program: run "
		   "it with {} replaced by N",
		   .many = true, .least = 1, .most = TIDE_MOST_SIZE },
	[O_LIKE] = { "like", 'l', TIDE_OPT_TEXT, "NAME",
		     "with a program: the device to predict for, e.g. h200, a100, rtx4090" },
	[O_WORLD] = { "world", 'w', TIDE_OPT_INT, "N", "with a program: run it as rank 0 of N",
		      .least = 1, .most = 100000 },
	[O_STEPS] = { "steps", 0, TIDE_OPT_INT, "N",
		      "with a program: end it after this many steps of each optimizer, 0 = never",
		      .def = "2", .most = 1000000 },
	[O_LIMIT] = { "timeout", 0, TIDE_OPT_INT, "SECONDS",
		      "with a program: end it after this time, 0 = never", .def = "0",
		      .most = 1000000 },
	[O_CONF] = { "alloc-conf", 0, TIDE_OPT_TEXT, "TEXT",
		     "with a program: PYTORCH_CUDA_ALLOC_CONF to simulate (default: the variable)" },
	[O_KEEP] = { "keep", 'k', TIDE_OPT_FILE, "FILE",
		     "with a program: keep the predicted recording; a folder with several sizes" },
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* "8=run.tide" */
static int parse(const tide_args *a, size_t i, tide_predict_run *r)
{
	char *end;
	const char *text = a->files[i];
	r->size = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	if (!r->size || r->size > TIDE_MOST_SIZE || *end != '=' || !end[1])
		return tide__cli_fail_usage(
			a,
			"'%.200s': write the size of the work, 1 to 1000000000, before "
			"its recording, e.g. 8=a.tide 16=b.tide",
			text);
	r->file = end + 1;
	return 0;
}

static int parse_all(const tide_args *a, tide_predict_answer *x)
{
	int rc = 0;
	for (size_t i = 0; i < x->n && !rc; i++)
		rc = parse(a, i, &x->v[i]);
	if (!rc && a->opt[O_CAPACITY].set && !a->opt[O_CAPACITY].num)
		rc = tide__cli_fail_usage(a, "--capacity must be above 0 bytes");
	if (!rc)
		qsort(x->v, x->n, sizeof *x->v, by_size); /* its first member */
	for (size_t i = 1; i < x->n && !rc; i++)
		if (x->v[i].size == x->v[i - 1].size)
			rc = tide__cli_fail_usage(a, "there are two recordings of size %" PRIu64,
						  x->v[i].size);
	return rc;
}

static int nothing(const tide_predict_run *r, tide_error *err)
{
	tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "no allocations to predict from");
	return tide__cli_fail(r->file, err);
}

static int load_all(const tide_args *a, tide_predict_answer *x, tide_error *err)
{
	char name[64];
	int rc;
	for (size_t i = 0; i < x->n; i++)
		if (!(x->v[i].m =
			      tide__cli_load(a, x->v[i].file, TIDE_WANT_MEMORY | TIDE_WANT_SPANS)))
			return 1;
	const tide_predict_run *z = tide__predict_last(x);
	uint32_t device;
	if (!tide__cli_get_one_device(a, &a->opt[O_DEVICE], z->m, &device, &rc))
		return rc;
	if (!device)
		return nothing(z, err);
	tide__device_name(z->m, device, name, sizeof name);
	rc = 0;
	for (size_t i = 0; i < x->n && !rc; i++) {
		x->v[i].device = tide__device_find(x->v[i].m, name);
		if (!x->v[i].device)
			rc = tide__cli_fail_no_device(a, x->v[i].m, name);
		else if (tide__predict_measure(&x->v[i], err) != TIDE_OK)
			rc = tide__cli_fail(x->v[i].file, err);
	}
	x->capacity = a->opt[O_CAPACITY].set ? (uint64_t)a->opt[O_CAPACITY].num
					     : z->m->devices.capacity[device];
	return rc;
}

/* Checks that more work does not need less memory; slightly less is accepted (a late worker
 * process). */
static int check_growth(const tide_args *a, const tide_predict_answer *x)
{
	for (size_t i = 1; i < x->n; i++) {
		const tide_predict_run *less = &x->v[i - 1], *more = &x->v[i];
		if (more->peak < less->peak - less->peak / 16)
			return tide__cli_fail_usage(
				a,
				"%" PRIu64 "=%.200s holds less than %" PRIu64
				"=%.200s: are the sizes swapped, or is it another "
				"program?",
				more->size, more->file, less->size, less->file);
	}
	return 0;
}

/* Returns the sizes of --at, or two and four times the largest recorded. Owned by the caller. */
static uint64_t *sizes_of(const tide_value *at, const tide_predict_answer *x, size_t *n)
{
	*n = at->set ? at->n_list : 2;
	uint64_t *v = tide__alloc(*n, sizeof *v);
	for (size_t i = 0; v && i < *n; i++)
		v[i] = at->set ? strtoull(at->list[i], NULL, 10)
			       : tide__predict_last(x)->size << (i + 1);
	return v;
}

static int show(const tide_args *a, tide_predict_answer *x)
{
	if (!a->opt[O_JSON].set) {
		tide__predict_text(x, &a->to);
		return tide__cli_finish(a);
	}
	tide_json j;
	tide__json_begin(&j, a->out, true);
	tide__predict_json(x, &j);
	return tide__cli_json_end(a, &j);
}

static int answer(const tide_args *a, tide_predict_answer *x)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	size_t n;
	uint64_t *at = sizes_of(&a->opt[O_AT], x, &n);
	bool ok = at && tide__predict_find(x, at, n, &err) == TIDE_OK;
	tide__free(at);
	return ok ? show(a, x) : tide__cli_fail(NULL, &err);
}

static int run_recordings(const tide_args *a)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	tide_predict_answer x = { .n = a->n_files };
	x.v = tide__calloc(x.n, sizeof *x.v);
	int rc = x.v ? parse_all(a, &x) : tide__cli_fail(NULL, &err);
	if (!rc)
		rc = load_all(a, &x, &err);
	if (!rc)
		rc = check_growth(a, &x);
	if (!rc)
		rc = answer(a, &x);
	tide__predict_free(&x);
	for (size_t i = 0; i < x.n && x.v; i++)
		tide__model_free(x.v[i].m);
	tide__free(x.v);
	return rc;
}

/* Uses the runs of a program at several sizes as recordings. */
static int of_runs(const tide_args *a, char **files, size_t n, uint64_t capacity)
{
	tide_args b = *a;
	tide_value none = { 0 }, room = { .set = capacity != 0, .num = (int64_t)capacity };
	tide_value *opt = tide__calloc(a->cmd->n_options, sizeof *opt);
	if (!opt)
		return 1;
	memcpy(opt, a->opt, a->cmd->n_options * sizeof *opt);
	opt[O_AT] = none;
	opt[O_CAPACITY] = room;
	b.opt = opt;
	b.files = files;
	b.n_files = n;
	int rc = run_recordings(&b);
	tide__free(opt);
	return rc;
}

/* Refuses options that only a program has. */
static int check_options(const tide_args *a)
{
	static const int programs[] = { O_LIKE, O_WORLD, O_STEPS, O_LIMIT, O_CONF, O_KEEP };
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		if (a->opt[programs[i]].given)
			return tide__cli_fail_usage(
				a, "--%s is for a program, not for recordings%s",
				options[programs[i]].name,
				programs[i] == O_LIKE ? "; use --capacity" : "");
	return 0;
}

static int run(const tide_args *a)
{
	const tide_predict_program p = { .like = &a->opt[O_LIKE],
					 .capacity = &a->opt[O_CAPACITY],
					 .at = &a->opt[O_AT],
					 .world = &a->opt[O_WORLD],
					 .steps = &a->opt[O_STEPS],
					 .limit = &a->opt[O_LIMIT],
					 .keep = &a->opt[O_KEEP],
					 .conf = &a->opt[O_CONF],
					 .json = a->opt[O_JSON].set };
	if (tide__predict_is_program(a))
		return tide__predict_program_run(a, &p, of_runs);
	if (a->n_files < 2 && strchr(a->files[0], '='))
		return tide__cli_fail_usage(
			a, "more files are needed: 2 recordings as N=FILE, or -- and a program");
	if (a->n_files < 2)
		return tide__cli_fail_usage(
			a,
			"'%.200s' cannot be run; give a program, or 2 recordings "
			"as N=FILE",
			a->files[0]);
	int rc = check_options(a);
	return rc ? rc : run_recordings(a);
}

const tide_command tide__cmd_predict = {
	.name = "predict",
	.usage =
		"N=FILE N=FILE... [--capacity SIZE] [--at N]... | --like NAME [--at N]... -- PROGRAM [ARGUMENT]...",
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
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.wants = "recording or program",
	.max_files = SIZE_MAX,
	.run = run,
};
