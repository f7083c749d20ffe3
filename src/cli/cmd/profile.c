// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* profile: runs a program, records it, and reports what was slow and large, with advice.
 *
 * Recording is `tidemark run` in a separate process, so that the program's signals and memory do
 * not affect this command; the reports read the recording as every command does. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/text.h"
#include "base/error.h"
#include "cli/documents.h"
#include "cli/output/page.h"
#include "cli/run/child.h"
#include "cli/run/program_files.h"
#include "render/report/hints.h"

enum { O_RECORDING, O_MEMORY, O_ITERATIONS, O_WARMUP, O_LIMIT, O_TOP, O_HTML, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_RECORDING] = { "recording", 'r', TIDE_OPT_FILE, "FILE", "where to record",
			  .def = "profile.tide" },
	[O_MEMORY] = { "memory", 'm', TIDE_OPT_FLAG, NULL,
		       "record and report memory only: the lowest cost" },
	[O_ITERATIONS] = { "iterations", 0, TIDE_OPT_INT, "N",
			   "runs of the program; the last one is reported, with wall times of all",
			   .def = "1", .least = 1, .most = 10000 },
	[O_WARMUP] = { "warmup", 0, TIDE_OPT_INT, "N", "unrecorded warm-up runs", .def = "0",
		       .most = 10000 },
	[O_LIMIT] = { "timeout", 0, TIDE_OPT_INT, "SECONDS",
		      "end PROGRAM after this time, 0 = "
		      "never",
		      .def = "0" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "rows of each table", .def = "10", .least = 1 },
	[O_HTML] = { "html", 0, TIDE_OPT_FILE, "FILE", "also write a page of the recording" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

typedef struct runs {
	int64_t n, least, most, sum; /* wall time, ns */
	int status;
	bool timed_out;
} runs;

/* ---- running ---- */

static void count(runs *r, const tide_child *c)
{
	r->n++;
	r->sum += c->wall_ns;
	r->least = r->n == 1 || c->wall_ns < r->least ? c->wall_ns : r->least;
	r->most = c->wall_ns > r->most ? c->wall_ns : r->most;
	r->status = c->status;
	r->timed_out |= c->timed_out;
}

static void say_end(const tide_args *a, const runs *r)
{
	if (r->timed_out)
		tide__cli_note("%s was ended after %lld s; the report covers the time until then",
			       a->files[0], (long long)a->opt[O_LIMIT].num);
	else if (r->status > 128)
		tide__cli_note("%s was ended by signal %d", a->files[0], r->status - 128);
	else if (r->status)
		tide__cli_note("%s ended with status %d", a->files[0], r->status);
}

/* Checks the files to be written before a program runs that may take hours. */
static bool may_write(const tide_args *a)
{
	const char *recording = a->opt[O_RECORDING].text;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	if (!tide__may_record(recording, &err))
		return tide__cli_fail(recording, &err), false;
	for (int o = O_HTML; o <= O_OUTPUT; o++)
		if (o != O_JSON && a->opt[o].set && !tide__may_write(a->opt[o].text, &err))
			return tide__cli_fail(a->opt[o].text, &err), false;
	return true;
}

/* Returns 0, or a status that ends the command if nothing was or could be run. */
static int run_all(const tide_args *a, runs *r)
{
	static const char *const env[] = { TIDE_RUN_ASKED, NULL };
	const char *how[] = { a->opt[O_MEMORY].set ? "--no-ops" : NULL, NULL };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	int status;
	const char *why = tide__program_problem(a->files[0], &status);
	if (why) { /* `run` would report it in its own name */
		tide__cli_note("tidemark profile: %s: %s", a->files[0], why);
		return status;
	}
	if (!may_write(a))
		return 1;
	unlink(a->opt[O_RECORDING].text);
	for (int64_t i = 0; i < a->opt[O_WARMUP].num + a->opt[O_ITERATIONS].num; i++) {
		bool warm = i < a->opt[O_WARMUP].num;
		char **recorded = tide__child_make_command(a->files, a->opt[O_RECORDING].text, how);
		tide_child c = { .argv = warm ? a->files : recorded,
				 .env = env,
				 .out_to_err = a->opt[O_JSON].set && !a->opt[O_OUTPUT].set,
				 .limit_s = a->opt[O_LIMIT].num };
		bool ran = recorded && tide__child_run("profile", &c);
		free(recorded);
		if (!ran) {
			tide__fail_errno(&err, "cannot start a process");
			return tide__cli_fail(NULL, &err);
		}
		if (!c.started)
			return c.status;
		if (!warm)
			count(r, &c);
		if (c.status || c.timed_out) {
			r->status = c.status;
			r->timed_out |= c.timed_out;
			break;
		}
	}
	say_end(a, r);
	return 0;
}

/* ---- reports: other commands on the recording, in this process ---- */

static tide_code find_ops(const tide_trace *t, size_t top, tide_report **r, tide_error *err)
{
	tide_ops_options o = TIDE_OPS_OPTIONS_INIT;
	o.flat = true;
	o.top = top;
	return tide_ops_find(t, &o, r, err);
}

static tide_code find_memory(const tide_trace *t, size_t top, tide_report **r, tide_error *err)
{
	(void)top; /* as in `tidemark memory` */
	return tide_memory_find(t, NULL, r, err);
}

static tide_code find_peak(const tide_trace *t, size_t top, tide_report **r, tide_error *err)
{
	tide_peak_options o = TIDE_PEAK_OPTIONS_INIT;
	o.top = top;
	return tide_peak_find(t, &o, r, err);
}

static tide_code find_advice(const tide_trace *t, size_t top, tide_report **r, tide_error *err)
{
	(void)top;
	return tide_advice_find(t, r, err);
}

static const struct part {
	const char *title, *key;
	tide_code (*find)(const tide_trace *t, size_t top, tide_report **r, tide_error *err);
	bool time; /* left out with --memory */
} parts[] = {
	{ "Ops", "ops", find_ops, true },
	{ "Memory", "memory", find_memory, false },
	{ "At the peak", "peak", find_peak, false },
	{ "Advice", "advice", find_advice, false },
};

/* Writes one report as text or as a member of j; null if it could not be computed. */
static void tell_part(const tide_args *a, const struct part *p, const tide_model *m, tide_json *j)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_report *r = NULL;
	tide_code rc = p->find((const tide_trace *)m, (size_t)a->opt[O_TOP].num, &r, &err);
	if (j)
		tide__json_key(j, p->key);
	else
		fprintf(a->out, "\n%s\n", p->title);
	if (rc == TIDE_OK)
		rc = j ? tide__report_write(r->type, r->result, j)
		       : tide__report_text(r->type, r->result, &a->to);
	else if (j)
		tide__json_null(j);
	if (rc != TIDE_OK)
		tide__cli_fail(a->opt[O_RECORDING].text, &err);
	tide_report_free(r);
}

static void tell_parts(const tide_args *a, const tide_model *m, tide_json *j)
{
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!parts[i].time || !a->opt[O_MEMORY].set)
			tell_part(a, &parts[i], m, j);
}

static void tell_text(const tide_args *a, const runs *r, const tide_model *m)
{
	char mean[32], least[32], most[32];
	fprintf(a->out, "%s: %s of wall time", a->files[0],
		tide__fmt_ns(mean, sizeof mean, (double)r->sum / (double)r->n));
	if (r->n > 1)
		fprintf(a->out, " on average of %" PRId64 " runs (%s to %s)", r->n,
			tide__fmt_ns(least, sizeof least, (double)r->least),
			tide__fmt_ns(most, sizeof most, (double)r->most));
	fprintf(a->out, ", exit status %d, recorded in %s\n", r->status, a->opt[O_RECORDING].text);
	tell_parts(a, m, NULL);
	tide_hint hints[TIDE_HINTS];
	size_t n = tide__hints_find(tide__holds(m), hints);
	fputs("\nNext\n", a->out);
	for (size_t i = 0; i < n; i++)
		tide__put_hint(&hints[i], a->opt[O_RECORDING].text, a->out);
}

enum { MAY_BE_LEFT = TIDE_MAY_BE_NULL | TIDE_MAY_BE_ABSENT };
static const tide_member members[] = {
	TIDE_MEMBER("recording", TEXT, "the recording of the last run"),
	TIDE_MEMBER("exit_status", PLAIN, "of the program"),
	TIDE_MEMBER("timed_out", BOOL, "--timeout ended it"),
	TIDE_MEMBER("runs", COUNT, "runs that were recorded"),
	TIDE_MEMBER("wall_ns", NS, "mean wall time of a run"),
	TIDE_MEMBER("wall_min_ns", NS, "of the shortest run"),
	TIDE_MEMBER("wall_max_ns", NS, "of the longest run"),
	TIDE_MEMBER_REPORT("ops", "ops", MAY_BE_LEFT, "its ops; without --memory"),
	TIDE_MEMBER_REPORT("memory", "memory", MAY_BE_LEFT, "its memory"),
	TIDE_MEMBER_REPORT("peak", "peak", MAY_BE_LEFT, "allocations at the peak"),
	TIDE_MEMBER_REPORT("advice", "advice", MAY_BE_LEFT, "advice"),
	{ 0 },
};

const tide_report_type tide__document_profile = {
	.name = "profile",
	.version = 1,
	.summary = "a program that ran: its wall time and reports on its recording",
	.members = members,
};

static int tell_json(const tide_args *a, const runs *r, const tide_model *m)
{
	tide_document d;
	tide_json *j = &d.json;
	tide__document_begin(&d, a, &tide__document_profile);
	tide__json_kstr(j, "recording", a->opt[O_RECORDING].text);
	tide__json_kint(j, "exit_status", r->status);
	tide__json_kbool(j, "timed_out", r->timed_out);
	tide__json_kint(j, "runs", r->n);
	tide__json_kint(j, "wall_ns", r->sum / r->n);
	tide__json_kint(j, "wall_min_ns", r->least);
	tide__json_kint(j, "wall_max_ns", r->most);
	tell_parts(a, m, j);
	return tide__document_end(&d, a);
}

static int tell(const tide_args *a, const runs *r)
{
	int rc = 0;
	tide_model *m = tide__cli_load(a, a->opt[O_RECORDING].text, 0);
	if (!m)
		return 1;
	if (a->opt[O_JSON].set)
		rc = tell_json(a, r, m);
	else
		tell_text(a, r, m);
	if (a->opt[O_HTML].set) {
		int page = tide__cli_page_built(a)
				   ? tide__cli_write_page_file(a, m, a->opt[O_HTML].text)
				   : 1;
		rc = rc ? rc : page;
	}
	tide__model_free(m);
	return rc;
}

static int run(const tide_args *a)
{
	runs r = { 0 };
	int rc = run_all(a, &r);
	if (rc)
		return rc;
	if (access(a->opt[O_RECORDING].text, R_OK) || !r.n) {
		if (r.status != 126 && r.status != 127) /* it never ran, which was already
		                                         * reported */
			tide__cli_note("nothing was recorded: %s did not use PyTorch%s",
				       a->files[0],
				       r.status ? " before it ended"
						: "; `tidemark run --heap` records any program");
		return r.status ? r.status : 1;
	}
	rc = tell(a, &r);
	return r.status ? r.status : rc ? rc : tide__cli_finish(a);
}

const tide_command tide__cmd_profile = {
	.name = "profile",
	.usage = "[--memory] [--] PROGRAM|SCRIPT.py [ARGUMENT]...",
	.summary = "run a PyTorch program and report what was slow and large, with advice",
	.help = "Records the program as `tidemark run` does, then shows its ops, its memory, the "
		"allocations alive at the peak, and advice. The program's output and exit status "
		"pass through; with --json and without -o its output goes to standard error. "
		"Options go first.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.wants = "program",
	.rest = true,
	.run = run,
};
