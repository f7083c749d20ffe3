// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* objects: the memory of a Python program's live objects, from a file or by running the program. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/run/child.h"
#include "cli/documents.h"
#include "cli/output/outfile.h"
#include "cli/output/page.h"
#include "cli/run/program_files.h"
#include "import/objects/objects.h"
#include "render/page/page.h"
#include "render/report/objects.h"

enum { O_AT, O_KEEP, O_LIMIT, O_TOP, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_AT] = { "at", 'a', TIDE_OPT_TEXT, "NAME",
		   "the snapshot to show: of the mark NAME, or end (default: the last one)" },
	[O_KEEP] = { "keep", 'k', TIDE_OPT_FILE, "FILE",
		     "keep all snapshots in FILE, which `tidemark objects FILE` reads" },
	[O_LIMIT] = { "timeout", 0, TIDE_OPT_INT, "SECONDS",
		      "end PROGRAM after this time, 0 = "
		      "never",
		      .def = "0" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows of each table, 0 = all; JSON has all unless given", .def = "10" },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_PAGE,
};

/* ---- the report ---- */

static const tide_objects_snapshot *chosen(const tide_args *a, const tide_objects *o)
{
	for (size_t i = o->n; i--;)
		if (!a->opt[O_AT].set || !strcmp(o->v[i].at, a->opt[O_AT].text))
			return &o->v[i];
	return NULL;
}

static int write_page(const tide_args *a, const tide_objects *o)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	if (!tide__cli_page_built(a))
		return 1;
	if (tide__page_write_objects(o, a->out, &err) != TIDE_OK)
		return tide__cli_fail(tide__cli_output_name(a), &err);
	return tide__cli_finish(a);
}

struct shown {
	const tide_objects *o;
	const tide_objects_snapshot *s;
	size_t top;
};

static tide_code put_all(void *result, tide_json *j)
{
	const struct shown *x = result;
	tide__objects_json(x->o, x->top, j);
	return TIDE_OK;
}

static tide_code put_snapshot(void *result, tide_json *j)
{
	const struct shown *x = result;
	tide__objects_snapshot_json(x->s, x->top, j);
	return TIDE_OK;
}

static tide_code put_text(void *result, const tide_out *to)
{
	const struct shown *x = result;
	tide__objects_text(x->o, x->s, x->top, to);
	return TIDE_OK;
}

const tide_report_type tide__document_objects = {
	.name = "objects",
	.version = 1,
	.summary = "the memory of a Python program's live objects, at each mark",
	.members = tide__objects_members,
	.text = put_text,
	.json = put_all,
};
const tide_report_type tide__document_objects_at = {
	.name = "objects-at",
	.version = 1,
	.summary = "the memory of a Python program's live objects, at one mark (--at)",
	.members = tide__objects_snapshot_members,
	.text = put_text,
	.json = put_snapshot,
};

static int keep(const tide_args *a, const tide_objects *o)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_outfile file = { 0 };
	tide_json j;
	const char *name = a->opt[O_KEEP].text;
	if (tide__outfile_open(&file, name, &err) != TIDE_OK)
		return tide__cli_fail(name, &err);
	tide__json_begin(&j, file.f, true);
	tide__objects_write(o, 0, &j);
	bool good = tide__json_end(&j);
	tide__json_free(&j);
	if (tide__outfile_close(&file, good, &err) == TIDE_OK && good)
		return 0;
	return tide__cli_fail(name, &err);
}

/* Checks that the file of --keep can be written before the program runs. A pipe is not opened,
 * because its reader would see the end. */
static int check_keep(const tide_args *a)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_outfile file = { 0 };
	struct stat st;
	const char *name = a->opt[O_KEEP].text;
	if (!a->opt[O_KEEP].set ||
	    (!stat(name, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return 0;
	if (tide__outfile_open(&file, name, &err) != TIDE_OK)
		return tide__cli_fail(name, &err);
	tide__outfile_close(&file, false, &err);
	return 0;
}

static int no_such_mark(const tide_args *a, const tide_objects *o)
{
	char marks[400] = "";
	size_t at = 0;
	for (size_t i = 0; i < o->n; i++) {
		size_t room = sizeof marks - at;
		int n = snprintf(marks + at, room, "%s\"%s\"", i ? ", " : "", o->v[i].at);
		if (n < 0 || (size_t)n >= room) {
			snprintf(marks + at, room, "...");
			memcpy(marks + sizeof marks - 4, "...", 4);
			break;
		}
		at += (size_t)n;
	}
	return tide__cli_fail_usage(a, "there is no snapshot \"%s\"; there are %s",
				    a->opt[O_AT].text, marks);
}

static int show(const tide_args *a, const tide_objects *o, const tide_objects_snapshot *s)
{
	if (tide__cli_named_page(a))
		return write_page(a, o);
	struct shown x = { o, s, tide__cli_top(&a->opt[O_TOP], a->opt[O_JSON].set) };
	return tide__document_put(
		a, a->opt[O_AT].set ? &tide__document_objects_at : &tide__document_objects, &x);
}

/* `program` is NULL for a file. */
static int report(const tide_args *a, const char *path, const char *program)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_objects o = { 0 };
	int rc = 0;
	if (tide__objects_load(path, &o, &err) != TIDE_OK) {
		if (!program && !tide__cli_is_pipe(path) && tide__load_knows(path))
			tide__fail(&err, TIDE_EUSAGE, TIDE_NO_OFFSET,
				   "a trace, not a result of `tidemark objects --keep`; try: "
				   "tidemark info %.80s",
				   path);
		rc = tide__cli_fail(path, &err);
	} else {
		rc = a->opt[O_KEEP].set ? keep(a, &o) : 0;
		if (program && strcmp(o.v[o.n - 1].at, "end"))
			tide__cli_note(
				"%s was killed or ended by os._exit: its end was not measured, its marks were",
				program);
		if (rc == 0)
			rc = chosen(a, &o) ? show(a, &o, chosen(a, &o)) : no_such_mark(a, &o);
	}
	tide__objects_free(&o);
	return rc;
}

/* ---- running a program ---- */

/* Returns the exit status that ends the command; `file` has the snapshots of the program's
 * Python. */
static int report_run(const tide_args *a, const tide_child *c, const char *file)
{
	struct stat st;
	if (c->timed_out)
		tide__cli_note("%s was ended after %lld s", a->files[0],
			       (long long)a->opt[O_LIMIT].num);
	bool claimed = !stat(file, &st);
	if (!claimed || !st.st_size) {
		tide__cli_note(
			"%s left no objects: %s", a->files[0],
			claimed ? "its Python could not measure them, was killed, or ended by os._exit"
				: "it started no Python, or one that ignores PYTHONPATH "
				  "(python -I, -S, -E)");
		return c->status ? c->status : 1;
	}
	int rc = report(a, file, a->files[0]);
	return c->status ? c->status : rc;
}

static int run_program(const tide_args *a)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	const char *tmp = getenv("TMPDIR");
	char hook[4096], folder[512], file[560];
	if (!tide__hook_folder_find(hook, sizeof hook)) {
		tide__fail(&err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
			   "the Python hook is not installed");
		return tide__cli_fail(NULL, &err);
	}
	snprintf(folder, sizeof folder, "%s/tidemark-objects-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(folder)) {
		tide__fail_errno(&err, "cannot make a folder for the result");
		return tide__cli_fail(folder, &err);
	}
	snprintf(file, sizeof file, "%s/objects.json", folder);
	const char *env[] = { "TIDEMARK_OBJECTS", file, NULL };
	tide_child c = {
		.argv = a->files, .env = env, .hook = hook, .limit_s = a->opt[O_LIMIT].num
	};
	int rc;
	if (!tide__child_run("objects", &c)) {
		tide__fail_errno(&err, "fork");
		rc = tide__cli_fail(NULL, &err);
	} else {
		rc = c.started ? report_run(a, &c, file) : c.status;
	}
	unlink(file);
	rmdir(folder);
	return rc;
}

/* ---- which of the two ---- */

/* Returns true for a kept result: a file that is neither a script nor executable. */
static bool is_result(const char *f)
{
	struct stat st;
	size_t n = strlen(f);
	if (stat(f, &st))
		return !strcmp(f, "-");
	return S_ISREG(st.st_mode) && access(f, X_OK) && !(n > 3 && !strcmp(f + n - 3, ".py"));
}

static int run(const tide_args *a)
{
	if (!is_result(a->files[0])) {
		int rc = check_keep(a);
		return rc ? rc : run_program(a);
	}
	if (a->n_files > 1)
		return tide__cli_fail_usage(a, "one result at a time");
	return report(a, !strcmp(a->files[0], "-") ? "/dev/stdin" : a->files[0], NULL);
}

const tide_command tide__cmd_objects = {
	.name = "objects",
	.usage = "FILE | [--at NAME] [--keep FILE] [--] PROGRAM|SCRIPT.py [ARGUMENT]...",
	.summary = "show the memory of a Python program's live objects, by type, owner and module",
	.help = "Runs PROGRAM and measures its live objects at its end, and at each call of "
		"tidemark.objects.mark(NAME). Its output and exit status pass through. FILE is a "
		"result that --keep wrote. The Python that runs PROGRAM needs the package "
		"tidemark. Options go first.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.wants = "result or program",
	.rest = true,
	.is_input = is_result,
	.passes_status = true,
	.page = "",
	.run = run,
};
