// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The command table. Dispatch, --help, completion and the man-page check all walk it.
 *
 * A command is one file cmd/NAME.c that defines one `const tide_command tide__cmd_NAME`, and one
 * row in commands.c. Options are a table too; their values land in an array in table order:
 *
 *     enum { O_JSON, O_TOP };
 *     static const tide_option options[] = {
 *         [O_JSON] = TIDE_OPTION_JSON,
 *         [O_TOP]  = { "top", 'n', TIDE_OPT_INT, "N", "rows to show", .def = "20" },
 *     };
 *     static int run(const tide_args *a) { if (a->opt[O_JSON].set) ... }
 *
 * Every command has -h/--help. A command with an option named "output" (kind FILE) gets a->out
 * opened (outfile.h) and moved into place when run() returns 0 or 3, so that a failure leaves the
 * old file alone.
 *
 * Only this folder prints or exits. Exit status: 0 success, 1 bad input, 2 bad usage (also if an
 * option names something that the trace lacks), 3 a --fail-if threshold was crossed, 4 done, but an
 * input is cut off or damaged. */
#ifndef TIDE_CLI_CLI_H
#define TIDE_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "import/import.h"
#include "render/text/out.h"
#include "report/option.h"
#include "report/report.h"

/* Options shared by nearly every command. PAGE: like OUTPUT, and .html makes a page. */
/* clang-format off */
#define TIDE_OPTION_JSON   { "json", 'j', TIDE_OPT_FLAG, NULL, "print JSON" }
#define TIDE_OPTION_CSV    { "csv", 0, TIDE_OPT_FLAG, NULL, \
			     "print the main table as CSV; with -o DIR/, write all tables" }
#define TIDE_OPTION_OUTPUT { "output", 'o', TIDE_OPT_FILE, "FILE", "write to FILE" }
#define TIDE_OPTION_PAGE   { "output", 'o', TIDE_OPT_FILE, "FILE", \
			     "write to FILE; a name that ends in .html: as a page" }
/* clang-format on */

/* Returns the rows that --top allows, 0 = all: JSON has all rows unless --top was given. */
static inline size_t tide__cli_top(const tide_value *top, bool json)
{
	return json && !top->given ? 0 : (size_t)top->num;
}

/* Options of every command, unless it has one of that name itself; tide_args.shared has their
 * values. */
enum { TIDE_SHARED_MAX_MEMORY, TIDE_SHARED_FULL_NAMES, TIDE_SHARED_FORMAT, TIDE_SHARED_N };
extern const tide_option tide__shared_options[TIDE_SHARED_N];

typedef struct tide_args {
	const struct tide_command *cmd;
	tide_value *opt; /* indexed like cmd->options */
	tide_value shared[TIDE_SHARED_N];
	char **files;	 /* positional arguments */
	char **patterns; /* owned: those of `files` that replace a missing name; NULL = none */
	size_t n_files;
	union {
		struct {
			FILE *out;	  /* stdout, or the file of -o/--output */
			tide_style style; /* for out */
		};
		tide_out to; /* both of them, for reports */
	};
	const char *named; /* display name in messages if it is neither; else NULL */
} tide_args;

typedef struct tide_command {
	const char *name;
	const char *usage;   /* after the name: "FILE [--json]" */
	const char *summary; /* one line */
	const char *help;    /* a paragraph or more, may be NULL */
	const tide_option *options;
	size_t n_options;
	size_t min_files, max_files; /* max SIZE_MAX = any number */
	const char *wants;	     /* their name in the message if none is given; NULL = "file" */
	/* Choices for completion: "show,update"; "" = names of commands; NULL = files. */
	const char *words;
	int (*run)(const tide_args *a);
	const struct tide_report_type *report; /* that it shows; NULL = none */
	bool rest; /* from the first word that is not an option on, everything is another
		    * program's command line */
	/* With `rest`: returns true if a word is a file to read after all, so that options may
	 * follow it. NULL = never. */
	bool (*is_input)(const char *word);
	bool ranks;	 /* takes the ranks of a job: a missing run.tide is its run.rankN.tide */
	bool own_output; /* run() writes the file of --output itself */
	bool raw; /* output is for programs: never wrapped at the terminal's edge (nor is JSON) */
	/* run() returns the exit status of another program: the file of --output is kept for any
	 * status. */
	bool passes_status;
	/* View that `-o x.html` writes as a page instead of run(); "" = run() writes it, NULL =
	 * none: such a name is refused. */
	const char *page;
	/* Additional endings that a name of --output may have: ".png,.svg"; NULL = none. */
	const char *endings;
	/* The only endings it may have: ".html"; NULL = those of text, JSON and pages. */
	const char *only;
} tide_command;

#define TIDE_COMMAND_OPTIONS(table) .options = table, .n_options = sizeof(table) / sizeof *(table)

/* Returns all commands, NULL-terminated, in the order of help. */
const tide_command *const *tide__command_list(void);

/* Returns the group of a command in the program's help; `i` is its place in the list. */
tide_report_group tide__command_group(size_t i);

/* The options of a command by index: its own, the shared ones, --help; then NULL. */
const tide_option *tide__command_option(const tide_command *c, size_t i);

/* Returns the value of an option by its name; NULL if the command has no such option. */
const tide_value *tide__cli_option(const tide_args *a, const char *name);

/* Finds a command by its name, or NULL. */
const tide_command *tide__command_find(const char *name);
/* Returns the name of the command that was probably meant, or NULL. */
const char *tide__command_near(const char *word);
/* Prints help of one command or of the whole program, in at most `width` columns (0 = any, then
 * 98). */
void tide__help_print_command(const tide_command *c, FILE *out, int width);
void tide__help_print_program(FILE *out, int width);
/* Prints a skeleton of its man page (scdoc): everything in the table. */
void tide__help_print_man(const tide_command *c, FILE *out);

/* Prints "tidemark: FILE: text (byte N)" to stderr and returns 1. `file` may be NULL. */
int tide__cli_fail(const char *file, const tide_error *err);
/* Prints "tidemark CMD: text" and a hint to stderr and returns 2. */
int tide__cli_fail_usage(const tide_args *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints one line that is not a failure to stderr: "note: ...". Names in it are escaped, long
 * lines wrapped at the terminal's edge. */
void tide__cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Calls tide__load with progress on stderr (a terminal, after 1 second) and prints the error.
 * Returns NULL on failure. `what` as in tide_load_options. */
tide_model *tide__cli_load(const tide_args *a, const char *file, unsigned what);
struct tide_hta_job;
/* Notes for the exit status whether a model that was not loaded by tide__cli_load, or one of these
 * ranks, is cut off or damaged. */
void tide__cli_remember(const tide_model *m);
void tide__cli_remember_ranks(const struct tide_hta_job *job);
/* Returns true if an input is cut off or damaged: status 4. */
bool tide__cli_incomplete(void);
/* Returns true for "-", /dev/stdin in a pipe, <(command), a URL: inputs that are read only once. */
bool tide__cli_is_pipe(const char *file);
/* Loads such an input: directly if its format allows that, else from an unlinked temporary file.
 * `path` names that file while `fd` is open (-1 = there is none); the caller closes it. */
typedef struct tide_piped {
	char path[512];
	int fd;
} tide_piped;
tide_code tide__cli_load_pipe(const char *file, const tide_load_options *opt, tide_piped *p,
			      tide_model **m, tide_error *err);
/* Returns the name of the output for messages: the file of -o or "standard output". */
const char *tide__cli_output_name(const tide_args *a);
/* Prints one line per loss or repair of the model ("note: 12 events were lost ..."), after a
 * report. */
static inline void tide__cli_print_losses(const tide_args *a, const tide_model *m)
{
	tide__put_losses(m, a->out, &a->style);
}
/* Sets what the file of --output holds ("a page"): once it is in place, a line on stderr says its name,
 * its size and that. */
void tide__cli_wrote(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Flushes `out`. Returns 0, or 1 with a message if writing failed. Every run() ends with it. */
int tide__cli_finish(const tide_args *a);
/* Prints a note that this many long texts were cut (render/text/long_text.h); nothing for 0. */
void tide__cli_note_truncated(uint64_t texts);
/* Ends a JSON report: tide__json_end, tide__cli_note_truncated and tide__cli_finish. Returns 1 with a
 * message if it is incomplete. */
int tide__cli_json_end(const tide_args *a, tide_json *j);

/* Runs a command inside a test or a fuzz target; argv[0] is its name. No command runs another one:
 * they share analyses and renderers. Its output goes to `out`, its messages to `errors`; returns
 * its exit status. `m` (may be NULL) is the loaded trace of m->path: it is used instead of loading
 * that file again. Thread-safe. */
int tide__cli_ask(int argc, char **argv, tide_model *m, FILE *out, FILE *errors);
/* Returns the stream for messages: standard error, or the one given to tide__cli_ask. */
FILE *tide__cli_errors(void);
/* Returns the model given to tide__cli_ask, with one more reference, if it is that of this file and
 * has the requested data; else NULL. */
tide_model *tide__cli_get_model(const char *file, unsigned what);

/* main() of tidemark and tidemark-mpi. */
int tide__cli_run_main(int argc, char **argv);

#endif
