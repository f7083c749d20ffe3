// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A report as a command: its options, JSON or text. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/job/each_rank.h"
#include "cli/job/ranks.h"
#include "cli/report_run.h"
#include "cli/report_tables.h"
#include "report/check.h"

/* Options that follow those of the report. */
enum { O_JSON, O_CSV, O_OUTPUT, N_OUTPUT_OPTIONS };

static bool has(const tide_args *a, int option)
{
	return a->opt[a->cmd->report->n_options + (size_t)option].set;
}

/* `file`: its name, if the trace is one of several. */
static int fail(const tide_args *a, const char *file, const tide_error *err)
{
	if (err->code != TIDE_EUSAGE && err->code != TIDE_ENOTFOUND)
		return tide__cli_fail(file ? file : a->files[0], err);
	return tide__cli_fail_usage(a, "%s%s%s", file ? file : "", file ? ": " : "", err->text);
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
		tide__json_begin(&j, a->out, !tide__report_flag(type, a->opt, type->compact));
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

static bool is_document(const tide_args *a)
{
	return has(a, O_JSON) || has(a, O_CSV);
}

static tide_code find(const tide_args *a, const tide_report_type *type, const char *file,
		      const tide_model *m, tide_report *r, tide_error *err)
{
	tide_report_ask ask = { .models = &m,
				.n = 1,
				.opt = a->opt,
				.files = &file,
				.dashes = "--",
				.document = is_document(a),
				.style = &a->style };
	if (!r)
		return tide__nomem(err);
	tide__report_show_all_rows(type, a->opt, ask.document);
	tide_code rc = tide__options_resolve(type->options, type->n_options, "--", m, a->opt, err);
	if (rc == TIDE_OK)
		rc = type->find(&ask, r->result, err);
	if (rc == TIDE_OK && *err->text)
		tide__cli_note("note: %s", err->text);
	return rc;
}

/* Loads one trace, finds the report and prints it. */
static int answer_one(const tide_args *a, const tide_report_type *type, const char *file)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_model *m = tide__cli_load(a, file, type->want);
	if (!m)
		return 1;
	tide_report *r = tide__report_new(type);
	int status = find(a, type, file, m, r, &err) == TIDE_OK
			     ? show(a, type, r->result)
			     : fail(a, type->list ? file : NULL, &err);
	tide_report_free(r);
	tide__model_free(m);
	return status;
}

/* ---- several traces, a document for each ---- */

/* Adds one trace: text below its name, or a value of j. */
static int add_one(const tide_args *a, const tide_report_type *type, const char *file, bool first,
		   tide_json *j)
{
	char name[600];
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_model *m = tide__cli_load(a, file, type->want);
	if (!m)
		return 1;
	tide_report *r = tide__report_new(type);
	tide_code rc = find(a, type, file, m, r, &err);
	int status = rc == TIDE_OK ? 0 : fail(a, file, &err);
	if (rc == TIDE_OK && j && !as_described(a, type, r->result)) {
		status = 1;
	} else if (rc == TIDE_OK && j) {
		rc = tide__report_write(type, r->result, j);
	} else if (rc == TIDE_OK) {
		fputs(first ? "" : "\n", a->out);
		tide__write_heading(&a->to, "%s",
				    tide__fmt_name(name, sizeof name, file, strlen(file), 0));
		rc = type->text(r->result, &a->to);
	}
	tide_report_free(r);
	tide__model_free(m);
	return !status && rc != TIDE_OK ? tide__cli_fail(file, &err) : status;
}

/* Traces that cannot be read, or lack what an option names, are reported and left out. */
static int answer_list(const tide_args *a, const tide_report_type *type, const tide_rank_files *f)
{
	bool json = has(a, O_JSON);
	size_t done = 0, wrong = 0;
	tide_json j;
	if (has(a, O_CSV))
		return tide__cli_fail_usage(a, "--csv works with one trace only");
	if (json) {
		tide__json_begin(&j, a->out, !tide__report_flag(type, a->opt, type->compact));
		tide__json_object(&j);
		tide__json_karray(&j, type->list);
	}
	for (size_t i = 0; i < f->n; i++) {
		int rc = add_one(a, type, f->v[i].path, !done, json ? &j : NULL);
		done += rc == 0;
		wrong += rc == 2;
	}
	if (json) {
		tide__json_array_end(&j);
		tide__json_kuint(&j, "failed", f->n - done);
		tide__json_object_end(&j);
	}
	if (!done && json)
		tide__json_free(&j);
	if (!done)
		return wrong == f->n ? 2 : 1;
	if (done < f->n)
		tide__cli_note("tidemark %s: %zu of %zu traces are left out", type->name,
			       f->n - done, f->n);
	return json ? tide__cli_json_end(a, &j) : tide__cli_finish(a);
}

static int answer_files(const tide_args *a, const tide_report_type *type)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_rank_files f;
	if (tide__ranks_expand(a->files, a->n_files, &f, &err) != TIDE_OK)
		return tide__cli_fail(NULL, &err);
	int status = f.n == 1 ? answer_one(a, type, f.v[0].path) : answer_list(a, type, &f);
	tide__ranks_free(&f);
	return status;
}

int tide__cli_run_report(const tide_args *a)
{
	const tide_report_type *type = a->cmd->report;
	if (type->each_rank && tide__cli_many(a))
		return tide__cli_run_each_rank(a, tide__cli_option(a, "device"), has(a, O_JSON));
	if (type->list && (a->n_files > 1 || strcmp(a->files[0], "-") != 0))
		return answer_files(a, type);
	return answer_one(a, type, a->files[0]);
}

/* ---- the command ---- */

static bool takes_many(const tide_report_type *type)
{
	return type->each_rank || type->list;
}

/* "FILE... [--flat] [--top N] [--json] [--csv] [-o FILE]" */
static void write_usage(const tide_report_type *type, char *buf, size_t n)
{
	size_t at = (size_t)snprintf(buf, n, "%s", takes_many(type) ? "FILE..." : "FILE");
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
		.max_files = takes_many(type) ? SIZE_MAX : 1,
		.run = tide__cli_run_report,
		.page = type->page,
		.report = type,
	};
}
