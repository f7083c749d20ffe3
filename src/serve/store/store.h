// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The served recordings: which exist, which are in memory, which are being read.
 *
 * A recording is identified by an id made from its path; clients never name a path, so nothing
 * outside the list can be reached. It is read on the first request, by a background thread (small
 * files have threads of their own, so that they need not wait for a large one); requests wait without occupying a
 * thread. It is read again when its file has changed. The least recently used leaves memory when
 * all together exceed the limit; a single one may be larger. Thread-safe. */
#ifndef TIDE_SERVE_STORE_STORE_H
#define TIDE_SERVE_STORE_STORE_H

#include "analyze/compare/run_summary.h"
#include "serve/store/critical_path_job.h"

typedef struct tide_store tide_store;

enum { TIDE_REC_ID = 17 }; /* 16 hexadecimal digits and a NUL */

typedef enum tide_rec_state {
	TIDE_REC_IDLE, /* not in memory */
	TIDE_REC_LOADING,
	TIDE_REC_READY,
	TIDE_REC_FAILED, /* could not be read; `error` has the reason. A change of the file tries
			  * again */
} tide_rec_state;

typedef enum tide_rec_writer {			    /* of a recording made by Tidemark (.tide) */
			       TIDE_WRITER_NONE,    /* none known: closed, or another format */
			       TIDE_WRITER_RUNNING, /* it is still being written */
			       TIDE_WRITER_CLOSED,  /* it was closed properly */
			       TIDE_WRITER_KILLED,  /* it ended without closing the file */
} tide_rec_writer;

typedef struct tide_rec {
	char id[TIDE_REC_ID];
	char *path; /* owned */
	uint64_t size;
	int64_t mtime_ns;
	tide_rec_state state;
	tide_rec_writer writer;
	uint64_t done, total; /* while being read: bytes so far and in total (0 = unknown) */
	uint64_t generation;  /* of the reading in memory, 0 = none */
	uint64_t early;	      /* of its beginning, until the whole is read for the first time; 0
			       * = none */
	uint64_t bytes;	      /* memory it uses */
	unsigned has;	      /* TIDE_HAS_HOST ...; 0 = not known */
	tide_error error;
} tide_rec;

typedef struct tide_store_options {
	/* Calls `add` with every file to serve, and `folder` with every folder in which files may
	 * appear, before it reads that; NULL = they may appear elsewhere too. Returns false if the list
	 * could not be made. */
	bool (*list)(void *list_user, bool (*add)(void *to, const char *path),
		     void (*folder)(void *to, const char *path), void *to);
	/* Called once with one line if folders cannot be watched. May be NULL. */
	void (*note)(void *list_user, const char *line);
	void *list_user;
	/* Called when the list (id NULL) or a recording changed. From a thread of the store or
	 * the one that calls tide__store_poll; no lock is held. */
	void (*changed)(void *user, const char *id);
	void *user;
	uint64_t max_bytes;  /* memory limit of all readings */
	uint64_t early_from; /* size of files whose beginning is read first; 0 = 128 MiB */
} tide_store_options;

/* Returns NULL if memory runs out. The first tide__store_poll makes the list. */
tide_store *tide__store_new(const tide_store_options *opt);
/* Stops reading and calls all waiters. */
void tide__store_stop(tide_store *s);
/* After that: waits for the reading threads, at most 1 to 2 seconds. Returns false if it is still
 * reading; then nothing was freed, and the program should exit. */
bool tide__store_free(tide_store *s);

/* Returns all recordings, newest first; owned by the caller. NULL if memory runs out. */
tide_rec *tide__store_list_all(tide_store *s, size_t *n);
void tide__store_list_free(tide_rec *r, size_t n);

/* Gets a reading of a recording: TIDE_OK with a reference in *out (tide__loaded_drop).
 * TIDE_EBUSY if it must be read first: `w` is called when to ask again. TIDE_ENOTFOUND: no such
 * id. Otherwise the error of reading it. `early`: its beginning is enough while a large one is
 * being read. */
tide_code tide__store_get(tide_store *s, const char *id, bool early, tide_waiter *w,
			  tide_loaded **out, tide_error *err);
/* The same if it is in memory; does not count as use. Returns TIDE_ENOTFOUND otherwise. */
tide_code tide__store_peek(tide_store *s, const char *id, tide_loaded **out, tide_error *err);
/* Returns the job that finds critical paths. Borrowed. */
tide_critical_path_job *tide__store_slow(tide_store *s);
/* Returns the generation that tide__store_get would return, 0 = nothing yet. Counts as use. */
uint64_t tide__store_generation(tide_store *s, const char *id, bool early);
/* Gets the id of the newest readable recording that has any of `needs` (TIDE_HAS_HOST ...); with
 * `unknown`, one that was not read yet counts too. If none has, it is the newest readable one.
 * Exported reports count only if `needs` has TIDE_HAS_REPORT. Returns false if there is none. */
bool tide__store_find_newest(tide_store *s, unsigned needs, bool unknown, char id[TIDE_REC_ID]);
/* Gets a recording of the list; its path is owned by the caller: tide__free. Returns false if there
 * is none or memory runs out. */
bool tide__store_find_rec(tide_store *s, const char *id, tide_rec *out);
/* Notes what a recording has, if its file is still in this state. */
void tide__store_note(tide_store *s, const tide_rec *r, unsigned has);

/* Returns a number that changes with the list and with the files in it. */
uint64_t tide__store_version(tide_store *s);

/* Checks the files: new ones, changed ones, ones being written. Call periodically from one
 * thread; `may_list`: make the list again if names changed or folders cannot be watched. Returns true
 * if the list was made. */
bool tide__store_poll(tide_store *s, bool may_list);

#endif
