// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* device: the ledger of a device's memory. */
#include "cli/cli.h"

#include "base/error.h"
#include "render/report/memory/device.h"

enum { O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

static int one(const tide_args *a, const char *file, tide_json *j)
{
	tide_ledgers l = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_model *m = tide__cli_load(a, file, TIDE_WANT_MEMORY);
	const char *name = a->n_files > 1 ? file : NULL;
	if (!m)
		return 1;
	tide_code rc = tide__find_ledgers(m, &l, &err);
	if (rc == TIDE_OK)
		rc = j ? tide__device_json(m, &l, name, j) : tide__device_text(m, &l, name, &a->to);
	tide__ledgers_free(&l);
	tide__model_free(m);
	return rc == TIDE_OK ? 0 : tide__cli_fail(file, &err);
}

static int run(const tide_args *a)
{
	tide_json j;
	bool json = a->opt[O_JSON].set, many = a->n_files > 1;
	int failed = 0;
	if (json) {
		tide__json_begin(&j, a->out, true);
		if (many)
			tide__json_array(&j);
	}
	for (size_t i = 0; i < a->n_files && !failed; i++)
		failed = one(a, a->files[i], json ? &j : NULL);
	if (json && failed) {
		tide__json_free(&j);
		return failed;
	}
	if (json && many)
		tide__json_array_end(&j);
	return failed ? failed : json ? tide__cli_json_end(a, &j) : tide__cli_done(a);
}

const tide_command tide__cmd_device = {
	.name = "device",
	.usage = "FILE... [--json]",
	.summary =
		"show where a GPU's memory is: PyTorch, other libraries, context, other processes",
	.help = "Reads recordings of `tidemark run --gpu`. Accounts for the memory that NVML "
		"counts on the device by what was recorded, at the moment of highest use and "
		"over time; the rest is shown as unexplained. Several files: several processes "
		"on one device.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.run = run,
};
