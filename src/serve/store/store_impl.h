// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals of the store, shared by store.c (the list, requests), store_watch.c and store_read.c
 * (the reading threads). */
#ifndef TIDE_SERVE_STORE_STORE_IMPL_H
#define TIDE_SERVE_STORE_STORE_IMPL_H

#include <pthread.h>
#include <sys/stat.h>

#include "serve/store/follow.h"
#include "serve/store/store.h"
#include "serve/store/watch.h"

enum {
	TIDE_STORE_SMALL =
		64
		<< 20, /* bytes: a file up to this size is read by a thread for small files, with shapes of ops */
	TIDE_STORE_READERS = 6, /* threads: one for files of any size, the rest for small ones */
};

struct rec {
	tide_rec r;
	tide_loaded *now;     /* owned; NULL = not in memory */
	tide_loaded *early;   /* owned; its beginning, until the whole is read for the first
			       * time; NULL = none */
	tide_waiter *waiters; /* requests that wait for it */
	bool wanted;	      /* to be read (again) */
	int64_t wanted_ms;    /* since then */
	bool listed;	      /* seen by the list in progress */
	bool changed;	      /* since it was read */
	uint64_t used;	      /* last use, by the store's counter */
	int64_t read_ms;      /* when it was last read, and how long that took */
	int64_t took_ms;
	int64_t read_mtime_ns;
	uint64_t read_size;
	tide_follow follow;
	bool following;
	bool busy;	     /* a thread is reading it now */
	uint64_t most_bytes; /* memory limit for reading it */
	/* progress: written by its thread, read by any */
	_Atomic uint64_t done, total;
};

struct tide_store {
	tide_store_options opt;
	pthread_mutex_t lock; /* protects everything below */
	pthread_cond_t work;
	pthread_t thread[TIDE_STORE_READERS]; /* the first reads files of any size */
	unsigned n_threads;
	struct rec **recs; /* owned; in order of their ids */
	size_t n, cap;
	uint64_t clock, generation;
	uint64_t version; /* counts changes of the list and of files */
	bool stop;
	bool active;	   /* some recording is in memory, read or wanted */
	tide_watch *watch; /* owned; this and the following fields are used by tide__store_poll
	                    * only */
	bool relist, polls, said;
	tide_critical_path_job *slow; /* owned */
};

int64_t tide__store_mtime(const struct stat *st); /* ns */
/* Updates size and time of the file, and whether they changed since it was read. Lock held. */
void tide__store_look_at(tide_store *s, struct rec *x);
/* Reads it (again) as soon as a thread is free. Lock held. */
void tide__store_want(tide_store *s, struct rec *x);
void tide__store_make_id(const char *path, char id[TIDE_REC_ID]);
/* Finds a recording by its id. Returns NULL if there is none. The lock is held. */
struct rec *tide__store_find(const tide_store *s, const char *id);
/* Adds a recording. Returns NULL if memory runs out. The lock is held. */
struct rec *tide__store_add(tide_store *s, const char *path, const char *id);
void tide__store_rec_free(struct rec *x);
/* Calls the waiters. Without the lock. */
void tide__store_wake(tide_waiter *w);

/* store_read.c: threads; they end when the store stops. */
void *tide__store_run_reader(void *store);
void *tide__store_run_small_reader(void *store);

#endif
