// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The program around the commands: finds the command, parses its options, opens its output, runs
 * it and reports errors. One exit, one function to print an error. */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/memory_limit.h"
#include "base/nearest.h"
#include "cli/options.h"
#include "cli/output/outfile.h"
#include "cli/output/page.h"
#include "cli/report_tables.h"
#include "cli/job/children.h"
#include "cli/job/distribute.h"
#include "cli/output/wrap.h"
#include "render/report/hints.h"
#include "render/text/format.h"

#ifndef TIDE_VERSION
#define TIDE_VERSION "unknown"
#endif

/* ---- errors ---- */

/* Set while a command runs inside a test, on its thread. */
static _Thread_local struct {
	FILE *errors;
	tide_model *model;
} inside;

FILE *tide__cli_errors(void)
{
	return inside.errors ? inside.errors : stderr;
}

tide_model *tide__cli_get_model(const char *file, unsigned what)
{
	bool same = inside.model && !strcmp(inside.model->path, file) &&
		    !(what & (TIDE_WANT_RAW | TIDE_WANT_SHAPES));
	return same ? tide__model_hold(inside.model) : NULL;
}

/* Returns the columns of a terminal, 0 = not a terminal. */
static int width_of(int fd, bool tty)
{
	struct winsize w;
	const char *columns = getenv("COLUMNS");
	int n = columns ? atoi(columns) : 0;
	if (n > 0)
		return n < 40 ? 40 : n;
	if (tty && !ioctl(fd, TIOCGWINSZ, &w) && w.ws_col)
		return w.ws_col < 40 ? 40 : w.ws_col;
	return tty ? 80 : 0;
}

/* Prints an error line, wrapped at words if standard error is a terminal. */
static void complain(const char *text)
{
	FILE *f = tide__cli_errors();
	int width = f == stderr && isatty(STDERR_FILENO) ? width_of(STDERR_FILENO, true) : 0;
	tide__put_words(f, text, 0, 2, width);
}

int tide__cli_fail(const char *file, const tide_error *err)
{
	char name[600], place[40] = "", line[1400];
	const char *text = *err->text ? err->text : tide_code_text(err->code);
	if (file && !strcmp(file, "-"))
		file = "standard input";
	if (file)
		tide__fmt_name(name, sizeof name, file, strlen(file), 0);
	if (err->offset != TIDE_NO_OFFSET)
		snprintf(place, sizeof place, " (byte %" PRIu64 ")", err->offset);
	snprintf(line, sizeof line, "tidemark: %s%s%s%s", file ? name : "", file ? ": " : "", text,
		 place);
	complain(line);
	return 1;
}

static int usage(const char *cmd, const char *text)
{
	char line[900];
	snprintf(line, sizeof line, "tidemark%s%s: %s", cmd ? " " : "", cmd ? cmd : "", text);
	complain(line);
	fprintf(tide__cli_errors(), "try: tidemark %s%s\n", cmd ? cmd : "",
		cmd ? " --help" : "help");
	return 2;
}

int tide__cli_fail_usage(const tide_args *a, const char *fmt, ...)
{
	char text[600];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return usage(a->cmd->name, text);
}

void tide__cli_note(const char *fmt, ...)
{
	char text[900];
	int saved = errno; /* callers exit by it */
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	complain(text);
	errno = saved;
}

void tide__cli_note_truncated(uint64_t texts)
{
	if (texts)
		tide__cli_note(
			"note: %llu long texts are cut; each is complete at its first use, a path keeps its inner end",
			(unsigned long long)texts);
}

static const char *output_path(const tide_args *a)
{
	for (size_t k = 0; k < a->cmd->n_options && !a->cmd->own_output; k++)
		if (!strcmp(a->cmd->options[k].name, "output") && a->opt[k].set &&
		    strcmp(a->opt[k].text, "-") && !tide__report_folder(a))
			return a->opt[k].text;
	return NULL;
}

const char *tide__cli_output_name(const tide_args *a)
{
	const char *path = a->named ? a->named : output_path(a);
	return path ? path : "standard output";
}

int tide__cli_finish(const tide_args *a)
{
	tide_error err = { .code = TIDE_EIO, .offset = TIDE_NO_OFFSET };
	bool bad = ferror(a->out);
	errno = 0;
	if (!fflush(a->out) && !bad)
		return 0;
	if (errno == EPIPE && !output_path(a) && !a->named)
		return 128 + SIGPIPE; /* the reader closed the pipe (`| head`): not an error */
	tide__fail_errno(&err, "cannot write");
	return tide__cli_fail(tide__cli_output_name(a), &err);
}

int tide__cli_json_end(const tide_args *a, tide_json *j)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	bool whole = tide__json_end(j);
	tide__cli_note_truncated(j->cut);
	if (whole || ferror(a->out))
		return tide__cli_finish(a);
	return tide__cli_fail(a->n_files ? a->files[0] : NULL, &err);
}

/* ---- output ---- */

/* A locale that names another character set than UTF-8 gets plain ASCII; none at all gets UTF-8. */
static bool wants_ascii(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *term = getenv("TERM");
	if (term && !strcmp(term, "linux"))
		return true;
	for (size_t i = 0; i < 3; i++) {
		const char *v = getenv(names[i]);
		if (v && *v)
			return !strcasestr(v, "utf-8") && !strcasestr(v, "utf8");
	}
	return false;
}

static tide_style style_of(FILE *out)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool tty =
		!tide__distribute && isatty(fileno(out)); /* mpirun shows a terminal of its own */
	return (tide_style){
		.color = tty && !(no_color && *no_color) && !(term && !strcmp(term, "dumb")),
		.width = width_of(fileno(out), tty),
		.ascii = wants_ascii(),
	};
}

struct output {
	const char *path; /* path given by the user; NULL = standard output */
	tide_outfile file;
	FILE *wrapped; /* standard output of a terminal, broken at words; NULL = none */
};

/* Returns true if the output is read by programs: such lines are never wrapped. */
static bool is_raw(const tide_args *a)
{
	if (a->cmd->raw || a->cmd->own_output)
		return true;
	for (size_t k = 0; k < a->cmd->n_options; k++)
		if (!strcmp(a->cmd->options[k].name, "json") && a->opt[k].set)
			return true;
	return false;
}

/* Returns true if the output would replace the input. */
static bool is_input(const tide_args *a, const struct stat *out)
{
	struct stat st;
	for (size_t i = 0; i < a->n_files; i++)
		if (!stat(a->files[i], &st) && st.st_dev == out->st_dev && st.st_ino == out->st_ino)
			return true;
	return false;
}

/* Opens a->out for the command. */
static int open_output(tide_args *a, struct output *o)
{
	struct stat st;
	tide_error err = { .offset = TIDE_NO_OFFSET };
	a->out = stdout;
	o->path = output_path(a);
	if (o->path) {
		if (!stat(o->path, &st) && is_input(a, &st))
			return tide__cli_fail_usage(a, "--output would replace an input, %s",
						    o->path);
		if (tide__outfile_open(&o->file, o->path, &err) != TIDE_OK)
			return tide__cli_fail(o->path, &err);
		a->out = o->file.f;
	}
	a->style = style_of(a->out);
	if (!o->path && a->style.width && !is_raw(a)) {
		o->wrapped = tide__wrap_open(stdout, a->style.width);
		a->out = o->wrapped ? o->wrapped : stdout;
	}
	return 0;
}

static _Thread_local char wrote[200]; /* what the output file holds; "" = nothing to say */

void tide__cli_wrote(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(wrote, sizeof wrote, fmt, ap);
	va_end(ap);
}

/* Standard output and device files need no line. */
static void say_written(const tide_args *a, const char *path)
{
	struct stat st;
	char name[400], size[32];
	if (!*wrote || !path || stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	tide__cli_note("tidemark %s: wrote %s, %s: %s", a->cmd->name,
		       tide__fmt_name(name, sizeof name, path, strlen(path), 0),
		       tide__fmt_bytes(size, sizeof size, (double)st.st_size), wrote);
}

static int close_output(const tide_args *a, struct output *o, int rc)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	bool whole = o->file.f && !ferror(o->file.f) && ftello(o->file.f) > 0;
	bool keep = rc == 0 || rc == 3 || (a->cmd->passes_status && whole);
	if (o->wrapped && fclose(o->wrapped) && keep) {
		tide__fail_errno(&err, "cannot write");
		rc = tide__cli_fail("standard output", &err);
	}
	if (tide__outfile_close(&o->file, keep, &err) != TIDE_OK)
		rc = tide__cli_fail(o->path, &err);
	else if (keep)
		say_written(a, o->path);
	return rc;
}

/* ---- main ---- */

static void note_raised(uint64_t bytes)
{
	tide__cli_note("note: this needs much memory for its input; the limit is now %llu MiB "
		       "(--max-memory sets it)",
		       (unsigned long long)(bytes >> 20));
}

/* Sets the command's memory limit. A server has its own limit and answers many requests. */
static void set_budget(const tide_args *a)
{
	const tide_value *v = &a->shared[TIDE_SHARED_MAX_MEMORY];
	if (v->given)
		tide__mem_set_budget((uint64_t)v->num);
	else
		tide__mem_follow_inputs(tide__memory_limit_share(), note_raised);
}

static int run(const tide_command *cmd, int argc, char **argv)
{
	tide_args a = { .cmd = cmd, .out = stdout };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	struct output o = { 0 };
	bool help = false;
	int rc;
	if (tide__options_parse(cmd, argc, argv, &a, &help, &err) != TIDE_OK) {
		rc = err.code == TIDE_EUSAGE ? usage(cmd->name, err.text)
					     : tide__cli_fail(NULL, &err);
	} else if (help) {
		tide__help_print_command(cmd, stdout,
					 width_of(STDOUT_FILENO, isatty(STDOUT_FILENO)));
		rc = tide__cli_finish(&a);
	} else if (tide__cli_imply_json(&a), tide__cli_not_json(&a)) {
		rc = tide__cli_fail_usage(&a,
					  "--json writes JSON, -o names a %s file: leave out one",
					  tide__cli_not_json(&a));
	} else if (tide__cli_no_page(&a)) {
		rc = tide__cli_fail_usage(&a,
					  "this command writes text, not a page: `tidemark report` "
					  "writes pages");
	} else if (tide__cli_bad_ending(&a) && cmd->only) {
		rc = tide__cli_fail_usage(
			&a, "--output: this command writes no %.40s file; endings are %s",
			tide__cli_bad_ending(&a), cmd->only);
	} else if (tide__cli_bad_ending(&a)) {
		rc = tide__cli_fail_usage(
			&a,
			"--output: this command writes no %.40s file; endings are .txt, "
			".json%s%s%s",
			tide__cli_bad_ending(&a), cmd->page ? ", .html" : "",
			cmd->endings ? " and " : "", cmd->endings ? cmd->endings : "");
	} else {
		set_budget(&a);
		rc = tide__children_use(&a);
		if (!rc)
			rc = open_output(&a, &o);
		a.style.full_names = a.shared[TIDE_SHARED_FULL_NAMES].set;
		if (tide__cli_named_page(&a))
			tide__cli_wrote("a page, to open in a browser");
		if (!rc)
			rc = tide__cli_is_page(&a) ? tide__cli_write_page(&a, cmd->page)
						   : cmd->run(&a);
		rc = close_output(&a, &o, rc);
		if (!rc && tide__cli_incomplete())
			rc = 4;
	}
	tide__options_free(&a);
	return rc;
}

/* Runs only the analysis: no file is written, no terminal used. */
static int ask(const tide_command *cmd, int argc, char **argv, FILE *out)
{
	tide_args a = { .cmd = cmd, .out = out };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	bool help = false;
	int rc;
	if (tide__options_parse(cmd, argc, argv, &a, &help, &err) != TIDE_OK)
		rc = err.code == TIDE_EUSAGE ? usage(cmd->name, err.text)
					     : tide__cli_fail(NULL, &err);
	else if (help || output_path(&a))
		rc = usage(cmd->name, "--help and --output are for the program itself");
	else
		rc = cmd->run(&a);
	tide__options_free(&a);
	return rc;
}

int tide__cli_ask(int argc, char **argv, tide_model *m, FILE *out, FILE *errors)
{
	const tide_command *cmd = argc ? tide__command_find(argv[0]) : NULL;
	if (!cmd || cmd->own_output)
		return 2;
	inside.errors = errors;
	inside.model = m;
	int rc = ask(cmd, argc - 1, argv + 1, out);
	inside.errors = NULL;
	inside.model = NULL;
	return rc;
}

static const char *command_name(const void *user, size_t i)
{
	return tide__command_list()[i]->name;
}

const char *tide__command_near(const char *word)
{
	size_t n = 0;
	while (tide__command_list()[n])
		n++;
	return tide__nearest(word, command_name, NULL, n);
}

/* A folder of ranks, or the name of their run: the traces, and the commands that take all of them. */
static int show_folder(int argc, char **argv)
{
	static const tide_hint steps[] = {
		{ "hta FILE", "device time of all ranks, stragglers" },
		{ "peak FILE", "the memory peak of every rank" },
		{ "report FILE -o job.html", "all of it as one page" },
	};
	int rc = run(tide__command_find("info"), argc, argv);
	if (rc || argc != 1)
		return rc;
	puts("\nNext");
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		tide__put_hint(&steps[i], argv[0], stdout);
	return rc;
}

/* `tidemark FILE`: argv[0] is the first word after the program's name. */
static int without_command(int argc, char **argv)
{
	static tide_children children; /* large */
	char text[200];
	struct stat st;
	const char *word = argv[0], *near = tide__command_near(word);
	if (!stat(word, &st) && S_ISDIR(st.st_mode) && !tide__load_knows(word))
		return show_folder(argc, argv);
	if (!stat(word, &st) || tide__cli_is_pipe(word))
		return run(tide__command_find("overview"), argc, argv);
	if (tide__children_find(word, &children))
		return children.n > 1 ? show_folder(argc, argv)
				      : run(tide__command_find("overview"), argc, argv);
	if (!near && strpbrk(word, "./")) {
		snprintf(text, sizeof text, "there is no file '%.80s'", word);
		return usage(NULL, text);
	}
	snprintf(text, sizeof text, "there is no command '%.80s'%s%s%s", word,
		 near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
	return usage(NULL, text);
}

int tide__cli_run_main(int argc, char **argv)
{
	if (argc < 2) {
		tide__help_print_program(stderr, width_of(STDERR_FILENO, isatty(STDERR_FILENO)));
		return 2;
	}
	const char *word = argv[1];
	tide_args plain = { .out = stdout };
	if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		puts("tidemark " TIDE_VERSION);
		return tide__cli_finish(&plain);
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
		tide__help_print_program(stdout, width_of(STDOUT_FILENO, isatty(STDOUT_FILENO)));
		return tide__cli_finish(&plain);
	}
	const tide_command *cmd = tide__command_find(word);
	return cmd ? run(cmd, argc - 2, argv + 2) : without_command(argc - 1, argv + 1);
}
