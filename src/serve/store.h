// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The recordings that are served: which there are, which are in memory, which are being read.
 *
 * A recording is known by an id made from its path; clients never name a path, so nothing outside
 * the list can be reached. It is read when first asked for, by a thread in the background (small
 * ones by another, so that they need not wait for a large one); those who asked wait without
 * holding a thread. It is read again when its file has changed. What was not asked for longest
 * leaves memory when all together hold more than the limit; one alone may be larger. Everything
 * here may be called from any thread. */
#ifndef TIDE_SERVE_STORE_H
#define TIDE_SERVE_STORE_H

#include "serve/critical_path_job.h"

typedef struct tide_store tide_store;

enum { TIDE_REC_ID = 17 }; /* 16 hexadecimal digits and a NUL */

typedef enum tide_rec_state {
	TIDE_REC_IDLE, /* not in memory */
	TIDE_REC_LOADING,
	TIDE_REC_READY,
	TIDE_REC_FAILED, /* could not be read; `error` says why. A change of the file tries again */
} tide_rec_state;

typedef enum tide_rec_writer {			 /* of a recording that this program made (.tide) */
			       TIDE_WRITER_NONE, /* none that we know of: closed, or another format
						  */
			       TIDE_WRITER_RUNNING, /* it is still being written */
			       TIDE_WRITER_CLOSED,  /* was seen to end in order */
			       TIDE_WRITER_KILLED,  /* was seen to go without closing it */
} tide_rec_writer;

typedef struct tide_rec {
	char id[TIDE_REC_ID];
	char *path; /* owned */
	uint64_t size;
	int64_t mtime_ns;
	tide_rec_state state;
	tide_rec_writer writer;
	uint64_t done, total; /* while it is read: bytes so far and in all (0 = unknown) */
	uint64_t generation;  /* of the reading in memory, 0 = none */
	uint64_t early;	      /* of its beginning, while the whole is first read; 0 = none */
	uint64_t bytes;	      /* that it holds */
	tide_error error;
} tide_rec;

typedef struct tide_store_options {
	/* Call `add` with every file to serve. False when the list could not be made. */
	bool (*list)(void *list_user, bool (*add)(void *to, const char *path), void *to);
	void *list_user;
	/* Something changed: the list (id NULL) or a recording. From a thread of the store's or the
	 * one that calls tide__store_poll; no lock is held. */
	void (*changed)(void *user, const char *id);
	void *user;
	uint64_t max_bytes;  /* that readings may hold together */
	uint64_t early_from; /* size of files whose beginning is read first; 0 = 128 MiB */
} tide_store_options;

/* NULL on exhaustion. The list is made by the first tide__store_poll. */
tide_store *tide__store_new(const tide_store_options *opt);
/* From now on nothing is read any more, and nobody waits: all who do are called. */
void tide__store_stop(tide_store *s);
/* After that: waits for the loading thread, but not longer than a second or two. False when it is
 * still reading; then nothing was freed, and the program should end. */
bool tide__store_free(tide_store *s);

/* All recordings, newest first; owned by the caller. NULL on exhaustion. */
tide_rec *tide__store_list(tide_store *s, size_t *n);
void tide__store_list_free(tide_rec *r, size_t n);

/* A reading of a recording: TIDE_OK with *out held (tide__loaded_drop). TIDE_EBUSY when it must be
 * read first: `w` is called when to ask again. TIDE_ENOTFOUND: no such id. Else what kept it from
 * being read. `early`: its beginning will do, while the whole of a large one is being read. */
tide_code tide__store_get(tide_store *s, const char *id, bool early, tide_waiter *w,
			  tide_loaded **out, tide_error *err);
/* The same if it is in memory; does not count as asking for it. TIDE_ENOTFOUND. */
tide_code tide__store_peek(tide_store *s, const char *id, tide_loaded **out, tide_error *err);
/* Who finds what takes long. Borrowed. */
tide_critical_path_job *tide__store_slow(tide_store *s);
/* Generation of what tide__store_get would give, 0 = nothing yet. Counts as asking for it. */
uint64_t tide__store_generation(tide_store *s, const char *id, bool early);
/* Id of the newest recording that did not fail to be read; false when there is none. */
bool tide__store_newest(tide_store *s, char id[TIDE_REC_ID]);

/* Look at the files: new ones, changed ones, ones that are being written. To be called now and then
 * by one thread; `list`: make the list again too. */
void tide__store_poll(tide_store *s, bool list);

#endif
