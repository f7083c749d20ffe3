// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* tt: a run on Tenstorrent hardware, from the runtime's log to files and a report. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/documents.h"
#include "cli/output/outfile.h"
#include "cli/output/page.h"
#include "cli/run/tt_capture.h"
#include "cli/cmd/tt_check.h"
#include "import/tide/tables.h"
#include "render/page/page.h"
#include "render/report/hints.h"
#include "render/report/tenstorrent/tt_files.h"
#include "render/report/tenstorrent/tt_report.h"
#include "report/check.h"
#include "report/registry.h"
#include "report/tenstorrent/tt.h"
#include "render/text/format.h"
#include "render/text/out.h"

enum {
	O_LOG,
	O_ANALYZE,
	O_VISUALIZE,
	O_FOLDER,
	O_FORCE,
	O_JSON,
	O_MARKDOWN,
	O_LLM,
	O_TEXT,
	O_WARMUP,
	O_RUNS,
	O_RANK
};
static const tide_option options[] = {
	[O_LOG] = { "log", 0, TIDE_OPT_FLAG, NULL, "run and keep the log; analyze it later" },
	[O_ANALYZE] = { "analyze", 0, TIDE_OPT_FILE, "LOG", "read an existing log" },
	[O_VISUALIZE] = { "visualize", 0, TIDE_OPT_FILE, "DIR",
			  "write the page of a run's folder" },
	[O_FOLDER] = { "output-dir", 'o', TIDE_OPT_FILE, "DIR",
		       "folder for runs (default: logs); with --analyze: folder for files "
		       "(default: beside the log)" },
	[O_FORCE] = { "force", 0, TIDE_OPT_FLAG, NULL, "replace existing files" },
	[O_JSON] = { "json", 'j', TIDE_OPT_FLAG, NULL, "print the report as JSON" },
	[O_MARKDOWN] = { "markdown", 0, TIDE_OPT_FLAG, NULL, "print the report as Markdown" },
	[O_LLM] = { "llm", 0, TIDE_OPT_FLAG, NULL, "the same as --markdown" },
	[O_TEXT] = { "text", 0, TIDE_OPT_FLAG, NULL, "print the report as text" },
	[O_WARMUP] = { "skip-warmup", 0, TIDE_OPT_FLAG, NULL,
		       "leave out everything up to the first \"Got output shape:\"" },
	[O_RUNS] = { "skip-runs", 0, TIDE_OPT_INT, "N", "leave out the first N runs of programs",
		     .def = "0" },
	[O_RANK] = { "rank", 0, TIDE_OPT_INT, "N", "only this rank" },
};

/* ---- options ---- */

static bool prints(const tide_args *a)
{
	return a->opt[O_JSON].set || a->opt[O_MARKDOWN].set || a->opt[O_LLM].set ||
	       a->opt[O_TEXT].set;
}

/* ---- names ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void cut_end(char *name, const char *end)
{
	size_t k = strlen(name), n = strlen(end);
	if (k > n && !strcmp(name + k - n, end))
		name[k - n] = 0;
}

/* "model.py" -> "model"; "model_profile.log", "model_memory.json" -> "model". */
static void stem_of(const char *path, char *out, size_t n)
{
	snprintf(out, n, "%s", base_name(path));
	cut_end(out, ".gz");
	cut_end(out, ".zst");
	char *dot = strrchr(out, '.');
	if (dot && dot > out)
		*dot = 0;
	cut_end(out, "_profile");
	cut_end(out, "_memory");
}

/* Writes the folder's name without its date and time. */
static void stem_of_folder(const char *path, char *out, size_t n)
{
	char whole[PATH_MAX];
	snprintf(whole, sizeof whole, "%s", path);
	size_t k = strlen(whole);
	while (k > 1 && whole[k - 1] == '/')
		whole[--k] = 0;
	char *real = !strcmp(whole, ".") ? realpath(whole, NULL) : NULL;
	snprintf(out, n, "%s", base_name(real ? real : whole));
	free(real);
	for (int i = 0; i < 2; i++) {
		char *cut = strrchr(out, '_');
		if (cut && cut > out)
			*cut = 0;
	}
}

/* Writes a path as a word for the shell, quoted if necessary. Returns out. */
static const char *quoted(const char *path, char *out, size_t n)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-./+:@%,=";
	size_t k = 0;
	if (*path && strspn(path, plain) == strlen(path)) {
		snprintf(out, n, "%s", path);
		return out;
	}
	out[k++] = '\'';
	for (; *path && k + 6 < n; path++)
		if (*path == '\'')
			k += (size_t)snprintf(out + k, n - k, "'\\''");
		else
			out[k++] = *path;
	out[k++] = '\'';
	out[k] = 0;
	return out;
}

static int not_found(const char *what, const char *name)
{
	FILE *to = tide__cli_errors();
	fprintf(to, "tidemark tt: %s not found: ", what);
	tide__put_name(to, name, strlen(name), 0, false);
	fputc('\n', to);
	return 1;
}

/* ---- files ---- */

typedef struct place {
	char folder[PATH_MAX], stem[256];
	bool force;
} place;

static bool path_of(const place *p, const char *end, char *out)
{
	return (size_t)snprintf(out, PATH_MAX, "%s/%s%s", p->folder, p->stem, end) < PATH_MAX;
}

static bool taken(const place *p, const char *end)
{
	char path[PATH_MAX];
	return !path_of(p, end, path) || !access(path, F_OK);
}

/* Prints the path of a file, control characters escaped. */
static void put_path(FILE *out, const place *p, const char *end)
{
	tide__put_name(out, p->folder, strlen(p->folder), 0, false);
	fputc('/', out);
	tide__put_name(out, p->stem, strlen(p->stem), 0, false);
	fputs(end, out);
}

/* Returns true if this file is the one that was read. */
static bool is_source(const place *p, const char *end, const char *source)
{
	char path[PATH_MAX];
	struct stat a, b;
	return path_of(p, end, path) && !stat(path, &a) && !stat(source, &b) &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Says why a file is not written. `source`: what was read, or NULL. */
static void say_taken(const place *p, const char *end, const char *source)
{
	FILE *out = tide__cli_errors();
	fputs("tidemark tt: ", out);
	put_path(out, p, end);
	if (source && is_source(p, end, source))
		fputs(" is the file that was read: it is never replaced; -o DIR writes files elsewhere\n",
		      out);
	else
		fputs(" exists, so no files are written; --force replaces them, -o DIR writes "
		      "elsewhere\n",
		      out);
}

static void list_path(FILE *out, const place *p, const char *end)
{
	fputs("  - ", out);
	put_path(out, p, end);
	fputc('\n', out);
}

/* Makes the folder and those above it. Returns the exit status. */
static int make_folder(const char *path)
{
	char part[PATH_MAX];
	snprintf(part, sizeof part, "%s", path);
	for (char *at = part + 1; *at; at++)
		if (*at == '/') {
			*at = 0;
			mkdir(part, 0777); /* only the last folder's existence matters */
			*at = '/';
		}
	if (!mkdir(part, 0777) || errno == EEXIST)
		return 0;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide__fail_errno(&err, "cannot make the folder");
	return tide__cli_fail(path, &err);
}

static int write_one(const place *p, const char *end, tide_tt *t,
		     tide_code (*write)(tide_tt *, FILE *, tide_error *))
{
	char path[PATH_MAX];
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_outfile o = { 0 };
	if (!path_of(p, end, path))
		return 1;
	tide_code rc = tide__outfile_open(&o, path, &err);
	if (rc == TIDE_OK)
		rc = write(t, o.f, &err);
	tide_error late = { .offset = TIDE_NO_OFFSET };
	if (tide__outfile_close(&o, rc == TIDE_OK, &late) != TIDE_OK && rc == TIDE_OK) {
		rc = TIDE_EIO;
		err = late;
	}
	return rc == TIDE_OK ? 0 : tide__cli_fail(path, &err);
}

static int write_page(const tide_args *a, const place *p, const tide_model *m)
{
	char path[PATH_MAX];
	if (!tide__cli_page_built(a))
		return 0; /* a note says so */
	return path_of(p, "_report.html", path) ? tide__cli_write_page_file(a, m, path) : 1;
}

/* Writes the run as a recording: every command gives the same result for it as for the log. */
static int write_tide(const place *p, const tide_model *m)
{
	char path[PATH_MAX];
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_outfile o = { 0 };
	if (!path_of(p, ".tide", path))
		return 1;
	if (tide__outfile_open(&o, path, &err) != TIDE_OK)
		return tide__cli_fail(path, &err);
	tide_code rc = tide__tables_write(m, o.f, &err);
	tide_error late = { .offset = TIDE_NO_OFFSET };
	if (tide__outfile_close(&o, rc == TIDE_OK, &late) != TIDE_OK && rc == TIDE_OK) {
		rc = TIDE_EIO;
		err = late;
	}
	return rc == TIDE_OK ? 0 : tide__cli_fail(path, &err);
}

static const struct file {
	const char *end;
	tide_code (*write)(tide_tt *, FILE *, tide_error *);
} files[] = {
	{ "_memory.json", tide__tt_memory_json },
	{ "_operations.json", tide__tt_operations_json },
	{ "_inputs_registry.json", tide__tt_registry_json },
	{ "_ir.json", tide__tt_ir_json },
};
enum { N_FILES = sizeof files / sizeof *files };

/* Returns the ending of a file that may not be written: it is the source, or it exists and --force is
 * not given. NULL = all may be. */
static const char *taken_place(const place *p, const char *source)
{
	static const char *const more[] = { ".tide", "_report.html" };
	const char *found = NULL;
	for (size_t i = 0; i < N_FILES + 2; i++) {
		const char *end = i < N_FILES ? files[i].end : more[i - N_FILES];
		if (is_source(p, end, source))
			return end;
		if (!found && !p->force && taken(p, end))
			found = end;
	}
	return found;
}

/* Returns the stream for other output: standard error if standard output has the requested
 * report. */
static FILE *aside(const tide_args *a)
{
	return prints(a) ? tide__cli_errors() : a->out;
}

static int validate(const tide_args *a, const place *p)
{
	char memory[PATH_MAX], ops[PATH_MAX];
	tide_error err = { .offset = TIDE_NO_OFFSET };
	size_t n, no_shapes;
	if (!path_of(p, "_memory.json", memory) || !path_of(p, "_operations.json", ops))
		return 1;
	if (tide__tt_check(memory, ops, &n, &no_shapes, &err) != TIDE_OK)
		return tide__cli_fail(memory, &err);
	fprintf(aside(a), "\nchecked: memory and operations of all %zu operations match\n", n);
	if (no_shapes)
		fprintf(aside(a), "note: %zu operations have no shapes of inputs or outputs\n",
			no_shapes);
	return 0;
}

static void write_summary(const tide_args *a, tide_tt *t)
{
	FILE *out = aside(a);
	tide__tt_write_summary(t, out);
	if (t->ambiguous)
		fprintf(out, "  Arguments that match no weight's shape (ambiguous): %llu\n",
			(unsigned long long)t->ambiguous);
}

static void tell_next(const char *source, FILE *out)
{
	static const tide_hint steps[] = {
		{ "tt --analyze FILE --text", "op by op: peaks, growth, padding, weights", false },
		{ "peak FILE", "what was alive at the peak", false },
	};
	fputs("\nnext:\n", out);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		tide__put_hint(&steps[i], source, out);
}

/* Writes the files of a run. What exists stays without --force: then the summary is all, which is an
 * answer, unless -o names a folder. */
static int write_files(const tide_args *a, const char *source, const place *p, tide_tt *t)
{
	int rc = 0;
	FILE *out = aside(a);
	const char *held = taken_place(p, source);
	if (a->opt[O_FOLDER].set && !held)
		rc = make_folder(p->folder);
	for (size_t i = 0; i < N_FILES && !rc && !held; i++)
		rc = write_one(p, files[i].end, t, files[i].write);
	if (rc)
		return rc;
	write_summary(a, t);
	if (held) {
		tell_next(source, out);
		fflush(out);
		say_taken(p, held, source);
		return a->opt[O_FOLDER].set || p->force;
	}
	rc = validate(a, p);
	rc = rc ? rc : write_tide(p, t->m);
	rc = rc ? rc : write_page(a, p, t->m);
	if (rc)
		return rc;
	fprintf(out, "\nwrote:\n");
	for (size_t i = 0; i < N_FILES; i++)
		list_path(out, p, files[i].end);
	list_path(out, p, ".tide");
	if (taken(p, "_report.html"))
		list_path(out, p, "_report.html");
	tell_next(source, out);
	return 0;
}

/* ---- a log ---- */

#define LOGGING_OFF                                                                               \
	"Either\n"                                                                                \
	"  1. the build has no debug support: build tt-xla with -DCMAKE_BUILD_TYPE=Debug "        \
	"-DTT_RUNTIME_DEBUG=ON, or\n"                                                             \
	"  2. logging is off: export TTXLA_LOGGER_LEVEL=DEBUG TTMLIR_RUNTIME_LOGGER_LEVEL=DEBUG " \
	"TT_RUNTIME_MEMORY_LOG_LEVEL=operation\n"

static int no_states(const tide_args *a, const char *log, const tide_model *m,
		     const tide_error *err)
{
	bool ops = tide__fact_find(m, "loss.tt_no_blocks") >= 0;
	if (!ops && (a->opt[O_RANK].set || a->opt[O_RUNS].num))
		return tide__cli_fail_usage(a, "%s",
					    err->text); /* an option names something that does
							     * not exist */
	char word[2 * PATH_MAX];
	if (!ops)
		return tide__cli_fail(log, err);
	FILE *to = tide__cli_errors();
	fputs("tidemark tt: ", to);
	tide__put_name(to, log, strlen(log), 0, false);
	fprintf(to, ": %lld operations, but no memory states. " LOGGING_OFF "`tidemark ops ",
		(long long)(m->facts.number[tide__fact_find(m, "loss.tt_no_blocks")] - 1));
	quoted(log, word, sizeof word);
	tide__put_name(to, word, strlen(word), 0, false);
	fputs("` shows what ran.\n", to);
	return 1;
}

static int print_report(const tide_args *a, tide_tt *t, const char *stem)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	if (a->opt[O_JSON].set)
		return tide__document_put(a, &tide__report_tt, &(tide_tt_result){ t });
	tide_code rc = a->opt[O_TEXT].set ? tide__tt_print(t, a->out, &a->style, &err)
					  : tide__tt_write_markdown(t, stem, a->out, &err);
	return rc == TIDE_OK ? tide__cli_finish(a) : tide__cli_fail(NULL, &err);
}

static int analyze(const tide_args *a, const char *log, const place *p, bool keep)
{
	tide_tt_options o = TIDE_TT_OPTIONS_INIT;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_tt *t = NULL;
	o.skip_warmup = a->opt[O_WARMUP].set;
	o.skip_runs = (uint32_t)a->opt[O_RUNS].num;
	o.rank = a->opt[O_RANK].set ? a->opt[O_RANK].num : -1;
	tide_model *m = tide__cli_load(a, log, 0);
	if (!m) {
		if (!access(log, R_OK) && !tide__load_knows(log))
			fputs("There is no line of the runtime in it. " LOGGING_OFF,
			      tide__cli_errors());
		return 1;
	}
	int rc;
	if (tide__tt_find(m, &o, &t, &err) != TIDE_OK)
		rc = no_states(a, log, m, &err);
	else if (prints(a))
		rc = print_report(a, t, p->stem);
	else
		rc = 0;
	if (t && t->no_warmup)
		fputs("note: --skip-warmup: no \"Got output shape:\" in the log; nothing is "
		      "skipped\n",
		      tide__cli_errors());
	if (!rc && keep)
		rc = write_files(a, log, p, t);
	if (!rc && keep && !prints(a))
		tide__cli_print_losses(a, m);
	tide__tt_free(t);
	tide__model_free(m);
	return rc ? rc : tide__cli_finish(a);
}

/* ---- the four modes ---- */

static int analyze_log(const tide_args *a)
{
	const char *log = a->opt[O_ANALYZE].text;
	place p = { .force = a->opt[O_FORCE].set };
	bool keep = !prints(a) || a->opt[O_FOLDER].set;
	if (access(log, F_OK) && strcmp(log, "-"))
		return not_found("Log file", log);
	stem_of(log, p.stem, sizeof p.stem);
	if (a->opt[O_FOLDER].set) {
		snprintf(p.folder, sizeof p.folder, "%s", a->opt[O_FOLDER].text);
	} else {
		snprintf(p.folder, sizeof p.folder, "%.*s",
			 base_name(log) > log ? (int)(base_name(log) - log - 1) : 1,
			 base_name(log) > log ? log : ".");
	}
	return analyze(a, log, &p, keep);
}

static const char *const sources[] = { "_profile.log", ".tide", "_memory.json" };
enum { N_SOURCES = sizeof sources / sizeof *sources };

/* Finds the source of a folder's page: the log, else the recording, else the JSON files. */
static bool find_source(const place *p, char *out)
{
	for (size_t i = 0; i < N_SOURCES; i++)
		if (path_of(p, sources[i], out) && !access(out, R_OK))
			return true;
	return false;
}

/* Takes the stem from the files of a folder that was renamed: the first by name that a page can be
 * made from. */
static bool find_stem(place *p)
{
	struct dirent **names;
	int n = scandir(p->folder, &names, NULL, alphasort), best = N_SOURCES;
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < best; k++) {
			size_t all = strlen(names[i]->d_name), end = strlen(sources[k]);
			if (all <= end || all - end >= sizeof p->stem ||
			    strcmp(names[i]->d_name + all - end, sources[k]) != 0)
				continue;
			snprintf(p->stem, sizeof p->stem, "%.*s", (int)(all - end),
				 names[i]->d_name);
			best = k;
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return best < N_SOURCES;
}

/* Chooses the place of the page: beside its source, or in the folder of -o. */
static int page_place(const tide_args *a, const place *from, place *to)
{
	*to = *from;
	if (!a->opt[O_FOLDER].set)
		return 0;
	snprintf(to->folder, sizeof to->folder, "%s", a->opt[O_FOLDER].text);
	return make_folder(to->folder);
}

static int visualize(const tide_args *a)
{
	struct stat st;
	place p = { .force = a->opt[O_FORCE].set }, to;
	char log[PATH_MAX];
	snprintf(p.folder, sizeof p.folder, "%s", a->opt[O_VISUALIZE].text);
	if (stat(p.folder, &st) || !S_ISDIR(st.st_mode))
		return not_found("Run directory", p.folder);
	stem_of_folder(p.folder, p.stem, sizeof p.stem);
	size_t n = strlen(p.folder);
	while (n > 1 && p.folder[n - 1] == '/')
		p.folder[--n] = 0;
	if (!find_source(&p, log) && (!find_stem(&p) || !find_source(&p, log))) {
		path_of(&p, "_profile.log", log);
		return not_found("Log file", log);
	}
	int wrong = page_place(a, &p, &to);
	if (wrong)
		return wrong;
	if (!to.force && taken(&to, "_report.html")) {
		say_taken(&to, "_report.html", NULL);
		return 1;
	}
	tide_model *m = tide__cli_load(a, log, 0);
	if (!m)
		return 1;
	int rc = write_page(a, &to, m);
	tide__model_free(m);
	if (!rc)
		fprintf(a->out, "wrote %s/%s_report.html\n", to.folder, to.stem);
	return rc ? rc : tide__cli_finish(a);
}

/* Returns the command line of the script: run by Python for .py, else directly. */
static char **command_of(const tide_args *a)
{
	static char here[PATH_MAX];
	snprintf(here, sizeof here, "./%s", a->files[0]);
	char **argv = calloc(a->n_files + 2, sizeof *argv);
	size_t k = 0, n = strlen(a->files[0]);
	static char python[] = "python3";
	char *own = getenv("PYTHON");
	if (!argv)
		return NULL;
	if (n > 3 && !strcmp(a->files[0] + n - 3, ".py"))
		argv[k++] = own && *own ? own : python;
	for (size_t i = 0; i < a->n_files; i++)
		argv[k++] = a->files[i];
	if (k == a->n_files && !strchr(argv[0], '/')) /* of this folder, not of PATH */
		argv[0] = here;
	return argv;
}

/* Prints the next commands. Both work, in any order: --analyze also writes the page, so --visualize
 * may replace it. */
static int later(const tide_args *a, const place *p)
{
	char log[PATH_MAX], word[2 * PATH_MAX];
	if (!path_of(p, "_profile.log", log))
		return 1;
	fprintf(a->out,
		"\nLog file: %s\n\nnext, now or later:\n  tidemark tt --force --analyze %s\n", log,
		quoted(log, word, sizeof word));
	fprintf(a->out, "  tidemark tt --force --visualize %s\n",
		quoted(p->folder, word, sizeof word));
	return tide__cli_finish(a);
}

static int run_script(const tide_args *a)
{
	place p = { .force = true };
	char log[PATH_MAX], times[PATH_MAX];
	tide_error err = { .offset = TIDE_NO_OFFSET };
	int status = 0;
	struct stat st;
	if (stat(a->files[0], &st) || S_ISDIR(st.st_mode))
		return not_found("Script", a->files[0]);
	stem_of(a->files[0], p.stem, sizeof p.stem);
	const char *base = a->opt[O_FOLDER].set ? a->opt[O_FOLDER].text : "logs";
	if (tide__tt_create_folder(base, p.stem, p.folder, sizeof p.folder, &err) != TIDE_OK)
		return tide__cli_fail(NULL, &err);
	if (!path_of(&p, "_profile.log", log) || !path_of(&p, "_profile.times", times))
		return tide__cli_fail_usage(a, "the path is too long");
	char **argv = command_of(a);
	tide_code rc = argv ? tide__tt_capture_run(argv, log, times,
						   prints(a) ? STDERR_FILENO : STDOUT_FILENO,
						   &status, &err)
			    : tide__nomem(&err);
	free(argv);
	if (rc != TIDE_OK)
		return tide__cli_fail(log, &err);
	if (status)
		fprintf(tide__cli_errors(), "tidemark tt: the script ended with status %d\n",
			status);
	int end = a->opt[O_LOG].set ? later(a, &p) : analyze(a, log, &p, true);
	return status ? status : end;
}

/* Returns options that exclude each other, NULL = none. */
static const char *conflict(const tide_args *a)
{
	const tide_value *o = a->opt;
	unsigned modes = o[O_LOG].set + o[O_ANALYZE].set + o[O_VISUALIZE].set;
	unsigned reports = o[O_JSON].set + (o[O_MARKDOWN].set || o[O_LLM].set) + o[O_TEXT].set;
	bool parts = o[O_WARMUP].set || o[O_RUNS].given || o[O_RANK].set;
	bool read_only = o[O_ANALYZE].set || o[O_VISUALIZE].set;
	return modes > 1		     ? "--log, --analyze and --visualize exclude each other"
	       : read_only && a->n_files     ? "--analyze and --visualize run no script"
	       : o[O_LOG].set && !a->n_files ? "--log needs a script"
	       : reports > 1		     ? "--json, --markdown and --text exclude each other"
	       : reports && (o[O_LOG].set || o[O_VISUALIZE].set)
		       ? "--json, --markdown and --text need a report: not with --log or --visualize"
	       : parts && (o[O_LOG].set || o[O_VISUALIZE].set)
		       ? "--skip-warmup, --skip-runs and --rank need a report: not with --log or "
			 "--visualize"
		       : NULL;
}

/* Returns true for a log or a recording: an existing file that is neither a script nor executable. */
static bool is_log(const char *f)
{
	struct stat st;
	size_t n = strlen(f);
	return !stat(f, &st) && S_ISREG(st.st_mode) && access(f, X_OK) &&
	       !(n > 3 && !strcmp(f + n - 3, ".py"));
}

/* Takes `tt LOG` as `tt --analyze LOG`. */
static bool take_log(const tide_args *a, tide_args *as)
{
	const tide_value *o = a->opt;
	*as = *a;
	if (a->n_files != 1 || o[O_ANALYZE].set || o[O_VISUALIZE].set || o[O_LOG].set ||
	    !is_log(a->files[0]))
		return false;
	as->opt[O_ANALYZE] = (tide_value){ .set = true, .given = true, .text = a->files[0] };
	as->n_files = 0;
	return true;
}

static int run(const tide_args *given)
{
	tide_args as;
	const tide_args *a = take_log(given, &as) ? &as : given;
	const char *wrong = conflict(a);
	if (wrong)
		return tide__cli_fail_usage(a, "%s", wrong);
	if (a->opt[O_ANALYZE].set)
		return analyze_log(a);
	if (a->opt[O_VISUALIZE].set)
		return visualize(a);
	if (a->n_files)
		return run_script(a);
	tide__help_print_command(a->cmd, a->out, 0);
	return tide__cli_finish(a) ? 1 : 1;
}

const tide_command tide__cmd_tt = {
	.name = "tt",
	.usage = "[--log] SCRIPT [ARGUMENT]... | [--analyze] LOG | --visualize DIR",
	.summary = "run on Tenstorrent hardware and report memory op by op",
	.help = "Runs the script (Python for .py) with the runtime's logging of memory turned on, "
		"passes its output through, and writes into logs/SCRIPT_YYYYMMDD_HHMMSS: the log, "
		"SCRIPT_memory.json and SCRIPT_operations.json (the nth element of both is the same "
		"operation), SCRIPT_inputs_registry.json, SCRIPT_ir.json, SCRIPT.tide (a recording for every "
		"other command) and SCRIPT_report.html. The exit "
		"status is the script's. The runtime must be a debug build (-DTT_RUNTIME_DEBUG=ON). Memory is "
		"printed before an operation runs: the change up to the next state is charged to it. Every "
		"other command reads the log, too. With --json, --markdown or --text standard output holds "
		"the report alone; the script's output goes to standard error.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 0,
	.max_files = SIZE_MAX,
	.wants = "script",
	.rest = true,
	.is_input = is_log,
	.run = run,
	.own_output = true,
};
