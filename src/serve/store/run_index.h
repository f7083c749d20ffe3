// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Figures of every served recording, and the users' tags and notes.
 *
 * A separate thread reads recordings one by one, if nothing is known about them or their file has
 * changed, and keeps a line of figures (run_summary.h) each. Figures, tags and notes are stored in
 * one small SQLite file beside the recordings, FOLDER/.tidemark-runs.sqlite: the figures with size
 * and modification time of their file. If it cannot be written, or without SQLite, they last as
 * long as the server. Thread-safe. */
#ifndef TIDE_SERVE_STORE_RUN_INDEX_H
#define TIDE_SERVE_STORE_RUN_INDEX_H

#include "analyze/compare/run_summary.h"
#include "serve/store/store.h"

typedef struct tide_run_index tide_run_index;

enum { TIDE_RUN_TAGS = 256, TIDE_RUN_NOTE = 512 };

typedef struct tide_run {
	bool known;  /* figures of the current file exist */
	bool stale;  /* figures of an earlier state of the file */
	bool failed; /* it cannot be read */
	bool other;  /* a JSON document without a recording, e.g. a model's config.json */
	tide_run_summary s;
	const char *tags, *note; /* borrowed until the runs are released; "" = none */
} tide_run;

/* Storage of rows (run_file.h). */
typedef struct tide_run_ops tide_run_ops;

typedef struct tide_run_index_options {
	const tide_run_ops *ops; /* NULL = nothing is kept */
	/* Called for new figures (from the index's thread), tags and notes (from the writer's). */
	void (*changed)(void *user);
	/* Called from the index's thread with one line: a file that is not ours was set aside. */
	void (*note)(void *user, const char *line);
	void *user; /* of both, which may be NULL */
} tide_run_index_options;

/* Returns NULL if memory runs out. */
tide_run_index *tide__run_index_new(tide_store *store, const tide_run_index_options *opt);
/* Frees the index; NULL is allowed. Waits for a reading in progress, at most 1 second. Returns
 * false if it is still being read; then nothing was freed, and the program should exit. */
bool tide__run_index_free(tide_run_index *x);
/* Returns the index of a store, or NULL: handlers have only the store. */
tide_run_index *tide__run_index_of(tide_store *store);

/* Returns the runs of these recordings, row for row; owned by the caller. NULL if memory runs
 * out. */
tide_run *tide__run_index_get(tide_run_index *x, const tide_rec *r, size_t n);
void tide__run_index_give_back(tide_run *v, size_t n);

/* Sets tags ("a,b") and note of a recording; NULL = unchanged. Returns TIDE_EUSAGE: too long,
 * invalid UTF-8, or characters that are not visible; TIDE_EIO: the file cannot be written (they are kept until the server ends). */
tide_code tide__run_index_write(tide_run_index *x, const char *path, const char *tags,
				const char *note, tide_error *err);
/* Returns where they are stored; NULL = nowhere. Borrowed until the index is freed. */
const char *tide__run_index_file(tide_run_index *x);

#endif
