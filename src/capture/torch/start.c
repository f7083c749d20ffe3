// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "capture/torch/start.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <tidemark/record.h>

#include "capture/common/run_file.h"

enum { NEW, STARTING, DECIDED = TIDE_TORCH_DECIDED, RESTING };
_Atomic int tide__torch_state;

static void start(void)
{
	char path[PATH_MAX];
	int saved = errno;
	tide_options opt = TIDE_OPTIONS_INIT;
	opt.ring_bytes = 4 << 20; /* ops come in bursts: use a larger ring and wait rather than lose
	                           * events, as */
	opt.full_wait_us = 1000;  /* tidemark.record() has it */
	if (!tide_recording() && tide__run_file(path, sizeof path))
		tide_start(path, &opt, NULL); /* on failure the program continues unrecorded */
	errno = saved;
}

static __thread __attribute__((tls_model("initial-exec"))) bool starting; /* this thread is
                                                                           * deciding */

/* Resets the state in a forked child, where no thread is deciding. */
static void forked(void)
{
	int expected = STARTING;
	starting = false;
	atomic_compare_exchange_strong(&tide__torch_state, &expected, NEW);
}

/* Another thread is deciding and needs nothing from this one; events of this thread are recorded
 * too. The wait is bounded. */
static bool await_decision(void)
{
	struct timespec pause = { 0, 100000 };
	int saved = errno, expected = STARTING;
	for (int i = 0; i < 10000 && atomic_load(&tide__torch_state) == STARTING; i++)
		nanosleep(&pause, NULL);
	/* or the wait takes too long: continue unrecorded */
	atomic_compare_exchange_strong(&tide__torch_state, &expected, DECIDED);
	errno = saved;
	return expected != RESTING;
}

bool tide__torch_decide(void)
{
	int expected = NEW;
	if (starting) /* inside tide_start */
		return false;
	if (!atomic_compare_exchange_strong(&tide__torch_state, &expected, STARTING))
		return await_decision();
	starting = true;
	pthread_atfork(NULL, NULL, forked);
	start();
	starting = false;
	atomic_store_explicit(&tide__torch_state, DECIDED, memory_order_release);
	return true;
}

void tide__torch_pause(bool rest)
{
	int from = rest ? DECIDED : RESTING;
	if (rest && (getenv("TIDEMARK_RECORD") || !tide__torch_recording()))
		return;
	atomic_compare_exchange_strong(&tide__torch_state, &from, rest ? RESTING : DECIDED);
}

void tide_torch_begin(void)
{
	tide__torch_recording();
}
