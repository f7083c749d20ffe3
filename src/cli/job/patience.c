// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A thread that reads uses CPU time in every format; one that is stuck in read(2) uses none. So the
 * CPU time of the process separates the two, without a call from any reader. */
#include "cli/job/patience.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/now.h"

enum {
	DEFAULT_S = 60,
	MOST_S = 1000000 /* 11 days; nanoseconds must fit */,
	LEAST_NS = 5000000 /* of CPU time: less is only our own waiting */
};

int64_t tide__patience_s(void)
{
	const char *text = getenv("TIDEMARK_GIVE_UP");
	char *end;
	long s = text && *text ? strtol(text, &end, 10) : DEFAULT_S;
	if (text && *text && (*end || s < 0))
		return DEFAULT_S;
	return s < MOST_S ? s : MOST_S;
}

/* Shared by the two threads; freed by the caller unless the worker is left behind. */
struct call {
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool ended; /* under lock */
	void (*work)(void *arg);
	void *arg;
};

static void *do_work(void *arg)
{
	struct call *c = arg;
	c->work(c->arg);
	pthread_mutex_lock(&c->lock);
	c->ended = true;
	pthread_cond_signal(&c->done);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* Waits a second, or until the work has ended. Returns whether it has. */
static bool wait_second(struct call *c)
{
	struct timespec until = tide__in_ms(1000);
	pthread_mutex_lock(&c->lock);
	int rc = 0;
	while (!c->ended && rc == 0)
		rc = pthread_cond_timedwait(&c->done, &c->lock, &until);
	bool ended = c->ended;
	pthread_mutex_unlock(&c->lock);
	return ended;
}

/* Returns false if no CPU time was used for `most` ns. */
static bool wait_for(struct call *c, int64_t most, void (*tick)(void))
{
	int64_t used = tide__now_ns(CLOCK_PROCESS_CPUTIME_ID),
		since = tide__now_ns(CLOCK_MONOTONIC);
	while (!wait_second(c)) {
		int64_t cpu = tide__now_ns(CLOCK_PROCESS_CPUTIME_ID);
		int64_t now = tide__now_ns(CLOCK_MONOTONIC);
		if (cpu - used >= LEAST_NS) {
			used = cpu;
			since = now;
		}
		if (tick)
			tick();
		if (most && now - since >= most)
			return false;
	}
	return true;
}

bool tide__patience_run(void (*work)(void *arg), void *arg, void (*tick)(void), tide_error *err)
{
	pthread_t thread;
	struct call *c = tide__calloc(1, sizeof *c);
	if (!c) {
		tide__nomem(err);
		return false;
	}
	*c = (struct call){ .lock = PTHREAD_MUTEX_INITIALIZER,
			    .done = PTHREAD_COND_INITIALIZER,
			    .work = work,
			    .arg = arg };
	int rc = pthread_create(&thread, NULL, do_work, c);
	if (rc) {
		tide__free(c);
		errno = rc;
		tide__fail_errno(err, "cannot make a thread");
		return false;
	}
	int64_t s = tide__patience_s();
	if (!wait_for(c, s * 1000000000, tick)) {
		pthread_detach(thread);
		tide__fail(err, TIDE_EIO, TIDE_NO_OFFSET,
			   "no answer for %lld s (TIDEMARK_GIVE_UP=%lld); left out", (long long)s,
			   (long long)s);
		return false;
	}
	pthread_join(thread, NULL);
	tide__free(c);
	return true;
}
