// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A report as a command: its options, JSON or text. */
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/job/each_rank.h"
#include "cli/report_run.h"
#include "cli/report_tables.h"
#include "report/check.h"

/* Options that follow those of the report. */
enum { O_JSON, O_CSV, O_OUTPUT, N_OUTPUT_OPTIONS };

static bool has(const tide_args *a, int option)
{
	return a->opt[a->cmd->report->n_options + (size_t)option].set;
}

static int fail(const tide_args *a, const tide_error *err)
{
	if (err->code == TIDE_EUSAGE || err->code == TIDE_ENOTFOUND)
		return tide__cli_fail_usage(a, "%s", err->text);
	return tide__cli_fail(a->files[0], err);
}

/* In tests: returns false, with a message, if the report writes other members than it describes. */
static bool as_described(const tide_args *a, const tide_report_type *type, void *result)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	char *fault = getenv("TIDEMARK_TEST_REPORTS") ? tide__report_check(type, result) : NULL;
	if (!fault)
		return true;
	tide__fail(&err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%s is not as described: %.180s", type->name,
		   fault);
	tide__cli_fail(a->files[0], &err);
	tide__free(fault);
	return false;
}

static int show(const tide_args *a, const tide_report_type *type, void *result)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	uint64_t cut = 0;
	tide_out to = { .out = a->out, .style = a->style, .cut = &cut };
	if (has(a, O_CSV))
		return tide__report_put_tables(a, type, result);
	if (has(a, O_JSON)) {
		tide_json j;
		if (!as_described(a, type, result))
			return 1;
		tide__json_begin(&j, a->out, true);
		if (tide__report_write(type, result, &j) == TIDE_OK)
			return tide__cli_json_end(a, &j);
		tide__json_free(&j);
	} else if (type->text(result, &to) == TIDE_OK) {
		int rc = tide__cli_finish(a);
		tide__cli_note_truncated(cut);
		return rc;
	}
	return tide__cli_fail(a->files[0], &err);
}

/* Finds the report on a loaded trace and prints it. */
static int answer(const tide_args *a, const tide_report_type *type, const tide_model *m)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_report *r = tide__report_new(type);
	bool document = has(a, O_JSON) || has(a, O_CSV);
	tide_report_ask ask = {
		.models = &m,
		.n = 1,
		.files = (const char *const *)a->files,
		.opt = a->opt,
		.dashes = "--",
		.document = document,
		.style = &a->style,
	};
	tide_code rc = r ? TIDE_OK : tide__nomem(&err);
	tide__report_show_all_rows(type, a->opt, document);
	if (rc == TIDE_OK)
		rc = tide__options_resolve(type->options, type->n_options, "--", m, a->opt, &err);
	if (rc == TIDE_OK)
		rc = type->find(&ask, r->result, &err);
	int status = rc == TIDE_OK ? show(a, type, r->result) : fail(a, &err);
	tide_report_free(r);
	return status;
}

int tide__cli_run_report(const tide_args *a)
{
	const tide_report_type *type = a->cmd->report;
	if (type->each_rank && tide__cli_many(a))
		return tide__cli_run_each_rank(a, tide__cli_option(a, "device"), has(a, O_JSON));
	tide_model *m = tide__cli_load(a, a->files[0], type->want);
	if (!m)
		return 1;
	int status = answer(a, type, m);
	tide__model_free(m);
	return status;
}

/* ---- the command ---- */

/* "FILE... [--flat] [--top N] [--json] [--csv] [-o FILE]" */
static void write_usage(const tide_report_type *type, char *buf, size_t n)
{
	size_t at = (size_t)snprintf(buf, n, "%s", type->each_rank ? "FILE..." : "FILE");
	for (size_t i = 0; i < type->n_options && at < n; i++) {
		const tide_option *o = &type->options[i];
		const char *arg = o->kind == TIDE_OPT_ENUM ? "WORD" : o->arg;
		at += (size_t)snprintf(buf + at, n - at, " [--%s%s%s]", o->name, arg ? " " : "",
				       arg ? arg : "");
	}
	if (at < n)
		snprintf(buf + at, n - at, " [--json] [--csv] [-o FILE]");
}

void tide__report_command_make(const tide_report_type *type, tide_report_command *out)
{
	static const tide_option json = TIDE_OPTION_JSON, csv = TIDE_OPTION_CSV,
				 file = TIDE_OPTION_OUTPUT, page = TIDE_OPTION_PAGE;
	size_t n = type->n_options;
	for (size_t i = 0; i < n; i++)
		out->options[i] = type->options[i];
	out->options[n + O_JSON] = json;
	out->options[n + O_CSV] = csv;
	out->options[n + O_OUTPUT] = type->page ? page : file;
	write_usage(type, out->usage, sizeof out->usage);
	out->command = (tide_command){
		.name = type->name,
		.usage = out->usage,
		.summary = type->summary,
		.help = type->help,
		.options = out->options,
		.n_options = n + N_OUTPUT_OPTIONS,
		.min_files = 1,
		.max_files = type->each_rank ? SIZE_MAX : 1,
		.run = tide__cli_run_report,
		.page = type->page,
		.report = type,
	};
}
