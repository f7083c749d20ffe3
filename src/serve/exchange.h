// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What the files of the server share: one request and its answer (an exchange), and the workers
 * that make answers. */
#ifndef TIDE_SERVE_EXCHANGE_H
#define TIDE_SERVE_EXCHANGE_H

#include <pthread.h>

#include "serve/routes.h"

struct tide_workers;

enum { TIDE_PHASE_HEAD, TIDE_PHASE_ASK, TIDE_PHASE_WAIT };

typedef struct tide_exchange {
	tide_waiter waiter; /* first: the store hands it back */
	int phase;
	struct tide_workers *workers;
	struct tide_exchange *next; /* in the queue */
	tide_request req;
	const tide_route *route;
	tide_kept_trace held;
	tide_blob *answer; /* once it is there; NULL and `done`: memory was out */
	bool done;
	unsigned tries;
	void *connection;
	char key[TIDE_REQ_TARGET + 128];
} tide_exchange;

typedef struct tide_workers {
	tide_store *store;
	tide_cache *cache;
	void (*done)(tide_exchange *x); /* the answer is there */
	pthread_mutex_t lock;
	pthread_cond_t work;
	tide_exchange *first, **last;
	size_t waiting; /* exchanges that were given and not yet answered */
	bool stop;
	pthread_t thread[8];
	size_t n;
} tide_workers;

enum { TIDE_WORKERS_WAITING = 1024 };

bool tide__workers_start(tide_workers *w, tide_store *store, tide_cache *cache,
			 void (*done)(tide_exchange *x));
/* False when too many wait already. Else done() is called once, sooner or later. */
bool tide__workers_give(tide_workers *w, tide_exchange *x);
/* All that wait get 503; then the threads end. False: one of them is at an answer that takes longer than
 * 2 seconds, and everything must stay as it is. */
bool tide__workers_stop(tide_workers *w);

#endif
