// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The SQLite file of the index: figures with the identity of their file, tags, notes. One thread
 * at a time. A file of another version loses its figures, never its tags and notes. */
#ifndef TIDE_SERVE_STORE_RUN_FILE_H
#define TIDE_SERVE_STORE_RUN_FILE_H

#include "serve/store/run_index.h"

typedef struct tide_run_row {
	const char *path;	/* borrowed */
	int64_t size, mtime_ns; /* of the file; size -1 = no figures */
	tide_run_summary s;
	char tags[TIDE_RUN_TAGS], note[TIDE_RUN_NOTE];
} tide_run_row;

typedef struct tide_run_file tide_run_file;

enum { TIDE_RUN_PUT_TAGS = 1, TIDE_RUN_PUT_NOTE = 2 };
enum { TIDE_RUN_WHY = 160 }; /* bytes of a reason */

struct tide_run_ops {
	/* Opens or creates it and passes every row to `take`. A file that is not ours is renamed
	 * and replaced by a new one: then `why` says so, else it is "". Returns NULL if it cannot be
	 * opened (a read-only folder, a link) and writes the reason to `why`. */
	tide_run_file *(*open)(const char *path, bool (*take)(void *user, const tide_run_row *r),
			       void *user, char why[TIDE_RUN_WHY]);
	/* Writes figures and, with TIDE_RUN_PUT_*, tags and note. Other columns of an existing row
	 * stay, because another server may have written them. Returns false if it could not be
	 * written, with the reason in `why`. */
	bool (*put)(tide_run_file *f, const tide_run_row *r, unsigned what, char why[TIDE_RUN_WHY]);
	void (*close)(tide_run_file *f);
};

/* SQLite's; NULL in a build without it. */
extern const tide_run_ops *const tide__run_file;

#endif
