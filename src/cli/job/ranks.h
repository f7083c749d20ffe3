// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Many traces of one job: from arguments to a list of files, and from files to one result.
 *
 * Files are loaded, analysed and freed one by one, so memory is that of the largest trace. An
 * unreadable file is reported on stderr, kept in the result's list of failures, and does not stop
 * the rest. Under tidemark-mpi the files are distributed over processes (distribute.h). */
#ifndef TIDE_CLI_JOB_RANKS_H
#define TIDE_CLI_JOB_RANKS_H

#include "analyze/device/hta_job.h"
#include "base/rank_in_name.h"
#include "cli/cli.h"

typedef struct tide_rank_file {
	char *path;    /* owned */
	uint64_t size; /* bytes of the file, 0 = unknown */
	bool named;    /* given by the user, not found in a folder or by a pattern */
	bool link;     /* found in a folder, a link to device and inode: */
	uint64_t dev, ino;
} tide_rank_file;

typedef struct tide_rank_files {
	tide_rank_file *v; /* owned; sorted by path, with numbers by value; no duplicates */
	size_t n, cap;
	const char *formats; /* of folders, files of these formats by content; NULL = by name */
	bool snapshots;	     /* folders also contribute memory snapshots */
	bool logs;	     /* compile logs in folders, too (TORCH_TRACE) */
	bool by_content;     /* files of the folder at hand are chosen by content, not by name */
	bool skipped;	     /* a folder has snapshots that were left out */
	bool named;	     /* files added now were given by the user */
	/* called with each folder before it is read, and with NULL for a pattern; may be NULL */
	void (*folder)(void *to, const char *path);
	void *to;
} tide_rank_files;

/* Expands arguments to files: a file is itself; a folder is every file below it whose name
 * contains ".json" or ".tide", or if there is none, every file that is a trace by its content (up
 * to 6 levels, without hidden folders and links to folders); a
 * pattern (* ? []) that is not a file is what it matches. Recordings of an earlier run of a name
 * are left out, with a note on stderr (run_group.h). An argument without a file is an error. */
tide_code tide__ranks_expand(char *const *args, size_t n, tide_rank_files *out, tide_error *err);
/* The same; of folders every file whose content is one of the formats ("flightrec,tide"). */
tide_code tide__ranks_expand_formats(char *const *args, size_t n, const char *formats,
				     tide_rank_files *out, tide_error *err);
/* The same, with the memory snapshots of folders (".pickle", ".pkl"), for commands that show any
 * file. */
tide_code tide__ranks_expand_all(char *const *args, size_t n, tide_rank_files *out,
				 tide_error *err);
/* The same, with compile logs and earlier runs, for commands that list files. */
tide_code tide__ranks_find_all(char *const *args, size_t n, tide_rank_files *out, tide_error *err);
/* The same; `folder` is called with each folder before it is read, and with NULL if an argument is a
 * pattern. */
tide_code tide__ranks_find_in_folders(char *const *args, size_t n,
				      void (*folder)(void *to, const char *path), void *to,
				      tide_rank_files *out, tide_error *err);
void tide__ranks_free(tide_rank_files *f);

/* Returns the rank in a file's name (base/rank_in_name.h); for a recording without one in its name, the rank noted by the recorder. */
int64_t tide__rank_of(const char *path);

typedef struct tide_ranks_work {
	tide_hta_options opt;
	unsigned threads; /* for loading one file; 0 = one per core */
	unsigned want;	  /* TIDE_WANT_* in addition to spans */
} tide_ranks_work;

/* Loads, analyses and frees one file. Prints nothing. */
tide_code tide__ranks_find_one(const char *path, const tide_ranks_work *w, tide_hta **out,
			       tide_error *err);

/* Analyses all files of a command into a finished job (owned by the caller). Returns the exit
 * status: 0, 1 if no file could be read, 2 for a wrong argument or if no file has the requested
 * steps; with a message on stderr. */
int tide__ranks_run(const tide_args *a, const tide_ranks_work *w, tide_hta_job **out);

#endif
