// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Shared by the files of the server: one request and its answer (an exchange), and the worker
 * threads that produce answers. */
#ifndef TIDE_SERVE_HTTP_EXCHANGE_H
#define TIDE_SERVE_HTTP_EXCHANGE_H

#include <pthread.h>

#include "serve/routes.h"

struct tide_workers;

/* The next step of a request: check the client, begin the answer, send it when it is ready. */
enum { TIDE_PHASE_HEAD, TIDE_PHASE_ASK, TIDE_PHASE_WAIT };

typedef struct tide_exchange {
	tide_waiter waiter; /* first: the store passes it back */
	int phase;
	struct tide_workers *workers;
	struct tide_exchange *next; /* in the queue */
	tide_request req;
	const tide_route *route;
	tide_kept_trace held;
	tide_blob *answer; /* the answer; NULL and `done`: memory ran out */
	bool done;
	unsigned tries;
	void *connection;
	char key[TIDE_REQ_TARGET + 128];
} tide_exchange;

typedef struct tide_workers {
	tide_store *store;
	tide_cache *cache;
	void (*done)(tide_exchange *x); /* called when the answer is ready */
	pthread_mutex_t lock;
	pthread_cond_t work;
	tide_exchange *first, **last;
	size_t waiting; /* exchanges queued and not yet answered */
	bool stop;
	pthread_t thread[8];
	size_t n;
} tide_workers;

enum { TIDE_WORKERS_WAITING = 1024 }; /* requests that may wait for a thread */

bool tide__workers_start(tide_workers *w, tide_store *store, tide_cache *cache,
			 void (*done)(tide_exchange *x));
/* Returns false if too many wait already. Otherwise done() is called exactly once. */
bool tide__workers_give(tide_workers *w, tide_exchange *x);
/* Answers all waiting exchanges with 503, then ends the threads. Returns false if one takes
 * longer than 2 seconds; then nothing may be freed. */
bool tide__workers_stop(tide_workers *w);

#endif
