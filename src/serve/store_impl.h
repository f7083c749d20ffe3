// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Inside the store: what store.c (the list, questions, watching) and store_read.c (the threads that
 * read) share. */
#ifndef TIDE_SERVE_STORE_IMPL_H
#define TIDE_SERVE_STORE_IMPL_H

#include <pthread.h>
#include <sys/stat.h>

#include "serve/follow.h"
#include "serve/store.h"

struct rec {
	tide_rec r;
	tide_loaded *now;     /* owned; NULL = not in memory */
	tide_loaded *early;   /* owned; its beginning, while the whole is first read; NULL = none */
	tide_waiter *waiters; /* those who wait for it */
	bool wanted;	      /* to be read (again) */
	bool listed;	      /* seen by the list that is being made */
	bool changed;	      /* since it was read */
	uint64_t used;	      /* when it was last asked for, by the store's count */
	int64_t read_ms;      /* when it was last read, and how long that took */
	int64_t took_ms;
	int64_t read_mtime_ns;
	uint64_t read_size;
	tide_follow follow;
	bool following;
	bool busy;	     /* a thread reads it just now */
	uint64_t most_bytes; /* that it may take */
	/* progress of that: written by its thread, read by anybody */
	_Atomic uint64_t done, total;
};

struct tide_store {
	tide_store_options opt;
	pthread_mutex_t lock; /* for all below */
	pthread_cond_t work;
	pthread_t thread[2]; /* the second reads small files only: they need not wait for a large
				one */
	struct rec **recs;   /* owned; in order of their ids */
	size_t n, cap;
	uint64_t clock, generation;
	bool stop;
	tide_critical_path_job *slow; /* owned */
};

int64_t tide__store_mtime(const struct stat *st); /* ns */
/* Size and time of the file as they are by now, and whether they changed since it was read. Lock
 * held. */
void tide__store_look_at(struct rec *x);
/* Tell those who wait. Without the lock. */
void tide__store_wake(tide_waiter *w);

/* store_read.c: threads; they end when the store stops. */
void *tide__store_reader(void *store);
void *tide__store_small_reader(void *store);

#endif
