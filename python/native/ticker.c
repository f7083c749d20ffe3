// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Periodic checkpoints from a native thread, which needs no GIL and does not stop the program.
 *
 * A snapshot is one event. Its live tensors are computed later from the recording. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "native.h"

static struct {
	pthread_mutex_t
		control;      /* held to start or stop the thread; protects all fields but `stop` */
	pthread_mutex_t lock; /* with `wake`: protects `stop` */
	pthread_cond_t wake;
	pthread_t thread;
	bool running, stop;
	double seconds;
	unsigned count;
	pid_t owner; /* a forked child has no such thread, but may have its locked mutexes */
} tick = { .control = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER };

static struct timespec after(double seconds)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += (time_t)seconds;
	t.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

static void *work(void *none)
{
	char name[32];
	struct timespec next = after(tick.seconds);
	pthread_mutex_lock(&tick.lock);
	while (!tick.stop) {
		if (pthread_cond_timedwait(&tick.wake, &tick.lock, &next) != ETIMEDOUT)
			continue;
		snprintf(name, sizeof name, "snapshot_%04u", ++tick.count);
		tide_mark(TIDE_CHECKPOINT, tide_intern(name), 0);
		next = after(tick.seconds);
	}
	pthread_mutex_unlock(&tick.lock);
	return NULL;
}

/* Starts the thread with all signals blocked, so that the program's threads receive them. */
static int begin(void)
{
	pthread_condattr_t attr;
	sigset_t all, before;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&tick.wake, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&tick.thread, NULL, work, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

/* Stops the thread. The caller holds `control`. */
static void end(void)
{
	if (!tick.running)
		return;
	pthread_mutex_lock(&tick.lock);
	tick.stop = true;
	pthread_cond_signal(&tick.wake);
	pthread_mutex_unlock(&tick.lock);
	pthread_join(tick.thread, NULL);
	tick.running = false;
}

/* Stops the thread and starts a new one if `seconds` > 0. Returns false if it could not be started. */
static bool change(double seconds)
{
	pthread_mutex_lock(&tick.control);
	end();
	if (seconds > 0) {
		tick.seconds = seconds;
		tick.stop = false;
		tick.count = 0;
		tick.running = begin() == 0;
	}
	bool good = seconds <= 0 || tick.running;
	pthread_mutex_unlock(&tick.control);
	return good;
}

/* Resets the state in a forked child. Called with the GIL. */
static void own(void)
{
	if (tick.owner && tick.owner != getpid()) {
		pthread_mutex_init(&tick.control, NULL);
		pthread_mutex_init(&tick.lock, NULL);
		tick.running = false;
	}
	tick.owner = getpid();
}

PyObject *tide__snapshots_every(PyObject *self, PyObject *args)
{
	double seconds;
	bool good;
	if (!PyArg_ParseTuple(args, "d", &seconds))
		return NULL;
	if (seconds != 0 && !(seconds >= 0.001 && seconds <= 1e7)) { /* also rejects NaN */
		PyErr_SetString(PyExc_ValueError,
				"the interval must be 0.001 to 10,000,000 seconds; 0 = none");
		return NULL;
	}
	own();
	Py_BEGIN_ALLOW_THREADS good = change(seconds);
	Py_END_ALLOW_THREADS if (good) Py_RETURN_NONE;
	PyErr_SetString(PyExc_RuntimeError, "cannot start a thread");
	return NULL;
}
