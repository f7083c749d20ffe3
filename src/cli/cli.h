// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The command table. Dispatch, --help, completion and the man-page check all walk it.
 *
 * A command is one file cmd_NAME.c that defines one `const tide_command tide__cmd_NAME`, and one
 * row in commands.c. Options are a table too; their values land in an array in table order:
 *
 *     enum { O_JSON, O_TOP };
 *     static const tide_option options[] = {
 *         [O_JSON] = TIDE_OPTION_JSON,
 *         [O_TOP]  = { "top", 'n', TIDE_OPT_INT, "N", "rows to show", .def = "20" },
 *     };
 *     static int run(const tide_args *a) { if (a->opt[O_JSON].set) ... }
 *
 * Every command has -h/--help. A command with an option named "output" (kind FILE) has a->out
 * opened for it (outfile.h) and put in its place when run() returns 0 or 3, so that a failure
 * leaves the old file alone.
 *
 * Only this folder prints or exits. Exit status: 0 fine, 1 bad input, 2 bad usage (also what
 * an option names and the trace does not have), 3 a --fail-if threshold was crossed. */
#ifndef TIDE_CLI_CLI_H
#define TIDE_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "import/import.h"
#include "render/text/out.h"

typedef enum tide_opt_kind {
	TIDE_OPT_FLAG,	/* no value; with `arg`: may be followed by =VALUE, one of those */
	TIDE_OPT_INT,	/* int64, decimal, from `least` to `most` */
	TIDE_OPT_BYTES, /* 4096, 2GiB, 1.5 MB */
	TIDE_OPT_TEXT,	/* any text */
	TIDE_OPT_FILE,	/* a path: completion offers files */
	TIDE_OPT_ENUM,	/* one of `choices`, comma-separated list in `arg` */
} tide_opt_kind;

typedef struct tide_option {
	const char *name; /* long name without dashes */
	char letter;	  /* short form, 0 = none */
	tide_opt_kind kind;
	const char *arg;  /* value's name in help ("N", "FILE"), or for ENUM "text,json,html" */
	const char *help; /* one line */
	const char *def;  /* default, parsed like a value and told by help; NULL = unset */
	bool many;	  /* may be given several times: every value is kept in opt.list */
	int64_t least;	  /* of INT; 0 where nothing is said: no option takes less */
	int64_t most;	  /* of INT; 0 = no limit */
	bool unit;	  /* of BYTES: a bare number is an error: 80 is not meant as 80 bytes */
	const char *also; /* another long name that is understood, NULL = none */
} tide_option;

/* Those that nearly every command has. PAGE: as OUTPUT, where .html makes a page. */
/* clang-format off */
#define TIDE_OPTION_JSON   { "json", 'j', TIDE_OPT_FLAG, NULL, "print JSON" }
#define TIDE_OPTION_OUTPUT { "output", 'o', TIDE_OPT_FILE, "FILE", "write to FILE" }
#define TIDE_OPTION_PAGE   { "output", 'o', TIDE_OPT_FILE, "FILE", \
			     "write to FILE; a name that ends in .html: as a page" }
/* clang-format on */

typedef struct tide_value {
	bool set;	  /* given, or has a default */
	bool given;	  /* given on the command line */
	const char *text; /* as written */
	int64_t num;	  /* INT, BYTES; ENUM: index of the choice */
	const char **list;
	size_t n_list;
} tide_value;

/* Rows that --top (with a default) leaves, 0 = all: in JSON all, unless it was given. */
static inline size_t tide__cli_top(const tide_value *top, bool json)
{
	return json && !top->given ? 0 : (size_t)top->num;
}

/* Options of every command, unless it has one of that name itself; tide_args.shared has their values. */
enum { TIDE_SHARED_MAX_MEMORY, TIDE_SHARED_FULL_NAMES, TIDE_SHARED_FORMAT, TIDE_SHARED_N };
extern const tide_option tide__shared_options[TIDE_SHARED_N];

typedef struct tide_args {
	const struct tide_command *cmd;
	tide_value *opt; /* indexed like cmd->options */
	tide_value shared[TIDE_SHARED_N];
	char **files; /* what is left: positional arguments */
	size_t n_files;
	union {
		struct {
			FILE *out;	  /* stdout, or the file of -o/--output */
			tide_style style; /* for out */
		};
		tide_out to; /* the same two, for reports */
	};
	const char *named; /* what messages call it, where it is neither; else NULL */
} tide_args;

typedef struct tide_command {
	const char *name;
	const char *usage;   /* after the name: "FILE [--json]" */
	const char *summary; /* one line */
	const char *help;    /* a paragraph or more, may be NULL */
	const tide_option *options;
	size_t n_options;
	size_t min_files, max_files; /* max SIZE_MAX = any number */
	const char *wants;	     /* what they are, when none is given; NULL = "file" */
	/* What they may be, for completion: "show,update"; "" = names of commands; NULL = files. */
	const char *words;
	int (*run)(const tide_args *a);
	bool rest; /* from the first word that is no option on, all is another program's command
		      line */
	/* With `rest`: whether a word is a file to read after all, so that options may follow it. NULL =
	 * never. */
	bool (*is_input)(const char *word);
	bool own_output; /* run() writes the file of --output itself: the framework leaves it alone
			  */
	bool raw; /* what it prints is for programs: never broken at the terminal's edge (nor is
		     JSON) */
	/* View that `-o x.html` writes as a page instead of run(); "" = run() writes one, NULL =
	 * none: such a name is refused. */
	const char *page;
	/* Further endings that a name of --output may have: ".png,.svg"; NULL = none. */
	const char *endings;
} tide_command;

#define TIDE_COMMAND_OPTIONS(table) .options = table, .n_options = sizeof(table) / sizeof *(table)

/* NULL-terminated; the order is the order of help. */
extern const tide_command *const tide__commands[];

/* The options of a command, one after the other: its own, those it shares, --help; then NULL. */
const tide_option *tide__command_option(const tide_command *c, size_t i);

/* A command by its name, or NULL. */
const tide_command *tide__command_find(const char *name);
/* The name of a command that was probably meant, or NULL. */
const char *tide__command_near(const char *word);
/* Help of one command, of the whole program, in at most `width` columns (0 = any, then 98). */
void tide__help_command(const tide_command *c, FILE *out, int width);
void tide__help_program(FILE *out, int width);
/* Skeleton of its man page (scdoc): everything that the table knows. */
void tide__help_man(const tide_command *c, FILE *out);

/* Print "tidemark: FILE: text (byte N)" to stderr and return 1. `file` may be NULL. */
int tide__cli_fail(const char *file, const tide_error *err);
/* Print "tidemark CMD: text" and a hint to stderr and return 2. */
int tide__cli_usage(const tide_args *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One line on stderr that is no failure: "note: ...". Names in it are made safe, long ones broken
 * at the terminal's edge. */
void tide__cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* tide__load with progress on stderr (a terminal, over a second) and the error printed.
 * NULL when it failed. `what` as in tide_load_options. */
tide_model *tide__cli_load(const tide_args *a, const char *file, unsigned what);
/* "-", /dev/stdin in a pipe, <(command): something that is read once. */
bool tide__cli_is_pipe(const char *file);
/* All of it in an unlinked temporary file; `path` is a name for that as long as the descriptor
 * returned is open. -1 with `err` set. */
int tide__cli_spool(const char *file, char *path, size_t n, tide_error *err);
/* What the report is written to, for messages: the file of -o or "standard output". */
const char *tide__cli_output_name(const tide_args *a);
/* One line per loss or repair of the model ("note: 12 events were lost ..."), after a report. */
static inline void tide__cli_losses(const tide_args *a, const tide_model *m)
{
	tide__put_losses(m, a->out, &a->style);
}
/* Flush `out`; 0, or 1 with a message when writing failed. Every run() ends with it. */
int tide__cli_done(const tide_args *a);
/* A note that so many long texts were cut (render/text/long_text.h); none for 0. */
void tide__cli_cut(uint64_t texts);
/* The end of a JSON report: tide__json_end, tide__cli_cut and tide__cli_done; 1 with a message when
 * it is not whole. */
int tide__cli_json_end(const tide_args *a, tide_json *j);

/* A command inside another program (the Python package), argv[0] being its name: what it prints
 * goes to `out`, what it complains of to `errors`; its exit status. `m` (may be NULL) is the trace
 * that m->path was loaded into: it is used instead of loading that file again. Threads may ask at
 * once. */
int tide__cli_ask(int argc, char **argv, tide_model *m, FILE *out, FILE *errors);
/* Where complaints go: standard error, or what tide__cli_ask was given. */
FILE *tide__cli_errors(void);
/* The model that tide__cli_ask was given, held once more, when it is that of this file and has what
 * is wanted; else NULL. */
tide_model *tide__cli_model(const char *file, unsigned what);

/* main() of tidemark and tidemark-mpi. */
int tide__cli_main(int argc, char **argv);

#endif
