// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* device: the ledger of a device's memory; for several recordings one ledger of all processes, then
 * one of each. */
#include "cli/cli.h"

#include "base/error.h"
#include "base/mem.h"
#include "render/report/memory/device.h"

enum { O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

struct all { /* arrays of a->n_files; owned */
	const tide_model **m;
	tide_ledgers *l;
	size_t n;
};

static int load(const tide_args *a, struct all *x)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	x->m = tide__calloc(a->n_files, sizeof *x->m);
	x->l = tide__calloc(a->n_files, sizeof *x->l);
	if (!x->m || !x->l) {
		tide__nomem(&err);
		return tide__cli_fail(NULL, &err);
	}
	for (; x->n < a->n_files; x->n++) {
		const char *file = a->files[x->n];
		x->m[x->n] = tide__cli_load(a, file, TIDE_WANT_MEMORY | TIDE_WANT_SPANS);
		if (!x->m[x->n])
			return 1;
		if (tide__find_ledgers(x->m[x->n], &x->l[x->n], &err) != TIDE_OK) {
			x->n++;
			return tide__cli_fail(file, &err);
		}
	}
	return 0;
}

static void release(struct all *x)
{
	for (size_t i = 0; i < x->n; i++) {
		tide__ledgers_free(&x->l[i]);
		tide__model_free((tide_model *)(uintptr_t)x->m[i]);
	}
	tide__free(x->m);
	tide__free(x->l);
}

static int show_json(const tide_args *a, const struct all *x, const tide_joined *joined)
{
	tide_json j;
	tide__json_begin(&j, a->out, true);
	if (x->n == 1) {
		tide__device_json(x->m[0], &x->l[0], NULL, &j);
		return tide__cli_json_end(a, &j);
	}
	tide__json_object(&j);
	tide__devices_json((const char *const *)a->files, joined, &j);
	tide__json_karray(&j, "recordings");
	for (size_t i = 0; i < x->n; i++)
		tide__device_json(x->m[i], &x->l[i], a->files[i], &j);
	tide__json_array_end(&j);
	tide__json_object_end(&j);
	return tide__cli_json_end(a, &j);
}

static int show(const tide_args *a, const struct all *x, const tide_joined *joined)
{
	if (a->opt[O_JSON].set)
		return show_json(a, x, joined);
	if (x->n > 1)
		tide__devices_text((const char *const *)a->files, joined, &a->to);
	for (size_t i = 0; i < x->n; i++)
		tide__device_text(x->m[i], &x->l[i], x->n > 1 ? a->files[i] : NULL, &a->to);
	return tide__cli_finish(a);
}

static int run(const tide_args *a)
{
	struct all x = { 0 };
	tide_joined joined = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	int rc = load(a, &x);
	if (!rc && tide__join_ledgers(x.l, x.n, &joined, &err) != TIDE_OK)
		rc = tide__cli_fail(NULL, &err);
	if (!rc)
		rc = show(a, &x, &joined);
	tide__joined_free(&joined);
	release(&x);
	return rc;
}

const tide_command tide__cmd_device = {
	.name = "device",
	.usage = "FILE... [--json]",
	.summary =
		"show where a GPU's memory is: PyTorch, other libraries, context, other processes",
	.help = "Reads recordings of `tidemark run --gpu`. Compares the used bytes that NVML "
		"counts with the recorded allocations, at the moment of highest use and over "
		"time; the difference is shown as unexplained. For several files, a ledger of all "
		"processes on each device comes first, then that of each recording.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.run = run,
};
