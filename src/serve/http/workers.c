// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Threads that compute answers. A request for a recording that is not in memory yet leaves the
 * thread and returns to the queue when the recording has been read (its waiter). */
#include <unistd.h>

#include "base/now.h"
#include "serve/http/exchange.h"

enum {
	MOST_TRIES = 16, /* limit for recordings that leave memory as soon as they are read */
	END_MS = 700,	 /* that ending waits for a thread */
};

static void push(tide_workers *w, tide_exchange *x)
{
	x->next = NULL;
	*w->last = x;
	w->last = &x->next;
	pthread_cond_signal(&w->work);
}

static tide_exchange *pop(tide_workers *w)
{
	tide_exchange *x = w->first;
	w->first = x->next;
	if (!w->first)
		w->last = &w->first;
	return x;
}

/* Called by the store when the awaited recording has been read. */
static void come_back(tide_waiter *waiter)
{
	tide_exchange *x = (tide_exchange *)waiter;
	pthread_mutex_lock(&x->workers->lock);
	push(x->workers, x);
	pthread_mutex_unlock(&x->workers->lock);
}

/* Returns false if the request has to wait, or was already answered by another thread. */
static bool make(tide_workers *w, tide_exchange *x, bool stop, tide_blob **out)
{
	if (stop || ++x->tries > MOST_TRIES) {
		tide__kept_trace_drop(&x->held);
		*out = tide__answer_error(503, "the server is out of memory or workers: try again");
		return true;
	}
	x->req.wrong = NULL;
	x->req.hasty = x->tries > MOST_TRIES / 2;
	return tide__route_answer(x->route, w->store, &x->req, &x->waiter, &x->held, out);
}

static void finish(tide_workers *w, tide_exchange *x, tide_blob *b)
{
	if (b && b->status == 200 &&
	    tide__answer_key(x->route, w->store, &x->req, x->key, sizeof x->key))
		tide__cache_put(w->cache, x->key, b);
	x->answer = b;
	x->done = true;
	w->done(x);
	pthread_mutex_lock(&w->lock);
	w->waiting--;
	pthread_mutex_unlock(&w->lock);
}

static void *worker(void *arg)
{
	tide_workers *w = arg;
	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->first && !(w->stop && !w->waiting))
			pthread_cond_wait(&w->work, &w->lock);
		if (!w->first)
			break;
		tide_exchange *x = pop(w);
		bool stop = w->stop;
		tide_blob *b = NULL;
		pthread_mutex_unlock(&w->lock);
		if (make(w, x, stop, &b))
			finish(w, x, b);
		pthread_mutex_lock(&w->lock);
	}
	pthread_cond_broadcast(&w->work);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

bool tide__workers_start(tide_workers *w, tide_store *store, tide_cache *cache,
			 void (*done)(tide_exchange *x))
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = cores < 4   ? 4
		   : cores > 8 ? 8
			       : (size_t)cores; /* some may wait for a thread that computes their
			                         * input */
	*w = (tide_workers){ .store = store, .cache = cache, .done = done };
	w->last = &w->first;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->work, NULL);
	while (w->n < n && !pthread_create(&w->thread[w->n], NULL, worker, w))
		w->n++;
	return w->n > 0;
}

bool tide__workers_give(tide_workers *w, tide_exchange *x)
{
	pthread_mutex_lock(&w->lock);
	bool room = w->waiting < TIDE_WORKERS_WAITING && !w->stop;
	if (room) {
		w->waiting++;
		x->workers = w;
		x->waiter.ready = come_back;
		push(w, x);
	}
	pthread_mutex_unlock(&w->lock);
	return room;
}

bool tide__workers_stop(tide_workers *w)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->work);
	pthread_mutex_unlock(&w->lock);
	struct timespec until = tide__in_ms(END_MS);
	for (size_t i = 0; i < w->n; i++)
		if (pthread_timedjoin_np(w->thread[i], NULL, &until))
			return false;
	pthread_cond_destroy(&w->work);
	pthread_mutex_destroy(&w->lock);
	return true;
}
