// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Figures of every recording that is served, and what people wrote about it.
 *
 * A thread of its own reads recordings one after another, when nothing is known of them or their
 * file has changed, and keeps a line of figures (run_summary.h) each. Figures, tags and notes are
 * kept in one small SQLite file beside the recordings, FOLDER/.tidemark-runs.sqlite: the figures with
 * size and time of the file they are of. Where it cannot be written, or SQLite is not there, they
 * last as long as the server. Everything here may be called from any thread. */
#ifndef TIDE_SERVE_RUN_INDEX_H
#define TIDE_SERVE_RUN_INDEX_H

#include "analyze/compare/run_summary.h"
#include "serve/store.h"

typedef struct tide_run_index tide_run_index;

enum { TIDE_RUN_TAGS = 256, TIDE_RUN_NOTE = 512 };

typedef struct tide_run {
	bool known;  /* there are figures of the file as it is */
	bool stale;  /* of the file as it was */
	bool failed; /* it cannot be read */
	tide_run_summary s;
	const char *tags, *note; /* borrowed until the runs are given back; "" = none */
} tide_run;

/* How rows are kept (run_file.h); NULL in tide__run_index_new = not at all. */
typedef struct tide_run_ops tide_run_ops;

/* `changed` is called (from the index's thread) when figures came in. NULL on exhaustion. */
tide_run_index *tide__run_index_new(tide_store *store, const tide_run_ops *ops,
				    void (*changed)(void *user), void *user);
/* NULL is fine. Waits for what is being read. */
void tide__run_index_free(tide_run_index *x);
/* The index of a store, or NULL: handlers know the store only. */
tide_run_index *tide__run_index_of(tide_store *store);

/* The runs of these recordings, row for row, in one look; owned by the caller. NULL on exhaustion. */
tide_run *tide__run_index_get(tide_run_index *x, const tide_rec *r, size_t n);
void tide__run_index_give_back(tide_run *v, size_t n);

/* Tags ("a,b") and note of a recording; NULL = leave as it is. TIDE_EUSAGE: too long, or no text;
 * TIDE_EIO: the file cannot be written (they are kept until the server ends). */
tide_code tide__run_index_write(tide_run_index *x, const char *path, const char *tags,
				const char *note, tide_error *err);
/* Where they are kept; NULL = nowhere. Borrowed until the index is freed. */
const char *tide__run_index_file(tide_run_index *x);

#endif
