// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* compile: what torch.compile did, from a log or by running a program with the log on. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/compile/compile_report.h"
#include "base/error.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/place.h"
#include "render/report/compile.h"

enum { O_MODE, O_COMPARE, O_LOG, O_LIMIT, O_TOP, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_MODE] = { "mode", 'm', TIDE_OPT_TEXT, "MODE",
		     "run PROGRAM with this mode in every torch.compile: default, "
		     "reduce-overhead, max-autotune, ... or eager" },
	[O_COMPARE] = { "compare", 'c', TIDE_OPT_FLAG, NULL,
			"run PROGRAM eagerly and in 3 modes, each in a separate process" },
	[O_LOG] = { "keep-log", 0, TIDE_OPT_FILE, "FOLDER",
		    "keep the logs of a run in FOLDER (default: a temporary one, removed)" },
	[O_LIMIT] = { "timeout", 0, TIDE_OPT_INT, "SECONDS",
		      "end PROGRAM after this time, 0 = "
		      "never",
		      .def = "0" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows of each table, 0 = all; JSON has all unless given", .def = "15" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

/* ---- one log ---- */

static int report(const tide_args *a, const char *path, tide_json *j)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_compile_report r;
	tide_model *m = tide__cli_load(a, path, TIDE_WANT_SPANS | TIDE_WANT_ARGS);
	size_t top = tide__cli_top(&a->opt[O_TOP], j != NULL);
	if (!m)
		return 1;
	if (tide__compile_report(m, &r, &err) != TIDE_OK) {
		tide__model_free(m);
		return tide__cli_fail(path, &err);
	}
	if (j) {
		tide__compile_json(m, &r, top, j);
		tide__losses_json(j, m);
	} else {
		tide__compile_text(m, &r, top, a->out, &a->style);
		tide__cli_losses(a, m);
	}
	tide__compile_report_free(&r);
	tide__model_free(m);
	return 0;
}

static int report_file(const tide_args *a)
{
	tide_json j;
	if (!a->opt[O_JSON].set) {
		int rc = report(a, a->files[0], NULL);
		return rc ? rc : tide__cli_done(a);
	}
	tide__json_begin(&j, a->out, true);
	tide__json_object(&j);
	int rc = report(a, a->files[0], &j);
	tide__json_object_end(&j);
	if (rc) {
		tide__json_free(&j);
		return rc;
	}
	return tide__cli_json_end(a, &j);
}

/* ---- running a program ---- */

typedef struct outcome {
	const char *mode; /* NULL = as the program says */
	char folder[512];
	tide_child child;
	bool logged; /* the folder has a log */
} outcome;

static void remove_folder(const char *path)
{
	DIR *d = opendir(path);
	char file[1024];
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.' &&
		    (size_t)snprintf(file, sizeof file, "%s/%s", path, e->d_name) < sizeof file)
			unlink(file);
	if (d)
		closedir(d);
	rmdir(path);
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

static bool make_folder(const tide_args *a, outcome *o, tide_error *err)
{
	const char *tmp = getenv("TMPDIR");
	if (a->opt[O_LOG].set) {
		mkdir(a->opt[O_LOG].text, 0777);
		snprintf(o->folder, sizeof o->folder, "%s/%s", a->opt[O_LOG].text,
			 o->mode ? o->mode : "run");
		if (mkdir(o->folder, 0777) == 0 || access(o->folder, W_OK) == 0)
			return true;
	} else {
		snprintf(o->folder, sizeof o->folder, "%s/tidemark-compile-XXXXXX",
			 tmp && *tmp ? tmp : "/tmp");
		if (mkdtemp(o->folder))
			return true;
	}
	tide__fail_errno(err, "cannot make a folder for the log");
	return false;
}

/* 0, or an exit status that ends the command: the program could not run at all. */
static int run_mode(const tide_args *a, outcome *o)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	char hook[4096];
	if (!make_folder(a, o, &err))
		return tide__cli_fail(o->folder, &err);
	const char *env[] = { "TORCH_TRACE", o->folder, o->mode ? "TIDEMARK_COMPILE_MODE" : NULL,
			      o->mode, NULL };
	bool hooked = o->mode && tide__hook_folder(hook, sizeof hook);
	if (o->mode && !hooked) {
		tide__fail(&err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
			   "the Python hook is not installed: no mode can be set");
		return tide__cli_fail(NULL, &err);
	}
	o->child = (tide_child){ .argv = a->files,
				 .env = env,
				 .hook = hooked ? hook : NULL,
				 .limit_s = a->opt[O_LIMIT].num };
	if (!tide__child_run("compile", &o->child)) {
		tide__fail_errno(&err, "fork");
		return tide__cli_fail(NULL, &err);
	}
	o->logged = has_files(o->folder);
	if (!o->child.started)
		return o->child.status;
	if (o->child.timed_out)
		tide__cli_note("%s was ended after %lld s", a->files[0],
			       (long long)a->opt[O_LIMIT].num);
	if (o->child.status)
		tide__cli_note("%s ended with status %d", a->files[0], o->child.status);
	return 0;
}

static void put_run(const tide_args *a, const outcome *o, tide_json *j)
{
	char wall[32];
	if (j) {
		tide__json_kstr(j, "mode", o->mode);
		tide__json_kint(j, "wall_ns", o->child.wall_ns);
		tide__json_kint(j, "exit_status", o->child.status);
		tide__json_kbool(j, "timed_out", o->child.timed_out);
		tide__json_kbool(j, "has_real_data", o->logged);
		return;
	}
	tide__fmt_ns(wall, sizeof wall, (double)o->child.wall_ns);
	fprintf(a->out, "%s%s%s: %s of wall time, exit status %d\n", o->mode ? "mode " : "",
		o->mode ? o->mode : a->files[0], "", wall, o->child.status);
	if (!o->logged)
		fputs("Nothing was compiled: the program left no log.\n", a->out);
}

static int report_run(const tide_args *a, outcome *o, tide_json *j)
{
	if (j)
		tide__json_object(j);
	put_run(a, o, j);
	int rc = o->logged ? report(a, o->folder, j) : 0;
	if (j)
		tide__json_object_end(j);
	if (!a->opt[O_LOG].set)
		remove_folder(o->folder);
	return rc;
}

static int finish(const tide_args *a, tide_json *j, int rc, int status)
{
	int end = j ? tide__cli_json_end(a, j) : tide__cli_done(a);
	return status ? status : rc ? rc : end;
}

static int run_program(const tide_args *a)
{
	static const char *const all[] = { "eager", "default", "reduce-overhead", "max-autotune" };
	const char *one[] = { a->opt[O_MODE].set ? a->opt[O_MODE].text : NULL };
	bool compare = a->opt[O_COMPARE].set, json = a->opt[O_JSON].set;
	size_t n = compare ? sizeof all / sizeof *all : 1;
	outcome runs[4];
	tide_json j;
	int rc = 0, status = 0;
	memset(runs, 0, sizeof runs);
	for (size_t i = 0; i < n; i++) {
		runs[i].mode = compare ? all[i] : one[0];
		if ((rc = run_mode(a, &runs[i])))
			return rc;
		status = status ? status : runs[i].child.status;
	}
	if (json) {
		tide__json_begin(&j, a->out, true);
		if (compare) {
			tide__json_object(&j);
			tide__json_karray(&j, "modes");
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (i && !json)
			fputc('\n', a->out);
		int one_rc = report_run(a, &runs[i], json ? &j : NULL);
		rc = rc ? rc : one_rc;
	}
	if (json && compare) {
		tide__json_array_end(&j);
		tide__json_object_end(&j);
	}
	return finish(a, json ? &j : NULL, rc, status);
}

/* ---- which of the two ---- */

/* A folder, or a file that is no script and cannot be run, is a log. */
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
		return tide__cli_usage(a, "one log or folder at a time");
	if (log && (a->opt[O_MODE].set || a->opt[O_COMPARE].set || a->opt[O_LOG].set))
		return tide__cli_usage(a,
				       "--mode, --compare and --keep-log are for a program, and "
				       "%s is a log",
				       a->files[0]);
	return log ? report_file(a) : run_program(a);
}

const tide_command tide__cmd_compile = {
	.name = "compile",
	.usage = "LOG|FOLDER | [--mode MODE] [--compare] [--] PROGRAM|SCRIPT.py [ARGUMENT]...",
	.summary = "report on torch.compile: graph breaks, recompiles, kernels, stages",
	.help = "LOG is a file that torch writes with TORCH_TRACE=FOLDER, FOLDER one with the "
		"logs of all ranks. A PROGRAM is run with the log on and then reported on; its "
		"output and exit status pass through. Options go first.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.wants = "log, folder or program",
	.rest = true,
	.is_input = is_log,
	.run = run,
};
