// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Many traces of one job: from arguments to a list of files, and from files to one result.
 *
 * Files are loaded, analysed and freed one after another, so memory is that of the largest trace. A
 * file that cannot be read is told on stderr, kept in the result's list of failures, and does not
 * stop the rest. Under tidemark-mpi the files are spread over processes (distribute.h). */
#ifndef TIDE_CLI_JOB_RANKS_H
#define TIDE_CLI_JOB_RANKS_H

#include "analyze/device/hta_job.h"
#include "cli/cli.h"

typedef struct tide_rank_file {
	char *path;    /* owned */
	uint64_t size; /* bytes of the file, 0 = unknown */
	bool named;    /* by the user itself, not found in a folder or by a pattern */
} tide_rank_file;

typedef struct tide_rank_files {
	tide_rank_file *v; /* owned; sorted by path, numbers in it by value; no path twice */
	size_t n, cap;
	bool snapshots; /* folders give memory snapshots too */
	bool named;	/* what is added now is named itself */
} tide_rank_files;

/* Files that the arguments name: a file is itself; a folder is every file below it whose name has
 * ".json" or ".tide" in it (up to 6 folders deep, hidden ones and links to folders left out); a
 * pattern (* ? []) that is no file is what it matches. Recordings of an earlier run of a name are left
 * out, which stderr says (run_group.h). An argument that gives nothing is an error. */
tide_code tide__ranks_expand(char *const *args, size_t n, tide_rank_files *out, tide_error *err);
/* The same, with the memory snapshots of folders (".pickle", ".pkl"): for what shows any file. */
tide_code tide__ranks_expand_all(char *const *args, size_t n, tide_rank_files *out,
				 tide_error *err);
/* The same, earlier runs included: for what lists files. */
tide_code tide__ranks_list(char *const *args, size_t n, tide_rank_files *out, tide_error *err);
void tide__ranks_free(tide_rank_files *f);

/* Rank that a file's name tells: the number after the last "rank", with one of - _ . or nothing
 * between ("rank-12.Apr.json", "trace_rank_3.json"); -1 = none. */
int64_t tide__rank_in_name(const char *path);
/* The same; of a recording without one in its name the rank that the recorder noted. */
int64_t tide__rank_of(const char *path);

typedef struct tide_ranks_work {
	tide_hta_options opt;
	unsigned threads; /* for loading one file; 0 = one per core */
	unsigned want;	  /* TIDE_WANT_* besides spans */
} tide_ranks_work;

/* Load, analyse, free one file. Prints nothing. */
tide_code tide__ranks_one(const char *path, const tide_ranks_work *w, tide_hta **out,
			  tide_error *err);

/* All files of a command into a finished job (owned by the caller). Exit status: 0, or 1 when no
 * file could be read, 2 for a wrong argument or when no file has the steps asked for; told on
 * stderr. */
int tide__ranks_run(const tide_args *a, const tide_ranks_work *w, tide_hta_job **out);

/* The options hta and kernels share. */
enum { TIDE_RANKS_OPTIONS = 5 };
/* clang-format off */
#define TIDE_RANKS_OPTION_ROWS                                                                     \
	{ "drop-last-step", 0, TIDE_OPT_FLAG, NULL, "leave out the last step" },                   \
	{ "steps", 0, TIDE_OPT_TEXT, "A..B", "only steps A to B, or step A" },                     \
	{ "threads", 0, TIDE_OPT_INT, "N", "threads to load one trace (default: one per core)",    \
	  .least = 1, .most = 1024 },                                                              \
	{ "custom-collective", 0, TIDE_OPT_TEXT, "PART",                                           \
	  "count kernels with PART in their name as custom collectives", .many = true },           \
	{ "kernel-wait", 0, TIDE_OPT_INT, "NS", "gaps below are kernel_wait",                      \
	  .def = "30000", .least = 1 }
/* clang-format on */
/* Read them from opt[first ..]; `window` receives the window in words. 0, or 2 with a message. */
int tide__ranks_options(const tide_args *a, size_t first, tide_ranks_work *w, char *window,
			size_t n_window);

#endif
