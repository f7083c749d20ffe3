// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* compile: reports the work of torch.compile from a log, or runs a program with the log on.
 *
 * With a mode, each run is a separate process with an empty cache of compiled code, recorded by
 * `tidemark run`: its calls and their memory are read from the recording. */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/compare/diff.h"
#include "analyze/compile/compile_report.h"
#include "base/error.h"
#include "cli/documents.h"
#include "cli/run/child.h"
#include "cli/report_run.h"
#include "cli/run/program_files.h"
#include "render/report/compare/diff.h"
#include "report/ops/compile.h"
#include "report/registry.h"
#include "render/report/compile_runs.h"

/* The option of the report is first; those of every report are last. */
enum { O_TOP, O_MODE, O_COMPARE, O_MEMORY, O_LOG, O_LIMIT, O_JSON, O_CSV, O_OUTPUT };
static const tide_option options[] = {
	[O_MODE -
	 O_MODE] = { "mode", 'm', TIDE_OPT_TEXT, "MODE",
		     "run PROGRAM eagerly, then with this mode in every torch.compile: default, "
		     "reduce-overhead, max-autotune, ..." },
	[O_COMPARE - O_MODE] = { "compare", 'c', TIDE_OPT_FLAG, NULL,
				 "run PROGRAM eagerly and in 3 modes, each in a separate process" },
	[O_MEMORY -
		O_MODE] = { "memory", 0, TIDE_OPT_FLAG, NULL,
			    "with a mode: record the stack of every allocation (calls take longer) and "
			    "show why a mode's peak differs from eager's" },
	[O_LOG -
		O_MODE] = { "keep-log", 0, TIDE_OPT_FILE, "FOLDER",
			    "keep the logs in FOLDER/run, with a mode in FOLDER/MODE/log (default: a "
			    "temporary folder, removed)" },
	[O_LIMIT - O_MODE] = { "timeout", 0, TIDE_OPT_INT, "SECONDS",
			       "end PROGRAM after this time, 0 = "
			       "never",
			       .def = "0" },
};

/* ---- one log ---- */

/* Returns false if the folder cannot be read; loading it then reports the reason. */
static bool folder_without_logs(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISDIR(st.st_mode) && !access(path, R_OK | X_OK) &&
	       !tide__load_knows(path);
}

/* Tells how a log comes into a folder that has none. */
static int no_log(const char *path)
{
	tide__cli_note("tidemark compile: %s: no compile log in this folder; TORCH_TRACE=%s makes "
		       "a program write them there",
		       path, path);
	return 1;
}

static int report(const tide_args *a, const char *path, tide_json *j)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_compile_report r;
	tide_model *m = tide__cli_load(a, path, TIDE_WANT_SPANS | TIDE_WANT_ARGS);
	size_t top = tide__cli_top(&a->opt[O_TOP], j != NULL);
	if (!m)
		return 1;
	if (tide__compile_report_find(m, &r, &err) != TIDE_OK) {
		tide__model_free(m);
		return tide__cli_fail(path, &err);
	}
	if (j) {
		tide__compile_json(m, &r, top, j);
		tide__losses_json(j, m);
	} else {
		tide__compile_text(m, &r, top, a->out, &a->style);
		tide__cli_print_losses(a, m);
	}
	tide__compile_report_free(&r);
	tide__model_free(m);
	return 0;
}

/* ---- running a program ---- */

typedef struct outcome {
	tide_compile_run run;
	char folder[512]; /* results of a run */
	char log[544], recording[544];
	bool started;
} outcome;

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
	(void)st;
	(void)flag;
	(void)f;
	return remove(path), 0;
}

static void remove_folder(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static bool has_files(const char *path)
{
	DIR *d = opendir(path);
	bool any = false;
	for (struct dirent *e; d && (e = readdir(d));)
		any |= e->d_name[0] != '.';
	if (d)
		closedir(d);
	return any;
}

/* Removes logs of an earlier run from the folder, and nothing else: it is the user's. */
static void remove_logs(const char *path)
{
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		if (!strncmp(e->d_name, "dedicated_log_torch_trace_", 26))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

/* Creates the folder and, for a run with a mode, log/ in it. A log of an earlier run is removed. */
static bool make_folder(const tide_args *a, outcome *o, tide_error *err)
{
	const char *tmp = getenv("TMPDIR");
	bool ok;
	if (a->opt[O_LOG].set) {
		mkdir(a->opt[O_LOG].text, 0777);
		snprintf(o->folder, sizeof o->folder, "%s/%s", a->opt[O_LOG].text,
			 o->run.mode ? o->run.mode : "run");
		ok = mkdir(o->folder, 0777) == 0 || access(o->folder, W_OK) == 0;
	} else {
		snprintf(o->folder, sizeof o->folder, "%s/tidemark-compile-XXXXXX",
			 tmp && *tmp ? tmp : "/tmp");
		ok = mkdtemp(o->folder) != NULL;
	}
	snprintf(o->log, sizeof o->log, "%s%s", o->folder, o->run.mode ? "/log" : "");
	snprintf(o->recording, sizeof o->recording, "%s/run.tide", o->folder);
	if (ok)
		remove_logs(o->log);
	if (ok && o->run.mode) {
		ok = (mkdir(o->log, 0777) == 0 || access(o->log, W_OK) == 0) &&
		     (unlink(o->recording) == 0 || errno == ENOENT);
	}
	if (!ok)
		tide__fail_errno(err, "cannot make a folder for the log");
	return ok;
}

static bool run_child(const tide_args *a, outcome *o, tide_child *c)
{
	const char *how[] = { a->opt[O_MEMORY].set ? "--light" : "--no-ops", "--no-modules", NULL };
	char cache[544];
	snprintf(cache, sizeof cache, "%s/cache-XXXXXX", o->folder);
	if (o->run.mode && !mkdtemp(cache))
		return false;
	const char *plain[] = { "TORCH_TRACE", o->log, NULL };
	const char *mode[] = { "TORCH_TRACE",
			       o->log,
			       "TIDEMARK_COMPILE_MODE",
			       o->run.mode,
			       "TORCHINDUCTOR_CACHE_DIR",
			       cache,
			       TIDE_RUN_ASKED,
			       NULL };
	char **recorded = NULL;
	*c = (tide_child){ .argv = a->files,
			   .env = plain,
			   .out_to_err = a->opt[O_JSON].set && !a->opt[O_OUTPUT].set,
			   .limit_s = a->opt[O_LIMIT].num };
	if (o->run.mode) {
		recorded = tide__child_make_command(a->files, o->recording, how);
		c->argv = recorded;
		c->env = mode;
	}
	bool ok = c->argv && tide__child_run("compile", c);
	free(recorded);
	if (o->run.mode)
		remove_folder(cache);
	return ok;
}

/* Reads the calls of the run from its recording. Without a recording or calls, the figures are
 * unknown. */
static void read_calls(const tide_args *a, outcome *o)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	if (!o->run.mode || access(o->recording, R_OK))
		return;
	tide_model *m = tide__cli_load(a, o->recording, TIDE_WANT_SPANS | TIDE_WANT_MEMORY);
	if (!m)
		return;
	o->run.recorded = tide__find_compile_calls(m, &o->run.calls, &err) == TIDE_OK;
	if (!o->run.recorded)
		tide__cli_fail(o->recording, &err);
	else if (o->run.calls.device)
		tide__device_name(m, o->run.calls.device, o->run.device, sizeof o->run.device);
	tide__model_free(m);
}

/* Returns 0, or an exit status that ends the command if the program could not run at all. */
static int run_mode(const tide_args *a, outcome *o)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_child c;
	int status;
	const char *why = tide__program_problem(a->files[0], &status);
	if (why) { /* `run` would report it in its own name */
		tide__cli_note("tidemark compile: %s: %s", a->files[0], why);
		return status;
	}
	if (!make_folder(a, o, &err))
		return tide__cli_fail(o->folder, &err);
	if (!run_child(a, o, &c)) {
		tide__fail_errno(&err, "cannot start a process");
		return tide__cli_fail(NULL, &err);
	}
	o->run.wall_ns = c.wall_ns;
	o->run.status = c.status;
	o->run.timed_out = c.timed_out;
	o->run.logged = has_files(o->log);
	if (!c.started)
		return c.status;
	if (c.timed_out)
		tide__cli_note("%s was ended after %lld s", a->files[0],
			       (long long)a->opt[O_LIMIT].num);
	if (c.status)
		tide__cli_note("%s%s%s ended with status %d", a->files[0],
			       o->run.mode ? ", mode " : "", o->run.mode ? o->run.mode : "",
			       c.status);
	read_calls(a, o);
	return 0;
}

static void put_run(const tide_args *a, const outcome *o)
{
	char wall[32];
	tide__fmt_ns(wall, sizeof wall, (double)o->run.wall_ns);
	fprintf(a->out, "%s%s: %s of wall time, exit status %d\n", o->run.mode ? "mode " : "",
		o->run.mode ? o->run.mode : a->files[0], wall, o->run.status);
	if (!o->run.logged && (!o->run.mode || strcmp(o->run.mode, "eager") != 0))
		fputs("Nothing was compiled: the program left no log.\n", a->out);
}

/* ---- why memory differs ---- */

/* Writes the diff of two models as text or as the member "memory_diff". False if memory runs out. */
static bool diff_models(const tide_args *a, const tide_model *const m[2], const char *const file[2],
			tide_json *j)
{
	const tide_diff_checks none = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_diff d = { 0 };
	bool ok = tide__find_diff(m[0], m[1], NULL, &d, &err) == TIDE_OK;
	if (ok && j) {
		tide__json_key(j, "memory_diff");
		tide__json_object(j);
		tide__json_kstr(j, "report", tide__report_diff.name);
		tide__json_kint(j, "version", tide__report_diff.version);
		ok = tide__diff_report_json(&d, m, &none, file, j);
		tide__json_object_end(j);
	} else if (ok) {
		fputs("\nMemory against eager\n", a->out);
		ok = tide__diff_report_text(&d, m, &none, file, 5, &a->to);
		tide__cli_print_losses(a, m[0]);
		tide__cli_print_losses(a, m[1]);
	}
	tide__diff_free(&d);
	return ok;
}

/* Returns what a recording is called: its file, or its mode if the file is removed in the end. */
static const char *called(const tide_args *a, const outcome *o)
{
	return a->opt[O_LOG].set ? o->recording : o->run.mode;
}

/* Shows why the memory of a mode differs from eager's. Without a recording of both, the member is
 * null, and the text has nothing. */
static int put_diff(const tide_args *a, const outcome *eager, const outcome *o, tide_json *j)
{
	const char *const file[] = { eager->recording, o->recording }, *const name[] = {
		called(a, eager), called(a, o)
	};
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	tide_model *m[2] = { NULL, NULL };
	bool ok = true;
	for (int i = 0; i < 2 && o->run.recorded && eager->run.recorded; i++)
		m[i] = tide__cli_load(a, file[i], 0);
	if (m[0] && m[1])
		ok = diff_models(a, (const tide_model *const[]){ m[0], m[1] }, name, j);
	else if (j)
		tide__json_knull(j, "memory_diff");
	tide__model_free(m[0]);
	tide__model_free(m[1]);
	return ok ? 0 : tide__cli_fail(NULL, &err);
}

/* ---- output ---- */

/* Writes members of an open object, or text. */
static int report_run(const tide_args *a, const outcome *eager, outcome *o, tide_json *j)
{
	bool other = eager && o != eager;
	if (j)
		tide__compile_run_json(&o->run, eager ? &eager->run : NULL, j);
	else
		put_run(a, o);
	int rc = o->run.logged ? report(a, o->log, j) : 0;
	if (other && a->opt[O_MEMORY].set && !rc)
		rc = put_diff(a, eager, o, j);
	if (j && other && !a->opt[O_COMPARE].set) {
		tide__json_kobject(j, "eager");
		tide__compile_run_json(&eager->run, &eager->run, j);
		tide__json_object_end(j);
	}
	return rc;
}

static const tide_member modes_members[] = {
	TIDE_MEMBER_OF("modes", TABLE, tide__compile_program_members, "eager, then three modes"),
	{ 0 },
};
const tide_report_type tide__document_compile_program = {
	.name = "compile-program",
	.version = 1,
	.summary = "torch.compile in a program that ran",
	.members = tide__compile_program_members,
};
const tide_report_type tide__document_compile_modes = {
	.name = "compile-modes",
	.version = 1,
	.summary = "a program in each mode of torch.compile",
	.members = modes_members,
};

/* Lists the runs: eager first, unless the program runs unchanged. */
static size_t plan(const tide_args *a, outcome runs[4])
{
	static const char *const all[] = { "eager", "default", "reduce-overhead", "max-autotune" };
	const char *mode = a->opt[O_MODE].set ? a->opt[O_MODE].text : NULL;
	size_t n = 0;
	memset(runs, 0, 4 * sizeof *runs);
	if (a->opt[O_COMPARE].set) {
		for (; n < 4; n++)
			runs[n].run.mode = all[n];
		return n;
	}
	if (mode && strcmp(mode, "eager") != 0)
		runs[n++].run.mode = "eager";
	runs[n++].run.mode = mode;
	return n;
}

static int tell_text(const tide_args *a, outcome *runs, size_t n)
{
	const outcome *eager = runs[0].run.mode ? &runs[0] : NULL;
	tide_compile_run rows[4] = { { 0 } };
	int rc = 0;
	for (size_t i = 0; i < n; i++)
		rows[i] = runs[i].run;
	tide__compile_runs_text(rows, n, a->out, &a->style);
	for (size_t i = a->opt[O_COMPARE].set || n == 1 ? 0 : 1; i < n; i++) {
		if (n > 1)
			fputc('\n', a->out);
		int one = report_run(a, eager, &runs[i], NULL);
		rc = rc ? rc : one;
	}
	int end = tide__cli_finish(a);
	return rc ? rc : end;
}

static int tell_modes(const tide_args *a, outcome *runs, size_t n)
{
	tide_document d;
	int rc = 0;
	tide__document_begin(&d, a, &tide__document_compile_modes);
	tide__json_karray(&d.json, "modes");
	for (size_t i = 0; i < n; i++) {
		tide__json_object(&d.json);
		int one = report_run(a, &runs[0], &runs[i], &d.json);
		tide__json_object_end(&d.json);
		rc = rc ? rc : one;
	}
	tide__json_array_end(&d.json);
	int end = tide__document_end(&d, a);
	return rc ? rc : end;
}

/* The last run: in the given mode, or as the program says. */
static int tell_last(const tide_args *a, outcome *runs, size_t n)
{
	tide_document d;
	tide__document_begin(&d, a, &tide__document_compile_program);
	int rc = report_run(a, runs[0].run.mode ? &runs[0] : NULL, &runs[n - 1], &d.json);
	int end = tide__document_end(&d, a);
	return rc ? rc : end;
}

/* Checks for letters, digits and dashes, because a mode is part of a folder's name. */
static bool is_word(const char *s)
{
	return *s &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
		       strlen(s);
}

static int run_program(const tide_args *a)
{
	outcome runs[4];
	size_t n = plan(a, runs), done = 0;
	int rc = 0, status = 0;
	if (a->opt[O_MODE].set && !is_word(a->opt[O_MODE].text))
		return tide__cli_fail_usage(a, "--mode needs a mode of torch.compile, not '%s'",
					    a->opt[O_MODE].text);
	if (a->opt[O_MEMORY].set && !runs[0].run.mode)
		return tide__cli_fail_usage(a, "--memory needs --mode or --compare");
	for (; done < n && !rc; done++) {
		rc = run_mode(a, &runs[done]);
		status = status ? status : runs[done].run.status;
	}
	if (!rc) {
		rc = (!a->opt[O_JSON].set     ? tell_text
		      : a->opt[O_COMPARE].set ? tell_modes
					      : tell_last)(a, runs, n);
		rc = status ? status : rc;
	}
	for (size_t i = 0; i < done && !a->opt[O_LOG].set; i++)
		if (runs[i].folder[0])
			remove_folder(runs[i].folder);
	return rc;
}

/* ---- which of the two ---- */

/* Returns true for a folder, or a file that is neither a script nor executable: a log. */
static bool is_log(const char *f)
{
	struct stat st;
	size_t n = strlen(f);
	if (stat(f, &st))
		return !strcmp(f, "-");
	return S_ISDIR(st.st_mode) || (access(f, X_OK) && !(n > 3 && !strcmp(f + n - 3, ".py")));
}

static int run(const tide_args *a)
{
	bool log = is_log(a->files[0]);
	if (log && a->n_files > 1)
		return tide__cli_fail_usage(a, "one log or folder at a time");
	if (log && (a->opt[O_MODE].set || a->opt[O_COMPARE].set || a->opt[O_LOG].set ||
		    a->opt[O_MEMORY].set))
		return tide__cli_fail_usage(
			a,
			"--mode, --compare, --memory and --keep-log are for a program, and "
			"%s is a log",
			a->files[0]);
	if (!log && a->opt[O_CSV].set)
		return tide__cli_fail_usage(a, "--csv is for a log, and %s is a program",
					    a->files[0]);
	if (log && folder_without_logs(a->files[0]))
		return no_log(a->files[0]);
	return log ? tide__cli_run_report(a) : run_program(a);
}

const tide_command tide__cmd_compile = {
	.usage = "LOG|FOLDER | [--mode MODE] [--compare] [--] PROGRAM|SCRIPT.py [ARGUMENT]...",
	.help = "LOG is a file that torch writes with TORCH_TRACE=FOLDER; FOLDER holds the logs of "
		"all ranks. A PROGRAM is run with the log on and then reported on; its output and "
		"exit status pass through (with --json and without -o its output goes to standard "
		"error). With --mode or --compare the program runs eagerly and in each mode, each "
		"time in a separate process with an empty cache of compiled code; the report "
		"compares time and peak memory of calls to the compiled functions. Options go "
		"first.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.wants = "log, folder or program",
	.rest = true,
	.is_input = is_log,
	.run = run,
};
