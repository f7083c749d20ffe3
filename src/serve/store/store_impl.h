// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals of the store, shared by store.c (the list, requests, watching) and store_read.c (the
 * reading threads). */
#ifndef TIDE_SERVE_STORE_STORE_IMPL_H
#define TIDE_SERVE_STORE_STORE_IMPL_H

#include <pthread.h>
#include <sys/stat.h>

#include "serve/store/follow.h"
#include "serve/store/store.h"

struct rec {
	tide_rec r;
	tide_loaded *now;     /* owned; NULL = not in memory */
	tide_loaded *early;   /* owned; its beginning, until the whole is read for the first
			       * time; NULL = none */
	tide_waiter *waiters; /* requests that wait for it */
	bool wanted;	      /* to be read (again) */
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
	pthread_t thread[2]; /* the second reads small files only, so that they need not wait for
			      * a large one */
	struct rec **recs;   /* owned; in order of their ids */
	size_t n, cap;
	uint64_t clock, generation;
	bool stop;
	tide_critical_path_job *slow; /* owned */
};

int64_t tide__store_mtime(const struct stat *st); /* ns */
/* Updates size and time of the file, and whether they changed since it was read. Lock held. */
void tide__store_look_at(struct rec *x);
/* Calls the waiters. Without the lock. */
void tide__store_wake(tide_waiter *w);

/* store_read.c: threads; they end when the store stops. */
void *tide__store_reader(void *store);
void *tide__store_small_reader(void *store);

#endif
