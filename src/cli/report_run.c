// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A report as a command: its options, JSON or text. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/documents.h"
#include "cli/job/captured.h"
#include "cli/job/each_rank.h"
#include "cli/job/ranks.h"
#include "cli/output/next.h"
#include "cli/output/page.h"
#include "cli/report_run.h"
#include "report/page.h"
#include "report/text.h"

/* The last options. */
enum { O_JSON, O_CSV, O_OUTPUT, N_OUTPUT_OPTIONS };

static bool has(const tide_args *a, int option)
{
	return a->opt[a->cmd->n_options - N_OUTPUT_OPTIONS + (size_t)option].set;
}

/* `file`: its name, if the trace is one of several. */
static int fail(const tide_args *a, const char *file, const tide_error *err)
{
	if (err->code != TIDE_EUSAGE && err->code != TIDE_ENOTFOUND)
		return tide__cli_fail(file ? file : a->files[0], err);
	return tide__cli_fail_usage(a, "%s%s%s", file ? file : "", file ? ": " : "", err->text);
}

static int show_page(const tide_args *a, const tide_report_type *type, void *result)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	if (!tide__cli_page_built(a))
		return 1;
	if (tide__report_page(type, result, type->name, a->out, &err) != TIDE_OK)
		return tide__cli_fail(tide__cli_output_name(a), &err);
	return tide__cli_finish(a);
}

static int show(const tide_args *a, const tide_report_type *type, void *result)
{
	bool page = type->document_page && !has(a, O_CSV) && tide__cli_named_page(a);
	return page ? show_page(a, type, result) : tide__document_put(a, type, result);
}

bool tide__cli_is_document(const tide_args *a)
{
	return has(a, O_JSON) || has(a, O_CSV);
}

static const tide_report_type *type_of(const tide_args *a)
{
	return tide__report_asked(a->cmd->report, a->opt);
}

static tide_report_ask ask_for(const tide_args *a, const tide_report_traces *in)
{
	return (tide_report_ask){ .models = in->models,
				  .n = in->n,
				  .files = in->files,
				  .sizes = in->sizes,
				  .job = in->job,
				  .opt = a->opt,
				  .dashes = "--",
				  .document = tide__cli_is_document(a),
				  .style = &a->style };
}

/* Returns the capture of a file: of several captures, the one in its place. */
static const char *capture_of(const tide_args *a, const tide_value *captured, const char *file)
{
	if (captured->n_list < 2)
		return captured->n_list ? captured->list[0] : captured->text;
	return captured->list[a->n_files > 1 && file == a->files[1]];
}

static tide_model *load(const tide_args *a, const char *file)
{
	const tide_report_type *type = type_of(a);
	tide_report_ask ask = ask_for(a, &(tide_report_traces){ .n = 0 });
	const tide_value *captured = tide__cli_option(a, "captured");
	tide_model *m = tide__cli_load(a, file, type->wants ? type->wants(&ask) : type->want);
	return m && captured && captured->set
		       ? tide__cli_join_captured(a, m, capture_of(a, captured, file))
		       : m;
}

static tide_code find(const tide_args *a, const tide_report_traces *in, tide_report *r,
		      tide_error *err)
{
	const tide_report_type *type = type_of(a);
	tide_report_ask ask = ask_for(a, in);
	if (!r)
		return tide__nomem(err);
	tide__report_show_all_rows(
		type, a->opt, ask.document || (type->document_page && tide__cli_named_page(a)));
	tide_code rc = TIDE_OK;
	if (in->n)
		rc = tide__options_resolve(type->options, type->n_options, "--",
					   in->models[in->n - 1], a->opt, err);
	if (rc == TIDE_OK)
		rc = type->find(&ask, r->result, err);
	if (rc == TIDE_OK && err->code == TIDE_OK && *err->text) /* not of a failure inside */
		tide__cli_note("note: %s", err->text);
	return rc;
}

int tide__cli_answer(const tide_args *a, const tide_report_traces *in, tide_report **out)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	const tide_report_type *type = type_of(a);
	tide_report *r = tide__report_new(type);
	int status = find(a, in, r, &err) == TIDE_OK
			     ? show(a, type, r->result)
			     : fail(a, type->list ? in->files[0] : NULL, &err);
	if (out && !status)
		*out = r;
	else
		tide_report_free(r);
	return status;
}

/* Loads one trace, finds the report and prints it. */
static int answer_one(const tide_args *a, const tide_report_type *type, const char *file)
{
	tide_model *m = load(a, file);
	if (!m)
		return 1;
	int status = tide__cli_answer(
		a,
		&(tide_report_traces){
			.models = (const tide_model *const *)&m, .n = 1, .files = &file },
		NULL);
	if (status <= 1)
		tide__cli_tell_next_of(a, type, file, m, status != 0);
	tide__model_free(m);
	return status;
}

/* Writes the page that the options describe. */
static int draw(const tide_args *a, const tide_report_type *type, const char *file)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_page_options page = { 0 };
	if (!tide__cli_page_built(a))
		return 1;
	tide_model *m = tide__cli_load(a, file, tide__cli_page_wants(file));
	if (!m)
		return 1;
	tide_report *r = tide__report_new(type);
	tide_report_ask ask = ask_for(
		a, &(tide_report_traces){
			   .models = (const tide_model *const *)&m, .n = 1, .files = &file });
	tide_code rc = r ? TIDE_OK : tide__nomem(&err);
	if (rc == TIDE_OK)
		rc = tide__options_resolve(type->options, type->n_options, "--", m, a->opt, &err);
	if (rc == TIDE_OK)
		rc = type->draw(&ask, r->result, &page, &err);
	int status = rc == TIDE_OK ? tide__cli_write_page_with(a, m, &page) : fail(a, NULL, &err);
	tide_report_free(r);
	tide__model_free(m);
	return status;
}

/* ---- several traces, one document ---- */

int tide__cli_answer_all(const tide_args *a, char **files, const uint64_t *sizes, size_t n,
			 tide_report **out)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	tide_model **m = tide__calloc(n, sizeof *m);
	int status = m ? 0 : tide__cli_fail(NULL, &err);
	for (size_t i = 0; i < n && !status; i++)
		status = (m[i] = load(a, files[i])) ? 0 : 1;
	const tide_report_traces in = { .models = (const tide_model *const *)m,
					.n = n,
					.files = (const char *const *)files,
					.sizes = sizes };
	if (!status)
		status = tide__cli_answer(a, &in, out);
	for (size_t i = 0; m && i < n; i++)
		tide__model_free(m[i]);
	tide__free(m);
	return status;
}

/* ---- several traces, a document for each ---- */

/* Adds one trace: text below its name, or a value of j. */
static int add_one(const tide_args *a, const tide_report_type *type, const char *file, bool first,
		   bool last, tide_json *j)
{
	char name[600];
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_model *m = load(a, file);
	if (!m)
		return 1;
	tide_report *r = tide__report_new(type);
	const tide_report_traces in = { .models = (const tide_model *const *)&m,
					.n = 1,
					.files = &file };
	tide_code rc = find(a, &in, r, &err);
	int status = rc == TIDE_OK ? 0 : fail(a, file, &err);
	if (status == 1 && last) /* no trace has it: of one of them, what it has instead */
		tide__cli_tell_next_of(a, type, file, m, true);
	if (rc == TIDE_OK && j) {
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

static const tide_member one_timeline = TIDE_MEMBER_REPORT("", "timeline", 0, "one trace");
static const tide_member one_path = TIDE_MEMBER_REPORT("", "critical-path", 0, "one trace");
static const tide_member timeline_list[] = {
	TIDE_MEMBER_OF("traces", LIST, &one_timeline, "a document for each trace"),
	TIDE_MEMBER("failed", COUNT, "traces that are left out"),
	{ 0 },
};
static const tide_member path_list[] = {
	TIDE_MEMBER_OF("ranks", LIST, &one_path, "a document for each trace"),
	TIDE_MEMBER("failed", COUNT, "traces that are left out"),
	{ 0 },
};
const tide_report_type tide__document_timeline_list = {
	.name = "timeline-list",
	.version = 1,
	.summary = "the timelines of several traces",
	.members = timeline_list,
};
const tide_report_type tide__document_path_list = {
	.name = "critical-path-list",
	.version = 1,
	.summary = "the critical paths of several traces",
	.members = path_list,
};

/* Returns the document of several traces. */
static const tide_report_type *list_of(const tide_report_type *type)
{
	char name[64];
	snprintf(name, sizeof name, "%s-list", type->name);
	return tide__document_named(name);
}

/* Traces that cannot be read, or lack what an option names, are reported and left out. */
static int answer_list(const tide_args *a, const tide_report_type *type, const tide_rank_files *f)
{
	bool json = has(a, O_JSON);
	size_t done = 0, wrong = 0;
	tide_document d;
	tide_json *j = json ? &d.json : NULL;
	if (has(a, O_CSV))
		return tide__cli_fail_usage(a, "--csv works with one trace only");
	if (json) {
		tide__document_begin(&d, a, list_of(type));
		tide__json_karray(j, type->list);
	}
	for (size_t i = 0; i < f->n; i++) {
		int rc = add_one(a, type, f->v[i].path, !done, !done && i + 1 == f->n, j);
		done += rc == 0;
		wrong += rc == 2;
	}
	if (json) {
		tide__json_array_end(j);
		tide__json_kuint(j, "failed", f->n - done);
	}
	if (!done && json)
		tide__document_drop(&d);
	if (!done)
		return wrong == f->n ? 2 : 1;
	if (done < f->n)
		tide__cli_note("tidemark %s: %zu of %zu traces are left out", type->name,
			       f->n - done, f->n);
	return json ? tide__document_end(&d, a) : tide__cli_finish(a);
}

/* ---- several traces, one document, loaded one by one ---- */

/* Adds one trace; its model is freed afterwards. */
static int join_one(const tide_args *a, const tide_report_type *type, const char *file,
		    tide_report *all)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_model *m = load(a, file);
	if (!m)
		return 1;
	tide_report *r = tide__report_new(type);
	const tide_report_traces in = { .models = (const tide_model *const *)&m,
					.n = 1,
					.files = &file };
	tide_code rc = find(a, &in, r, &err);
	if (rc == TIDE_OK)
		rc = type->join(all->result, r->result, file, &err);
	int status = rc == TIDE_OK ? 0 : fail(a, rc == TIDE_EUSAGE ? NULL : file, &err);
	if (!status && !tide__cli_is_document(a))
		tide__cli_print_losses(a, m);
	tide_report_free(r);
	tide__model_free(m);
	return status;
}

/* Traces that cannot be read are reported and left out. */
static int answer_joined(const tide_args *a, const tide_report_type *type, const tide_rank_files *f)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_report *all = tide__report_new(type);
	size_t done = 0;
	int status = all ? 0 : tide__cli_fail(NULL, (tide__nomem(&err), &err));
	for (size_t i = 0; i < f->n && status != 2 && all; i++) {
		status = join_one(a, type, f->v[i].path, all);
		done += !status;
	}
	if (done && status != 2) {
		tide_code rc = type->join(all->result, NULL, NULL, &err);
		status = rc == TIDE_OK ? show(a, type, all->result) : tide__cli_fail(NULL, &err);
		if (done < f->n)
			tide__cli_note("tidemark %s: %zu of %zu traces could not be read",
				       type->name, f->n - done, f->n);
	}
	tide_report_free(all);
	return status;
}

/* ---- which of these ---- */

static int answer_file(const tide_args *a, const tide_report_type *type, const char *file)
{
	return (type->draw && tide__cli_named_page(a) ? draw : answer_one)(a, type, file);
}

static int answer_files(const tide_args *a, const tide_report_type *type)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_rank_files f;
	int status;
	tide_code rc = type->formats ? tide__ranks_expand_formats(a->files, a->n_files,
								  type->formats, &f, &err)
				     : tide__ranks_expand(a->files, a->n_files, &f, &err);
	if (rc != TIDE_OK)
		return tide__cli_fail(NULL, &err);
	if (f.n == 1)
		status = answer_file(a, type, f.v[0].path);
	else if (type->draw && tide__cli_named_page(a))
		status = tide__cli_fail_usage(a, "a page of one view shows one trace: name one "
						 "file (`tidemark report` has all ranks)");
	else
		status = (type->join ? answer_joined : answer_list)(a, type, &f);
	tide__ranks_free(&f);
	return status;
}

static bool takes_many(const tide_report_type *type)
{
	return type->each_rank || type->list || type->join || type->input == TIDE_INPUT_RANKS;
}

int tide__cli_run_report(const tide_args *a)
{
	const tide_report_type *type = type_of(a);
	if (type != a->cmd->report && a->n_files > 1)
		return tide__cli_fail_usage(a, "%s takes one trace", type->name);
	if (type->each_rank && tide__cli_many(a))
		return tide__cli_run_each_rank(a, tide__cli_option(a, "device"));
	if ((type->list || type->join) && (a->n_files > 1 || strcmp(a->files[0], "-") != 0))
		return answer_files(a, type);
	if (type->input == TIDE_INPUT_RANKS)
		return tide__cli_answer_all(a, a->files, NULL, a->n_files, NULL);
	return answer_file(a, type, a->files[0]);
}

/* ---- the command ---- */

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

/* Appends n options. Returns their new number. */
static size_t append(tide_report_command *out, size_t at, const tide_option *o, size_t n)
{
	for (size_t i = 0; i < n && at < TIDE_REPORT_MAX_OPTIONS; i++)
		out->options[at++] = o[i];
	return at;
}

void tide__report_command_make(const tide_report_type *type, const tide_command *more,
			       tide_report_command *out)
{
	static const tide_option json = TIDE_OPTION_JSON, csv = TIDE_OPTION_CSV,
				 file = TIDE_OPTION_OUTPUT, page = TIDE_OPTION_PAGE;
	size_t n = append(out, 0, type->options, type->n_options);
	if (more)
		n = append(out, n, more->options, more->n_options);
	out->options[n + O_JSON] = json;
	out->options[n + O_CSV] = csv;
	out->options[n + O_OUTPUT] = type->page ? page : file;
	write_usage(type, out->usage, sizeof out->usage);
	out->command = more ? *more : (tide_command){ 0 };
	if (!more) {
		out->command.min_files = 1;
		out->command.max_files = takes_many(type) ? SIZE_MAX : 1;
		out->command.run = tide__cli_run_report;
		out->command.page = type->page;
	}
	out->command.ranks = takes_many(type);
	out->command.usage = out->command.usage ? out->command.usage : out->usage;
	out->command.help = out->command.help ? out->command.help : type->help;
	out->command.name = type->name;
	out->command.summary = type->summary;
	out->command.options = out->options;
	out->command.n_options = n + N_OUTPUT_OPTIONS;
	out->command.report = type;
}
